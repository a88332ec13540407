"""A person's view of what is remembered about them, on a store in memory."""

import asyncio
import json
from base64 import b64decode
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count

import pytest

from agent.incoming import Person
from agent.memory.audience import WIDE, GroupAudience, PersonAudience, Place, TeamAudience, label, may_flow_from
from agent.memory.facts import Scope
from agent.memory.forgetting_plans import ERASE_ENTRIES
from agent.memory.profile import Insight, Partition, ProfileField, learned
from agent.memory.writing import NewFact
from agent.ports.saved_files import FileChanges, FileSource
from agent.ports.tools import Asker
from agent.schedules.definitions import NewSchedule, ScheduleKind, Timing
from bot.chat.commands.declaration import CommandCall
from bot.forgetting.retention import Retention
from bot.memory import requests as view
from bot.memory import texts as memory_texts
from bot.memory.answers import MemoryAnswer
from bot.memory.commands import COMMAND, memory_panel
from bot.memory.listing import PAGE, TERMINAL_PAGE, entry_line
from bot.memory.service import MemoryService
from tests.contracts.steps import answered
from tests.fakes.caller import FakeCaller
from tests.fakes.clock import NOON, FakeClock
from tests.fakes.facts import remember
from tests.fakes.incoming import said
from tests.fakes.new_database import open_new
from tests.fakes.store import StoreInMemory, store_in_memory

DM = Place(PersonAudience("ann"), within_team="T")
TEAM = Place(TeamAudience("T"), within_team="T")
LINK = "https://chat.example/{number}"


@dataclass
class Office:
    """A service and its store, with helpers for viewers."""

    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=FakeClock)
    links: "count[int]" = field(default_factory=lambda: count(1))

    @property
    def service(self) -> MemoryService:
        return MemoryService(
            facts=self.store.facts,
            profiles=self.store.profiles,
            conversations=self.store.conversations,
            spending=self.store.spending,
            schedules=self.store.schedules,
            saved_files=self.store.saved_files,
            preferences=self.store.preferences,
            forgetting=self.store.forgetting,
            clock=self.clock,
        )

    async def ask(self, words: str, person: str = "ann", *, manages: bool = False) -> MemoryAnswer:
        here = Place(PersonAudience(person), within_team="T")
        return await self.service.answer(Asker(Person(person, person.title()), here, "C1", manages=manages), words)

    async def learn(
        self, text: str, place: Place = DM, person: str = "ann", kind: ProfileField = ProfileField.GOALS, key: str = ""
    ) -> None:
        """Store a message and an entry learned from it."""
        asked = said(f"about {text}", person=person, conversation=f"{person} in {label(place.audience)}", place=place)
        source = await self.store.hear(replace(asked, permalink=LINK.format(number=next(self.links))))
        partition = Partition(person, label(place.audience))
        insight = Insight(kind, text, (source,), self.clock.now(), key)
        before = await self.store.profiles.get(partition)
        await self.store.profiles.save(partition, learned(before, partition.audience, [insight], 1, self.clock.now()))


CORRECTED = memory_texts.CORRECTED.partition("{")[0]


@pytest.fixture
def office() -> Office:
    return Office()


def lines(answer: MemoryAnswer) -> list[str]:
    return [entry_line(entry) for entry in answer.entries]


async def test_everything_is_listed_with_its_number_its_day_its_link_and_its_place(office: Office) -> None:
    await office.learn("learn *Rust*")
    await office.learn("Vim", TEAM, kind=ProfileField.PREFERENCES, key="editor")
    await remember(office.store.facts, "ann", "The boat is blue.", "person:ann", office.clock.now())
    day = NOON.date().isoformat()
    assert lines(await office.ask("")) == [
        f"**1** The boat is blue. ({day}, in a direct message)",
        f"**2** Goal: learn \\*Rust\\* ([{day}](https://chat.example/1), in a direct message)",
        f"**3** Preference: editor: Vim ([{day}](https://chat.example/2), in a public channel)",
    ]


async def test_nobody_sees_what_belongs_to_another_or_may_not_be_shown_there(office: Office) -> None:
    await office.learn("sail", person="ann")
    await office.learn("club secret", Place(GroupAudience("club")))
    assert [entry.plain for entry in (await office.ask("")).entries] == ["sail"]
    assert (await office.ask("", "ben")).text == memory_texts.NOTHING_REMEMBERED
    key = (await office.ask("")).entries[0].key
    answer = await office.ask(f"delete {key}", "ben")
    assert answer.text == memory_texts.NO_ENTRY
    assert len((await office.ask("")).entries) == 1


async def test_a_deleted_entry_is_gone_and_is_not_learned_again(office: Office) -> None:
    await office.learn("sail")
    await office.learn("row")
    answer = await office.ask("delete 1")
    assert answer.entries == ()  # the numbers were not shown before
    await office.ask("")
    answer = await office.ask("delete 1")
    assert answer.text.startswith("Deleted entry 1, “Goal: sail”.")
    assert [entry.plain for entry in answer.entries] == ["row"]
    assert office.store.passed_over == {1}


async def test_a_number_stands_for_what_was_listed_whatever_became_of_the_list(office: Office) -> None:
    for text in ("sail", "row", "swim"):
        await office.learn(text)
    await office.ask("")
    await office.ask("delete 1")
    await office.learn("dive")
    await office.ask("delete 2")
    assert [(one.number, one.plain) for one in (await office.ask("")).entries] == [(3, "swim"), (4, "dive")]
    assert (await office.ask("delete 2")).text == memory_texts.NO_NUMBER.format(number=2)


async def test_a_correction_is_the_persons_own_statement_with_the_same_number_and_no_link(office: Office) -> None:
    await office.learn("Vim", TEAM, kind=ProfileField.PREFERENCES, key="editor")
    await office.ask("")
    await office.clock.advance(timedelta(days=1).total_seconds())
    answer = await office.ask("correct 1 editor: Emacs")
    tomorrow = office.clock.now().date().isoformat()
    assert answer.text.startswith(CORRECTED)
    assert memory_texts.BETWEEN_US in answer.text
    assert lines(answer) == [f"**1** Preference: editor: Emacs ({tomorrow}, in a direct message, your correction)"]
    anywhere = frozenset({"person:ann", "team:T"})
    assert "Vim" not in [entry.text for entry in await office.store.profiles.all_entries("ann", anywhere)]


async def test_a_fact_is_corrected_and_its_old_words_are_gone(office: Office) -> None:
    source = await office.store.hear(said("My boat is blue."))
    await remember(office.store.facts, "ann", "The boat is blue.", "person:ann", office.clock.now(), source)
    await office.ask("")
    answer = await office.ask("correct 1 The boat is red.")
    assert [(one.number, one.plain) for one in answer.entries] == [(1, "The boat is red.")]
    assert [fact.value for fact in office.store.facts_kept] == ["The boat is red."]
    assert office.store.passed_over == {source}


async def test_a_deleted_fact_takes_all_along_whose_place_it_has_taken(office: Office) -> None:
    for value in ("Friday", "Monday"):
        for key in ("deadline", "due date"):
            await remember(office.store.facts, "ann", f"The {key} is {value}.", "person:ann", office.clock.now())
    answer = await office.ask("")
    for entry in answer.entries:
        await office.ask(f"delete {entry.key}")
    assert office.store.facts_kept == []


async def test_a_correction_to_the_same_words_keeps_the_entry(office: Office) -> None:
    await remember(office.store.facts, "ann", "The boat is blue.", "person:ann", office.clock.now())
    await office.ask("")
    answer = await office.ask("correct 1 The boat is blue.")
    assert answer.text.startswith(memory_texts.SAME)
    assert [entry.plain for entry in answer.entries] == ["The boat is blue."]


async def test_secrets_and_long_texts_are_no_corrections(office: Office) -> None:
    await office.learn("sail")
    await office.ask("")
    assert (await office.ask("correct 1 my password is hunter2hunter2")).text.startswith(memory_texts.NO_SECRETS)
    assert (await office.ask(f"correct 1 {'long ' * 100}")).text.startswith(
        "Nothing changed, because an entry can have up to"
    )
    assert [entry.plain for entry in (await office.ask("")).entries] == ["sail"]


async def test_used_everywhere_is_an_entry_in_all_replies_to_its_person_and_in_no_others(office: Office) -> None:
    await office.learn("sail")
    await office.ask("")
    answer = await office.ask("everywhere 1")
    assert [(entry.everywhere, entry.may_go_everywhere) for entry in answer.entries] == [(True, False)]
    anywhere = frozenset({"team:T"})
    assert [one.text for one in (await office.store.profiles.readable("ann", anywhere)).entries] == ["sail"]
    assert (await office.store.profiles.readable("ben", anywhere)).entries == ()
    await office.ask("here 1")
    assert (await office.store.profiles.readable("ann", anywhere)).entries == ()


@pytest.mark.slow
async def test_a_correction_of_what_is_used_everywhere_is_used_everywhere(office: Office) -> None:
    await office.learn("sail", TEAM)
    source = await office.store.hear(said("The boat is blue.", place=TEAM))
    await remember(office.store.facts, "ann", "The boat is blue.", "team:T", office.clock.now(), source)
    await office.ask("")
    for number in (1, 2):
        await office.ask(f"everywhere {number}")
        assert memory_texts.BETWEEN_US not in (await office.ask(f"correct {number} number {number}")).text
    assert [entry.everywhere for entry in (await office.ask("")).entries] == [True, True]


async def test_the_export_holds_everything_that_may_be_shown(office: Office) -> None:
    await office.store.ledger.accept(said("What is a boat?", person="ann"))
    await office.learn("sail")
    await remember(office.store.facts, "ann", "The deadline is on Friday.", "person:ann", office.clock.now())
    await remember(office.store.facts, "ann", "The deadline is on Monday.", "person:ann", office.clock.now())
    await office.store.preferences.set("ann", "model", "ollama:small")
    await office.ask("")
    exported = json.loads((await office.ask("export")).file or "")
    assert exported["version"] == 1
    assert [entry["text"] for entry in exported["profile"]] == ["sail"]
    facts = [(fact["text"], fact["superseded"]) for fact in exported["facts"]]
    assert facts == [("The deadline is on Friday.", True), ("The deadline is on Monday.", False)]
    assert [thread["title"] for thread in exported["threads"]] == ["about sail", "What is a boat?"]
    assert exported["preferences"] == {"model": "ollama:small"}
    assert exported["spending"]["month"]["calls"] == 0


async def test_the_export_holds_what_is_scheduled_as_far_as_it_may_be_shown(office: Office) -> None:
    timing = Timing("Europe/Madrid", rule="0 9 * * *")
    for words, place in (("water the plants", DM), ("ask the club", Place(GroupAudience("club")))):
        made = NewSchedule("ann", "test", "C1", place, ScheduleKind.REMINDER, words, timing, office.clock.now())
        await office.store.schedules.add(made)
    (one,) = json.loads((await office.ask("export")).file or "")["schedules"]
    assert (one["text"], one["rule"], one["next"]) == ("water the plants", "0 9 * * *", "2026-01-06T08:00:00+00:00")


async def test_the_export_holds_what_its_person_said_and_was_answered_and_nothing_that_others_said(
    office: Office,
) -> None:
    store = office.store
    await answered(store, said("What is a boat?", person="ann"), "It swims.")
    await answered(store, said("I have none.", person="ben"), "A pity.")
    club = Place(GroupAudience("club"))
    await answered(store, said("A secret of the club.", person="ann", conversation="club", place=club), "Sh.")
    exported = json.loads((await office.ask("export")).file or "")
    assert [(one["author"], one["text"]) for one in exported["messages"]] == [
        ("you", "What is a boat?"),
        ("bot", "It swims."),
    ]
    assert exported["messages_complete"] is True
    assert {one["thread"] for one in exported["messages"]} == {"thread"}


async def saved_file(office: Office, name: str, data: bytes, place: Place = DM, drawn_from: str = WIDE) -> None:
    where = f"ann in {label(place.audience)}"
    claim = await answered(office.store, said("sum it up", person="ann", conversation=where, place=place), "Done.")
    sources = (FileSource(claim.message, asked=True),)
    changes = FileChanges(where, "ann", label(place.audience), drawn_from, [(name, data)], sources=sources)
    assert await office.store.saved_files.save(changes, office.clock.now())


async def test_the_export_holds_the_files_that_code_saved_for_its_person_as_far_as_they_may_be_shown(
    office: Office,
) -> None:
    club = Place(GroupAudience("club"))
    await saved_file(office, "sums.csv", b"july,3")
    await saved_file(office, "secret.csv", b"1", club)
    await saved_file(office, "drawn.csv", b"2", drawn_from="group:club")
    (one,) = json.loads((await office.ask("export")).file or "")["files"]
    assert b64decode(one.pop("base64")) == b"july,3"
    assert one == {
        "thread": "ann in person:ann",
        "name": "sums.csv",
        "time": office.clock.now().isoformat(),
        "audience": "person:ann",
        "size": 6,
    }
    assert json.loads((await office.ask("export", "ben")).file or "")["files"] == []


async def test_a_file_that_does_not_fit_is_listed_without_its_content(office: Office) -> None:
    await saved_file(office, "small.csv", b"1")
    await saved_file(office, "large.bin", bytes(7_000_000))
    made = (await office.ask("export")).file or ""
    files = json.loads(made)["files"]
    assert [(one["name"], one["size"], one["base64"] is None) for one in files] == [
        ("large.bin", 7_000_000, True),
        ("small.csv", 1, False),
    ]
    assert len(made.encode()) < 10 * 2**20


@pytest.mark.slow
async def test_an_export_that_would_be_too_large_holds_the_newest_and_says_so(office: Office) -> None:
    for number in range(11):
        await office.store.ledger.accept(said(f"{number} " + "€" * 400_000, person="ann"))
    made = (await office.ask("export")).file or ""
    exported = json.loads(made)
    assert exported["messages_complete"] is False
    assert [one["text"].partition(" ")[0] for one in exported["messages"]] == ["5", "6", "7", "8", "9", "10"]
    assert len(made.encode()) < 10 * 2**20


async def test_long_lists_come_in_pages(office: Office) -> None:
    for number in range(PAGE + 2):
        await office.learn(f"island {number}", kind=ProfileField.INTERESTS)
    first, last = await office.ask(""), await office.ask("page 9")
    assert (first.page, first.pages, len(first.entries)) == (1, 2, PAGE)
    assert (last.page, len(last.entries)) == (2, 2)
    assert "`/memory page 2`" in memory_panel(first).parts[-1].text


@pytest.mark.slow
async def test_what_is_decided_on_a_page_leaves_the_list_on_it(office: Office) -> None:
    for number in range(2 * PAGE + 1):
        await office.learn(f"island {number}", kind=ProfileField.INTERESTS)
    await office.ask("page 2")
    for words in (f"delete {PAGE + 2}", "undo", f"correct {PAGE + 2} I like lakes", f"here {PAGE + 3}"):
        answer = await office.ask(words)
        assert (words, answer.page, len(answer.entries)) == (words, 2, PAGE)
    last = await office.ask(f"delete {2 * PAGE + 1}")
    assert last.page == last.pages


async def test_a_terminal_shows_more_at_once(office: Office) -> None:
    for number in range(PAGE + 2):
        await office.learn(f"island {number}", kind=ProfileField.INTERESTS)
    assert PAGE + 2 <= TERMINAL_PAGE
    for chars, shown in ((None, PAGE + 2), (100, PAGE)):
        caller = FakeCaller(Person("ann", "Ann"), "C1", DM, entry_chars=chars)
        panel = await COMMAND.bound(office.service).run(CommandCall(words="", caller=caller))
        assert len([part for part in panel.parts if "island" in part.text]) == shown


async def test_an_entry_is_shown_whole_with_the_page_on_which_it_stands(office: Office) -> None:
    for number in range(PAGE + 2):
        await office.learn(f"island {number}", kind=ProfileField.INTERESTS)
    await office.ask("")
    (shown,) = (answer := await office.ask(f"show {PAGE + 1}")).entries
    assert (shown.number, answer.page, answer.opened) == (PAGE + 1, 2, True)
    assert (await office.ask(view.show_words(shown.key))).entries == (shown,)
    assert (await office.ask("show 99")).text == memory_texts.NO_NUMBER.format(number="99")


async def test_where_there_is_no_channel_nobody_pauses_anything_for_everybody(office: Office) -> None:
    nowhere = Asker(Person("ann", "Ann"), DM, "", manages=True)
    assert (await office.service.answer(nowhere, "pause here for everybody")).text == memory_texts.PAUSE_NOT_THE_MANAGER


async def test_only_who_manages_a_channel_pauses_it_for_everybody(office: Office) -> None:
    assert (await office.ask("pause here for everybody")).text == memory_texts.PAUSE_NOT_THE_MANAGER
    assert office.store.chosen == {}
    answer = await office.ask("pause here for everybody", manages=True)
    assert answer.text.startswith("I stopped learning from what anyone says in this channel.")
    assert office.store.chosen == {"channel:C1": {"learning": "paused"}}
    assert (await office.ask("resume here for everybody")).text == memory_texts.RESUME_NOT_THE_MANAGER
    assert office.store.chosen == {"channel:C1": {"learning": "paused"}}


async def test_a_pause_is_shown_with_the_list(office: Office) -> None:
    await office.ask("pause")
    assert "Learning is paused. To resume, use `/memory resume`." in (await office.ask("")).text
    await office.ask("resume")
    assert "paused" not in (await office.ask("")).text


async def test_who_ends_one_pause_reads_which_others_last_there(office: Office) -> None:
    for words in ("pause", "pause here", "pause here for everybody"):
        await office.ask(words, manages=True)
    assert (await office.ask("resume")).text == (
        "I am learning again from what you say.\n\n"
        "Learning is paused in this channel. To resume, use `/memory resume here`.\n"
        "Learning is paused in this channel for everyone. To resume, use `/memory resume here for everyone`."
    )
    await office.ask("resume here")
    assert (await office.ask("")).text.startswith("Learning is paused in this channel for everyone.")
    await office.ask("resume here for everybody", manages=True)
    assert (await office.ask("")).text == memory_texts.NOTHING_REMEMBERED


async def test_mistyped_words_and_help_change_nothing(office: Office) -> None:
    await office.learn("sail")
    assert (await office.ask("delete all")).text == memory_texts.MEMORY_FORMS["delete"]
    assert "`/memory export`" in (await office.ask("help")).text
    assert len((await office.ask("")).entries) == 1


async def test_lists_that_are_made_at_once_give_no_number_twice(office: Office) -> None:
    store = await open_new()
    try:
        service = replace(office.service, preferences=store.preferences)
        viewer = Asker(Person("ann", "Ann"), DM)
        for text in ("sail", "row", "swim"):
            await office.learn(text)
            await asyncio.gather(*(service.answer(viewer, "") for _ in range(4)))
        entries = (await service.answer(viewer, "")).entries
        assert [(one.number, one.plain) for one in entries] == [(1, "sail"), (2, "row"), (3, "swim")]
    finally:
        await store.close()


@pytest.mark.slow
async def test_what_was_deleted_comes_back_within_a_minute_under_its_number(office: Office) -> None:
    for text in ("sail", "row", "swim"):
        await office.learn(text)
    shown = lines(await office.ask(""))
    deleted = await office.ask("delete 2")
    assert [entry.plain for entry in deleted.entries] == ["sail", "swim"]
    assert (await office.ask("undo 1")).text == memory_texts.NOT_BACK
    assert (await office.ask("undo", "ben")).text == memory_texts.NOT_BACK
    assert (await office.ask(f"undo {deleted.undo}", "ben")).text == memory_texts.NOT_BACK
    back = await office.ask("undo")
    assert back.text.startswith("Restored: “Goal: row”.")
    assert lines(back) == shown
    assert (await office.ask("undo")).text == memory_texts.NOT_BACK
    await office.ask("delete 2")
    assert lines(await office.ask("undo #2")) == shown
    await office.ask("delete 2")
    assert lines(await office.ask(f"undo {deleted.undo}")) == shown


async def test_what_was_deleted_is_erased_by_a_job_after_a_minute(office: Office) -> None:
    await office.learn("sail")
    await office.ask("")
    deleted = await office.ask("delete 1")
    kinds, lease = frozenset({ERASE_ENTRIES}), timedelta(minutes=2)
    assert await office.store.jobs.claim(kinds, "me", office.clock.now() + timedelta(seconds=59), lease) is None
    job = await office.store.jobs.claim(kinds, "me", office.clock.now() + timedelta(seconds=60), lease)
    assert job is not None
    await Retention(office.store.forgetting, office.store.jobs, office.clock, {}).handlers[job.kind](job)
    assert (await office.ask(f"undo {deleted.undo}")).text == memory_texts.NOT_BACK


async def test_a_number_stands_for_what_it_showed_and_not_for_what_was_learned_meanwhile(office: Office) -> None:
    await office.learn("sail on lakes", kind=ProfileField.PREFERENCES, key="sport")
    (shown,) = (await office.ask("")).entries
    await office.learn("row on rivers", kind=ProfileField.PREFERENCES, key="sport")
    after = (await office.store.profiles.all_entries("ann", frozenset({"person:ann"})))[-1]
    assert after.text == "row on rivers"
    for asked in ("delete 1", f"delete {shown.key}"):
        answer = await office.ask(asked)
        assert (
            answer.text in {memory_texts.NO_ENTRY, memory_texts.NO_NUMBER.format(number=1)}
            or "sail on lakes" in answer.text
        )
    assert after in await office.store.profiles.all_entries("ann", frozenset({"person:ann"}))


@pytest.mark.parametrize(
    ("scope", "mark"),
    [
        (Scope.GLOBAL, ""),
        (Scope.HYPOTHETICAL, " (an assumption in one conversation)"),
        (Scope.DRAFT, " (a draft, in one conversation)"),
        (Scope.SESSION, " (for one conversation)"),
    ],
)
async def test_what_does_not_hold_everywhere_is_listed_as_that(office: Office, scope: Scope, mark: str) -> None:
    scope_id = None if scope is Scope.GLOBAL else "thread"
    here = label(PersonAudience("ann"))
    await office.store.facts.write(
        NewFact("", "budget", "9 EUR", "user", NOON, here, "ann", scope=scope, scope_id=scope_id)
    )
    (entry,) = (await office.ask("")).entries
    assert entry.text == f"budget: 9 EUR{mark}"


async def said_and_learned(office: Office, text: str, key: str, value: str, days: int) -> None:
    """Store a message and a fact learned from it."""
    asked = said(text, conversation="desks", place=DM)
    source = await office.store.hear(asked)
    at = office.clock.now() + timedelta(days=days)
    await office.store.facts.write(NewFact("", key, value, "user", at, "person:ann", "ann", source_message=source))


async def test_the_list_shows_what_an_entry_replaced_and_undo_makes_that_hold_again(office: Office) -> None:
    await said_and_learned(office, "My desk is in room 4", "desk", "room 4", 0)
    await said_and_learned(office, "My desk is in room 7 now", "desk", "room 7", 1)
    (entry,) = (await office.ask("")).entries
    assert entry.text == "desk: room 7 (replaced: desk: room 4)"
    assert "Undo" in [action.label for action in memory_panel(await office.ask("")).parts[0].actions]
    undone = await office.ask(f"undo {entry.number}")
    assert "This is valid again: desk: room 4." in undone.text
    assert [entry.text for entry in undone.entries] == ["desk: room 4"]


async def test_the_list_shows_what_may_be_outdated_by_which_entry_both_with_their_days(office: Office) -> None:
    await said_and_learned(office, "Our team eats lunch in the garden", "", "Our team eats lunch in the garden", 0)
    await said_and_learned(office, "Our team eats lunch on the roof", "", "Our team eats lunch on the roof", 9)
    older, newer = (await office.ask("")).entries
    doubt = f"(possibly outdated because of entry {newer.number}: “Our team eats lunch on the roof”)"
    assert older.text == f"Our team eats lunch in the garden {doubt}"
    assert newer.text == "Our team eats lunch on the roof"
    days = [(NOON + timedelta(days=days)).date().isoformat() for days in (0, 9)]
    assert [day in entry.source for day, entry in zip(days, (older, newer), strict=True)] == [True, True]


LUNCH = "Our team eats lunch in the garden", "Our team eats lunch on the roof"


async def lunch_in_doubt(office: Office) -> None:
    for value, days in zip(LUNCH, (0, 9), strict=True):
        await said_and_learned(office, value, "", value, days)
    await office.ask("")  # numbers the entries


async def test_the_person_decides_with_a_button_that_both_hold_and_no_model_is_asked_then(office: Office) -> None:
    await lunch_in_doubt(office)
    part = memory_panel(await office.ask(""), 600).parts[0]
    assert [action.label for action in part.actions] == ["Keep both", "Replace", "Open 1"]
    answer = await office.ask(part.actions[0].words)
    assert answer.text.startswith(f"Both are valid: “{LUNCH[0]}” and “{LUNCH[1]}”.")
    assert [entry.text for entry in answer.entries] == [*LUNCH]
    assert await office.store.facts.doubts("ann", "person:ann", 9, 9) == []
    assert (await office.ask("both 1")).text.startswith(memory_texts.NOT_IN_DOUBT)


async def test_the_person_replaces_what_is_outdated_and_undo_makes_both_valid(office: Office) -> None:
    await lunch_in_doubt(office)
    answer = await office.ask("replace 1")
    assert answer.text.startswith(f"Replaced “{LUNCH[0]}” with “{LUNCH[1]}”.")
    (entry,) = answer.entries
    assert entry.text == f"{LUNCH[1]} (replaced: {LUNCH[0]})"
    undone = await office.ask(f"undo {entry.number}")
    assert sorted(entry.plain for entry in undone.entries) == [*LUNCH]


async def test_an_opened_entry_in_doubt_has_all_its_buttons(office: Office) -> None:
    await lunch_in_doubt(office)
    labels = [action.label for action in memory_panel(await office.ask("show 1")).actions]
    assert labels == ["Delete", "Correct", "Keep both", "Replace", "Use everywhere", "Back"]


@pytest.mark.parametrize("words", ["both 9", "replace 9"])
async def test_a_number_without_an_entry_decides_nothing(office: Office, words: str) -> None:
    assert (await office.ask(words)).refused


async def test_what_a_connected_account_was_told_is_listed_and_changed_here_and_opened_only_there(
    office: Office,
) -> None:
    there = Place(PersonAudience("ann2"))
    await office.learn("sail", there, person="ann2")
    await remember(office.store.facts, "ann2", "The boat is blue.", "person:ann2", office.clock.now())

    async def both(place: Place) -> frozenset[str]:
        return may_flow_from(place, {"person:ann2"})

    service = replace(office.service, audiences=both)
    ann = Asker(Person("ann", "Ann"), DM, "C1")
    assert [entry.plain for entry in (await service.answer(ann, "")).entries] == ["The boat is blue.", "sail"]
    for number in (1, 2):
        assert (await service.answer(ann, f"everywhere {number}")).text.startswith(memory_texts.OTHER_ACCOUNT)
    deleted = await service.answer(ann, "delete 2")
    assert [entry.plain for entry in deleted.entries] == ["The boat is blue."]
    restored = await service.answer(ann, f"undo {deleted.undo}")
    assert {entry.plain for entry in restored.entries} == {"The boat is blue.", "sail"}
    corrected = await service.answer(ann, "correct 1 The boat is red.")
    assert "The boat is red." in [entry.plain for entry in corrected.entries]
    assert "The boat is blue." not in [entry.plain for entry in corrected.entries]
    assert (await office.ask("", "ann2")).text == memory_texts.MEMORY_HEADING  # the goal is still there
