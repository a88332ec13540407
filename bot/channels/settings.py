"""The settings of channels."""

from dataclasses import dataclass

from bot.settings import parsers
from bot.settings.declaration import Section, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelSettings:
    """What managers may choose for a channel."""

    ambient_per_day: int = setting(
        "COGENCY_AMBIENT_PER_DAY",
        parsers.whole(0, 10_000),
        20,
        section=Section.ACCESS,
        description=(
            "Answers a day, in one channel, to open questions that nobody put to the bot: the most that who manages "
            "it may choose with /channel ambient; each costs a look of the model that learns, and so do up to five "
            "questions for each that get none. 0: nobody may switch that on."
        ),
        after="COGENCY_MODEL_ACCESS",
    )
    """A small model examines each candidate first."""
