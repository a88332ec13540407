"""What people think of a reply."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Answered:
    """A reply that stands in a platform, and the question that it answers. `person`: the id of who asked."""

    turn: int
    source: str
    conversation: str
    channel: str
    message_id: str
    person: str
    question: str
    audience: str
    """The label of those who could read the question."""
    pages: tuple[str, ...]
