"""Entries that may be out of date are offered first in `/memory`, to be kept, corrected or deleted."""

import json
from dataclasses import replace
from datetime import timedelta

from agent.admission_terms import Authority
from agent.events import Outcome
from agent.incoming import Person
from agent.memory.audience import GroupAudience, Place, label, may_flow_from
from agent.memory.documents import NewDocument, Passage
from agent.memory.review import UNUSED
from agent.memory.writing import NewFact
from agent.ports.tools import Asker
from agent.turn_records import Closing
from bot.chat.commands.declaration import CommandCall
from bot.chat.panels import Panel
from bot.memory import texts as memory_texts
from bot.memory.answers import MemoryAnswer
from bot.memory.commands import COMMAND, memory_panel
from bot.memory.listing import PAGE
from tests.bot.memory.test_service import DM, TEAM, Office
from tests.contracts.steps import claimed
from tests.fakes.caller import FakeCaller
from tests.fakes.clock import FakeClock
from tests.fakes.facts import remember
from tests.fakes.incoming import said

PRESSED = (memory_texts.KEEP, "Correct", "Delete")
HEADING = "may be out of date"


async def later(office: Office, days: int = UNUSED.days) -> None:
    await office.clock.advance(timedelta(days=days).total_seconds())


async def use(office: Office, *entries: int) -> None:
    """Answer a question whose context has these entries."""
    await office.store.ledger.accept(said(f"hello {office.clock.now()}"))
    closing = Closing(Outcome.ANSWERED, "ok", used_entries=entries)
    await office.store.ledger.finish(await claimed(office.store), closing, office.clock.now())


def offered(answer: MemoryAnswer) -> list[str]:
    return [entry.plain for entry in answer.entries if entry.may_keep]


def buttons(panel: Panel) -> list[tuple[str, ...]]:
    return [tuple(action.label for action in part.actions) for part in panel.parts]


async def test_three_entries_that_nobody_used_are_offered_before_the_others_under_their_numbers() -> None:
    office = Office()
    for number in range(1, 7):
        await office.learn(f"goal {number}")
    await later(office)
    for number in (7, 8):
        await office.learn(f"goal {number}")
    answer = await office.ask("")
    assert "3 entries may be out of date" in answer.text
    assert [entry.number for entry in answer.entries] == [1, 2, 3, 4, 5, 6]
    await use(office, 1, 3)
    answer = await office.ask("")
    assert [entry.number for entry in answer.entries] == [2, 4, 5, 1, 3, 6]
    assert offered(answer) == ["goal 2", "goal 4", "goal 5"]
    assert answer.entries[0].text == "Goal: goal 2 (not used since 2026-01-05)"
    panel = memory_panel(answer, 500)
    assert buttons(panel)[: PAGE + 1] == [
        *[PRESSED] * 3,
        *[("Delete", "Correct", "Use everywhere")] * 3,
        ("Next page",),
    ]
    assert HEADING not in (await office.ask("page 2")).text


async def test_a_kept_entry_is_asked_about_again_half_a_year_later() -> None:
    office = Office()
    await office.learn("learn Rust")
    await remember(office.store.facts, "ann", "likes tea", label(DM.audience), office.clock.now())
    await later(office)
    assert sorted(offered(await office.ask(""))) == ["learn Rust", "likes tea"]
    for entry in (await office.ask("")).entries:
        kept = await office.ask(f"keep {entry.key}")
        assert kept.text.startswith("Kept: “")
    answer = await office.ask("")
    assert (offered(answer), HEADING in answer.text) == ([], False)
    await later(office, UNUSED.days - 1)
    assert offered(await office.ask("")) == []
    await later(office, 1)
    assert sorted(offered(await office.ask(""))) == ["learn Rust", "likes tea"]


async def test_an_entry_that_a_newer_policy_overrules_is_offered_with_that_policy() -> None:
    office = Office()
    await remember(
        office.store.facts, "ann", "the budget of Apollo is 9,000 EUR", label(TEAM.audience), office.clock.now()
    )
    await later(office, 1)
    text, now = "the budget of Apollo is at most 5,000 EUR (see *Finance*)", office.clock.now()
    policy = NewFact("", "", text, "policy", now, label(TEAM.audience), authority=Authority.MANAGER, is_constraint=True)
    await office.store.facts.write(policy)
    viewer = Asker(Person("ann", "Ann"), TEAM, "C1")
    (entry,) = (await office.service.answer(viewer, "")).entries
    said_otherwise = (
        "(a newer policy, set on 2026-01-06, says otherwise: "
        "“the budget of Apollo is at most 5,000 EUR (see \\*Finance\\*)”)"
    )
    assert entry.text == f"the budget of Apollo is 9,000 EUR {said_otherwise}"
    kept = await office.service.answer(viewer, "keep 1")
    assert offered(kept) == []


async def test_what_another_person_or_a_document_says_overrules_no_entry() -> None:
    office, there, now = Office(), label(TEAM.audience), FakeClock().now()
    await remember(office.store.facts, "ann", "the budget of Apollo is 9,000 EUR", there, now)
    at_most = "the budget of Apollo is at most 5,000 EUR"
    said_by_boss = NewFact("", "", at_most, "user", now + timedelta(days=1), there, "boss", Authority.ADMIN)
    await office.store.facts.write(said_by_boss)
    handbook = NewDocument("Handbook", there, "test", "C1", "boss", now + timedelta(days=1), [Passage(at_most)])
    assert await office.store.documents.keep(handbook) is None
    answer = await office.service.answer(Asker(Person("ann", "Ann"), TEAM, "C1"), "")
    assert [(entry.plain, entry.may_keep) for entry in answer.entries] == [("the budget of Apollo is 9,000 EUR", False)]


async def test_only_what_may_be_shown_at_a_place_is_offered_and_kept_there() -> None:
    office, club = Office(), Place(GroupAudience("club"))
    await office.learn("secret of the club", club)
    await later(office)
    in_club = Asker(Person("ann", "Ann"), club, "C9")
    (entry,) = (await office.service.answer(in_club, "")).entries
    assert entry.may_keep
    answer = await office.ask(f"keep {entry.key}")
    assert (answer.refused, HEADING in answer.text) == (True, False)
    assert (await office.ask(f"keep {entry.key}", "ben")).refused, "another person's entry"
    assert offered(await office.service.answer(in_club, "")) == ["secret of the club"]


async def test_what_connected_accounts_said_to_the_bot_is_kept_for_the_account_that_it_belongs_to() -> None:
    office, other = Office(), "person:discord:ann"

    async def flows(place: Place) -> frozenset[str]:
        return may_flow_from(place, frozenset({other}))

    await remember(office.store.facts, "discord:ann", "likes tea", other, office.clock.now())
    await later(office)
    service = replace(office.service, audiences=flows)
    viewer = Asker(Person("ann", "Ann"), DM, "")
    assert offered(await service.answer(viewer, "")) == ["likes tea"]
    assert offered(await service.answer(viewer, "keep 1")) == []
    assert [fact.kept for fact in await office.store.facts.readable("discord:ann", frozenset({other}))] == [
        office.clock.now()
    ]


async def test_an_undone_deletion_brings_back_when_an_entry_was_used_and_kept() -> None:
    office = Office()
    await office.learn("learn Rust")
    await use(office, 1)
    await office.ask("")
    await office.ask("keep 1")
    before = await office.store.profiles.all_entries("ann", frozenset({label(DM.audience)}))
    await office.ask("delete 1")
    await office.ask("undo")
    after = await office.store.profiles.all_entries("ann", frozenset({label(DM.audience)}))
    assert after == before
    assert after[0].used == after[0].kept == office.clock.now()


async def test_the_export_says_when_an_entry_was_last_used_and_kept() -> None:
    office = Office()
    await office.learn("learn Rust")
    await later(office)
    await use(office, 1)
    await office.ask("")
    await office.ask("keep 1")
    exported = json.loads((await office.ask("export")).file or "")
    moment = f"{office.clock.now():%Y-%m-%dT%H:%M:%S}"
    assert [exported["profile"][0][name][:19] for name in ("last_used", "kept")] == [moment, moment]


async def test_without_buttons_the_commands_are_shown_above_the_list() -> None:
    office = Office()
    await office.learn("learn Rust")
    await later(office)
    caller = FakeCaller(Person("ann", "Ann"), place=DM)
    panel = await COMMAND.bound(office.service).run(CommandCall(words="", caller=caller))
    assert "1 entry may be out of date. Use `/memory keep 3`" in panel.text
