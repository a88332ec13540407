"""Faults that a test injects into calls of Slack's Web API."""

from dataclasses import dataclass


class Refusal(Exception):
    """{"ok": false, "error": code}, with more fields from methods that say more."""

    def __init__(self, code: str, **more: object) -> None:
        super().__init__(code)
        self.more = more


@dataclass(frozen=True)
class Fault:
    """The fault of the next call of a method. `lost`: the call takes effect, but its answer reports a failure. `hangs`:
    there is no answer.
    """

    status: int = 200
    error: str = ""
    retry_after: str = ""
    lost: bool = False
    hangs: bool = False


def limited(seconds: int) -> Fault:
    return Fault(429, "ratelimited", str(seconds))


DOWN = Fault(503)
LOST = Fault(500, lost=True)
HANGS = Fault(hangs=True)
HANGS_LATER = Fault(lost=True, hangs=True)  # After it has taken effect
