"""The page about ratings: counts of all, words of what was shared alone, and how a browser shows it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from agent.events import Outcome
from agent.feedback import FeedbackDetails, FeedbackFilter, FeedbackReason, FeedbackState, SharedFeedback, StateChange
from agent.memory.audience import PersonAudience, Place, TeamAudience
from agent.messages import ModelCall, Usage
from agent.shown_replies import ReplyVerdict
from agent.turn_records import Claiming, Closing
from bot.chat.web_server import serving
from bot.operators.pages.feedback import feedback_view
from bot.operators.pages.frame import templates
from tests.browser import DESKTOP, PHONE, open_browser, open_page, overflows, violations
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import LEASE, said
from tests.fakes.operator_site import OperatorBrowser, operator_site
from tests.fakes.store import StoreInMemory, store_in_memory

CLOCK = FakeClock()
HOSTILE = "<script>alert(1)</script>\u202e"
TEAM, DIRECT = Place(TeamAudience("slack:T1")), Place(PersonAudience("slack:T1:U1"))


async def rate(
    store: StoreInMemory, number: int, reason: FeedbackReason, *, shared: bool, place: Place = TEAM, channel: str = "C1"
) -> None:
    asked = said(f"question{number} {HOSTILE}", person="slack:T1:U1", conversation=f"{number}", place=place)
    await store.ledger.accept(replace(asked, source="slack:T1", channel=channel, time=CLOCK.now()))
    claim = await store.ledger.claim(Claiming("worker", CLOCK.now(), LEASE))
    assert claim is not None
    calls = (ModelCall(f"small {HOSTILE}", Usage()),)
    closing = Closing(Outcome.ANSWERED, f"answer{number}", pages=(f"{number}",), calls=calls)
    await store.ledger.finish(claim, closing, CLOCK.now())
    await store.replies.judge(claim.turn, "slack:T1:U1", ReplyVerdict.BAD, CLOCK.now())
    details = FeedbackDetails(reason, f"comment{number} {HOSTILE}", f"correction{number}", shared)
    assert await store.feedback.explain(claim.turn, "slack:T1:U1", details, CLOCK.now())


async def rated() -> StoreInMemory:
    store = store_in_memory()
    await rate(store, 1, FeedbackReason.WRONG, shared=True)
    await rate(store, 2, FeedbackReason.OUTDATED, shared=True, channel="C2")
    await rate(store, 3, FeedbackReason.PRIVATE, shared=False)
    await rate(store, 4, FeedbackReason.OTHER, shared=False, place=DIRECT, channel="D1")
    return store


async def shown(store: StoreInMemory, **query: str) -> str:
    """Render the page as the frame does."""
    answer = await feedback_view(store.feedback, CLOCK).show(query)
    always: Mapping[str, Any] = {"navigation": [], "here": "", "csrf": "", "stylesheet": "", "now": CLOCK.now()}
    return templates().get_template(answer.template).render({**always, **answer.values})


async def test_counts_are_of_all_ratings_and_words_of_what_was_shared_alone() -> None:
    html = await shown(await rated())
    for word in ("question", "answer", "comment", "correction"):
        assert [f"{word}{number}" in html for number in (1, 2, 3, 4)] == [True, True, False, False]
    for counted in ("It contains something private", "Something else", "direct messages", "small"):
        assert counted in html
    assert "D1" not in html
    assert ("<script" in html, "\u202e" in html, "style=" in html) == (False, False, False)


async def test_the_list_is_filtered_by_state_reason_and_channel() -> None:
    store = await rated()
    (newest, _) = await store.feedback.listed(SharedFeedback(), FeedbackFilter(), limit=9)
    fixed = StateChange(FeedbackState.FIXED, "olga", "", CLOCK.now())
    await store.feedback.change_state(SharedFeedback(), newest.id, fixed)

    async def listed(**query: str) -> list[int]:
        html = await shown(store, **query)
        return [number for number in (1, 2) if f"answer{number}" in html]

    assert await listed() == [1]
    assert await listed(state="fixed") == [2]
    assert await listed(state="all") == [1, 2]
    assert await listed(state="all", reason="wrong") == [1]
    assert await listed(state="all", place="slack:T1:C2") == [2]
    assert await listed(state="all", place="' OR 1", page="0") == []
    assert await shown(store, days="x", state="<b>", reason="no", page="99") == await shown(store)
    assert "No shared feedback matches." in await shown(store, reason="too-long")


@pytest.mark.slow
async def test_the_page_reads_well_and_its_filters_are_links() -> None:
    store, clock = await rated(), CLOCK
    site = operator_site(store, clock, [feedback_view(store.feedback, clock)])
    async with serving(site, "127.0.0.1", 0) as address, open_browser() as browser:
        operator = OperatorBrowser(site, address)
        await operator.sign_in(store, clock)
        for size in (DESKTOP, PHONE):
            async with open_page(browser, size=size) as opened:
                page = opened.page
                await page.context.add_cookies(
                    [{"name": name, "value": value, "url": address} for name, value in operator.cookies.items()]
                )
                await page.goto(f"{address}/feedback")
                assert await page.get_by_role("article").count() == 2
                assert await violations(page) == []
                assert not await overflows(page)
                await page.get_by_role("link", name="It is out of date").click()
                await page.get_by_role("heading", name="#2 It is out of date").wait_for()
                assert await page.get_by_role("article").count() == 1
                await page.get_by_role("link", name="Any reason").click()
                await page.get_by_role("link", name="C1").click()
                await page.get_by_role("link", name="Show all channels").wait_for()
                assert await page.get_by_role("article").count() == 1
                assert opened.wrong == []
