"""The contract of the port Forgetting: time, words, deletions, places, age; previews, edits, replies in platforms."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.events import Outcome
from agent.jobs import Job
from agent.memory.audience import AudienceKind, GroupAudience, Place
from agent.memory.forgetting_plans import (
    EDIT,
    AboutTopic,
    Deleted,
    During,
    Everything,
    Expired,
    ForgettingPlan,
    Gone,
    post_key,
)
from agent.memory.periods import TimeSpan
from agent.memory.profile import LEARNING
from agent.presentations import follow_up_id
from agent.recall_query import RecallQuery
from agent.repeats import repeat_of
from agent.schedules.long_work import work_conversation
from agent.shown_replies import DELETE_REPLY, ShownPage, ShownReply
from agent.turn_kinds import TurnKind
from agent.turn_records import Closing
from store.engine import Store
from tests.contracts.steps import answered, claimed, proved, texts_found
from tests.fakes.facts import remember
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.plans import one_thread

CLUB = Place(GroupAudience("club"))
DM = frozenset({"person:ann"})


async def said_in(store: Store, conversation: str) -> list[str]:
    return [m.text for m in await store.conversations.history(conversation, before_turn=10**6, limit=99)]


async def test_what_was_said_in_a_period_falls_with_its_answers_and_nothing_else(store: Store) -> None:
    first, second = said("my boat"), said("my train")
    await answered(store, first, "a boat")
    await answered(store, second, "a train")
    plan = During("ann", TimeSpan(second.time, second.time + timedelta(hours=1)))
    assert (await store.forgetting.preview(plan)).lines == ("my train",)
    assert proved(await store.forgetting.forget(plan, START))
    assert await said_in(store, "thread") == ["my boat", "a boat"]


async def test_what_speaks_of_something_falls_wherever_it_was_said_and_whatever_was_learned(store: Store) -> None:
    await answered(store, said("the Apollo boats", conversation="a"), "noted")
    await answered(store, said("my train", conversation="b"), "not Apollo's boat")
    await answered(store, said("Apollo's boat", person="ben", conversation="c"), "noted")
    await remember(store.facts, "ann", "Apollo has a boat", "person:ann", START)
    preview = await store.forgetting.preview(AboutTopic("ann", "apollo boat"))
    assert (preview.counts["messages"], preview.counts["facts"]) == (3, 1)
    assert set(preview.lines) == {"the Apollo boats", "Apollo has a boat"}
    assert proved(await store.forgetting.forget(AboutTopic("ann", "apollo boat"), START))
    assert [await said_in(store, each) for each in "abc"] == [[], ["my train"], ["Apollo's boat", "noted"]]
    assert await store.facts.readable("ann", DM) == []
    assert (await store.forgetting.preview(AboutTopic("ann", "apollo boat"))).is_empty


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("boat", 2),
        ("BOATS", 2),
        ("café", 1),
        ("cafe’s boat", 1),
        ("東京", 1),
        ("京", 1),
        ('"boat" OR train*', 0),
        ("the", 2),
        ("boa", 0),
        ("“”", 0),
    ],
)
async def test_something_is_found_by_its_words_in_any_ending_case_and_script(
    store: Store, words: str, found: int
) -> None:
    for text in ("the boats of the Café", "My Boat's new", "東京タワー", "the trains"):
        await store.ledger.record_context_message(said(text))
    await store.ledger.record_context_message(said("the boats of the Café in 東京", person="ben"))
    assert (await store.forgetting.preview(AboutTopic("ann", words))).counts["messages"] == found


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("Katze", "Das Kätzchen schläft im Korb."),
        ("Lehrer", "Meine Lehrerin heißt Frau Blum."),
        ("lápiz", "Compré seis lápices de color."),
        ("gatto", "Il mio gattino beve solo acqua."),
        ("avião", "Os aviões passam por cima da casa."),
        ("acteur", "L'actrice est en retard."),
        ("ネコ", "うちのねこは三歳です。"),
        ("りんご", "リンゴを毎朝食べます。"),
    ],
)
async def test_recall_and_forgetting_find_the_same_forms_of_a_topic(store: Store, words: str, text: str) -> None:
    await store.ledger.record_context_message(said(text, conversation="a"))
    assert (await store.forgetting.preview(AboutTopic("ann", words))).counts["messages"] == 1
    hits = await store.memories.search(RecallQuery("ann", words, DM, "elsewhere", 10))
    assert [hit.message.text for hit in hits] == [text]


async def test_a_preview_has_another_name_once_there_is_more(store: Store) -> None:
    await answered(store, said("Apollo"), "noted")
    before = await store.forgetting.preview(AboutTopic("ann", "Apollo"))
    assert before == await store.forgetting.preview(AboutTopic("ann", "Apollo"))
    await answered(store, said("Apollo again"), "noted")
    assert (await store.forgetting.preview(AboutTopic("ann", "Apollo"))).name != before.name


async def test_a_message_deleted_in_the_platform_falls_with_what_came_of_it_and_never_comes_back(
    store: Store,
) -> None:
    asked = said("my boat is blue")
    claim = await answered(store, asked, "a blue boat")
    await answered(store, said("my train"), "a train")
    await remember(store.facts, "ann", "a blue boat", "person:ann", START, claim.message)
    plan = Deleted(asked.source, asked.channel, frozenset({asked.message_id, "unknown"}))
    erased = await store.forgetting.retire(plan, START, limit=10)
    assert (erased["messages"], erased["facts"], erased["turns"]) == (2, 1, 1)
    assert await said_in(store, "thread") == ["my train", "a train"]
    assert (await store.ledger.accept(asked)).duplicate
    assert not any((await store.forgetting.retire(plan, START, limit=10)).values())
    assert await store.forgetting.sweep()


async def test_a_place_that_is_gone_takes_everybodys_words_along_but_no_private_ones(store: Store) -> None:
    await answered(store, said("my boat", conversation="club a", place=CLUB), "a boat")
    await answered(store, said("my train", person="ben", conversation="club b", place=CLUB), "a train")
    await answered(store, said("my secret", conversation="private"), "a secret")
    gone = Gone(channels=frozenset({"channel"}))
    while any((await store.forgetting.retire(gone, START, limit=1)).values()):
        pass
    assert [await said_in(store, each) for each in ("club a", "club b", "private")] == [
        [],
        [],
        ["my secret", "a secret"],
    ]
    assert await store.conversations.participants("club a") is None


async def test_what_is_past_its_time_in_places_of_its_kind_falls_in_batches(store: Store) -> None:
    old = [said(f"my boat {number}", conversation=f"c{number}", place=CLUB) for number in range(3)]
    for one in old:
        await answered(store, one, "a boat")
    await answered(store, said("my secret"), "a secret")
    plan = Expired(AudienceKind.GROUP, old[1].time + timedelta(milliseconds=1))
    while any((await store.forgetting.retire(plan, START, limit=1)).values()):
        pass
    assert [await said_in(store, each) for each in ("c0", "c1", "c2")] == [[], [], ["my boat 2", "a boat"]]
    assert await said_in(store, "thread") == ["my secret", "a secret"]


async def test_an_edited_message_is_known_by_its_new_words_and_what_came_of_the_old_ones_falls(store: Store) -> None:
    asked = said("my boat is blue")
    claim = await answered(store, asked, "noted")
    await remember(store.facts, "ann", "a blue boat", "person:ann", START, claim.message)
    assert await store.forgetting.update_text(
        asked.source, asked.channel, asked.message_id, "my train is red", START, START
    )
    assert await said_in(store, "thread") == ["my train is red", "noted"]
    assert await texts_found(store, "blue boat") == []
    assert "my train is red" in await texts_found(store, "red train")
    assert await store.facts.readable("ann", DM) == []
    job = await store.jobs.claim(frozenset({LEARNING}), "worker", START, LEASE)
    assert job is None or job.person == "ann"
    assert not await store.forgetting.update_text(
        asked.source, asked.channel, asked.message_id, "my train is red", START, START
    )
    assert not await store.forgetting.update_text(asked.source, asked.channel, "unknown", "hello", START)
    assert await store.forgetting.author(asked.source, asked.channel, asked.message_id) == "ann"
    assert await store.forgetting.author(asked.source, asked.channel, "unknown") is None
    assert await store.forgetting.text(asked.source, asked.channel, asked.message_id) == "my train is red"
    assert await store.forgetting.text(asked.source, asked.channel, "unknown") is None


async def edit_job(store: Store, channel: str, message_id: str, text: str) -> Job:
    """An edit that has waited until now, and is being kept."""
    payload = json.dumps(["test", channel, message_id, text])
    await store.jobs.schedule(EDIT, post_key("test", channel, message_id), payload, START, person="ann")
    job = await store.jobs.claim(frozenset({EDIT}), "worker", START, LEASE)
    assert job is not None
    return job


async def test_an_edit_that_has_waited_never_takes_the_place_of_a_newer_one(store: Store) -> None:
    asked = said("my boat is blue")
    await answered(store, asked, "noted")
    channel, post = asked.channel, asked.message_id
    job = await edit_job(store, channel, post, "my boat is red")
    assert await store.forgetting.update_text("test", channel, post, "my boat is green", START)
    assert not await store.forgetting.update_text("test", channel, post, "my boat is red", START, None, job)
    assert await said_in(store, "thread") == ["my boat is green", "noted"]
    job = await edit_job(store, channel, post, "my boat is white")
    assert await store.forgetting.update_text("test", channel, post, "my boat is white", START, None, job)
    assert await said_in(store, "thread") == ["my boat is white", "noted"]


async def test_neither_does_one_of_a_question_that_waits(store: Store) -> None:
    asked = said("where is my boat?")
    await store.ledger.accept(asked)
    job = await edit_job(store, asked.channel, asked.message_id, "where is my car?")
    assert await store.ledger.amend(asked.source, asked.channel, asked.message_id, "where is my train?")
    assert not await store.ledger.amend(asked.source, asked.channel, asked.message_id, "where is my car?", job)
    assert (await claimed(store)).incoming.text == "where is my train?"


@pytest.mark.parametrize(
    "plan",
    [
        Everything("ann"),
        AboutTopic("ann", "boat"),
        one_thread("ann", "thread"),
        Deleted("test", "channel", frozenset({"post-9001"})),
    ],
)
async def test_an_edit_that_waits_falls_with_its_message(store: Store, plan: ForgettingPlan) -> None:
    asked, other = said("my boat is blue", number=9001), said("my train is late", conversation="other")
    for one, text in ((asked, "my zeppelin is blue"), (other, "my tram is late")):
        await answered(store, one, "noted")
        key, payload = (
            post_key(one.source, one.channel, one.message_id),
            json.dumps([one.channel, one.message_id, text]),
        )
        await store.jobs.schedule(EDIT, key, payload, START, person="ann")
    receipt = await store.forgetting.forget(plan, START)
    assert receipt.found_again == 0
    left: list[str] = []
    while (job := await store.jobs.claim(frozenset({EDIT}), "worker", START, LEASE)) is not None:
        left.append(job.key)
    assert left == ([] if isinstance(plan, Everything) else [post_key(other.source, other.channel, other.message_id)])


async def test_the_pages_of_replies_that_fall_are_deleted_in_the_platform_on_request(store: Store) -> None:
    asked = said("my boat")
    await store.ledger.accept(asked)
    ending = Closing(Outcome.ANSWERED, "a boat", ("page 1", "page 2", "@/seen by one"))
    await store.ledger.finish(await claimed(store), ending, START)
    receipt = await store.forgetting.forget(Everything("ann"), START, replies=True)
    assert (receipt.replies, proved(receipt)) == (2, True)
    pages: list[ShownPage] = []
    while (job := await store.jobs.claim(frozenset({DELETE_REPLY}), "worker", START, LEASE)) is not None:
        pages.append(ShownPage.decode(job.payload))
        await store.jobs.finish(job)
    assert sorted(page.page for page in pages) == ["page 1", "page 2"]
    assert {(page.source, page.channel) for page in pages} == {(asked.source, asked.channel)}


async def test_a_question_that_the_bot_posted_for_its_asker_is_deleted_with_the_replies(store: Store) -> None:
    asked = replace(said("my boat"), kind=TurnKind.POSTED)
    await answered(store, said("my train", conversation="another"), "a train")
    await answered(store, asked, "a boat")
    receipt = await store.forgetting.forget(Everything("ann"), START, replies=True)
    job = await store.jobs.claim(frozenset({DELETE_REPLY}), "worker", START, LEASE)
    assert receipt.replies == 1
    assert job is not None
    assert ShownPage.decode(job.payload) == ShownPage(asked.source, asked.channel, asked.message_id)


async def test_the_threads_that_were_named_after_what_falls_are_told(store: Store) -> None:
    async def shown(question: str, conversation: str, person: str = "ann") -> None:
        await store.ledger.accept(said(question, conversation=conversation, person=person))
        await store.ledger.finish(
            await claimed(store), Closing(Outcome.ANSWERED, "noted", (f"page {question}",)), START
        )

    await shown("my boat", "mine")
    await shown("my train", "mine")
    await shown("his boat", "his", person="ben")
    await shown("my canoe", "his")
    await answered(store, said("my kayak", conversation="nowhere"), "noted")
    found = await store.forgetting.titles(Everything("ann"))
    assert [(one.page, one.what) for one in found] == [("mine", ShownReply.TITLE)]
    assert await store.forgetting.titles(AboutTopic("ann", "train")) == []
    assert [ShownPage.decode(one.encode()) for one in found] == found


async def test_a_question_of_a_button_falls_with_the_answer_above_it_and_not_with_another(store: Store) -> None:
    asked = said("my boat is turquoise")
    presented = await answered(store, asked, "It is turquoise. You can ask next: Which harbour?")
    other = await answered(store, said("hello"), "Hello.")
    for turn, text in ((presented.turn, "Which harbour?"), (other.turn, "What is new?")):
        pressed = replace(said(text, person="ben"), message_id=follow_up_id(turn, 0, "ben"), own=False)
        await answered(store, pressed, f"Answer to {text}")
    plan = Deleted(asked.source, asked.channel, frozenset({asked.message_id}))
    await store.forgetting.retire(plan, START, limit=10)
    assert await said_in(store, "thread") == ["hello", "Hello.", "What is new?", "Answer to What is new?"]


async def test_a_question_of_a_button_falls_also_below_long_work_and_when_it_was_asked_again(store: Store) -> None:
    asked = said("my boat is turquoise", conversation=work_conversation("thread", 7))
    presented = await answered(store, asked, "It is turquoise. You can ask next: Which harbour?")
    pressed_as = follow_up_id(presented.turn, 0, "ben")
    for message_id in (pressed_as, repeat_of(pressed_as)):
        assert message_id
        pressed = replace(said("Which harbour?", person="ben"), message_id=message_id, own=False)
        claim = await answered(store, pressed, "The northern one.")
        assert claim.incoming.conversation == "thread"
    plan = Deleted(asked.source, asked.channel, frozenset({asked.message_id}))
    await store.forgetting.retire(plan, START, limit=10)
    assert await said_in(store, "thread") == []
