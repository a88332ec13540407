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
            "channel manager turns this on with /channel ambient. Each answer costs a call to the learning model, and "
            "so do up to five questions that the bot leaves unanswered. With 0, nobody can turn this on."
        ),
        after="COGENCY_MODEL_ACCESS",
    )
    """A small model examines each candidate first."""
