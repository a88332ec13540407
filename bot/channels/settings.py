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
            "The highest value that channel managers can choose with /channel ambient, which is how many questions per "
            "day the bot answers in a channel without being addressed. Each answer costs a call to the learning model, "
            "and so do up to five unanswered questions for each answer. With 0, nobody can turn this on."
        ),
        after="COGENCY_MODEL_ACCESS",
    )
    """A small model examines each candidate first."""
