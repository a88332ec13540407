"""An ephemeral message is never posted in the channel, whatever Slack refuses."""

from collections.abc import AsyncGenerator

import pytest
from aiohttp import ClientSession
from slack_sdk.web.async_client import AsyncWebClient

from bot.platforms.slack.api import SlackApi, SlackDown, SlackLimited, SlackRefused
from bot.platforms.slack.ephemeral import ATTEMPTS, MAX_WAIT_S, Ephemeral
from bot.platforms.slack.reply_to import ReplyTo
from tests.fakes.clock import FakeClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_faults import DOWN, LOST, Fault, limited
from tests.fakes.slack_things import BOT_TOKEN, RESPONSES

ANN, BOB, GENERAL, DM = "U0ANN", "U0BOB", "C0GENERAL", "D0ANN"
ROOT = "1700000000.000001"
SECRET = "You earn **enough**."


@pytest.fixture
async def api(slack: FakeSlack) -> AsyncGenerator[SlackApi, None]:
    async with ClientSession() as session:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.url, session=session, retry_handlers=[])
        client.proxy = None
        yield SlackApi(client, session)


def shown_ephemerals(slack: FakeSlack) -> list[tuple[str, str, str, str]]:
    return [(one.channel, one.thread_ts, one.user, one.text) for one in slack.state.ephemerals]


def posted(slack: FakeSlack) -> list[tuple[str, str]]:
    return [(message.channel, message.text) for message in slack.state.messages]


async def test_it_is_said_in_the_thread_by_the_address_that_came_with_the_request(
    slack: FakeSlack, api: SlackApi
) -> None:
    to = ReplyTo(GENERAL, ANN, ROOT, response_url=slack.response_url(GENERAL, ANN))
    await Ephemeral(api, to).send(SECRET)
    assert shown_ephemerals(slack) == [(GENERAL, ROOT, ANN, SECRET)]
    assert not slack.state.called("chat.postEphemeral")


async def test_where_that_address_is_used_up_it_is_an_ephemeral_message(slack: FakeSlack, api: SlackApi) -> None:
    ephemeral = Ephemeral(api, ReplyTo(GENERAL, ANN, response_url=slack.response_url(GENERAL, ANN)))
    for _ in range(RESPONSES + 2):
        await ephemeral.send(SECRET)
    assert shown_ephemerals(slack) == [(GENERAL, "", ANN, SECRET)] * (RESPONSES + 2)
    assert len(slack.state.called("chat.postEphemeral")) == 2
    assert not posted(slack)


async def test_where_that_address_is_too_old_it_is_an_ephemeral_message(slack: FakeSlack, api: SlackApi) -> None:
    to = ReplyTo(GENERAL, ANN, response_url=slack.response_url(GENERAL, ANN))
    slack.expire_all()
    await Ephemeral(api, to).send(SECRET)
    assert shown_ephemerals(slack) == [(GENERAL, "", ANN, SECRET)]


@pytest.mark.parametrize(
    "code", ["user_not_in_channel", "not_in_channel", "channel_not_found", "is_archived", "restricted_action"]
)
async def test_where_an_ephemeral_message_is_refused_it_is_a_direct_message(
    slack: FakeSlack, api: SlackApi, code: str
) -> None:
    slack.faults["chat.postEphemeral"].append(Fault(error=code))
    await Ephemeral(api, ReplyTo(GENERAL, ANN, ROOT)).send(SECRET)
    assert posted(slack) == [(DM, SECRET)]
    assert not slack.state.ephemerals


@pytest.mark.parametrize(("fault", "error"), [(DOWN, SlackDown), (limited(30), SlackLimited)])
async def test_what_passes_is_no_reason_to_say_it_elsewhere(
    slack: FakeSlack, api: SlackApi, fault: Fault, error: type[Exception]
) -> None:
    slack.faults["chat.postEphemeral"].append(fault)
    with pytest.raises(error):
        await Ephemeral(api, ReplyTo(GENERAL, ANN)).send(SECRET)
    assert not posted(slack)
    assert not slack.state.ephemerals


@pytest.mark.parametrize("fault", [DOWN, LOST, limited(30)])
@pytest.mark.parametrize("method", ["chat.postEphemeral", "response_url"])
async def test_what_must_not_be_lost_is_sent_again_in_place_where_slack_fails_for_a_moment(
    slack: FakeSlack, api: SlackApi, fault: Fault, method: str
) -> None:
    slack.faults[method].append(fault)
    url = slack.response_url(GENERAL, ANN) if method == "response_url" else ""
    await Ephemeral(api, ReplyTo(GENERAL, ANN, response_url=url), FakeClock()).send(SECRET)
    assert {*shown_ephemerals(slack)} == {(GENERAL, "", ANN, SECRET)}
    assert len(slack.state.ephemerals) == (2 if fault.lost else 1)
    assert not posted(slack)


async def test_what_slack_never_takes_is_given_up(slack: FakeSlack, api: SlackApi) -> None:
    slack.faults["chat.postEphemeral"] += [DOWN] * (ATTEMPTS + 1)
    with pytest.raises(SlackDown):
        await Ephemeral(api, ReplyTo(GENERAL, ANN), FakeClock()).send(SECRET)
    assert len(slack.faults["chat.postEphemeral"]) == 1


async def test_a_wait_that_is_too_long_is_not_waited_for(slack: FakeSlack, api: SlackApi) -> None:
    slack.faults["chat.postEphemeral"].append(limited(int(MAX_WAIT_S) + 1))
    with pytest.raises(SlackLimited):
        await Ephemeral(api, ReplyTo(GENERAL, ANN), FakeClock()).send(SECRET)


async def test_where_a_direct_message_is_refused_too_nobody_is_told(slack: FakeSlack, api: SlackApi) -> None:
    slack.faults["chat.postEphemeral"].append(Fault(error="user_not_in_channel"))
    slack.faults["chat.postMessage"].append(Fault(error="messages_tab_disabled"))
    with pytest.raises(SlackRefused):
        await Ephemeral(api, ReplyTo(GENERAL, ANN)).send(SECRET)
    assert not posted(slack)


async def test_what_cannot_be_replaced_is_said_below(slack: FakeSlack, api: SlackApi) -> None:
    to = ReplyTo(GENERAL, ANN, response_url=slack.response_url(GENERAL, ANN))
    slack.expire_all()
    await Ephemeral(api, to).replace(SECRET)
    assert shown_ephemerals(slack) == [(GENERAL, "", ANN, SECRET)]


async def test_notifications_show_the_words_without_the_marks_of_markdown(slack: FakeSlack, api: SlackApi) -> None:
    await Ephemeral(api, ReplyTo(GENERAL, BOB)).send(SECRET)
    (call,) = slack.state.called("chat.postEphemeral")
    assert call.args["text"] == "You earn *enough*."
