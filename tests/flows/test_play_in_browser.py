"""The page of `cogency play` in Chromium: what two people do on it, on the rehearsal model, and how it looks.

With PLAY_PICTURES=FOLDER in the environment it leaves pictures there.
"""

import os
from pathlib import Path
from typing import Final

from playwright.async_api import Browser, Page, expect

from bot.forgetting import texts as forgetting_texts
from tests.browser import DESKTOP, PHONE, WAIT_MS, Opened, open_browser, open_page, overflows, violations
from tests.fakes.play_people import playing
from tests.fakes.play_sides import sides

PICTURES: Final = os.environ.get("PLAY_PICTURES", "")  # noqa: TID251 -- of whoever looks at them
LENGTHS: Final = """() => {
    window.lengths = [];
    new MutationObserver(() => {
        const grows = document.querySelector("[data-person=ben].column article.grows .words");
        if (grows) window.lengths.push(grows.textContent.length);
    }).observe(document.getElementById("columns"), {childList: true, subtree: true});
}"""
FACT: Final = "the launch of Apollo is on Friday"
ASKED: Final = "what do you know about Apollo?"


async def picture(page: Page, name: str) -> None:
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png")


async def looks_right(opened: Opened, name: str) -> None:
    await picture(opened.page, name)
    assert await violations(opened.page) == []
    assert not await overflows(opened.page)
    assert opened.wrong == []


async def grows_for_both(opened: Opened) -> None:
    """A question in public, by the button that mentions the bot, and its answer while it is written."""
    ann, ben = sides(opened)
    await opened.page.evaluate(LENGTHS)
    await ann.column.get_by_role("button", name="Mention Cogency").click()
    await opened.page.keyboard.type("show me some code")
    await opened.page.keyboard.press("Enter")
    await ben.sees("this is how code looks")
    lengths: list[int] = await opened.page.evaluate("window.lengths")
    assert len(set(lengths)) > 3
    assert lengths == sorted(lengths)


async def audience(opened: Opened) -> None:
    """What Ann says in private is known to her with its source, which a press leads to, and to nobody else."""
    ann, ben = sides(opened)
    await ann.open("Cogency")
    await ann.say(f"remember that {FACT}")
    await ann.sees("I will remember that")
    await ann.say("/new")
    await ann.sees("starts a new conversation")
    await ann.say(ASKED)
    answer = await ann.sees("This is what I found")
    assert FACT in await answer.inner_text()
    await ann.open("general")
    await ann.open("Cogency")
    source = (await ann.sees("This is what I found")).locator("a[href*='#message-']").first
    await source.click()
    await expect(ann.column.locator("article.found")).to_contain_text(FACT)
    await ben.say(f"@Cogency {ASKED}")
    await ben.sees("I found nothing")
    await ben.open("Cogency")
    await ben.say(ASKED)
    await ben.sees("I found nothing")
    assert "Friday" not in await ben.column.inner_text()


async def approval(opened: Opened) -> None:
    ann, ben = sides(opened)
    await ben.open("general")
    await ann.say('use post_message {"where": "#general", "text": "Lunch at noon."}')
    await ann.sees("Approve post_message?")
    assert "Lunch at noon." not in await ben.column.inner_text()
    await looks_right(opened, "approval")
    await ann.press("Approve")
    await ben.sees("Lunch at noon.")
    await ann.sees("Posted:")


async def forgetting(opened: Opened) -> None:
    """By keyboard: the command is completed, the question shown to its asker alone, and a receipt at the end."""
    ann, _ = sides(opened)
    box = ann.column.get_by_role("combobox")
    await box.fill("/fo")
    await expect(ann.column.get_by_role("option")).to_have_count(1)
    await box.press("Tab")
    await box.press_sequentially("about Apollo")
    await box.press("Enter")
    await ann.sees("This cannot be undone")
    await ann.press("Forget")
    await ann.sees(forgetting_texts.FOUND_NOTHING)
    await ann.say("/new")
    await ann.sees("starts a new conversation", 2)
    await ann.say(ASKED)
    await ann.sees("I found nothing")


async def changes(opened: Opened) -> None:
    """Ann's own message is changed, and then gone for both; a window is filled in."""
    ann, ben = sides(opened)
    await ann.open("general")
    await ann.say("Nobody is asked hear.")
    said = await ben.sees("Nobody is asked hear.")
    assert await said.get_by_role("button", name="Edit").count() == 0
    mine = await ann.sees("Nobody is asked hear.")
    await mine.hover()
    await mine.get_by_role("button", name="Edit").click()
    await ann.say("Nobody is asked here.")
    mine = await ann.sees("Nobody is asked here.")
    await ben.sees("edited")
    await mine.hover()
    await mine.get_by_role("button", name="Delete").click()
    await mine.get_by_role("button", name="Are you sure?").click()
    await ben.sees("Nobody is asked here.", 0)
    await ann.say("/remind")
    await ann.press("New reminder…")
    dialog = opened.page.get_by_role("dialog")
    await dialog.get_by_label("When").fill("tomorrow at 9:00")
    await dialog.get_by_label("What", exact=True).fill("water the plants")
    await looks_right(opened, "window")
    await dialog.get_by_role("button", name="Remind me").click()
    await expect(dialog).to_be_hidden()
    await ann.sees("water the plants")


async def on_a_phone(browser: Browser, address: str) -> None:
    """One person at a time, in the dark; whoever is not looked at has their unread counted."""
    async with open_page(browser, size=PHONE, scheme="dark") as opened:
        await opened.page.goto(address)
        ann, ben = sides(opened)
        await ann.sees("Lunch at noon.")
        await expect(ben.column).to_be_hidden()
        await ann.say("@Cogency hello")
        await ann.sees("I only understand these requests")
        await looks_right(opened, "phone")
        await opened.page.get_by_role("button", name="Ben, 2 unread").click()
        await ben.sees("I only understand these requests")
        await expect(ann.column).to_be_hidden()


async def wrong_address(browser: Browser, address: str) -> None:
    """Without its token, or with that of an earlier start."""
    for wrong, told in ((address.partition("#")[0], "has no token"), (f"{address}x", "no longer valid")):
        async with open_page(browser) as opened:
            await opened.page.goto(wrong)
            await expect(opened.page.locator("#link")).to_contain_text(told, timeout=WAIT_MS)
            assert await violations(opened.page) == []


async def test_two_people_try_everything_on_the_page_and_it_goes_on_where_it_was_after_a_cut(tmp_path: Path) -> None:
    async with open_browser() as browser, open_page(browser, size=DESKTOP) as opened:
        async with playing(tmp_path) as here:
            await opened.page.goto(here.address)
            assert here.token not in opened.page.url
            ann, ben = sides(opened)
            await expect(ann.column.get_by_text("No messages here yet.")).to_be_visible()
            await grows_for_both(opened)
            await audience(opened)
            await approval(opened)
            await forgetting(opened)
            await changes(opened)
            await looks_right(opened, "light")
            async with open_page(browser, scheme="dark") as dark:
                await dark.page.goto(here.address)
                await sides(dark)[0].sees("Lunch at noon.")
                await looks_right(dark, "dark")
            await on_a_phone(browser, here.address)
            await wrong_address(browser, here.address)
            address, port = here.address, int(here.port)
            before = await ann.column.locator("article").count()
        await expect(opened.page.locator("#link")).to_contain_text("connection was lost", timeout=WAIT_MS)
        await ann.say("written while nobody listened")
        opened.wrong.clear()  # the browser complains of each socket that it cannot open
        async with playing(tmp_path, port=port) as here:
            assert here.address == address
            await ben.sees("written while nobody listened")
            await expect(opened.page.locator("#link")).to_be_hidden(timeout=WAIT_MS)
            await expect(ann.column.locator("article")).to_have_count(before + 1, timeout=WAIT_MS)
            await ben.say("@Cogency hello")
            await ann.sees("I only understand these requests", 2)
