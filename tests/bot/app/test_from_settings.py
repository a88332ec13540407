"""What the adapters are told of the program's settings."""

import pytest

from bot.app.from_settings import slack_settings
from bot.setting_parsers import Streaming
from bot.settings import load_settings

TOKENS = {"SLACK_BOT_TOKEN": "xoxb-1234567890", "SLACK_APP_TOKEN": "xapp-1234567890"}


@pytest.mark.parametrize("where", Streaming)
def test_where_replies_stream_is_told_to_slack(where: Streaming) -> None:
    told = slack_settings(load_settings({**TOKENS, "COGENCY_SLACK_STREAM": where.upper()}))
    assert told is not None
    assert told.streaming == where.value


def test_replies_stream_in_direct_messages_unless_the_operator_says_otherwise() -> None:
    told = slack_settings(load_settings(TOKENS))
    assert told is not None
    assert told.streaming is Streaming.DIRECT
