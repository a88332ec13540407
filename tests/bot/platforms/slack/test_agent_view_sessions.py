"""One reply's part in its session: which calls Slack receives, and in which order."""

from collections.abc import AsyncGenerator

import pytest

from agent.errors import StoreError
from agent.messages import Json, JsonObject
from bot.chat.texts import replies as reply_texts
from bot.platforms.slack.agent_view import (
    BEGINS_PER_MINUTE,
    FORGOTTEN,
    AgentSession,
    AgentSessions,
    BestEffortCalls,
    OthersWait,
    SessionStatus,
    no_others,
)
from bot.platforms.slack.api import SlackApi
from bot.platforms.slack.options import Method
from bot.platforms.slack.reply_to import ReplyTo
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_agent import FakeSession
from tests.fakes.slack_faults import Fault, limited
from tests.fakes.slack_state import PER_MINUTE

ANN, GENERAL = "U0ANN", "C0GENERAL"
SET_SESSION, SET_LINE = "agents.sessions.setStatus", "assistant.threads.setStatus"


class Counted(BestEffortCalls):
    """Counts calls. `answered`: how many have returned."""

    answered = 0

    async def call(
        self, method: Method, channel: str, *, channel_key: str = "channel_id", **args: Json
    ) -> JsonObject | None:
        answer = await super().call(method, channel, channel_key=channel_key, **args)
        self.answered += 1
        return answer


@pytest.fixture
def ornaments(slack: FakeSlack, api: SlackApi) -> Counted:
    return Counted(api, slack.clock)


@pytest.fixture
async def sessions(slack: FakeSlack, ornaments: Counted) -> AsyncGenerator[AgentSessions, None]:
    made = AgentSessions(ornaments, slack.clock)
    yield made
    await made.close()


def begun(
    slack: FakeSlack, sessions: AgentSessions, question: str = "which colour?", others_wait: OthersWait = no_others
) -> tuple[AgentSession, str]:
    """Return the session of a reply whose bot thinks, and its thread."""
    root = slack.state.write(ANN, GENERAL, question)
    session = sessions.of(ReplyTo(GENERAL, ANN, root.ts, root.ts), question, others_wait)
    session.set_status(reply_texts.THINKING)
    return session, root.ts


def seen(slack: FakeSlack, thread: str) -> FakeSession:
    return slack.state.agents.sessions[GENERAL, thread]


async def thinking(slack: FakeSlack, lines: int = 1) -> None:
    await slack.until(lambda: len(slack.state.statuses) == lines)


async def test_a_session_works_from_the_first_line_to_the_end(slack: FakeSlack, sessions: AgentSessions) -> None:
    session, thread = begun(slack, sessions)
    await thinking(slack)
    assert (seen(slack, thread).status, seen(slack, thread).title) == ("processing", "which colour?")
    session.mark_message_posted()
    session.set_status("")
    session.finish(ended=True)
    await sessions.close()
    assert seen(slack, thread).changes == ["processing", "processing", "active"]
    assert len(slack.state.statuses) == 1


async def test_a_session_that_slack_set_at_rest_itself_is_left_alone(
    slack: FakeSlack, sessions: AgentSessions, ornaments: Counted
) -> None:
    session, thread = begun(slack, sessions)
    await slack.until(lambda: ornaments.answered == 2)
    seen(slack, thread).set("active")
    session.mark_message_posted()
    session.mark_status(SessionStatus.ACTIVE)
    session.finish(ended=True)
    await sessions.close()
    assert len(slack.state.called(SET_SESSION)) == 1


async def test_a_line_that_arrives_after_slack_set_the_session_at_rest_does_not_stay(
    slack: FakeSlack, sessions: AgentSessions
) -> None:
    session, thread = begun(slack, sessions)
    session.mark_message_posted()
    session.mark_status(SessionStatus.ACTIVE)  # before the line is shown
    await thinking(slack)
    session.finish(ended=True)
    await sessions.close()
    assert seen(slack, thread).status == "active"


@pytest.mark.parametrize("slack", [1_000.0], indirect=True)
async def test_a_turn_that_goes_on_elsewhere_keeps_its_line_and_refreshes_it_no_more(
    slack: FakeSlack, sessions: AgentSessions
) -> None:
    session, thread = begun(slack, sessions)
    await thinking(slack)
    session.finish(ended=False)
    await slack.clock.sleep(150)
    await sessions.close()
    assert seen(slack, thread).changes[-1] == "processing"
    assert len(slack.state.statuses) == 1


async def test_what_an_earlier_process_left_is_taken_away(slack: FakeSlack, sessions: AgentSessions) -> None:
    root = slack.state.write(ANN, GENERAL, "hello?")
    stuck = slack.state.agents.sessions[GENERAL, root.ts] = FakeSession(slack.clock)
    stuck.set("processing")
    session = sessions.of(ReplyTo(GENERAL, ANN, root.ts, root.ts), "hello?")
    session.set_status("")
    session.finish(ended=True)
    await slack.until(lambda: stuck.status == "active")


async def others() -> bool:
    return True


async def unreadable() -> bool:
    raise StoreError("the database is busy")


async def test_a_session_needs_attention_while_its_reply_waits_for_a_person(
    slack: FakeSlack, sessions: AgentSessions
) -> None:
    session, thread = begun(slack, sessions)
    await thinking(slack)
    session.finish(ended=True, waits=True)
    await sessions.close()
    assert seen(slack, thread).changes[-1] == "suspended"
    assert seen(slack, thread).line == ""


async def test_a_question_of_a_tool_suspends_the_session_only_until_the_tool_goes_on(
    slack: FakeSlack, sessions: AgentSessions
) -> None:
    session, thread = begun(slack, sessions)
    await thinking(slack)
    session.mark_waiting()
    await slack.until(lambda: seen(slack, thread).status == "suspended")
    session.set_status("Searching the web…")
    await thinking(slack, lines=2)
    assert seen(slack, thread).status == "processing"
    session.finish(ended=True)
    await sessions.close()
    begun_and_shown, resumed_and_shown = ["processing"] * 2, ["processing"] * 2
    assert seen(slack, thread).changes == [*begun_and_shown, "suspended", *resumed_and_shown, "active"]


@pytest.mark.parametrize("slack", [1_000.0], indirect=True)
async def test_no_line_is_shown_again_while_a_session_needs_attention(
    slack: FakeSlack, sessions: AgentSessions
) -> None:
    session, thread = begun(slack, sessions)
    await thinking(slack)
    session.mark_waiting()
    await slack.until(lambda: seen(slack, thread).status == "suspended")
    await slack.clock.sleep(250)
    assert (seen(slack, thread).status, len(slack.state.statuses)) == ("suspended", 1)
    session.finish(ended=True)


@pytest.mark.parametrize(("others_wait", "status"), [(others, "suspended"), (unreadable, "active")])
async def test_a_session_is_at_rest_only_once_nothing_else_in_its_thread_waits(
    slack: FakeSlack, sessions: AgentSessions, others_wait: OthersWait, status: str
) -> None:
    session, thread = begun(slack, sessions, others_wait=others_wait)
    await thinking(slack)
    session.finish(ended=True)
    await sessions.close()
    assert seen(slack, thread).status == status


@pytest.mark.parametrize("code", ["invalid_status", "feature_disabled", "unknown_method", "missing_scope"])
async def test_where_slack_does_not_suspend_sessions_one_that_waits_is_at_rest_as_before(
    slack: FakeSlack, sessions: AgentSessions, code: str
) -> None:
    session, thread = begun(slack, sessions)
    await thinking(slack)
    slack.faults[SET_SESSION].append(Fault(error=code))
    session.finish(ended=True, waits=True)
    await sessions.close()
    assert seen(slack, thread).status == "active"


async def test_a_status_that_slack_does_not_know_leaves_the_others(slack: FakeSlack, ornaments: Counted) -> None:
    slack.faults[SET_SESSION].append(Fault(error="invalid_status"))
    assert await ornaments.call(Method.SET_SESSION, GENERAL, thread_ts="1.1", status="suspended") is None
    assert await ornaments.call(Method.SET_SESSION, GENERAL, thread_ts="1.1", status="active") is not None


async def test_a_refusal_is_logged_once(slack: FakeSlack, ornaments: Counted, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        for channel in (GENERAL, "C0OTHER", "C0THIRD"):
            slack.faults[SET_SESSION].append(Fault(error="channel_type_not_supported"))
            await ornaments.call(Method.SET_SESSION, channel, thread_ts="1.1", status="active")
    assert [record.levelname for record in caplog.records if "channel_type" in record.message] == ["INFO"]


async def test_where_sessions_are_limited_an_empty_line_sets_one_at_rest(
    slack: FakeSlack, sessions: AgentSessions
) -> None:
    session, thread = begun(slack, sessions)
    await thinking(slack)
    slack.faults[SET_SESSION].append(limited(60))
    session.finish(ended=True)
    await slack.until(lambda: seen(slack, thread).status == "active")
    assert slack.state.statuses[-1][2] == ""


async def test_many_sessions_at_once_leave_room_for_their_ends(slack: FakeSlack, sessions: AgentSessions) -> None:
    many = [begun(slack, sessions) for _ in range(BEGINS_PER_MINUTE + 3)]
    await thinking(slack, len(many))
    assert len(slack.state.called(SET_SESSION)) == BEGINS_PER_MINUTE
    for session, _ in many:
        session.finish(ended=True)
    await slack.until(lambda: all(seen(slack, thread).status == "active" for _, thread in many))
    assert len(slack.state.called(SET_SESSION)) <= PER_MINUTE[SET_SESSION]
    assert not slack.state.refused


async def test_a_forgotten_question_leaves_the_title_of_a_session_that_had_none_and_not_one_of_a_persons(
    slack: FakeSlack, sessions: AgentSessions
) -> None:
    roots = [slack.state.write(ANN, GENERAL, "which colour?").ts for _ in range(2)]
    for root in roots:
        slack.state.agents.sessions[GENERAL, root] = FakeSession(slack.clock)
        session = sessions.of(ReplyTo(GENERAL, ANN, root, root), "which colour?")
        session.set_status(reply_texts.THINKING)
        await slack.until(lambda root=root: seen(slack, root).title == "which colour?")
    sessions.renamed(GENERAL, roots[1])
    for root in roots:
        await sessions.untitle(GENERAL, root)
    assert [seen(slack, root).title for root in roots] == [FORGOTTEN, "which colour?"]


@pytest.mark.parametrize("slack", [1_000.0], indirect=True)
async def test_a_refusal_in_one_channel_holds_there_and_for_a_while(slack: FakeSlack, ornaments: Counted) -> None:
    root = slack.state.write(ANN, GENERAL, "hello?")
    elsewhere = slack.state.write(ANN, "C0SECRET", "hello?")
    slack.faults[SET_LINE].append(Fault(error="channel_type_not_supported"))
    for message in (root, root, elsewhere):
        await ornaments.call(Method.SET_STATUS, message.channel, thread_ts=message.ts, status="is thinking…")
    assert [channel for channel, _, _ in slack.state.statuses] == ["C0SECRET"]
    await slack.clock.sleep(601)
    await ornaments.call(Method.SET_STATUS, GENERAL, thread_ts=root.ts, status="is thinking…")
    assert [channel for channel, _, _ in slack.state.statuses] == ["C0SECRET", GENERAL]


async def test_more_new_threads_than_slack_takes_leave_out_some_and_fail_none(
    slack: FakeSlack, sessions: AgentSessions, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        many = [begun(slack, sessions)[0] for _ in range(2 * BEGINS_PER_MINUTE)]
        lines = len(slack.state.statuses) + len(many)
        await slack.until(lambda lines=lines: len(slack.state.statuses) >= lines)
        for session in many:
            session.finish(ended=True)
        await slack.clock.sleep(61)
    titled = [seen for seen in slack.state.agents.sessions.values() if seen.title]
    # Of the first minute; on a busy machine the ends of one minute fall into the next, and leave less room there.
    assert len(titled) >= BEGINS_PER_MINUTE
    assert "never retrieved" not in caplog.text
