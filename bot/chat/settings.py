"""The settings of the chat bot itself: who it is, what it reads of a conversation, and its log."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent.context import LANGUAGE, PERSONA
from bot.chat.logs import LogForm, LogLevel
from bot.settings import parsers
from bot.settings.declaration import Section, setting
from bot.settings.parsers import texts_by_id

texts_by_channel = texts_by_id("channel IDs to texts", '{"C0123": "Answer formally."}')


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSettings:
    """Who the bot is, how much of a conversation it reads, and its log."""

    persona: str = setting(
        "COGENCY_PERSONA",
        parsers.text,
        PERSONA,
        section=Section.ANSWERS,
        description="Who the bot is, in a few sentences for the model.",
        example='"You are Cogency, a helpful colleague."',
    )
    language: str = setting(
        "COGENCY_LANGUAGE",
        parsers.text,
        LANGUAGE,
        section=Section.ANSWERS,
        description="The language of the answers. Default: the language of the question.",
        example="Japanese",
    )
    channel_instructions: Mapping[str, str] = setting(
        "COGENCY_CHANNEL_INSTRUCTIONS",
        texts_by_channel,
        {},
        section=Section.ANSWERS,
        description=(
            "Additional instructions for individual channels, as a JSON object that maps channel IDs to instructions."
        ),
        example="""'{"C0123": "Answer formally."}'""",
    )
    """By the platform's channel id."""
    log_level: LogLevel | None = setting(
        "COGENCY_LOG_LEVEL",
        parsers.one_of(LogLevel),
        None,
        section=Section.OPERATION,
        description="The lowest level of log lines to write: DEBUG, INFO, WARNING, or ERROR.",
        example="WARNING",
    )
    """None: INFO for a service, whose log shows what each turn did; WARNING in a terminal."""
    log_form: LogForm = setting(
        "COGENCY_LOG_FORMAT",
        parsers.one_of(LogForm),
        LogForm.AUTO,
        section=Section.OPERATION,
        description=(
            "The format of log lines: text, json (one object per line), or auto (text on a terminal, json elsewhere)."
        ),
    )
    history_messages: int = setting(
        "COGENCY_HISTORY_MESSAGES",
        parsers.whole(1, 10_000),
        200,
        section=Section.BOUNDS,
        description="Maximum number of earlier messages in a thread that the bot reads for one answer.",
        after="COGENCY_TOOL_TIMEOUT_S",
    )
    """The token budget cuts further."""
    history_tokens: int = setting(
        "COGENCY_HISTORY_TOKENS",
        parsers.whole(500, 1_000_000),
        12_000,
        section=Section.BOUNDS,
        description="Maximum number of tokens from earlier messages to send to the model.",
    )
    """About fifty pages of chat: enough to follow a thread, small enough for a local model with a 32k window."""

    @property
    def language_rule(self) -> str:
        return f"Answer in {self.language}."
