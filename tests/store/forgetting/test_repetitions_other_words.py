"""What the bot told again in other words falls with what it was told of, or its person decides about it. Both engines.

A scripted model never repeats a word: whatever a turn is given comes out under a marker of its own. So nothing but the
record of what each turn was given can lead from an erased message to what was made of it.
"""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place, label
from agent.memory.forgetting_plans import AboutTopic, OneThread, Receipt
from agent.memory.layers import WorkingItem
from agent.memory.profile import Insight, Partition, ProfileField, learned
from agent.memory.writing import NewFact, Written
from agent.schedules.definitions import NewSchedule, Schedule, ScheduleKind, Timing
from agent.turn_records import Closing
from store.engine import Store, open_store
from tests.contracts.steps import answered, claimed, proved
from tests.examples import examples
from tests.fakes.incoming import START, dm, said
from tests.fakes.new_database import new_database, open_new
from tests.store.forgetting.test_erase_anything import bytes_in, words_in_rows

HERE = label(dm("ann").audience)
CLUB = Place(GroupAudience("club"))
ILL = "the doctor found hepatitis in my blood"
THREAD = OneThread("ann", frozenset({"health"}))


async def told(
    store: Store,
    question: str,
    reply: str,
    *,
    given_by_tool: tuple[int, ...] = (),
    carried: tuple[int, ...] = (),
    facts: tuple[str, ...] = (),
    conversation: str = "later",
    person: str = "ann",
) -> tuple[int, int]:
    """A turn with these messages and facts in its context: the ids of its question and of its reply."""
    await store.ledger.accept(said(question, conversation=conversation, person=person))
    claim = await claimed(store)
    ending = Closing(
        Outcome.ANSWERED,
        reply,
        context_messages=(*given_by_tool, *carried),
        given_messages=given_by_tool,
        context_facts=facts,
    )
    await store.ledger.finish(claim, ending, claim.incoming.time)
    whole = await store.conversations.history(conversation, before_turn=10**6, limit=99)
    return claim.message, next(one.id for one in reversed(whole) if one.text == reply)


async def texts(store: Store, conversation: str = "later") -> list[str]:
    return [one.text for one in await store.conversations.history(conversation, before_turn=10**6, limit=99)]


async def forget(store: Store, *, related: bool = False) -> Receipt:
    receipt = await store.forgetting.forget(THREAD, START, related=related)
    assert proved(receipt)
    return receipt


async def test_what_recall_gave_and_the_bot_told_in_other_words_falls(either: Store) -> None:
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    await told(either, "what do I have?", "An inflamed liver.", given_by_tool=(ill.message,))
    preview = await either.forgetting.preview(THREAD)
    assert (preview.repetitions.count, preview.repetitions.lines) == (1, ("An inflamed liver.",))
    await forget(either)
    assert await texts(either) == ["what do I have?"]


async def test_what_was_told_of_what_was_told_falls_too(either: Store) -> None:
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    _, first = await told(either, "what do I have?", "An inflamed liver.", given_by_tool=(ill.message,))
    await told(either, "may I drink?", "Not with that organ.", given_by_tool=(first,), conversation="bar")
    await forget(either)
    assert (await texts(either), await texts(either, "bar")) == (["what do I have?"], ["may I drink?"])


async def test_a_single_short_word_of_what_memory_carried_along_is_enough(either: Store) -> None:
    """The word of the finding: nine letters, too few to count as a quotation."""
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    await told(either, "may I drink?", "No: hepatitis forbids it.", carried=(ill.message,))
    await forget(either)
    assert "hepatitis" not in await either.database.read(words_in_rows)


async def test_what_memory_carried_along_and_nothing_tells_of_is_for_its_person_to_decide(either: Store) -> None:
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    await told(either, "may I drink?", "Not with that organ.", carried=(ill.message,))
    preview = await either.forgetting.preview(THREAD)
    assert (preview.repetitions.count, preview.related.count) == (0, 1)
    assert preview.related.lines == ("Not with that organ.",)
    assert (await forget(either)).related == 1
    assert await texts(either) == ["may I drink?", "Not with that organ."]


async def test_who_decides_so_has_it_forgotten_too(either: Store) -> None:
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    await told(either, "may I drink?", "Not with that organ.", carried=(ill.message,))
    assert (await forget(either, related=True)).related == 0
    assert await texts(either) == ["may I drink?"]


async def test_what_the_person_says_again_once_they_were_told_is_shown_and_theirs_to_decide(either: Store) -> None:
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    _, first = await told(either, "what do I have?", "Hepatitis B.", given_by_tool=(ill.message,))
    await told(either, "so with hepatitis no wine?", "None.", carried=(first,))
    assert "so with hepatitis no wine?" in (await either.forgetting.preview(THREAD)).related.lines
    receipt = await forget(either)
    assert receipt.related == 2, "with its answer"
    assert "so with hepatitis no wine?" in await texts(either)


async def test_what_the_person_says_again_falls_with_its_answer_if_they_decide_so(either: Store) -> None:
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    _, first = await told(either, "what do I have?", "Hepatitis B.", given_by_tool=(ill.message,))
    await told(either, "so with hepatitis no wine?", "None.", carried=(first,))
    await forget(either, related=True)
    assert await texts(either) == ["what do I have?"]
    assert "epatitis" not in await either.database.read(words_in_rows)


async def test_what_was_told_to_somebody_else_falls_and_what_they_said_stays(either: Store) -> None:
    boat = await answered(either, said(ILL, conversation="health", place=CLUB), "noted")
    await told(either, "how is Ann?", "Her organ hurts.", given_by_tool=(boat.message,), person="ben")
    preview = await either.forgetting.preview(THREAD)
    assert (preview.repetitions.count, preview.repetitions.lines) == (1, ())
    await forget(either, related=True)
    assert await texts(either) == ["how is Ann?"]


async def test_what_others_say_is_nobody_elses_to_decide(either: Store) -> None:
    ill = await answered(either, said(ILL, conversation="health", place=CLUB), "noted")
    await told(either, "does hepatitis hurt?", "Sometimes.", given_by_tool=(ill.message,), person="ben")
    await forget(either, related=True)
    assert await texts(either) == ["does hepatitis hurt?"]


async def test_a_fact_in_other_words_takes_along_what_was_told_of_it(either: Store) -> None:
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    question, _ = await told(either, "remember my diagnosis", "Kept.", given_by_tool=(ill.message,))
    new = NewFact("", "diagnosis", "an inflamed liver", "user", START, HERE, person="ann", source_message=question)
    written = await either.facts.write(new)
    assert isinstance(written, Written)
    await told(either, "may I drink?", "Not with your liver.", facts=(written.fact.id,), conversation="bar")
    await forget(either)
    assert "liver" not in await either.database.read(words_in_rows)


async def test_what_the_profile_made_of_it_takes_along_what_was_told_of_that(either: Store) -> None:
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    partition = Partition("ann", HERE)
    insight = Insight(ProfileField.CONSTRAINTS, "has an inflamed liver", (ill.message,), START)
    profile = learned(await either.profiles.get(partition), HERE, [insight], 1, START)
    assert await either.profiles.save(partition, profile, [])
    await told(either, "may I drink?", "Not with your liver.", carried=(ill.message,))
    await forget(either)
    assert "liver" not in await either.database.read(words_in_rows)


async def test_an_answer_that_only_had_it_above_stays(either: Store) -> None:
    """Having stood in the history is no derivation."""
    ill = await answered(either, said(ILL, conversation="health", place=CLUB), "noted")
    await told(either, "and me?", "You are well.", carried=(ill.message,), conversation="health", person="ben")
    await forget(either)
    assert await texts(either, "health") == ["and me?", "You are well."]


async def test_a_word_that_the_question_already_has_proves_nothing(either: Store) -> None:
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    await told(either, "what is hepatitis?", "Hepatitis is an inflammation.", carried=(ill.message,))
    assert (await forget(either)).related == 2
    assert await texts(either) == ["what is hepatitis?", "Hepatitis is an inflammation."]


async def test_a_word_that_the_person_uses_all_the_time_proves_nothing(either: Store) -> None:
    for number in range(5):
        await answered(either, said(f"the doctor called {number}", conversation=f"calls {number}"), "noted")
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    await told(either, "whom shall I ask?", "A doctor.", carried=(ill.message,))
    await forget(either)
    assert "A doctor." in await texts(either)


async def test_an_answer_to_another_person_in_a_shared_thread_that_says_it_again_is_listed(either: Store) -> None:
    await either.ledger.accept(said(ILL, conversation="health", place=CLUB))
    claim = await claimed(either)
    await either.ledger.finish(claim, Closing(Outcome.ANSWERED, "noted"), claim.incoming.time)
    await either.ledger.accept(said("What is wrong with Ann?", conversation="health", person="ben", place=CLUB))
    asked = await claimed(either)
    reply = Closing(Outcome.ANSWERED, "The doctor found hepatitis in her blood.", context_messages=(claim.message,))
    await either.ledger.finish(asked, reply, asked.incoming.time)
    plan = AboutTopic("ann", "hepatitis")
    assert (await either.forgetting.preview(plan)).related.count >= 1
    receipt = await either.forgetting.forget(plan, START, related=True)
    assert proved(receipt)
    assert "The doctor found hepatitis in her blood." not in await texts(either, "health")


async def test_the_preview_says_whether_others_wrote_in_these_threads(either: Store) -> None:
    alone = await answered(either, said(ILL, conversation="alone"), "noted")
    assert alone.message
    assert not (await either.forgetting.preview(AboutTopic("ann", "hepatitis"))).is_shared
    await answered(either, said(ILL, conversation="health", place=CLUB), "noted")
    await answered(either, said("hello", conversation="health", person="ben", place=CLUB), "hi")
    assert (await either.forgetting.preview(AboutTopic("ann", "hepatitis"))).is_shared


async def told_below(store: Store) -> None:
    """Recall gave the first reply what is forgotten; the others were made with all above them in their history."""
    ill = await answered(store, said(ILL, conversation="health"), "noted")
    first = await told(store, "what do I have?", "An inflamed liver.", given_by_tool=(ill.message,))
    second = await told(store, "may I drink?", "Not with that organ.", carried=first)
    await told(store, "is it noon?", "Almost.", carried=(*first, *second))


async def test_the_answer_below_one_that_falls_is_listed_whatever_its_words_and_none_further_below(
    either: Store,
) -> None:
    await told_below(either)
    preview = await either.forgetting.preview(THREAD)
    assert (preview.repetitions.lines, preview.related.lines) == (("An inflamed liver.",), ("Not with that organ.",))
    assert (await forget(either)).related == preview.related.count == 1
    assert await texts(either) == ["what do I have?", "may I drink?", "Not with that organ.", "is it noon?", "Almost."]


async def test_whoever_decides_so_has_the_answer_below_forgotten_and_nothing_that_was_not_listed(
    either: Store,
) -> None:
    await told_below(either)
    assert (await forget(either, related=True)).related == 0
    assert await texts(either) == ["what do I have?", "may I drink?", "is it noon?", "Almost."]


async def test_with_the_answer_below_goes_what_recall_made_of_it_elsewhere(either: Store) -> None:
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    first = await told(either, "what do I have?", "An inflamed liver.", given_by_tool=(ill.message,))
    _, below = await told(either, "may I drink?", "Not with that organ.", carried=first)
    await told(either, "what did you forbid?", "Wine.", given_by_tool=(below,), conversation="bar")
    preview = await either.forgetting.preview(THREAD)
    assert set(preview.related.lines) == {"Not with that organ.", "Wine."}
    await forget(either, related=True)
    assert (await texts(either), await texts(either, "bar")) == (
        ["what do I have?", "may I drink?"],
        ["what did you forbid?"],
    )


async def test_below_the_answer_to_a_topic_the_next_to_that_person_is_listed_and_none_to_others(
    either: Store,
) -> None:
    ill = await answered(either, said(ILL, conversation="later", place=CLUB), "An inflamed liver.")
    above = (ill.message, ill.message + 1)
    await told(either, "and me?", "You are well.", carried=above, person="ben")
    await told(either, "may I drink?", "Not with that organ.", carried=above)
    await told(either, "is it noon?", "Almost.", carried=above)
    related = (await either.forgetting.preview(AboutTopic("ann", "hepatitis"))).related
    assert (related.count, related.lines) == (1, ("Not with that organ.",))


async def test_a_next_answer_that_was_made_without_the_one_above_is_not_listed(either: Store) -> None:
    ill = await answered(either, said(ILL, conversation="health"), "noted")
    await told(either, "what do I have?", "An inflamed liver.", given_by_tool=(ill.message,))
    await told(either, "is it noon?", "Almost.")
    assert (await either.forgetting.preview(THREAD)).related.count == 0


Way = Literal["tool", "carried", "fact", "none"]


@dataclass(frozen=True)
class Talk:
    """Somebody asks in a room, and is told again, under a marker of its own, what this way led there from before."""

    person: str
    room: str
    way: Way
    of: int


@dataclass
class Life:
    """`came_of`: by its marker what each reply was made of; markers of questions are made of nothing."""

    store: Store
    markers: list[str] = field(default_factory=list[str])
    rows: list[int] = field(default_factory=list[int])
    facts: list[str] = field(default_factory=list[str])
    came_of: dict[str, str] = field(default_factory=dict[str, str])
    threads: dict[str, OneThread] = field(default_factory=dict[str, OneThread])
    reminders: dict[str, OneThread] = field(default_factory=dict[str, OneThread])

    async def live(self, talk: Talk) -> None:
        number = len(self.markers) // 2
        asked, made = f"question{number:03}quince", f"answer{number:03}marmalade"
        own = talk.room == "own"
        conversation = f"own of {talk.person}" if own else talk.room
        place = dm(talk.person) if own else Place(GroupAudience(talk.room))
        incoming = replace(
            said(asked, person=talk.person, conversation=conversation, place=place),
            time=START + number * timedelta(hours=1),
        )
        await self.store.ledger.accept(incoming)
        claim = await claimed(self.store)
        messages, facts = self._drawn(talk, conversation, made)
        closing = Closing(
            Outcome.ANSWERED,
            made,
            context_messages=messages,
            given_messages=messages if talk.way == "tool" else (),
            context_facts=facts,
        )
        await self.store.ledger.finish(claim, closing, incoming.time)
        whole = await self.store.conversations.history(conversation, before_turn=10**6, limit=99)
        self.markers += [asked, made]
        self.rows += [claim.message, next(one.id for one in whole if one.text == made)]
        self.threads |= dict.fromkeys((asked, made), OneThread(talk.person, frozenset({conversation})))
        audience = label(place.audience)
        new = NewFact("", f"fact{number:03}of", f"{asked} kept", "user", incoming.time, audience, talk.person)
        written = await self.store.facts.write(replace(new, source_message=claim.message))
        assert isinstance(written, Written)
        self.facts.append(written.fact.id)
        await self._remind(incoming, number, made)
        kept_until = incoming.time + timedelta(days=30)
        note = WorkingItem(f"note{number:03}of", f"note{number:03}plum", incoming.time, kept_until, claim.message)
        await self.store.working_set.store_item(conversation, audience, note)
        self.came_of[note.value] = made

    async def _remind(self, incoming: Incoming, number: int, made: str) -> None:
        """In every turn a reminder is made, in words of its own."""
        words = f"reminder{number:03}lemon"
        timing = Timing("UTC", at=START + timedelta(days=30))
        new = NewSchedule(
            incoming.person.id,
            incoming.source,
            incoming.channel,
            incoming.place,
            ScheduleKind.REMINDER,
            words,
            timing,
            incoming.time,
            conversation=incoming.conversation,
            message=incoming.message_id,
        )
        assert isinstance(await self.store.schedules.add(new), Schedule)
        self.reminders[words] = self.threads[made]
        self.came_of[words] = made

    def _drawn(self, talk: Talk, conversation: str, made: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
        if not self.markers or talk.way == "none":
            return (), ()
        at = talk.of % len(self.markers)
        if talk.way == "fact":
            at -= at % 2
            self.came_of[made] = self.markers[at]
            return (self.rows[at],), (self.facts[at // 2],)
        above = self.threads[self.markers[at]].conversations == frozenset({conversation})
        if talk.way == "tool" or not above:  # what stood above is no derivation
            self.came_of[made] = self.markers[at]
        return (self.rows[at],), ()

    def made_of(self, fallen: set[str]) -> set[str]:
        """What came of this, and of that in turn."""
        found = set(fallen)
        while new := {one for one, of in self.came_of.items() if of in found and one not in found}:
            found |= new
        return found - fallen


talks = st.builds(
    Talk,
    st.sampled_from(("ann", "ben")),
    st.sampled_from(("own", "club", "yard")),
    st.sampled_from(("tool", "carried", "fact", "none")),
    st.integers(0, 9),
)


# What a reply that may have been made of it was itself given to.
CHAIN = [Talk("ann", "club", "tool", 0), Talk("ann", "own", "carried", 0), Talk("ann", "own", "tool", 3)]


@settings(max_examples=examples(12, always=True), deadline=None)
@given(lives=st.lists(talks, min_size=2, max_size=6), at=st.integers(0, 9))
@example(lives=CHAIN, at=0)
async def test_no_row_holds_what_was_told_in_other_words_unless_the_preview_has_shown_it(
    lives: list[Talk], at: int
) -> None:
    store = await open_new()
    try:
        life = Life(store)
        for talk in lives:
            await life.live(talk)
        plan = life.threads[life.markers[at % len(life.markers)]]
        fallen = {marker for marker, thread in life.threads.items() if thread == plan}
        wanted = life.made_of(fallen)
        preview = await store.forgetting.preview(plan)
        assert proved(await store.forgetting.forget(plan, START))
        held = await store.database.read(words_in_rows)
        assert [one for one in fallen if one in held] == []
        left = {one for one in wanted if one in held}
        assert len(left) <= preview.related.count
    finally:
        await store.close()


@settings(max_examples=examples(12, always=True), deadline=None)
@given(st.lists(talks, min_size=2, max_size=6), st.integers(0, 9))
async def test_whoever_wants_that_too_leaves_nothing_of_it_in_any_row_or_byte(lives: list[Talk], at: int) -> None:
    with TemporaryDirectory() as folder:
        store = await open_store(await new_database(Path(folder) / "store.db"))
        try:
            life = Life(store)
            for talk in lives:
                await life.live(talk)
            plan = life.threads[life.markers[at % len(life.markers)]]
            fallen = {marker for marker, thread in life.threads.items() if thread == plan}
            preview = await store.forgetting.preview(plan)
            receipt = await store.forgetting.forget(plan, START, related=True)
            assert proved(receipt)
            shown = preview.counts["messages"] + preview.counts.get("schedules", 0) + preview.related.count
            assert receipt.erased["messages"] + receipt.erased.get("schedules", 0) <= shown
            gone = life.made_of(fallen) | fallen
            held, written = await store.database.read(words_in_rows), bytes_in(Path(folder))
            assert [one for one in gone if one in held or one.encode() in written] == []
        finally:
            await store.close()


@pytest.mark.parametrize("way", ["tool", "carried", "fact"])
async def test_each_way_of_being_told_is_found(way: Way) -> None:
    store = await open_new()
    try:
        life = Life(store)
        for talk in (Talk("ann", "club", "none", 0), Talk("ann", "own", way, 0)):
            await life.live(talk)
        plan = OneThread("ann", frozenset({"club"}))
        preview = await store.forgetting.preview(plan)
        assert (preview.repetitions.count, preview.related.count) == ((1, 0) if way == "tool" else (0, 2))
        assert preview.counts["schedules"] == (2 if way == "tool" else 1)
        assert way == "tool" or "reminder001lemon" in preview.related.lines
        await store.forgetting.forget(plan, START, related=True)
        held = await store.database.read(words_in_rows)
        assert [one for one in (life.markers[3], "reminder000lemon", "reminder001lemon") if one in held] == []
    finally:
        await store.close()
