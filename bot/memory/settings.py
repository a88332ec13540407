"""The settings of memory: what a turn is given from it, and what the bot learns."""

from dataclasses import dataclass

from bot.settings import parsers
from bot.settings.declaration import Section, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings:
    """What a turn is given from memory, and what the bot learns."""

    tokens: int = setting(
        "COGENCY_MEMORY_TOKENS",
        parsers.whole(100, 100_000),
        3_000,
        section=Section.BOUNDS,
        description="The most tokens of facts, past threads and the working set that the model is given.",
    )
    """Apart from history; more would leave too little for the question."""
    earlier: bool = setting(
        "COGENCY_EARLIER",
        parsers.switch,
        default=True,
        section=Section.BOUNDS,
        description=(
            "Whether the past threads that a question is about are given to the model at once: on or off. It can "
            "look them up anyway."
        ),
    )
    profile_tokens: int = setting(
        "COGENCY_PROFILE_TOKENS",
        parsers.whole(0, 100_000),
        800,
        section=Section.BOUNDS,
        description="The most tokens of what was learned about a person that the model is given.",
    )
    """About sixty short entries."""
    learning: bool = setting(
        "COGENCY_LEARNING",
        parsers.switch,
        default=True,
        section=Section.BOUNDS,
        description=(
            "Whether the bot learns about people from what they ask it: on or off. The rehearsal model never learns."
        ),
    )
    first_notice: bool = setting(
        "COGENCY_FIRST_NOTICE",
        parsers.switch,
        default=True,
        section=Section.BOUNDS,
        description=(
            "Whether the first reply to a person says, below it, what is remembered and how to stop it: on or off."
        ),
    )
