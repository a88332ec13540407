"""`/memory` in Slack: the list with its buttons, its window and its file, which only the person sees."""

from dataclasses import replace
from typing import Any

import pytest

from agent.errors import StoreError
from agent.memory.audience import PersonAudience
from bot.chat.access.acl import AccessEntry, AccessKind, AccessRules
from bot.chat.texts import replies as reply_texts
from bot.memory import commands as memory
from bot.memory.answers import MemoryAnswer, ShownEntry
from bot.memory.commands import FILE_NAME, memory_panel
from bot.memory.listing import PAGE
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.panels import ENTRY_CHARS, ShownTo, panel_blocks
from tests.fakes.host import FakeHost
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import Fault
from tests.fakes.slack_things import BOT_USER, FakeEphemeral

ANN, BOB, GENERAL, SECRET, DM = "U0ANN", "U0BOB", "C0GENERAL", "C0SECRET", "D0ANN"
ME = f"<@{BOT_USER}>"
BOAT = ShownEntry("f:7", 1, "The boat is blue.", "[2026-01-02](https://slack.example/p1)", may_go_everywhere=True)
TEA = ShownEntry("p:3", 4, "Preference: tea", "2026-01-02", everywhere=True, plain="tea")
LIST = MemoryAnswer("I remember:", (BOAT, TEA), page=2, pages=3)


def labels(ephemeral: FakeEphemeral) -> list[list[str]]:
    """Return the buttons in each row."""
    rows = [block["elements"] for block in ephemeral.blocks if block["type"] == "actions"]
    return [[button["text"]["text"] for button in row] for row in rows]


async def shown(slack: FakeSlack) -> FakeEphemeral:
    await slack.until(lambda: slack.state.ephemerals)
    await slack.settled()
    return slack.state.ephemerals[-1]


async def test_each_entry_has_its_buttons_and_the_list_its_pages(slack: FakeSlack) -> None:
    async with serving(slack, FakeHost(remembered=LIST)):
        await slack.command(ANN, GENERAL, "/memory")
        ephemeral = await shown(slack)
    assert ephemeral.user == ANN
    assert ephemeral.text.splitlines() == [
        "I remember:",
        "**1** The boat is blue. ([2026-01-02](https://slack.example/p1))",
        "**4** Preference: tea (2026-01-02)",
        "Page 2 of 3",
    ]
    assert labels(ephemeral) == [
        ["Delete", "Correct", "Use everywhere"],
        ["Delete", "Correct", "Only where it was said"],
        ["Earlier page", "Next page"],
    ]


async def test_a_panel_of_a_channel_that_stands_elsewhere_is_nothing_to_whoever_left_the_channel(
    slack: FakeSlack,
) -> None:
    host = FakeHost(remembered=LIST)
    async with serving(slack, host):
        await slack.command(ANN, SECRET, "/memory")
        in_messages = replace(await shown(slack), channel=DM)
        await slack.click(ANN, in_messages, "Next page")
        await slack.until(lambda: len(host.asked_for_memory) == 2)
        slack.state.channels[SECRET].members.remove(ANN)
        slack.state.ephemerals.clear()
        await slack.click(ANN, in_messages, "Next page")
        refused = await shown(slack)
    assert (refused.user, refused.text) == (ANN, platforms_texts.NOT_ASKED_THERE)
    assert len(host.asked_for_memory) == 2


async def test_whoever_may_not_use_the_bot_any_more_gets_nothing_by_a_button_that_they_still_see(
    slack: FakeSlack,
) -> None:
    host = FakeHost(remembered=LIST)
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory")
        panel = await shown(slack)
        host.restrict(AccessRules(deny=frozenset({AccessEntry(AccessKind.PERSON, ANN)})))
        for button in ("Next page", "Correct"):
            slack.state.ephemerals.clear()
            await slack.click(ANN, panel, button)
            assert (await shown(slack)).text == reply_texts.NOT_ALLOWED["person"]
    assert len(host.asked_for_memory) == 1
    assert slack.state.called("views.open") == []


@pytest.mark.parametrize(
    ("label", "number", "words"),
    [
        ("Delete", 0, "delete f:7"),
        ("Delete", 1, "delete p:3"),
        ("Use everywhere", 0, "everywhere f:7"),
        ("Only where it was said", 0, "here p:3"),
        ("Undo", 0, "undo f:9"),
        ("Next page", 0, "page 3"),
        ("Earlier page", 0, "page 1"),
    ],
)
async def test_a_button_asks_for_the_entry_beside_it_and_its_outcome_takes_the_place_of_the_list(
    slack: FakeSlack, label: str, number: int, words: str
) -> None:
    host = FakeHost(remembered=replace(LIST, undo="f:9"))
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory", "page 2")
        ephemeral = await shown(slack)
        host.remembered = MemoryAnswer("Done.", (TEA,))
        await slack.click(ANN, ephemeral, label, number)
        await slack.until(lambda: ephemeral.text.startswith("Done."))
    assert [asked for _, asked in host.asked_for_memory] == ["page 2", words]
    viewer = host.asked_for_memory[-1][0]
    assert viewer.place.audience == PersonAudience(f"slack:T0TEAM:{ANN}")
    assert viewer.channel == GENERAL
    assert len(slack.state.ephemerals) == 1


async def test_a_correction_is_typed_into_a_window_that_holds_the_entry(slack: FakeSlack) -> None:
    host = FakeHost(remembered=LIST)
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory")
        ephemeral = await shown(slack)
        await slack.click(ANN, ephemeral, "Correct", 1)
        await slack.until(lambda: slack.state.views)
        (view,) = slack.state.views
        assert view["blocks"][0]["element"]["initial_value"] == "tea"
        host.remembered = MemoryAnswer("Corrected.")
        await slack.acked(await slack.submit(ANN, view, "green tea"))
        await slack.until(lambda: ephemeral.text == "Corrected.")
    assert host.asked_for_memory[-1][1] == "correct p:3 green tea"


async def test_the_buttons_work_for_nobody_else(slack: FakeSlack) -> None:
    host = FakeHost(remembered=LIST)
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory")
        ephemeral = await shown(slack)
        await slack.click(BOB, ephemeral, "Delete")
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert (slack.state.ephemerals[-1].user, slack.state.ephemerals[-1].text) == (BOB, reply_texts.NOT_YOURS)
    assert len(host.asked_for_memory) == 1


async def test_an_outcome_that_can_no_longer_take_the_place_of_the_list_stands_below_it(slack: FakeSlack) -> None:
    host = FakeHost(remembered=LIST)
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory")
        ephemeral = await shown(slack)
        await slack.click(ANN, ephemeral, "Correct")
        await slack.until(lambda: slack.state.views)
        slack.expire_all()
        host.remembered = MemoryAnswer("Corrected.")
        await slack.submit(ANN, slack.state.views[0], "The boat is red.")
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert (slack.state.ephemerals[-1].user, slack.state.ephemerals[-1].text) == (ANN, "Corrected.")


@pytest.mark.parametrize("words", ["delete 3", "export", "pause here"])
async def test_words_behind_memory_are_read_in_commands_and_in_mentions(slack: FakeSlack, words: str) -> None:
    host = FakeHost(remembered=MemoryAnswer("Done."))
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory", words)
        await shown(slack)
        await slack.say(ANN, GENERAL, f"{ME} memory {words}")
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
        await slack.settled()
    assert [asked for _, asked in host.asked_for_memory] == [words, words]
    assert not host.taken


async def test_a_question_that_begins_with_memory_is_a_question(slack: FakeSlack) -> None:
    host = FakeHost()
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, f"{ME} memory leaks in my program, why?")
        await slack.until(lambda: host.taken)
        await slack.settled()
    assert not host.asked_for_memory


async def test_an_export_is_a_file_in_the_direct_messages(slack: FakeSlack) -> None:
    host = FakeHost(remembered=MemoryAnswer("All of it.", file='{"version": 1}'))
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory", "export")
        ephemeral = await shown(slack)
    assert ephemeral.text == platforms_texts.EXPORT_SENT
    assert slack.state.files == [(DM, FILE_NAME, b'{"version": 1}')]
    assert [message.text for message in slack.state.answers(DM) if not message.files] == ["All of it."]
    assert not slack.state.answers(GENERAL)


async def test_an_export_that_slack_refuses_says_which_scope_is_missing(slack: FakeSlack) -> None:
    host = FakeHost(remembered=MemoryAnswer("All of it.", file="{}"))
    async with serving(slack, host):
        slack.faults["files.getUploadURLExternal"].append(Fault(error="missing_scope"))
        await slack.command(ANN, GENERAL, "/memory", "export")
        ephemeral = await shown(slack)
    assert ephemeral.text == platforms_texts.EXPORT_NOT_SENT
    assert not slack.state.answers(DM)


async def test_what_goes_wrong_is_told_to_the_person(slack: FakeSlack) -> None:
    host = FakeHost(fail_next=StoreError("The disk is full."))
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory")
        ephemeral = await shown(slack)
    assert ephemeral.text == "The disk is full."


async def test_admins_manage_a_channel_and_members_do_not(slack: FakeSlack) -> None:
    boss = slack.state.user("boss", is_admin=True)
    host = FakeHost()
    async with serving(slack, host):
        for person in (boss, ANN):
            await slack.acked(await slack.command(person, GENERAL, "/memory", "pause here for everybody"))
        await slack.until(lambda: len(host.asked_for_memory) == 2)
    assert {viewer.person.id: viewer.manages for viewer, _ in host.asked_for_memory} == {
        f"slack:T0TEAM:{boss}": True,
        f"slack:T0TEAM:{ANN}": False,
    }


async def test_an_entry_that_is_cut_is_opened_and_decided_about_where_it_stands_whole(slack: FakeSlack) -> None:
    long = replace(BOAT, text="The boat is blue. " * 50)
    host = FakeHost(remembered=MemoryAnswer("I remember:", (long,), page=2, pages=3))
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory", "page 2")
        ephemeral = await shown(slack)
        assert labels(ephemeral) == [["Open 1"], ["Earlier page", "Next page"]]
        host.remembered = replace(host.remembered, text="", opened=True)
        await slack.click(ANN, ephemeral, "Open 1")
        await slack.until(lambda: long.text in ephemeral.text)
        assert labels(ephemeral) == [["Delete", "Correct", "Use everywhere", "Back"]]
        await slack.click(ANN, ephemeral, "Back")
        await slack.until(lambda: len(host.asked_for_memory) == 3)
    assert [words for _, words in host.asked_for_memory] == ["page 2", "show f:7", "page 2"]


def test_a_full_page_of_the_longest_entries_fits_what_slack_takes() -> None:
    long = ShownEntry("f:123456", 123, "w" * ENTRY_CHARS, "[2026-01-02](https://slack.example/p1)", True, plain="w")
    panel = memory_panel(MemoryAnswer("", (long,) * PAGE, 2, 3), ENTRY_CHARS)
    blocks: list[Any] = panel_blocks(panel, memory.COMMAND, ShownTo(ANN, GENERAL))
    assert len(blocks) <= 49
    assert sum(len(block["text"]) for block in blocks if block["type"] == "markdown") < 12_000
    values = [button["value"] for block in blocks if block["type"] == "actions" for button in block["elements"]]
    assert max(map(len, values)) <= 2_000
