"""The contract of the port Conversations: what stands in a thread, and which threads are a person's."""

from dataclasses import replace
from datetime import timedelta

from agent.events import Outcome
from agent.memory.attribution import FILES_NOTE, mention
from agent.memory.audience import GroupAudience, Place, label
from agent.memory.forgetting_plans import Everything
from agent.state import SituationSummary
from agent.stored_messages import LastSeen
from agent.turn_records import Closing
from store.engine import Store
from tests.contracts.steps import answered, claimed, same_on_postgresql, summary_of
from tests.fakes.incoming import START, said

CLUB = Place(GroupAudience("club"))


@same_on_postgresql
async def test_history_holds_earlier_turns_only_each_question_followed_by_its_answer(store: Store) -> None:
    await store.ledger.accept(said("first?"))
    late = await store.ledger.accept(said("second?"))
    await store.ledger.accept(said("third?"))
    await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "first."), START)
    second = await claimed(store)
    history = await store.conversations.history("thread", before_turn=second.turn, limit=9)
    assert second.turn == late.turn
    assert [m.text for m in history] == ["first?", "first."]
    await store.ledger.finish(second, Closing(Outcome.ANSWERED, "second."), START)
    history = await store.conversations.history("thread", before_turn=(await claimed(store)).turn, limit=9)
    assert [m.text for m in history] == ["first?", "first.", "second?", "second."]


@same_on_postgresql
async def test_history_is_cut_to_the_latest_messages(store: Store) -> None:
    for number in range(3):
        await answered(store, said(f"question {number}"), f"answer {number}")
    last = await answered(store, said("question 3"), "answer 3")
    history = await store.conversations.history("thread", before_turn=last.turn, limit=3)
    assert [m.text for m in history] == ["answer 1", "question 2", "answer 2"]
    assert await store.conversations.history("thread", before_turn=last.turn, limit=0) == []


@same_on_postgresql
async def test_history_is_of_one_conversation(store: Store) -> None:
    await answered(store, said("here", conversation="a"), "yes")
    claim = await answered(store, said("there", conversation="b"), "yes")
    history = await store.conversations.history("b", before_turn=claim.turn + 1, limit=9)
    assert [m.text for m in history] == ["there", "yes"]


@same_on_postgresql
async def test_a_stored_message_knows_who_where_and_when(store: Store) -> None:
    message = said("hello", place=Place(GroupAudience("club")))
    claim = await answered(store, message, "hi")
    [question, _] = await store.conversations.history("thread", before_turn=claim.turn + 1, limit=9)
    assert (question.person, question.name, question.time) == ("ann", "Ann", message.time)
    assert (question.audience, question.message_id) == ("group:club", message.message_id)
    assert (question.conversation, question.permalink) == ("thread", message.permalink)


@same_on_postgresql
async def test_a_new_conversation_has_an_empty_summary(store: Store) -> None:
    assert await summary_of(store, "nowhere") == SituationSummary()


async def test_threads_can_be_listed_of_what_was_said_to_some_audiences_only(store: Store) -> None:
    await answered(store, said("In the club?", conversation="club", place=Place(GroupAudience("club"))), "Yes.")
    await answered(store, said("Alone?", conversation="dm"), "Yes.")
    await answered(store, said("Ben's?", person="ben", conversation="dm", place=Place(GroupAudience("club"))), "Yes.")
    alone, club = frozenset({"person:ann"}), frozenset({"group:club"})
    assert [one.title for one in await store.conversations.threads("ann", limit=9, audiences=alone)] == ["Alone?"]
    assert [one.title for one in await store.conversations.threads("ann", limit=9, audiences=club)] == ["In the club?"]
    assert await store.conversations.threads("ann", limit=9, audiences=frozenset()) == []


async def test_threads_are_those_in_which_the_person_wrote_the_latest_first(store: Store) -> None:
    club = Place(GroupAudience("club"))
    await answered(store, said("old question", conversation="a"), "old answer")
    last = said("new question", conversation="b", place=club)
    await answered(store, last, "new answer")
    await answered(store, said("more of the old", conversation="a"), "indeed")
    await answered(store, said("not mine", conversation="c", person="ben", place=club), "no")
    [first, second] = await store.conversations.threads("ann", limit=9)
    assert (first.conversation, first.title, first.messages) == ("a", "old question", 4)
    assert (second.conversation, second.title, second.messages) == ("b", "new question", 2)
    assert second.last > last.time
    assert [t.conversation for t in await store.conversations.threads("ann", limit=1)] == ["a"]
    assert await store.conversations.threads("nobody", limit=9) == []


@same_on_postgresql
async def test_a_thread_says_whether_its_first_question_is_in_the_persons_own_words_alone(store: Store) -> None:
    asked = {
        "own": said("And what is this?"),
        "quote": said("> mail everything on\nwhat is this?"),
        "code": said("what is ```mail everything on```"),
        "name": said(f"what does {mention('Ben, mail everything on')} say?"),
        "schedule": replace(said("mail everything on"), own=False),
    }
    for conversation, question in asked.items():
        await answered(store, replace(question, conversation=conversation), "It is.")
    found = {one.conversation: one.own for one in await store.conversations.threads("ann", limit=9)}
    assert found == {conversation: conversation == "own" for conversation in asked}


@same_on_postgresql
async def test_questions_are_what_the_person_wrote_last_in_all_conversations(store: Store) -> None:
    await answered(store, said("one", conversation="a"), "1")
    await answered(store, said("two", conversation="b"), "2")
    await answered(store, said("not mine", conversation="b", person="ben"), "3")
    await answered(store, replace(said("a schedule's", conversation="b"), own=False), "3")
    await answered(store, said("three", conversation="a"), "4")
    assert await store.conversations.questions("ann", limit=9) == ["one", "two", "three"]
    assert await store.conversations.questions("ann", limit=2) == ["two", "three"]
    assert await store.conversations.questions("ann", limit=0) == []


@same_on_postgresql
async def test_questions_are_what_the_person_wrote_last_in_every_conversation(store: Store) -> None:
    for text, person, conversation in [
        ("one", "ann", "a"),
        ("two", "bob", "a"),
        ("three", "ann", "b"),
        ("four", "ann", "a"),
    ]:
        await store.ledger.accept(said(text, person=person, conversation=conversation))
    assert await store.conversations.questions("ann", limit=2) == ["three", "four"]
    assert await store.conversations.questions("ann", limit=0) == []


@same_on_postgresql
async def test_participants_are_those_who_wrote_in_a_known_conversation(store: Store) -> None:
    await answered(store, said("hello", person="ann"), "hi")
    await store.ledger.record_context_message(said("me too", person="bob"))
    await store.ledger.accept(said("elsewhere", person="eve", conversation="another"))
    assert await store.conversations.participants("thread") == {"ann", "bob"}
    assert await store.conversations.participants("nowhere") is None


async def test_the_last_message_of_each_conversation_is_known_the_latest_conversation_first(store: Store) -> None:
    first, other, last = (said("?", conversation=conversation) for conversation in ("a", "b", "a"))
    for one in (first, other, last):
        await store.ledger.accept(one)
    await store.ledger.record_context_message(heard := said("oh", conversation="b"))
    await store.ledger.accept(replace(said("?", conversation="c"), source="elsewhere"))
    seen = await store.conversations.last_seen("test", since=first.time, limit=9)
    assert seen == [LastSeen(one.conversation, one.channel, one.message_id, one.time) for one in (heard, last)]
    assert await store.conversations.last_seen("test", since=first.time, limit=1) == seen[:1]
    assert await store.conversations.last_seen("test", since=heard.time, limit=9) == seen[:1]
    assert await store.conversations.last_seen("nowhere", since=first.time, limit=9) == []


@same_on_postgresql
async def test_what_the_bot_answered_does_not_count_as_seen(store: Store) -> None:
    await answered(store, asked := said("?"), "!")
    [seen] = await store.conversations.last_seen("test", since=asked.time, limit=9)
    assert seen.message_id == asked.message_id


async def test_it_is_kept_until_when_a_platform_has_been_heard(store: Store) -> None:
    assert await store.conversations.watermark("test") is None
    for minutes in (0, 5):
        await store.conversations.set_watermark("test", START + timedelta(minutes=minutes))
    assert await store.conversations.watermark("test") == START + timedelta(minutes=5)
    assert await store.conversations.watermark("elsewhere") is None


async def test_what_somebody_said_and_was_answered_comes_newest_first_in_pages_and_for_its_readers_alone(
    store: Store,
) -> None:
    for number in range(3):
        await answered(store, said(f"boat {number}", conversation="club", place=CLUB), f"answer {number}")
    await answered(store, said("my train", conversation="club", person="ben", place=CLUB), "a train")
    await answered(store, said("my secret", conversation="own"), "sh")
    readers = frozenset({label(CLUB.audience)})
    first = await store.conversations.messages_of("ann", readers, before=None, limit=4)
    assert [one.text for one in first] == ["answer 2", "boat 2", "answer 1", "boat 1"]
    rest = await store.conversations.messages_of("ann", readers, before=first[-1].id, limit=4)
    assert [one.text for one in rest] == ["answer 0", "boat 0"]


async def test_what_was_written_with_files_is_found_here_and_of_the_person_elsewhere_for_its_readers_until_forgotten(
    store: Store,
) -> None:
    note = f"look{FILES_NOTE}"
    for words, where, person, place in (
        ("plan.pdf)", "club", "ann", CLUB),
        ("100%.pdf)", "club", "ben", CLUB),
        ("own.pdf)", "other club", "ann", CLUB),
        ("bens.pdf)", "other club", "ben", CLUB),
        ("secret.pdf)", "own", "ann", None),
    ):
        await answered(store, said(note + words, conversation=where, person=person, place=place), note + "made.pdf)")
    await answered(store, said("no file", conversation="club", place=CLUB), "none")
    readers = frozenset({label(CLUB.audience)})

    async def names(limit: int = 9) -> list[str]:
        told = await store.conversations.attached_messages("ann", "club", readers, limit=limit)
        return [one.text.removeprefix(note) for one in told]

    assert await names() == ["100%.pdf)", "plan.pdf)", "own.pdf)"]
    assert await names(limit=1) == ["100%.pdf)", "own.pdf)"]
    first = (await store.conversations.attached_messages("ann", "club", readers, limit=9))[1]
    assert (first.channel, first.person, first.name, first.audience) == ("channel", "ann", "Ann", "group:club")
    await store.forgetting.forget(Everything("ann"), START)
    assert await names() == ["100%.pdf)"]
