"""The statistics of a process's last hour, which stay bounded."""

from datetime import timedelta

import pytest

from agent.events import CallFinished, CallStarted, ModelAnswered, Outcome
from agent.messages import ResultStatus, ToolCall, ToolResult
from bot.chat.telemetry import (
    AgentReported,
    ConnectionClosed,
    ConnectionOpened,
    JobEnd,
    JobOver,
    LoopWoke,
    PageWritten,
    RateLimited,
    RequestEnd,
    RequestHandled,
    SilenceSeen,
    TurnBegan,
    TurnOver,
    TurnUnended,
    WriteEnd,
)
from bot.operators import texts as operator_texts
from bot.operators.pages.last_hour import ACCEPTED, MAX_ENDPOINTS, MAX_FAILURES, FailureKind, Recent
from tests.fakes.clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def recent(clock: FakeClock) -> Recent:
    return Recent(clock)


def began(turn: int, waited_s: float = 0.0, *, resumed: bool = False) -> TurnBegan:
    return TurnBegan(turn, "slack", "c", waited_s, resumed)


def written(turn: int, end: WriteEnd = WriteEnd.DONE, *, has_text: bool = True) -> PageWritten:
    return PageWritten(turn, "post", end, 0.1, has_text)


async def test_the_first_text_counts_from_when_it_was_asked(recent: Recent, clock: FakeClock) -> None:
    recent.record(began(1, waited_s=0.5))
    recent.record(written(1, has_text=False))
    recent.record(written(1, WriteEnd.LIMITED))
    await clock.advance(2)
    recent.record(written(1))
    await clock.advance(5)
    recent.record(written(1))
    recent.record(began(2, resumed=True))
    recent.record(written(2))
    assert recent.hour().first_text_s == [2.5]
    assert recent.hour().quantile(0.5) == 2.5


def test_without_a_reply_there_is_no_time(recent: Recent) -> None:
    assert recent.hour().quantile(0.5) is None


async def test_turns_are_counted_by_minutes_of_the_last_hour(recent: Recent, clock: FakeClock) -> None:
    for turn, wait_s in enumerate((0, 60, 60, 3_480)):
        await clock.advance(wait_s)
        recent.record(began(turn))
        recent.record(TurnOver(turn, Outcome.ANSWERED if turn else Outcome.REFUSED))
    hour = recent.hour()
    assert (hour.ended, hour.failed) == (3, 0)
    assert [minute for minute, turns in enumerate(hour.turns) if turns] == [0, 1, 59]


def test_what_is_put_aside_or_given_back_has_not_ended(recent: Recent) -> None:
    for turn, end in enumerate((TurnUnended.PUT_ASIDE, TurnUnended.GIVEN_BACK, TurnUnended.PUT_OFF)):
        recent.record(began(turn))
        recent.record(TurnOver(turn, end))
    assert recent.hour().ended == 0
    assert [one.kind for one in recent.failures()] == [FailureKind.TURN_PUT_OFF]


async def test_failures_are_counted_where_they_were_the_newest_first(recent: Recent, clock: FakeClock) -> None:
    recent.record(RateLimited("slack"))
    recent.record(JobOver("learning", JobEnd.GIVEN_UP, 1.0))
    recent.record(AgentReported(1, ModelAnswered("m", None), "m"))
    recent.record(AgentReported(1, ModelAnswered("m", None, "ProviderRefused"), "m"))
    recent.record(AgentReported(1, ModelAnswered("m", None, "SomethingNew"), "m"))
    recent.record(AgentReported(1, CallStarted("1.1", ToolCall("jira.search", {})), "m"))
    recent.record(AgentReported(1, CallFinished("1.1", ToolResult("jira.search", ResultStatus.FAILURE, "no")), "m"))
    recent.record(AgentReported(1, CallFinished("1.2", ToolResult("jira.search", ResultStatus.SUCCESS, "yes")), "m"))
    await clock.advance(60)
    recent.record(RateLimited("slack"))
    seen = [(one.kind, one.where, one.count) for one in recent.failures()]
    assert seen == [
        (FailureKind.LIMITED, "slack", 2),
        (FailureKind.TOOL_FAILED, "jira.search", 1),
        (FailureKind.MODEL_OTHER, "m", 1),
        (FailureKind.MODEL_REFUSED, "m", 1),
        (FailureKind.JOB_GIVEN_UP, "learning", 1),
    ]
    assert recent.failures()[0].last - recent.failures()[0].first == timedelta(minutes=1)


def test_each_failure_has_words_and_what_to_do() -> None:
    assert {kind.value for kind in FailureKind} == operator_texts.FAILURES.keys()


def test_however_much_fails_there_is_a_bound(recent: Recent) -> None:
    for number in range(3 * MAX_FAILURES):
        recent.record(JobOver(f"job {number}", JobEnd.FAILED, 1.0))
    assert len(recent.failures()) == MAX_FAILURES
    assert recent.failures()[0].where == f"job {3 * MAX_FAILURES - 1}"


async def test_requests_are_counted_by_endpoint_and_end(recent: Recent, clock: FakeClock) -> None:
    recent.record(RequestHandled("webhook grafana", RequestEnd.ACCEPTED))
    recent.record(RequestHandled("webhook grafana", RequestEnd.REPEATED))
    recent.record(RequestHandled("api", RequestEnd.UNSIGNED))
    await clock.advance(60)
    recent.record(RequestHandled("webhook grafana", RequestEnd.UNSIGNED))
    api, grafana = recent.endpoints()
    assert (api.name, api.accepted, api.ends) == ("api", 0, {RequestEnd.UNSIGNED: 1})
    assert (grafana.name, grafana.accepted, grafana.ends[RequestEnd.UNSIGNED]) == ("webhook grafana", 2, 1)
    assert grafana.last - api.last == timedelta(minutes=1)


def test_each_end_of_a_request_that_was_not_accepted_has_words_and_what_to_do() -> None:
    assert {end.value for end in RequestEnd} - {end.value for end in ACCEPTED} == operator_texts.REQUEST_ENDS.keys()


def test_however_many_endpoints_are_called_there_is_a_bound(recent: Recent) -> None:
    for number in range(3 * MAX_ENDPOINTS):
        recent.record(RequestHandled(f"webhook {number}", RequestEnd.ACCEPTED))
    assert len(recent.endpoints()) == MAX_ENDPOINTS


async def test_sockets_are_told_with_the_oldest_and_how_silent_they_are(recent: Recent, clock: FakeClock) -> None:
    opened = clock.now()
    recent.record(ConnectionOpened("slack", 0))
    await clock.advance(60)
    recent.record(ConnectionOpened("slack", 1))
    recent.record(SilenceSeen({"discord": 3.0}))
    discord, slack = recent.sockets()
    assert (discord.platform, discord.count, discord.silent_s) == ("discord", 0, 3.0)
    assert (slack.platform, slack.count, slack.oldest) == ("slack", 2, opened)
    recent.record(ConnectionClosed("slack", 0))
    assert recent.sockets()[1].oldest == clock.now()


async def test_the_latest_beat_is_of_the_last_minutes(recent: Recent, clock: FakeClock) -> None:
    recent.record(LoopWoke(5.0))
    await clock.advance(600)
    recent.record(LoopWoke(0.2))
    assert recent.latest_beat_s(timedelta(minutes=5)) == 0.2
