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
            "Maximum number of tokens to send to the model from the texts of all files in a message. The bot cuts off "
            "longer text, with a note for the model. Images and voice messages do not count."
        ),
        after="COGENCY_PROFILE_TOKENS",
    )
