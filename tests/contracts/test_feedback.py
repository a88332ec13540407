"""The contract of the port Feedback: why answers were bad, who may see it, and how it falls with what is forgotten."""

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.events import Outcome
from agent.feedback import (
    ChannelFeedback,
    CountedBy,
    FeedbackDetails,
    FeedbackFilter,
    FeedbackReason,
    FeedbackState,
    RatingCount,
    SharedFeedback,
    StateChange,
)
from agent.incoming import Incoming
from agent.memory.audience import NOWHERE, GroupAudience, PersonAudience, Place, TeamAudience, label
from agent.memory.forgetting_plans import Deleted, Everything, OneReply
from agent.messages import ModelCall, Usage
from agent.outgoing import OutgoingEvent
from agent.ports.tool_audit import AuditedCall
from agent.shown_replies import ReplyVerdict
from agent.turn_records import Claim, Closing
from store.data_subjects import PersonSubject
from store.engine import Store
from store.subject_access import data_subjects_in
from tests.contracts.steps import claimed, proved, same_on_postgresql
from tests.contracts.test_outbox import subscribed, waiting
from tests.fakes.incoming import START, said

LATER = START + timedelta(hours=1)
TEAM, GROUP = Place(TeamAudience("test")), Place(GroupAudience("test:secret"))
ALL = FeedbackFilter()
WRONG = FeedbackDetails(FeedbackReason.WRONG, "It is called Heron.", "The boat is called Heron.")
SHARED = replace(WRONG, shared=True)
OPERATORS = SharedFeedback()


def channel(place: Place = TEAM, name: str = "channel") -> ChannelFeedback:
    return ChannelFeedback("test", name, frozenset({label(place.audience)}))


async def answered(store: Store, incoming: Incoming, *, drawn_from: str = "", tool: str = "") -> Claim:
    await store.ledger.accept(incoming)
    claim = await claimed(store)
    if tool:
        row = AuditedCall(
            time=START,
            person=incoming.person.id,
            channel=incoming.channel,
            audience="",
            tool=tool,
            arguments="",
            effect="reads",
            decision="unasked",
            decided_by="effect",
        )
        await store.audit.add(row, claim)
    closing = Closing(
        Outcome.ANSWERED,
        "The boat is called Egret.",
        pages=(f"page {claim.turn}",),
        calls=(ModelCall("small", Usage(input_uncached=7)),),
        drawn_from=drawn_from,
    )
    await store.ledger.finish(claim, closing, incoming.time)
    return claim


async def disliked(store: Store, incoming: Incoming, person: str, details: FeedbackDetails | None = None) -> Claim:
    claim = await answered(store, incoming)
    assert await store.replies.judge(claim.turn, person, ReplyVerdict.BAD, START)
    if details is not None:
        assert await store.feedback.explain(claim.turn, person, details, START)
    return claim


@same_on_postgresql
async def test_why_an_answer_is_bad_is_read_with_the_question_and_the_answer_as_they_are_now(store: Store) -> None:
    asked = replace(said("What is the boat called?", place=TEAM), permalink="https://chat.example/1")
    claim = await disliked(store, asked, "bob", WRONG)
    (item,) = await store.feedback.listed(channel(), ALL, limit=9)
    assert (item.turn, item.person, item.place) == (claim.turn, "bob", "test:channel")
    assert (item.reason, item.comment, item.correction, item.shared) == (
        FeedbackReason.WRONG,
        WRONG.comment,
        WRONG.correction,
        False,
    )
    assert (item.question, item.answer) == ("What is the boat called?", "The boat is called Egret.")
    assert (item.link, item.state, item.owner) == ("https://chat.example/1", FeedbackState.NEW, "")
    assert await store.feedback.details(claim.turn, "bob") == WRONG
    assert await store.feedback.details(claim.turn, "ann") is None


async def test_operators_see_only_what_was_shared_and_a_channel_only_its_own(store: Store) -> None:
    direct = Place(PersonAudience("ann"))
    turns = {
        "own, unshared": await disliked(store, said("1", place=direct, number=1, conversation="a"), "ann", WRONG),
        "own, shared": await disliked(store, said("2", place=direct, number=2, conversation="a"), "ann", SHARED),
        "team": await disliked(store, said("3", place=TEAM, number=3, conversation="b"), "bob", WRONG),
        "group": await disliked(store, said("4", place=GROUP, number=4, conversation="c"), "bob", SHARED),
        "no reason": await disliked(store, said("5", place=TEAM, number=5, conversation="b"), "bob"),
    }

    async def seen(view: SharedFeedback | ChannelFeedback) -> set[str]:
        items = await store.feedback.listed(view, ALL, limit=9)
        assert await store.feedback.count(view, ALL) == len(items)
        return {name for name, claim in turns.items() if claim.turn in {item.turn for item in items}}

    assert await seen(OPERATORS) == {"own, shared", "group"}
    assert await seen(channel()) == {"team", "no reason"}
    assert await seen(channel(GROUP)) == {"group"}
    assert await seen(channel(name="another")) == set()
    with pytest.raises(ValueError, match="only one person"):
        channel(direct)


async def test_a_rating_is_explained_by_its_rater_or_by_who_asked_and_by_nobody_else(store: Store) -> None:
    claim = await answered(store, said("one", place=TEAM))
    assert not await store.feedback.explain(claim.turn, "bob", WRONG, START)
    assert not await store.feedback.explain(99, "ann", WRONG, START)
    await store.replies.judge(claim.turn, "bob", ReplyVerdict.GOOD, START)
    assert not await store.feedback.explain(claim.turn, "bob", WRONG, START)
    assert await store.feedback.explain(claim.turn, "ann", WRONG, START)
    assert dict(await store.replies.verdicts(START)) == {ReplyVerdict.GOOD: 1, ReplyVerdict.BAD: 1}


async def test_another_verdict_or_none_takes_the_reason_away(store: Store) -> None:
    for verdict in (ReplyVerdict.GOOD, None):
        claim = await disliked(store, said("one", place=TEAM), "ann", WRONG)
        await store.replies.judge(claim.turn, "ann", ReplyVerdict.BAD, LATER)
        assert await store.feedback.details(claim.turn, "ann") == WRONG
        await store.replies.judge(claim.turn, "ann", verdict, LATER)
        assert await store.feedback.details(claim.turn, "ann") is None
        assert not await store.feedback.listed(channel(), ALL, limit=9)


@same_on_postgresql
async def test_only_the_verdict_that_a_person_gave_last_is_withdrawn(store: Store) -> None:
    claim = await disliked(store, said("one", place=TEAM), "ann", WRONG)
    await store.replies.withdraw(claim.turn, "ann", ReplyVerdict.GOOD, LATER)
    assert await store.feedback.details(claim.turn, "ann") == WRONG
    await store.replies.withdraw(claim.turn, "ann", ReplyVerdict.BAD, LATER)
    assert await store.feedback.details(claim.turn, "ann") is None
    assert not await store.replies.verdicts(START)


@same_on_postgresql
async def test_what_was_only_for_its_turn_is_not_shown(store: Store) -> None:
    claim = await answered(store, said("one", place=TEAM), drawn_from=NOWHERE)
    assert await store.feedback.explain(claim.turn, "ann", SHARED, START)
    (item,) = await store.feedback.listed(OPERATORS, ALL, limit=9)
    assert (item.question, item.answer) == ("one", None)


async def test_who_changes_a_state_owns_it_and_is_audited(store: Store) -> None:
    await disliked(store, said("one", place=TEAM), "ann", WRONG)
    (item,) = await store.feedback.listed(channel(), ALL, limit=9)
    take = StateChange(FeedbackState.IN_WORK, "bob", "channel", LATER)
    assert await store.feedback.change_state(OPERATORS, item.id, take) is None
    taken = await store.feedback.change_state(channel(), item.id, take)
    assert taken is not None
    assert (taken.state, taken.owner) == (FeedbackState.IN_WORK, "bob")
    assert await store.feedback.change_state(channel(), item.id, take) == taken
    (row,) = await store.audit.newest(9)
    assert (row.person, row.channel, row.arguments) == ("bob", "channel", f"feedback {item.id}: new > in-work")
    fixed = FeedbackFilter(states=frozenset({FeedbackState.FIXED}))
    assert await store.feedback.count(channel(), fixed) == 0
    await store.feedback.change_state(channel(), item.id, replace(take, state=FeedbackState.FIXED))
    assert await store.feedback.count(channel(), fixed) == 1
    new = await store.feedback.change_state(channel(), item.id, replace(take, state=FeedbackState.NEW))
    assert new is not None
    assert new.owner == ""


async def test_lists_have_filters_and_pages(store: Store) -> None:
    reasons = (FeedbackReason.WRONG, FeedbackReason.OUTDATED, FeedbackReason.WRONG)
    for number, reason in enumerate(reasons):
        await disliked(store, said(f"{number}", place=TEAM, number=number), "ann", replace(SHARED, reason=reason))

    async def questions(chosen: FeedbackFilter, offset: int = 0) -> list[str | None]:
        items = await store.feedback.listed(OPERATORS, chosen, limit=2, offset=offset)
        return [item.question for item in items]

    assert await questions(ALL) == ["2", "1"]
    assert await questions(ALL, 2) == ["0"]
    assert await questions(FeedbackFilter(reason=FeedbackReason.WRONG)) == ["2", "0"]
    assert await questions(FeedbackFilter(place="test:channel", since=START)) == ["2", "1"]
    assert await questions(FeedbackFilter(place="test:other")) == await questions(FeedbackFilter(since=LATER)) == []


async def test_ratings_are_counted_by_model_place_tool_and_reason_and_direct_messages_as_one(store: Store) -> None:
    direct = Place(PersonAudience("ann"))
    places = (TEAM, direct)
    asked = [said("one", place=place, conversation=f"{number}") for number, place in enumerate(places)]
    claims = [await answered(store, one, tool="recall") for one in asked]
    for claim in claims:
        await store.replies.judge(claim.turn, "ann", ReplyVerdict.BAD, START)
        await store.feedback.explain(claim.turn, "ann", WRONG, START)
    await store.replies.judge(claims[-1].turn, "bob", ReplyVerdict.GOOD, START)
    counts = await store.feedback.counts(START)
    assert counts[CountedBy.MODEL] == [RatingCount("small", 1, 2)]
    assert counts[CountedBy.TOOL] == [RatingCount("recall", 1, 2)]
    assert counts[CountedBy.PLACE] == [RatingCount("", 1, 1), RatingCount("test:channel", 0, 1)]
    assert counts[CountedBy.REASON] == [RatingCount("wrong", 0, 2)]
    here = await store.feedback.counts(START, channel())
    assert here[CountedBy.PLACE] == [RatingCount("test:channel", 0, 1)]
    assert here[CountedBy.MODEL] == [RatingCount("small", 0, 1)]
    assert not any((await store.feedback.counts(LATER)).values())


@same_on_postgresql
async def test_the_reason_of_a_verdict_is_an_event(store: Store) -> None:
    await subscribed(store, "crm", events=frozenset({OutgoingEvent.FEEDBACK_GIVEN}))
    claim = await disliked(store, said("one", place=TEAM), "ann", WRONG)
    await store.feedback.explain(claim.turn, "ann", replace(WRONG, comment="More."), START)
    events = [each.data for each in await waiting(store)]
    assert [(data["verdict"], data["reason"]) for data in events] == [("bad", None), ("bad", "wrong")]
    assert "Heron" not in str(events)


@pytest.mark.parametrize("plan", [Everything("ann"), Everything("bob"), "question", "reply"])
async def test_it_falls_with_its_rater_its_question_and_its_answer(store: Store, plan: Everything | str) -> None:
    asked = said("one", place=TEAM)
    claim = await disliked(store, asked, "bob", WRONG)
    deleted = Deleted(asked.source, asked.channel, frozenset({asked.message_id}))
    chosen = {"question": deleted, "reply": OneReply(claim.turn)}
    receipt = await store.forgetting.forget(chosen[plan] if isinstance(plan, str) else plan, LATER)
    assert proved(receipt)
    assert not await store.feedback.listed(channel(), ALL, limit=9)
    assert await store.feedback.details(claim.turn, "bob") is None


async def test_who_worked_on_it_is_forgotten_and_the_rating_stays(store: Store) -> None:
    await disliked(store, said("one", place=TEAM), "ann", WRONG)
    (item,) = await store.feedback.listed(channel(), ALL, limit=9)
    await store.feedback.change_state(channel(), item.id, StateChange(FeedbackState.IN_WORK, "olga", "channel", LATER))
    await store.forgetting.forget(Everything("olga"), LATER)
    (item,) = await store.feedback.listed(channel(), ALL, limit=9)
    assert (item.state, item.owner) == (FeedbackState.IN_WORK, "")
    assert "olga" not in str(await store.audit.newest(9))


async def test_the_export_of_a_person_has_their_words_and_no_answer(store: Store) -> None:
    await disliked(store, said("one", person="bob", place=TEAM), "ann", WRONG)
    subjects = await data_subjects_in(store)
    (row,) = (await subjects.page(PersonSubject("ann"), "feedback")).rows
    assert (row["reason"], row["comment"], row["correction"]) == ("wrong", WRONG.comment, WRONG.correction)
    assert "Egret" not in str(row)
