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
            "Maximum number of questions per day that the bot answers in a channel without being mentioned, once a "
            "channel manager turns this on with /channel ambient. To choose the questions, the bot makes up to five "
            "times as many calls to the learning model. With 0, nobody can turn this on."
        ),
        after="COGENCY_MODEL_ACCESS",
    )
    """A small model examines each candidate first."""
