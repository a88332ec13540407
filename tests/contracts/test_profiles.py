"""The contract of the port Profiles: what is known stays in its audience, is learned once, falls with its sources."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place
from agent.memory.forgetting_plans import Everything
from agent.memory.profile import LEARNING, Insight, Partition, ProfileField, UserProfile, learned, partition_of
from agent.memory.synthesizer import synthesised
from agent.messages import ModelCall, Usage
from agent.spending import By, SpendingPeriod, Spent
from agent.state import SituationSummary
from agent.turn_records import Closing
from store.engine import Store
from tests.contracts.steps import claimed, in_memory_too, proved, same_on_postgresql, summary_of
from tests.fakes.incoming import LEASE, START, dm, said
from tests.fakes.plans import one_thread

CLUB = Place(GroupAudience("club"))
DM = Partition("ann", "person:ann")
IN_CLUB = Partition("ann", "group:club")
MINUTE = timedelta(minutes=1)
F = ProfileField


async def heard(store: Store, incoming: Incoming, *, reply: str = "ok", at: int = 1) -> int:
    """Answer it, and let it be learned from after so many minutes; the id of the stored question."""
    await store.ledger.accept(incoming)
    claim = await claimed(store)
    closing = Closing(Outcome.ANSWERED, reply, learn_at=START + at * MINUTE)
    await store.ledger.finish(claim, closing, START)
    return claim.message


def insight(text: str, *sources: int, field: ProfileField = F.GOALS, key: str = "", minute: int = 0) -> Insight:
    return Insight(field, text, sources, START + minute * MINUTE, key, 0.75)


async def learn(store: Store, partition: Partition, *insights: Insight) -> UserProfile:
    """Everything that waits there, told as these insights."""
    waiting = await store.profiles.unlearned(partition, 99)
    profile = learned(await store.profiles.get(partition), partition.audience, insights, len(waiting), START)
    assert await store.profiles.save(partition, profile, waiting)
    return await store.profiles.get(partition)


async def texts(store: Store, *audiences: str) -> list[str]:
    return [entry.full_text for entry in (await store.profiles.readable("ann", frozenset(audiences))).entries]


@same_on_postgresql
async def test_what_was_asked_waits_to_be_learned_from_in_its_partition_in_order(store: Store) -> None:
    await heard(store, said("one", place=dm("ann")))
    await heard(store, said("two", place=CLUB, conversation="club"))
    await heard(store, said("three", conversation="another"))
    await heard(store, said("four", person="ben", place=CLUB, conversation="club"))
    assert [one.text for one in await store.profiles.unlearned(DM, 9)] == ["one", "three"]
    assert [one.text for one in await store.profiles.unlearned(DM, 1)] == ["one"]
    assert [one.text for one in await store.profiles.unlearned(IN_CLUB, 9)] == ["two"]


async def test_what_nobody_answered_or_what_is_not_to_be_learned_does_not_wait(store: Store) -> None:
    await store.ledger.record_context_message(said("between others", place=CLUB, conversation="club"))
    await store.ledger.accept(said("off the record"))
    await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "ok"), START)
    await store.ledger.accept(said("not answered yet"))
    assert await store.profiles.unlearned(DM, 9) == []
    assert await store.profiles.unlearned(IN_CLUB, 9) == []


@same_on_postgresql
async def test_each_partition_has_one_job_which_a_newer_message_puts_off(store: Store) -> None:
    await heard(store, said("one"), at=1)
    await heard(store, said("two"), at=3)
    await heard(store, said("in the club", place=CLUB, conversation="club"), at=2)
    found = [await store.jobs.claim(frozenset({LEARNING}), "w", START + n * MINUTE, 9 * MINUTE) for n in (1, 2, 3, 4)]
    assert [job and partition_of(job.person, job.key) for job in found] == [None, IN_CLUB, DM, None]


@same_on_postgresql
async def test_a_partition_in_which_enough_has_gathered_waits_no_longer(store: Store) -> None:
    for number in range(19):
        await heard(store, said(f"message {number}"), at=60)
    assert await store.jobs.claim(frozenset({LEARNING}), "w", START, LEASE) is None
    await heard(store, said("the twentieth"), at=60)
    assert await store.jobs.claim(frozenset({LEARNING}), "w", START, LEASE) is not None


async def test_what_joined_a_turn_is_learned_from_with_it(store: Store) -> None:
    await store.ledger.accept(said("one"))
    claim = await claimed(store)
    await store.ledger.accept(said("and two"))
    joined = tuple(await store.ledger.waiting(claim))
    closing = Closing(Outcome.ANSWERED, "both", joined=joined, learn_at=START)
    await store.ledger.finish(claim, closing, START)
    assert [one.text for one in await store.profiles.unlearned(DM, 9)] == ["one", "and two"]


@same_on_postgresql
async def test_what_was_learned_comes_back_as_it_was_with_the_link_to_its_source(store: Store) -> None:
    first = await heard(store, said("I use Vim and want to learn Rust"))
    second = await heard(store, replace(said("Rust, really"), permalink="https://example.test/rust"))
    vim = insight("Vim", first, field=F.PREFERENCES, key="editor", minute=1)
    kept = await learn(store, DM, vim, insight("learn Rust", first, second, minute=2))
    assert await store.profiles.unlearned(DM, 9) == []
    assert (kept.interaction_count, kept.revision, kept.created_at, kept.last_updated) == (2, 1, START, START)
    assert [(one.full_text, one.sources, one.confidence) for one in kept.entries] == [
        ("editor: Vim", (first,), 0.75),
        ("learn Rust", (first, second), 0.75),
    ]
    [_, rust] = (await store.profiles.readable("ann", frozenset({"person:ann"}))).entries
    assert (rust.time, rust.permalink) == (START + 2 * MINUTE, "https://example.test/rust")
    assert rust.id


@same_on_postgresql
async def test_changes_removals_and_new_entries_are_kept(store: Store) -> None:
    id_ = await heard(store, said("much"))
    kept = await learn(store, DM, insight("one", id_), insight("two", id_, minute=1), insight("three", id_, minute=2))
    one, _, three = kept.entries
    new = replace(one, id=0, text="four", time=START + 9 * MINUTE)
    assert await store.profiles.save(DM, synthesised(replace(kept, entries=(one, replace(three, text="3"), new))))
    again = await store.profiles.get(DM)
    assert [entry.text for entry in again.entries] == ["one", "3", "four"]
    assert [entry.id for entry in again.entries[:2]] == [one.id, three.id]
    assert (again.synthesis_version, again.synthesised_count) == (1, 1)


async def test_what_is_known_is_read_where_its_audience_may_flow_and_of_its_person_only(store: Store) -> None:
    await learn(store, DM, insight("from the DM", await heard(store, said("x"))))
    await learn(
        store, IN_CLUB, insight("from the club", await heard(store, said("y", place=CLUB, conversation="club")))
    )
    ben = Partition("ben", "group:club")
    asked = said("z", person="ben", place=CLUB, conversation="club")
    await learn(store, ben, insight("of Ben", await heard(store, asked)))
    assert await texts(store, "person:ann") == ["from the DM"]
    assert await texts(store, "group:club") == ["from the club"]
    assert sorted(await texts(store, "group:club", "person:ann", "person:ben")) == ["from the DM", "from the club"]
    assert await texts(store) == []


@in_memory_too
async def test_of_two_who_learn_from_the_same_messages_one_is_told_to_begin_anew(store: Store) -> None:
    id_ = await heard(store, said("x"))
    read, waiting = await store.profiles.get(DM), await store.profiles.unlearned(DM, 99)
    became = [learned(read, DM.audience, [insight(f"worker {n}", id_)], 1, START) for n in range(9)]
    kept = await asyncio.gather(*(store.profiles.save(DM, one, waiting) for one in became))
    assert sum(kept) == 1
    profile = await store.profiles.get(DM)
    assert (len(profile.entries), profile.interaction_count) == (1, 1)
    assert not await store.profiles.save(DM, learned(profile, DM.audience, [], 1, START), waiting)


async def test_nothing_is_learned_from_what_was_forgotten_meanwhile(store: Store) -> None:
    id_ = await heard(store, said("my secret boat"))
    waiting = await store.profiles.unlearned(DM, 99)
    profile = learned(await store.profiles.get(DM), DM.audience, [insight("has a boat", id_)], 1, START)
    assert proved(await store.forgetting.forget(Everything("ann"), START))
    assert not await store.profiles.save(DM, profile, waiting)
    assert await texts(store, "person:ann") == []


@same_on_postgresql
async def test_nothing_is_learned_from_words_that_were_edited_meanwhile(store: Store) -> None:
    asked = said("my secret boat")
    id_ = await heard(store, asked)
    waiting = await store.profiles.unlearned(DM, 99)
    assert await store.forgetting.update_text(
        asked.source, asked.channel, asked.message_id or "", "my car", START, START
    )
    profile = learned(await store.profiles.get(DM), DM.audience, [insight("has a boat", id_)], 1, START)
    assert not await store.profiles.save(DM, profile, waiting)
    assert [one.text for one in await store.profiles.unlearned(DM, 99)] == ["my car"]


async def test_forgetting_a_thread_takes_what_came_of_it_and_what_was_merged_with_it(store: Store) -> None:
    boat = await heard(store, said("I build a boat", conversation="boats"))
    rust = await heard(store, said("I learn Rust", conversation="code"))
    await learn(store, DM, insight("builds boats", boat), insight("learns Rust", rust), insight("both", boat, rust))
    receipt = await store.forgetting.forget(one_thread("ann", "boats"), START)
    assert proved(receipt)
    assert receipt.erased["profile"] == 2
    assert await texts(store, "person:ann") == ["learns Rust"]
    assert [one.id for one in await store.profiles.unlearned(DM, 9)] == [rust]


async def test_an_entry_that_quotes_a_forgotten_message_falls_whatever_source_it_names(store: Store) -> None:
    await heard(store, said("my boat is Zanzibarwhisper", conversation="boats"))
    rust = await heard(store, said("I learn Rust", conversation="code"))
    await learn(store, DM, insight("learns Rust on the Zanzibarwhisper", rust))
    assert proved(await store.forgetting.forget(one_thread("ann", "boats"), START))
    assert await texts(store, "person:ann") == []


async def test_who_learns_while_something_is_forgotten_begins_anew(store: Store) -> None:
    boat = await heard(store, said("I build a boat", conversation="boats"))
    before = await learn(store, DM, insight("builds boats", boat))
    await store.forgetting.forget(one_thread("ann", "boats"), START)
    assert not await store.profiles.save(DM, synthesised(before))
    assert await texts(store, "person:ann") == []


async def test_forgetting_everything_takes_the_whole_profile_and_nobody_elses(store: Store) -> None:
    await learn(store, DM, insight("builds boats", await heard(store, said("I build a boat"))))
    ben = Partition("ben", "person:ben")
    await learn(store, ben, insight("learns Rust", await heard(store, said("Rust", person="ben", conversation="b"))))
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert proved(receipt)
    assert receipt.erased["profile"] == 1
    assert await store.profiles.get(DM) == UserProfile("ann")
    assert len((await store.profiles.get(ben)).entries) == 1


async def test_forgetting_takes_the_summary_of_a_turn_that_used_what_came_of_it(store: Store) -> None:
    boat = await heard(store, said("my boat is Zanzibarwhisper", conversation="boats"))
    [entry] = (await learn(store, DM, insight("has a boat", boat))).entries
    await store.ledger.accept(said("what do I have?", conversation="later"))
    summary = SituationSummary(key_findings="has a boat")
    closing = Closing(Outcome.ANSWERED, "A boat.", summary=summary, context_messages=entry.sources)
    await store.ledger.finish(await claimed(store), closing, START)
    assert proved(await store.forgetting.forget(one_thread("ann", "boats"), START))
    assert await summary_of(store, "later") == SituationSummary()


async def test_calls_that_learn_are_charged_to_the_person(store: Store) -> None:
    calls = [ModelCall("openai:gpt-6-luna", Usage(10, 20, 30, 4)), ModelCall("ollama:llama3.2", Usage(5))]
    await store.spending.charge("ann", LEARNING, calls, START)
    await store.spending.charge("ann", LEARNING, [], START)
    period = SpendingPeriod.days_until(START, 1)
    assert [total.spent for total in await store.spending.totals(period, By.PERSON)] == [Spent.on(calls)]
    await store.forgetting.forget(Everything("ann"), START)
    assert [total.spent for total in await store.spending.totals(period, By.DAY)] == [Spent.on(calls)]


async def used(store: Store) -> list[tuple[str, int | None, int | None]]:
    """Each entry's text, and after how many minutes it was last used and kept."""
    entries = await store.profiles.all_entries("ann", frozenset({DM.audience}))
    return [
        (one.text, one.used and (one.used - START) // MINUTE, one.kept and (one.kept - START) // MINUTE)
        for one in entries
    ]


async def test_the_entries_of_a_turns_context_are_marked_as_used_when_it_ends(store: Store) -> None:
    first, second = await heard(store, said("one")), await heard(store, said("two"))
    rust, tea = (await learn(store, DM, insight("Rust", first), insight("tea", second))).entries
    await store.ledger.accept(said("three"))
    closing = Closing(Outcome.ANSWERED, "ok", used_entries=(rust.id, 10**6))
    await store.ledger.finish(await claimed(store), closing, START + 5 * MINUTE)
    assert await used(store) == [("Rust", 5, None), ("tea", None, None)]
    assert await store.profiles.keep("ann", tea.id, START + 7 * MINUTE)
    assert not await store.profiles.keep("ben", tea.id, START + 9 * MINUTE), "another person's"
    assert not await store.profiles.keep("ann", 10**6, START)
    assert await used(store) == [("Rust", 5, None), ("tea", None, 7)]
    await learn(store, DM, insight("cycling", first, minute=1))
    assert (await used(store))[:2] == [("Rust", 5, None), ("tea", None, 7)], "learning does not change it"
