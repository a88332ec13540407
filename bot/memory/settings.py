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
        description=(
            "Maximum number of tokens for these additions to a question: facts, past threads, notes about the "
            "conversation, the person's name, and the time. The profile has its own limit, COGENCY_PROFILE_TOKENS."
        ),
    )
    """Apart from history; more would leave too little for the question."""
    earlier: bool = setting(
        "COGENCY_EARLIER",
        parsers.switch,
        default=True,
        section=Section.BOUNDS,
        description=(
            "Search past threads for each question before the model answers, and give the results to the model: on "
            "or off. If this is off, the model can still search past threads itself."
        ),
    )
    profile_tokens: int = setting(
        "COGENCY_PROFILE_TOKENS",
        parsers.whole(0, 100_000),
        800,
        section=Section.BOUNDS,
        description="Maximum number of tokens from a person's profile to send to the model.",
    )
    """About sixty short entries."""
    learning: bool = setting(
        "COGENCY_LEARNING",
        parsers.switch,
        default=True,
        section=Section.BOUNDS,
        description=("Learn about people from their questions: on or off. The rehearsal model never learns."),
    )
    first_notice: bool = setting(
        "COGENCY_FIRST_NOTICE",
        parsers.switch,
        default=True,
        section=Section.BOUNDS,
        description=(
            "Below the first reply to a person, explain what the bot stores and how to see and erase it: on or off."
        ),
    )
