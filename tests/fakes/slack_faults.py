"""What can go wrong with a call of Slack's Web API.

Above: `tests.fakes.slack`, and tests that let things go wrong. Below: nothing.
"""

from dataclasses import dataclass


class Refusal(Exception):
    """{"ok": false, "error": code}"""


@dataclass(frozen=True)
class Fault:
    """What happens to the next call of a method. `lost`: it takes effect, and the answer says that it failed."""

    status: int = 200
    error: str = ""
    retry_after: str = ""
    lost: bool = False


def limited(seconds: int) -> Fault:
    return Fault(429, "ratelimited", str(seconds))


DOWN = Fault(503)
LOST = Fault(500, lost=True)
