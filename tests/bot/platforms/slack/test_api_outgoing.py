"""No text that is sent to Slack mentions a user, anywhere in a message."""

import re
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import ClientSession
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.web.async_client import AsyncWebClient

from agent.messages import Json
from bot.platforms.slack.api import SlackApi, SlackRefused, harmless
from bot.platforms.slack.options import Method
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
    """Return every text that a user may read."""
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
HOSTILE: dict[str, Json] = {
    "channel": "C0GENERAL",
    "channel_id": "C0GENERAL",
    "thread_ts": "1700000000.000001",
    "ts": "1700000000.000001",
    "user": "U0ANN",
    "text": "<!here>",
    "title": "<@U1>",
    "status": "@here",
    "loading_messages": ["<!everyone>"],
    "prompts": [{"title": "<@U1>", "message": "<!subteam^S1>"}],
    "blocks": [SECTION, {"type": "markdown", "text": "&lt;!channel>"}],
    "chunks": [
        {"type": "markdown_text", "text": "<!channel>"},
        {"type": "task_update", "id": "1", "title": "<@U1>", "details": "@channel", "output": "<\\@U1>"},
    ],
    "view": {"type": "home", "blocks": [SECTION], "title": {"type": "plain_text", "text": "@everyone"}},
    "files": [{"id": "F1", "title": "<!channel>"}],
    "initial_comment": "<!channel>",
    "topic": "<!channel>",
    "purpose": "@here",
    "type": "link",
    "link": "https://example.com/<!channel>",
    "document_content": {"type": "markdown", "markdown": "<@U1>"},
    "changes": [{"operation": "insert_at_end", "document_content": {"type": "markdown", "markdown": "<@U1>"}}],
    "canvas_id": "F1",
    "bookmark_id": "Bk1",
    "criteria": {"contains_text": "<@U1>"},
}
WORDLESS = {Method.AUTH_TEST, Method.OPEN_CONNECTION, Method.EXPORT_MANIFEST, Method.REVOKE, Method.OAUTH_ACCESS}
WRITES = sorted({one for one in Method if one.verb == "POST"} - WORDLESS)


@pytest.fixture
async def api(slack: FakeSlack) -> AsyncGenerator[SlackApi, None]:
    async with ClientSession() as session:
        client = AsyncWebClient(token=BOT_TOKEN, base_url=slack.url, session=session, retry_handlers=[])
        client.proxy = None
        yield SlackApi(client, session)


@pytest.mark.parametrize("method", WRITES)
async def test_whatever_is_written_is_harmless(slack: FakeSlack, api: SlackApi, method: Method) -> None:
    with suppress(SlackRefused):
        await api.call(method, **HOSTILE)
    slack.violations.clear()  # every argument at once: no method takes that
    calls = [call for call in slack.state.calls if call.method == str(method)]
    assert calls
    assert not any(PING.search(text) for call in calls for text in shown(call.args))


async def test_what_is_posted_unfolds_no_link(slack: FakeSlack, api: SlackApi) -> None:
    await api.call(Method.POST, channel="C0GENERAL", text="https://example.org")
    assert slack.state.messages[0].unfurl is False


async def test_what_is_said_by_an_address_is_harmless_too(slack: FakeSlack, api: SlackApi) -> None:
    await api.respond(slack.response_url("C0GENERAL", "U0ANN"), text="<!here>", blocks=[SECTION])
    (ephemeral,) = slack.state.ephemerals
    assert not any(PING.search(text) for text in (ephemeral.text, *shown(ephemeral.blocks)))
