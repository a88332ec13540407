"""Nothing that leaves for Slack pings anybody, wherever in a message it stands."""

import re
from typing import Any

import pytest
from aiohttp import ClientSession
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.web.async_client import AsyncWebClient

from agent.messages import Json
from bot.platforms.slack.api import Method, SlackApi
from bot.platforms.slack.block_kit import window
from bot.platforms.slack.outgoing import harmless
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_TOKEN

PING = re.compile(r"<@|<!(channel|here|everyone|group|subteam)|(?<!\w)@(channel|here|everyone|group)\b", re.IGNORECASE)
PINGS = st.sampled_from(("<@U1>", "<!channel>", "<!subteam^S1>", "@here", "&lt;!everyone&gt;", "<\\@U1>", "hello "))
TEXTS = st.lists(PINGS, min_size=1, max_size=4).map("".join)
NAMES = st.sampled_from(("text", "title", "details", "output", "label", "elements", "blocks", "fields", "value"))
VALUES = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


def shown(value: Any) -> list[str]:
    """Every text that somebody may read."""
    match value:
        case str():
            return [value]
        case list():
            return [text for item in value for text in shown(item)]  # pyright: ignore[reportUnknownVariableType] -- any JSON
        case dict():
            return [text for name, inner in value.items() if name != "value" for text in shown(inner)]  # pyright: ignore[reportUnknownVariableType] -- any JSON
        case _:
            return []


@given(VALUES)
def test_no_text_in_any_value_pings(value: Json) -> None:
    assert not any(PING.search(text) for text in shown(harmless(value)))


def test_what_a_button_carries_comes_back_as_it_was() -> None:
    button: Json = {"type": "button", "value": "<@U1>", "action_id": "<@U1>", "text": {"text": "<@U1>"}}
    assert harmless(button) == {"type": "button", "value": "<@U1>", "action_id": "<@U1>", "text": {"text": "‹@U1>"}}


SECTION: Json = {"type": "section", "text": {"type": "mrkdwn", "text": "<!channel>"}}


@pytest.fixture
def said() -> dict[str, Json]:
    block: Json = {"type": "markdown", "text": "<!channel>"}
    return {"text": "<!here>", "blocks": [block]}


async def test_every_message_is_harmless_and_nothing_in_it_unfolds(said: dict[str, Json]) -> None:
    async with FakeSlack(FastClock()) as slack, ClientSession() as session:
        slack.state.user("ann")
        general = slack.state.channel("general")
        client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.url, session=session)
        client.proxy = None
        api = SlackApi(client, session)
        posted = await api.call(Method.POST, channel=general, **said)
        await api.call(Method.UPDATE, channel=general, ts=posted["ts"], **said)
        await api.call(Method.POST_EPHEMERAL, channel=general, user="U0ANN", **said)
        await api.call(Method.OPEN_VIEW, trigger_id="t", view=dict(window("v", "<!here>", "Ask", {}, [SECTION])))
        await api.respond(slack.response_url(general, "U0ANN"), **said)
    assert not any(PING.search(text) for call in slack.state.calls for text in shown(call.args))
    assert [whisper.text for whisper in slack.state.whispers] == ["‹!channel>"] * 2
    assert slack.state.messages[0].unfurl is False
