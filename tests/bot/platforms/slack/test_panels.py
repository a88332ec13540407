"""`/memory` in Slack: the list with its buttons, its window and its file, which only the person sees."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from agent.errors import StoreError
from agent.memory.facts import Fact
from agent.memory.forgetting_plans import PAUSED
from bot.chat.access.acl import AccessEntry, AccessKind, AccessRules
from bot.chat.texts import replies as reply_texts
from bot.memory import commands as memory
from bot.memory import texts as memory_texts
from bot.memory.answers import MemoryAnswer, ShownEntry
from bot.memory.commands import FILE_NAME, memory_panel
from bot.memory.listing import PAGE
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.panels import ENTRY_CHARS, ShownTo, panel_blocks
from store.memory.fact_store import SqlFacts
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import Fault
from tests.fakes.slack_things import BOT_USER, FakeEphemeral
from tests.fakes.store import store_in_memory

ANN, BOB, GENERAL, SECRET, DM = "U0ANN", "U0BOB", "C0GENERAL", "C0SECRET", "D0ANN"
ME = f"<@{BOT_USER}>"
PERSON = f"slack:T0TEAM:{ANN}"
DAY = datetime(2026, 1, 2, tzinfo=UTC)
BOAT, TEA = "The boat is blue.", "I drink tea."


async def knowing(*, pages: int = 1, boat: str = BOAT) -> RecordingHost:
    """A host that knows two things about ann, of which it may use the second everywhere; they begin the last but one
    of several pages.
    """
    host = recording_host()
    before, after = (PAGE, 1) if pages == 3 else (0, 0)
    for number in range(before):
        await host.know(PERSON, f"Oar {number} is red.", DAY)
    await host.know(PERSON, boat, DAY)
    await host.know(PERSON, TEA, DAY, everywhere=True)
    for number in range(PAGE - 2 + after if after else 0):
        await host.know(PERSON, f"Sail {number} is white.", DAY)
    return host


def labels(ephemeral: FakeEphemeral) -> list[list[str]]:
    """Return the buttons in each row."""
    rows = [block["elements"] for block in ephemeral.blocks if block["type"] == "actions"]
    return [[button["text"]["text"] for button in row] for row in rows]


async def shown(slack: FakeSlack) -> FakeEphemeral:
    await slack.until(lambda: slack.state.ephemerals)
    await slack.settled()
    return slack.state.ephemerals[-1]


async def test_each_entry_has_its_buttons_and_the_list_its_pages(slack: FakeSlack) -> None:
    async with serving(slack, await knowing(pages=3)):
        await slack.command(ANN, GENERAL, "/memory", "page 2")
        ephemeral = await shown(slack)
    assert ephemeral.user == ANN
    heading, boat, tea, *_, foot = ephemeral.text.splitlines()
    assert [heading, boat, tea, foot] == [
        "What I remember about you:",
        "**7** The boat is blue. ([2026-01-02](https://chat.example/6), in a direct message)",
        "**8** I drink tea. ([2026-01-02](https://chat.example/7), in a direct message, used everywhere)",
        "Page 2 of 3",
    ]
    assert [*labels(ephemeral)[:2], labels(ephemeral)[-1]] == [
        ["Delete", "Correct", "Use everywhere"],
        ["Delete", "Correct", "Stop using everywhere"],
        ["Earlier page", "Next page"],
    ]


async def test_a_panel_of_a_channel_that_stands_elsewhere_is_nothing_to_whoever_left_the_channel(
    slack: FakeSlack,
) -> None:
    async with serving(slack, await knowing(pages=3)):
        await slack.command(ANN, SECRET, "/memory")
        in_messages = replace(await shown(slack), channel=DM)
        await slack.click(ANN, in_messages, "Next page")
        await slack.until(lambda: any("Page 2 of 3" in each.text for each in (*slack.state.ephemerals, in_messages)))
        slack.state.channels[SECRET].members.remove(ANN)
        slack.state.ephemerals.clear()
        await slack.click(ANN, in_messages, "Next page")
        refused = await shown(slack)
    assert [(each.user, each.text) for each in slack.state.ephemerals] == [(ANN, platforms_texts.NOT_ASKED_THERE)]
    assert refused.user == ANN


async def test_whoever_may_not_use_the_bot_any_more_gets_nothing_by_a_button_that_they_still_see(
    slack: FakeSlack,
) -> None:
    host = await knowing(pages=3)
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory")
        panel = await shown(slack)
        host.restrict(AccessRules(deny=frozenset({AccessEntry(AccessKind.PERSON, ANN)})))
        for button in ("Next page", "Correct"):
            slack.state.ephemerals.clear()
            await slack.click(ANN, panel, button)
            assert (await shown(slack)).text == reply_texts.NOT_ALLOWED["person"]
    assert "Page 1 of 3" in panel.text
    assert slack.state.called("views.open") == []


@pytest.mark.parametrize(
    ("label", "number", "outcome"),
    [
        ("Delete", 0, f"Deleted entry 7, “{BOAT}”."),
        ("Delete", 1, f"Deleted entry 8, “{TEA}”."),
        ("Use everywhere", 0, "From now on, I use this entry in all my replies to you"),
        ("Stop using everywhere", 0, memory_texts.USED_HERE),
        ("Next page", 0, "What I remember about you:\n**13** Sail 4 is white."),
        ("Earlier page", 0, "What I remember about you:\n**1** Oar 0 is red."),
    ],
)
async def test_a_button_asks_for_the_entry_beside_it_and_its_outcome_takes_the_place_of_the_list(
    slack: FakeSlack, label: str, number: int, outcome: str
) -> None:
    host = await knowing(pages=3)
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory", "page 2")
        ephemeral = await shown(slack)
        await slack.click(ANN, ephemeral, label, number)
        await slack.until(lambda: ephemeral.text.startswith(outcome))
    boat, tea = (next((fact for fact in host.store.facts_kept if fact.value == words), None) for words in (BOAT, TEA))
    assert (boat is None, tea is None) == (BOAT in outcome, TEA in outcome)
    assert boat is None or boat.everywhere is (label == "Use everywhere")
    assert tea is None or tea.everywhere is (label != "Stop using everywhere")
    assert len(slack.state.ephemerals) == 1


async def test_the_button_of_a_deletion_takes_it_back(slack: FakeSlack) -> None:
    host = await knowing()
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory")
        ephemeral = await shown(slack)
        await slack.click(ANN, ephemeral, "Delete")
        await slack.until(lambda: labels(ephemeral)[0] == ["Undo"])
        assert host.known(PERSON) == [TEA]
        await slack.click(ANN, ephemeral, "Undo")
        await slack.until(lambda: ephemeral.text.startswith(f"Restored: “{BOAT}”."))
    assert sorted(host.known(PERSON)) == [TEA, BOAT]


async def test_a_correction_is_typed_into_a_window_that_holds_the_entry(slack: FakeSlack) -> None:
    host = await knowing()
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory")
        ephemeral = await shown(slack)
        await slack.click(ANN, ephemeral, "Correct", 1)
        await slack.until(lambda: slack.state.views)
        (view,) = slack.state.views
        assert view["blocks"][0]["element"]["initial_value"] == TEA
        await slack.acked(await slack.submit(ANN, view, "I drink green tea."))
        await slack.until(lambda: ephemeral.text.startswith("Corrected"))
    assert sorted(host.known(PERSON)) == ["I drink green tea.", BOAT]


async def test_the_buttons_work_for_nobody_else(slack: FakeSlack) -> None:
    host = await knowing()
    async with serving(slack, host):
        await slack.command(ANN, GENERAL, "/memory")
        ephemeral = await shown(slack)
        await slack.click(BOB, ephemeral, "Delete")
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert (slack.state.ephemerals[-1].user, slack.state.ephemerals[-1].text) == (BOB, reply_texts.NOT_YOURS)
    assert sorted(host.known(PERSON)) == [TEA, BOAT]


async def test_an_outcome_that_can_no_longer_take_the_place_of_the_list_stands_below_it(slack: FakeSlack) -> None:
    async with serving(slack, await knowing()):
        await slack.command(ANN, GENERAL, "/memory")
        ephemeral = await shown(slack)
        await slack.click(ANN, ephemeral, "Correct")
        await slack.until(lambda: slack.state.views)
        slack.expire_all()
        await slack.submit(ANN, slack.state.views[0], "The boat is red.")
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    below = slack.state.ephemerals[-1]
    assert (below.user, below.text.startswith("Corrected")) == (ANN, True)


@pytest.mark.parametrize("way", ["command", "mention"])
@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("delete f:2", f"Deleted entry 2, “{TEA}”."),
        ("export", platforms_texts.EXPORT_SENT),
        ("pause here", "I stopped learning from what you say in this channel."),
    ],
)
async def test_words_behind_memory_are_read_in_commands_and_in_mentions(
    slack: FakeSlack, words: str, outcome: str, way: str
) -> None:
    host = await knowing()
    async with serving(slack, host):
        if way == "command":
            await slack.command(ANN, GENERAL, "/memory", words)
        else:
            await slack.say(ANN, GENERAL, f"{ME} memory {words}")
        ephemeral = await shown(slack)
    assert ephemeral.text.startswith(outcome)
    assert not host.taken


async def test_a_question_that_begins_with_memory_is_a_question(slack: FakeSlack) -> None:
    host = recording_host()
    async with serving(slack, host):
        await slack.say(ANN, GENERAL, f"{ME} memory leaks in my program, why?")
        await slack.until(lambda: host.taken)
        await slack.settled()
    assert not slack.state.ephemerals


async def test_an_export_is_a_file_in_the_direct_messages(slack: FakeSlack) -> None:
    async with serving(slack, await knowing()):
        await slack.command(ANN, GENERAL, "/memory", "export")
        ephemeral = await shown(slack)
    assert ephemeral.text == platforms_texts.EXPORT_SENT
    ((channel, name, content),) = slack.state.files
    assert (channel, name) == (DM, FILE_NAME)
    assert [fact["text"] for fact in json.loads(content)["facts"]] == [BOAT, TEA]
    assert [message.text for message in slack.state.answers(DM) if not message.files] == [memory_texts.EXPORTED]
    assert not slack.state.answers(GENERAL)


async def test_an_export_that_slack_refuses_says_which_scope_is_missing(slack: FakeSlack) -> None:
    async with serving(slack, await knowing()):
        slack.faults["files.getUploadURLExternal"].append(Fault(error="missing_scope"))
        await slack.command(ANN, GENERAL, "/memory", "export")
        ephemeral = await shown(slack)
    assert ephemeral.text == platforms_texts.EXPORT_NOT_SENT
    assert not slack.state.answers(DM)


class Unreadable(SqlFacts):
    async def readable(self, *whose: Any) -> list[Fact]:  # noqa: ARG002 -- it fails for everybody
        raise StoreError("The disk is full.")


async def test_what_goes_wrong_is_told_to_the_person(slack: FakeSlack) -> None:
    store = store_in_memory()
    async with serving(slack, recording_host(replace(store, facts=Unreadable(store.database)))):
        await slack.command(ANN, GENERAL, "/memory")
        ephemeral = await shown(slack)
    assert ephemeral.text == "The disk is full."


async def test_admins_manage_a_channel_and_members_do_not(slack: FakeSlack) -> None:
    boss = slack.state.user("boss", is_admin=True)
    host = recording_host()
    async with serving(slack, host):
        await slack.acked(await slack.command(ANN, GENERAL, "/memory", "pause here for everybody"))
        assert (await shown(slack)).text.startswith("Only channel managers and operators can pause learning")
        assert f"channel:{GENERAL}" not in host.store.chosen
        await slack.acked(await slack.command(boss, GENERAL, "/memory", "pause here for everybody"))
        await slack.until(lambda: len(slack.state.ephemerals) == 2)
    assert host.store.chosen[f"channel:{GENERAL}"] == {"learning slack:T0TEAM": PAUSED}


async def test_an_entry_that_is_cut_is_opened_and_decided_about_where_it_stands_whole(slack: FakeSlack) -> None:
    long = " ".join(["The boat is blue."] * 50)
    async with serving(slack, await knowing(pages=3, boat=long)):
        await slack.command(ANN, GENERAL, "/memory", "page 2")
        ephemeral = await shown(slack)
        assert [labels(ephemeral)[0], labels(ephemeral)[-1]] == [["Open 7"], ["Earlier page", "Next page"]]
        await slack.click(ANN, ephemeral, "Open 7")
        await slack.until(lambda: long in ephemeral.text)
        assert labels(ephemeral) == [["Delete", "Correct", "Use everywhere", "Back"]]
        await slack.click(ANN, ephemeral, "Back")
        await slack.until(lambda: "Page 2 of 3" in ephemeral.text)


def test_a_full_page_of_the_longest_entries_fits_what_slack_takes() -> None:
    long = ShownEntry("f:123456", 123, "w" * ENTRY_CHARS, "[2026-01-02](https://slack.example/p1)", True, plain="w")
    panel = memory_panel(MemoryAnswer("", (long,) * PAGE, 2, 3), ENTRY_CHARS)
    blocks: list[Any] = panel_blocks(panel, memory.COMMAND, ShownTo(ANN, GENERAL))
    assert len(blocks) <= 49
    assert sum(len(block["text"]) for block in blocks if block["type"] == "markdown") < 12_000
    values = [button["value"] for block in blocks if block["type"] == "actions" for button in block["elements"]]
    assert max(map(len, values)) <= 2_000
