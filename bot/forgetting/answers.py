"""What `/forget` answers, and how far a search has come."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from agent.ports.tools import Asker


@dataclass(frozen=True, slots=True)
class ForgetAnswer:
    """The answer of `/forget`, as Markdown for the person alone. `token`: the argument for `forget` once they agree; ""
    for nothing. `wider`: the same, including what may have been derived from it. `refused`: no search was made; `text`
    gives the reason. `by_clock`: the words depend on the person's time zone, which is unknown.
    """

    text: str
    token: str = ""
    wider: str = ""
    refused: bool = False
    by_clock: bool = False


@dataclass(frozen=True, slots=True)
class ForgetProgress:
    """The progress of a search: messages found so far, and whether erasing has begun, which cannot be stopped."""

    found: int
    erasing: bool


TellProgress: TypeAlias = Callable[[ForgetProgress], Awaitable[None]]


async def report_nothing(_: ForgetProgress) -> None:
    """For a search whose progress is not shown."""


class ForgetQuestions(Protocol):
    async def ask(self, asker: Asker, words: str, tell: TellProgress = report_nothing) -> ForgetAnswer:
        """Return what `/forget` with these words (see `bot.forgetting.requests`) would erase; nothing is erased yet.

        `tell` receives the progress now and then while a search is slow.
        """
        ...

    async def forget(
        self, asker: Asker, token: str, *, replies: bool | None = None, tell: TellProgress = report_nothing
    ) -> ForgetAnswer:
        """Erase what an answer of `ask` described, and return the receipt; or ask again if that has changed.

        `replies`: also delete the affected replies of the bot in the platform. `tell`: as in `ask`.
        """
        ...

    def stop(self, person: str) -> bool:
        """Stop this person's searches in this process that have erased nothing yet; return whether there were any."""
        ...

    async def stop_everywhere(self, person: str) -> bool:
        """Stop them in every process; the others notice within a second. Raises StoreError."""
        ...
