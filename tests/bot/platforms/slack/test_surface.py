"""Slack's surfaces: what each answer of the Web API means for a page."""

from contextlib import suppress
from dataclasses import replace

import pytest

from agent.charts import Chart, ChartKind
from agent.schedules.definitions import ScheduleKind
from agent.turn_kinds import TurnKind
from bot.chat.reply.surface import (
    FILES,
    OutFile,
    PageContent,
    PageFull,
    PageGone,
    PageKey,
    PageLimited,
    PageLocked,
    PageQueued,
    PageRef,
    PageRefused,
    PageUnsent,
    ReplyAction,
    ReplyEnd,
)
from bot.platforms.slack.agent_view import AgentSessions, BestEffortCalls
from bot.platforms.slack.api import SlackApi
from bot.platforms.slack.feature_support import REFUSED_EVERYWHERE_S
from bot.platforms.slack.inbound import SlackBot
from bot.platforms.slack.reply_to import ReplyTo, decode_reply_to
from bot.platforms.slack.settings import SlackSettings, Streaming
from bot.platforms.slack.surface import LIMITS, MAX_HOLD_S, PRIVATE_LIMITS, PrivateSurface, SlackSurface, SurfaceParts
from tests.fakes.clock import FakeClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_faults import DOWN, LOST, Fault, limited
from tests.fakes.slack_things import BOT_ID, BOT_USER, TEAM, FakeMessage

ANN, GENERAL, DM = "U0ANN", "C0GENERAL", "D0ANN"
ME = SlackBot(TEAM, BOT_USER, BOT_ID)
KEY = PageKey(7, 0)
CONVERSATION = "slack:T0TEAM:C0GENERAL:1"


@pytest.fixture
def to(slack: FakeSlack) -> ReplyTo:
    question = slack.state.write(ANN, GENERAL, "hello?")
    return ReplyTo(GENERAL, ANN, thread_ts=question.ts, after=question.ts)


@pytest.fixture
def sessions(slack: FakeSlack, api: SlackApi) -> AgentSessions:
    return AgentSessions(BestEffortCalls(api, slack.clock), slack.clock)


@pytest.fixture
def surface(slack: FakeSlack, api: SlackApi, to: ReplyTo, sessions: AgentSessions) -> SlackSurface:
    return of_workspace(SurfaceParts(api, ME, slack.clock), to, sessions)


def of_workspace(workspace: SurfaceParts, to: ReplyTo, sessions: AgentSessions) -> SlackSurface:
    return SlackSurface(workspace, to, CONVERSATION, sessions.of(to, "hello?"), nothing_to_stop)


async def nothing_to_stop() -> None:
    raise AssertionError("nobody stopped anything")


async def test_a_page_is_posted_with_its_key_and_then_edited(slack: FakeSlack, surface: SlackSurface) -> None:
    page = await surface.post(KEY, PageContent("Hel"))
    await surface.edit(page, PageContent("Hello.", final=True))
    (answer,) = slack.state.answers(GENERAL)
    assert [text for _, text in answer.versions] == ["Hel", "Hello."]
    assert answer.metadata["event_payload"] == {"key": "7-0"}
    assert answer.thread_ts


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(error="message_not_found"), PageGone),
        (Fault(error="channel_not_found"), PageRefused),
        (Fault(error="is_archived"), PageRefused),
        (Fault(error="restricted_action_read_only_channel"), PageRefused),
        (Fault(error="invalid_arguments"), PageRefused),
        (Fault(error="edit_window_closed"), PageLocked),
        (Fault(error="cant_update_message"), PageLocked),
        (Fault(error="msg_too_long"), PageFull),
        (Fault(error="invalid_auth"), PageUnsent),
        (Fault(error="internal_error"), PageUnsent),
        (Fault(502), PageUnsent),
        (limited(3), PageLimited),
        (Fault(error="ratelimited"), PageLimited),
    ],
)
async def test_a_refused_edit_is_translated(
    slack: FakeSlack, surface: SlackSurface, fault: Fault, error: type[Exception]
) -> None:
    page = await surface.post(KEY, PageContent("Hel"))
    slack.faults["chat.update"].append(fault)
    with pytest.raises(error) as raised:
        await surface.edit(page, PageContent("Hello.", final=True))
    assert type(raised.value) is error


async def test_a_limit_is_obeyed_by_every_reply_of_the_workspace(
    slack: FakeSlack, api: SlackApi, to: ReplyTo, surface: SlackSurface, sessions: AgentSessions
) -> None:
    workspace = SurfaceParts(api, ME, FakeClock(auto=False))
    one, two = (of_workspace(workspace, replace(to, after=after), sessions) for after in ("1", "2"))
    page = await surface.post(KEY, PageContent("Hel"))
    slack.faults["chat.update"].append(limited(30))
    with pytest.raises(PageLimited) as refused:
        await one.edit(page, PageContent("Hello.", final=True))
    assert refused.value.retry_after_s == 30
    with pytest.raises(PageQueued) as queued:
        await two.edit(page, PageContent("Hello.", final=True))
    assert queued.value.wait_s == 30
    assert not slack.state.called("chat.update")


@pytest.mark.parametrize("failure", [DOWN, LOST])
async def test_a_post_whose_answer_was_lost_is_found_if_it_took_effect(
    slack: FakeSlack, surface: SlackSurface, failure: Fault
) -> None:
    slack.faults["chat.postMessage"].append(failure)
    with pytest.raises(PageUnsent):
        await surface.post(KEY, PageContent("Hel"))
    found = await surface.find(KEY)
    assert [PageRef(answer.ts) for answer in slack.state.answers(GENERAL)] == [found] * (failure is LOST)


async def test_a_page_is_found_by_its_key_alone_whoever_posted_it(
    slack: FakeSlack, api: SlackApi, to: ReplyTo, surface: SlackSurface, sessions: AgentSessions
) -> None:
    page = await surface.post(KEY, PageContent("Hel"))
    other = of_workspace(SurfaceParts(api, ME, slack.clock), to, sessions)
    assert await other.find(KEY) == page
    assert await other.find(PageKey(8, 0)) is None


async def test_a_stream_that_another_process_finished_is_not_taken_for_a_page_of_the_next_reply(
    slack: FakeSlack, api: SlackApi, to: ReplyTo, sessions: AgentSessions
) -> None:
    workspace = SurfaceParts(api, ME, slack.clock, SlackSettings(stream=Streaming.EVERYWHERE))
    began, finished, next_one = (of_workspace(workspace, to, sessions) for _ in range(3))
    page = await began.post(KEY, PageContent("Hel", turn=7))  # its process dies
    whole = PageContent("Hello.", turn=7, final=True, last=True)
    with suppress(PageQueued):  # its stream has to be ended first
        await finished.edit(page, whole)
    await slack.clock.sleep(2)
    await finished.edit(page, whole)
    assert await next_one.find(PageKey(8, 0)) is None
    (answer,) = slack.state.answers(GENERAL)
    assert (answer.text, slack.state.streams.streams(answer)) == ("Hello.", False)


async def test_a_second_page_with_the_same_key_is_found_beside_the_one_that_is_known(
    slack: FakeSlack, api: SlackApi, to: ReplyTo, sessions: AgentSessions
) -> None:
    processes = [of_workspace(SurfaceParts(api, ME, slack.clock), to, sessions) for _ in range(3)]
    other_key = PageKey(8, 0)
    kept, surplus, other = [
        await surface.post(key, PageContent("Hel"))
        for surface, key in zip(processes, (KEY, KEY, other_key), strict=True)
    ]
    assert await processes[0].find_surplus(KEY, [kept]) == surplus
    assert await processes[0].find_surplus(KEY, [kept, surplus]) is None
    assert await processes[0].find_surplus(other_key, [other]) is None


async def test_where_the_bot_may_not_look_it_finds_nothing(slack: FakeSlack, surface: SlackSurface) -> None:
    await surface.post(KEY, PageContent("Hello.", final=True))
    slack.faults["conversations.replies"].append(Fault(error="missing_scope"))
    assert await surface.find(KEY) is None


async def test_a_post_that_has_to_queue_is_told_when_its_turn_comes_and_keeps_its_place(
    slack: FakeSlack, api: SlackApi, to: ReplyTo, sessions: AgentSessions
) -> None:
    clock = FakeClock(auto=False)
    workspace = SurfaceParts(api, ME, clock)
    zero, one, two, three = (of_workspace(workspace, replace(to, after=after), sessions) for after in "0123")
    await zero.post(KEY, PageContent("Hello.", final=True))
    await one.post(KEY, PageContent("Hello.", final=True))
    with pytest.raises(PageQueued) as queued:
        await two.post(KEY, PageContent("Hel"))
    await clock.advance(queued.value.wait_s)
    with pytest.raises(PageQueued):
        await three.post(KEY, PageContent("Hello, too.", final=True))
    await two.post(KEY, PageContent("Hello.", final=True))
    assert [answer.text for answer in slack.state.answers(GENERAL)] == ["Hello."] * 3


async def test_a_server_that_does_not_know_markdown_text_is_sent_text(slack: FakeSlack, surface: SlackSurface) -> None:
    slack.faults["chat.postMessage"].append(Fault(error="no_text"))
    await surface.post(KEY, PageContent("Hello.", final=True))
    assert slack.state.called("chat.postMessage")[-1].args["text"] == "Hello."


BOATS = "Here:\n\n| Boat | Feet |\n|---|---|\n| Ada | 40 |\n| Bee | 7 |"
SHOWN = "Here:\n\n| Boat | Feet |\n| --- | --- |\n| Ada | 40 |\n| Bee | 7 |"  # As the double writes it


def kinds(message: FakeMessage) -> list[str]:
    return [block["type"] for block in message.blocks]


async def test_a_table_grows_as_markdown_and_is_sortable_once_it_is_complete(
    api: SlackApi, slack: FakeSlack, to: ReplyTo, sessions: AgentSessions
) -> None:
    clock = FakeClock()
    surface = of_workspace(SurfaceParts(api, ME, clock), to, sessions)
    page = await surface.post(KEY, PageContent(BOATS[:20]))
    await surface.edit(page, PageContent(BOATS))
    (answer,) = slack.state.answers(GENERAL)
    assert (answer.text, kinds(answer)) == (BOATS, [])
    await clock.sleep(2)
    await surface.edit(page, PageContent(BOATS, final=True, offers=frozenset({ReplyAction.DELETE}), turn=7))
    assert (answer.text, kinds(answer)) == (SHOWN, ["markdown", "data_table", "context_actions"])
    assert "Ada" in slack.state.called("chat.update")[-1].args["text"]  # for notifications and screen readers


async def test_a_table_that_slack_refuses_is_shown_as_markdown_and_no_other_is_tried_for_a_while(
    api: SlackApi, slack: FakeSlack, to: ReplyTo, sessions: AgentSessions
) -> None:
    clock = FakeClock(auto=False)
    surface = of_workspace(SurfaceParts(api, ME, clock), to, sessions)
    slack.faults["chat.postMessage"].append(Fault(error="invalid_blocks"))
    await surface.post(KEY, PageContent(BOATS, final=True))
    await clock.advance(2)
    await surface.post(PageKey(8, 0), PageContent(BOATS, final=True))
    assert [answer.text for answer in slack.state.answers(GENERAL)] == [BOATS] * 2
    await clock.advance(REFUSED_EVERYWHERE_S)
    await surface.post(PageKey(9, 0), PageContent(BOATS, final=True))
    assert slack.state.answers(GENERAL)[-1].text == SHOWN


async def test_where_slack_takes_one_table_in_a_message_the_first_one_is_sortable(
    slack: FakeSlack, surface: SlackSurface
) -> None:
    slack.faults["chat.postMessage"].append(Fault(error="invalid_blocks"))
    await surface.post(KEY, PageContent(f"{BOATS}\n\n{BOATS}", final=True))
    (answer,) = slack.state.answers(GENERAL)
    assert (answer.text, kinds(answer)) == (f"{SHOWN}\n\n{BOATS}", ["markdown", "data_table", "markdown"])


async def test_buttons_that_slack_refuses_leave_tables_sortable(
    api: SlackApi, slack: FakeSlack, to: ReplyTo, sessions: AgentSessions
) -> None:
    clock = FakeClock()
    surface = of_workspace(SurfaceParts(api, ME, clock), to, sessions)
    slack.faults["chat.postMessage"] += [Fault(error="invalid_blocks")] * 2
    look = PageContent(BOATS, final=True, offers=frozenset({ReplyAction.DELETE}), turn=7)
    page = await surface.post(KEY, look)
    (answer,) = slack.state.answers(GENERAL)
    assert (answer.text, kinds(answer)) == (BOATS, ["markdown", "actions"])
    await clock.sleep(2)
    await surface.edit(page, look)
    assert kinds(answer) == ["markdown", "data_table", "actions"]


async def test_the_status_is_taken_away_by_the_message_itself(
    slack: FakeSlack, surface: SlackSurface, sessions: AgentSessions
) -> None:
    await surface.status("Searching past threads…")
    await slack.until(lambda: slack.state.statuses)
    await surface.post(KEY, PageContent("Hello.", final=True))
    await surface.status("")
    surface.finish(ReplyEnd.DONE)
    await sessions.close()
    assert [status for _, _, status in slack.state.statuses] == ["is searching past threads…"]


async def test_a_thread_needs_attention_while_a_tool_waits_for_an_answer_during_the_reply(
    slack: FakeSlack, to: ReplyTo, surface: SlackSurface, sessions: AgentSessions
) -> None:
    shown = slack.state.agents.sessions
    await surface.status("Using deploy…")
    await slack.until(lambda: slack.state.statuses)
    await surface.show_waiting(7)
    await slack.until(lambda: shown[GENERAL, to.thread_ts].status == "suspended")
    await surface.status("Using deploy…")
    await slack.until(lambda: len(slack.state.statuses) == 2)
    assert shown[GENERAL, to.thread_ts].status == "processing"
    surface.finish(ReplyEnd.DONE)
    await sessions.close()
    assert shown[GENERAL, to.thread_ts].status == "active"


@pytest.mark.parametrize("end", [ReplyEnd.DONE, ReplyEnd.TAKEN_BACK])
async def test_a_thread_needs_attention_while_its_long_work_waits_and_no_longer_after_it(
    api: SlackApi, slack: FakeSlack, to: ReplyTo, sessions: AgentSessions, end: ReplyEnd
) -> None:
    work, shown = replace(to, scheduled=ScheduleKind.WORK), slack.state.agents.sessions
    waiting, going_on = (of_workspace(SurfaceParts(api, ME, slack.clock), work, sessions) for _ in range(2))
    waiting.begin(resumed=False)
    waiting.finish(ReplyEnd.WAITS)
    await slack.until(lambda: (GENERAL, to.thread_ts) in shown)
    assert shown[GENERAL, to.thread_ts].status == "suspended"
    if end is ReplyEnd.DONE:  # what is taken back does not begin
        going_on.begin(resumed=True)
    going_on.finish(end)
    await slack.until(lambda: shown[GENERAL, to.thread_ts].status == "active")


@pytest.mark.parametrize("kind", [ScheduleKind.QUESTION, ScheduleKind.REMINDER, TurnKind.EVENT])
async def test_what_nobody_asked_for_in_a_thread_has_no_session(
    api: SlackApi, slack: FakeSlack, to: ReplyTo, sessions: AgentSessions, kind: str
) -> None:
    posted = of_workspace(SurfaceParts(api, ME, slack.clock), replace(to, scheduled=kind), sessions)
    posted.begin(resumed=True)
    posted.finish(ReplyEnd.WAITS)
    await sessions.close()
    assert not slack.state.agents.sessions


async def test_a_surplus_page_is_deleted(slack: FakeSlack, surface: SlackSurface) -> None:
    page = await surface.post(KEY, PageContent("Hello.", final=True))
    await surface.delete(page)
    assert not slack.state.answers(GENERAL)
    with pytest.raises(PageGone):
        await surface.delete(page)


async def test_a_private_answer_is_shown_once_complete(slack: FakeSlack, api: SlackApi, to: ReplyTo) -> None:
    surface = PrivateSurface(SurfaceParts(api, ME, slack.clock), replace(to, private=True), CONVERSATION)
    page = await surface.post(KEY, PageContent("Hel"))
    await surface.edit(page, PageContent("Hello, al"))
    assert not slack.state.ephemerals
    await surface.edit(PageRef(page.id), PageContent("Hello, @here.", final=True))
    assert [(ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals] == [(ANN, "Hello, ＠here.")]
    assert not slack.state.answers(GENERAL)


def test_pages_fit_into_what_slack_takes() -> None:
    assert LIMITS.page_chars < 4_000
    assert PRIVATE_LIMITS.page_chars < 12_000


def test_where_an_answer_goes_survives_storage() -> None:
    to = ReplyTo("C1", "U1", "1.2", "1.3", private=True, response_url="https://hooks.slack.com/x")
    assert decode_reply_to(to.encode()) == to
    with pytest.raises(ValueError, match="not a place"):
        decode_reply_to("{}")


async def test_where_edits_are_scarce_an_answer_is_posted_once_complete_or_begun_after_a_while(
    api: SlackApi, to: ReplyTo, sessions: AgentSessions
) -> None:
    clock = FakeClock()
    workspace = SurfaceParts(api, ME, clock)
    for reply in range(workspace.budgets.updates.calls // 2):
        assert await workspace.budgets.updates.try_call(f"{reply}", clock.monotonic())
    growing = of_workspace(workspace, to, sessions)
    with pytest.raises(PageQueued):
        await growing.post(KEY, PageContent("Hel"))
    await clock.sleep(MAX_HOLD_S)
    assert await growing.post(KEY, PageContent("Hel"))
    await clock.sleep(1.0)
    assert await of_workspace(workspace, to, sessions).post(PageKey(8, 0), PageContent("Hello.", final=True))


async def test_a_chart_that_an_earlier_process_posted_is_not_posted_again(
    slack: FakeSlack, surface: SlackSurface, api: SlackApi, to: ReplyTo, sessions: AgentSessions
) -> None:
    chart = Chart(ChartKind.BARS, "Sales", ("July",), {"North": (3,)})
    files = [OutFile("Sales.png", b"png", "Bar chart: Sales.", chart), OutFile("sums.csv", b"july,3")]
    first = await surface.attach(PageKey(7, FILES), files, again=False)
    after = of_workspace(SurfaceParts(api, ME, slack.clock), to, sessions)
    assert await after.attach(PageKey(7, FILES), files, again=True) == first
    other = await after.attach(PageKey(8, FILES), files[:1], again=True)
    assert (len(first), len(other), {*other} & {*first}) == (2, 1, set())
    charts = [message for message in slack.state.messages if message.blocks]
    assert [message.text for message in charts] == ["Bar chart: Sales."] * 2
    await after.delete(first[0])
    assert [message for message in slack.state.messages if message.blocks] == charts[1:]


async def test_charts_that_slack_refuses_are_shared_as_pictures_for_an_hour(
    slack: FakeSlack, api: SlackApi, to: ReplyTo, sessions: AgentSessions
) -> None:
    clock = FakeClock(auto=False)
    surface = of_workspace(SurfaceParts(api, ME, clock), to, sessions)
    files = [
        OutFile("Sales.png", b"png", "Bar chart: Sales.", Chart(ChartKind.BARS, "Sales", ("July",), {"North": (3,)}))
    ]
    slack.state.unknown_blocks.add("data_visualization")
    await surface.attach(PageKey(7, FILES), files, again=False)
    slack.state.unknown_blocks.clear()
    await surface.attach(PageKey(8, FILES), files, again=False)
    assert [name for _, name, _ in slack.state.files] == ["Sales.png"] * 2
    await clock.advance(REFUSED_EVERYWHERE_S)
    await surface.attach(PageKey(9, FILES), files, again=False)
    assert len(slack.state.files) == 2
    assert [message.blocks[0]["type"] for message in slack.state.messages if message.blocks] == ["data_visualization"]
