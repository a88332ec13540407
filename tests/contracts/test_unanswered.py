"""The contract of the port UnansweredQuestions: what became of the questions of a channel, and of no others."""

from dataclasses import replace
from datetime import timedelta

from agent.admission_terms import Terms
from agent.events import Outcome
from agent.feedback import ChannelFeedback
from agent.incoming import Incoming
from agent.memory.audience import NOWHERE, GroupAudience, PersonAudience, Place, TeamAudience, label
from agent.memory.forgetting_plans import Everything
from agent.ports.tool_audit import AuditedCall
from agent.shown_replies import ReplyVerdict
from agent.turn_kinds import TurnKind
from agent.turn_records import Closing
from agent.unanswered import AskedChannel, AskedQuestion
from store.engine import Store
from tests.contracts.steps import claimed, same_on_postgresql
from tests.fakes.incoming import START, said

TEAM, GROUP = Place(TeamAudience("test")), Place(GroupAudience("test:channel"))
LATER = START + timedelta(days=1)
VIEW = ChannelFeedback("test", "channel", frozenset({label(TEAM.audience)}))
ANSWERED = Closing(Outcome.ANSWERED, "It is Heron.", pages=("page",))


async def answered(store: Store, incoming: Incoming, closing: Closing = ANSWERED, **tools: str) -> int:
    """Answer a question after these tools ended so."""
    await store.ledger.accept(incoming, Terms(incoming.time))
    claim = await claimed(store)
    for tool, outcome in tools.items():
        call = AuditedCall(START, "ann", "channel", "", tool.rstrip("_"), "", "reads", "unasked", "effect")
        await store.audit.end(await store.audit.add(call, claim), 1, 1, outcome)
    await store.ledger.finish(claim, closing, incoming.time)
    return claim.turn


async def test_each_question_is_told_with_what_its_turn_stored(store: Store) -> None:
    earlier = await answered(store, said("The boat is called Heron.", place=TEAM))
    asked = said("What is the boat called?", place=TEAM, conversation="b")
    nothing = await answered(store, asked, recall="success")
    messages = [message.id for message in await store.conversations.history("thread", before_turn=10**6, limit=9)]
    given = replace(ANSWERED, context_messages=tuple(messages), given_messages=tuple(messages))
    found = await answered(store, said("And now?", place=TEAM, conversation="c"), given, recall="success")
    failed = await answered(
        store, said("More?", place=TEAM, conversation="d"), wiki="failure", web="failure", web_="success"
    )
    await store.replies.judge(failed, "bob", ReplyVerdict.BAD, START)
    listed = await store.unanswered.asked(VIEW, START, 9)
    assert [one.turn for one in listed] == [failed, found, nothing, earlier]
    by_turn = {one.turn: one for one in listed}
    assert by_turn[nothing] == AskedQuestion(
        nothing, asked.text, "It is Heron.", asked.time, asked.permalink or "", searched=True
    )
    assert (by_turn[found].searched, by_turn[found].found) == (True, True)
    assert (by_turn[failed].failed, by_turn[failed].disliked, by_turn[failed].found) == ({"wiki"}, True, True)
    assert [one.turn for one in await store.unanswered.asked(VIEW, START, 1)] == [failed]
    assert not any(one.unknown for one in listed)
    signed = await answered(store, said("Why?", place=TEAM, conversation="e"), replace(ANSWERED, unknown=True))
    assert [(one.turn, one.unknown) for one in await store.unanswered.asked(VIEW, START, 2)] == [
        (signed, True),
        (failed, False),
    ]
    assert await store.unanswered.asked(VIEW, LATER, 9) == []


@same_on_postgresql
async def test_nothing_of_another_place_of_a_person_or_of_its_turn_alone_is_told(store: Store) -> None:
    alone = Place(PersonAudience("ann"))
    await answered(store, said("alone", place=alone, conversation="a"))
    await answered(store, said("private", place=GROUP, conversation="b"))
    await answered(store, replace(said("elsewhere", place=TEAM, conversation="c"), channel="another"))
    await answered(store, replace(said("other team", place=TEAM, conversation="d"), source="test:2"))
    await answered(store, replace(said("reminder", place=TEAM, conversation="e"), kind=TurnKind.REMINDER))
    await answered(store, said("kept", place=TEAM, conversation="f"), replace(ANSWERED, drawn_from=NOWHERE))
    await answered(store, said("stopped", place=TEAM, conversation="g"), Closing(Outcome.STOPPED, "It"))
    await store.ledger.accept(said("running", place=TEAM, conversation="h"), Terms(START))
    assert await store.unanswered.asked(VIEW, START, 9) == []


async def test_a_question_that_is_forgotten_is_told_no_more(store: Store) -> None:
    await answered(store, said("What?", place=TEAM))
    assert await store.unanswered.asked(VIEW, START, 9)
    await store.forgetting.forget(Everything("ann"), LATER)
    assert await store.unanswered.asked(VIEW, START, 9) == []


async def test_channels_are_told_with_who_asked_there_and_no_direct_messages(store: Store) -> None:
    await answered(store, said("alone", place=Place(PersonAudience("ann")), conversation="a"))
    await answered(store, said("one", place=TEAM, conversation="b"))
    await answered(store, said("two", person="bob", place=TEAM, conversation="c"))
    await answered(store, replace(said("three", place=GROUP, conversation="d"), channel="secret"))
    team, group = label(TEAM.audience), label(GROUP.audience)
    assert await store.unanswered.channels(START, 9) == [
        AskedChannel("test", "secret", group, ("ann",)),
        AskedChannel("test", "channel", team, ("bob", "ann")),
    ]
    assert [one.channel for one in await store.unanswered.channels(START, 1)] == ["secret"]
    assert await store.unanswered.channels(LATER, 9) == []
