"""Faults that a test injects into calls of Slack's Web API."""

from dataclasses import dataclass


class Refusal(Exception):
    """{"ok": false, "error": code}"""


@dataclass(frozen=True)
class Fault:
    """The fault of the next call of a method. `lost`: the call takes effect, but its answer reports a failure."""

    status: int = 200
    error: str = ""
    retry_after: str = ""
    lost: bool = False


def limited(seconds: int) -> Fault:
    return Fault(429, "ratelimited", str(seconds))


DOWN = Fault(503)
LOST = Fault(500, lost=True)
