"""Who may approve a call in place of its asker, and showing it to them, as a port of the platforms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.approvers import Approvers
from agent.incoming import Incoming, Person
from bot.chat.panels import Panel


@dataclass(frozen=True, slots=True)
class Approver:
    """A person who may approve a call now. `reads`: whether they can read the question where it was asked."""

    person: Person
    reads: bool


class ApproverPlatform(Protocol):
    """Every method may raise CogencyError if the platform does not answer; that is no "no".

    What is pressed in a message goes to the command of the button below a waiting reply.
    """

    async def candidates(self, rule: Approvers, question: Incoming) -> Sequence[str]:
        """Return people who may meet the rule, by their ids, the most likely first; perhaps not all of them."""
        ...

    async def approver(self, person: str, rule: Approvers, question: Incoming) -> Approver | None:
        """Return the person if they meet the rule now, by what the platform says at this moment. The caller checks that
        they are not the asker.
        """
        ...

    async def send(self, person: str, panel: Panel) -> tuple[str, ...]:
        """Show a panel in a person's direct messages. Returns its pages; the first has the buttons. Raises PageGone if
        the person cannot be written to, and SurfaceError for failures that may pass.
        """
        ...

    async def find(self, person: str, words: str) -> tuple[str, ...]:
        """Return the page with a button of these words among the last of the person's direct messages; () if there is
        none. Raises SurfaceError.
        """
        ...

    async def update(self, page: str, text: str) -> None:
        """Show a text in place of a panel. A page that is gone stays so. Raises SurfaceError."""
        ...
