"""The settings for reading files."""

from dataclasses import dataclass

from bot.chat.attachments.kinds import TEXT_TOKENS
from bot.settings import parsers
from bot.settings.declaration import Section, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentSettings:
    """Reading files."""

    text_tokens: int = setting(
        "COGENCY_FILE_TOKENS",
        parsers.whole(100, 10_000_000),
        TEXT_TOKENS,
        section=Section.BOUNDS,
        description=(
            "The most tokens of a message's files that the model is given, all files together; a longer text is cut, "
            "and the model told so."
        ),
        after="COGENCY_PROFILE_TOKENS",
    )
