"""The replies that platforms show.

Ids have the forms of `agent.incoming`. Every call of the store may raise StoreError, and StoreUnavailable if the same
may work later.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from agent.messages import ToolCall
from agent.shown_replies import Answered, ReplyVerdict


class Replies(Protocol):
    """The replies that platforms show, as long as their questions and texts are kept."""

    async def by_page(self, source: str, page_id: str, channel: str = "") -> Answered | None:
        """Return the finished reply with this page, by the platform's ids; None if there is none (any more).

        `channel`: of the question, where page ids are unique only there.
        """
        ...

    async def running_by_page(self, source: str, page_id: str, channel: str = "") -> Answered | None:
        """Return the unfinished reply with this page, with its pages so far."""
        ...

    async def by_turn(self, turn: int) -> Answered | None:
        """Return the finished reply of a turn; None if none is shown (any more)."""
        ...

    async def calls(self, turn: int, tools: Collection[str], *, succeeded: bool = False) -> Sequence[ToolCall]:
        """Return the calls of these tools that a turn has made, in order, as far as they are kept. `succeeded`: only
        those that did.
        """
        ...

    async def newest_with(self, tools: Collection[str], person: str, channel: str) -> Answered | None:
        """Return the newest finished reply to this person in this channel ("": in any) whose turn called one of these
        tools.
        """
        ...

    async def answered(self, source: str, conversations: Collection[str]) -> frozenset[str]:
        """Return those of these conversations in which a finished reply is shown."""
        ...

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict | None, now: datetime) -> bool:
        """Store a person's verdict on a reply, in place of an earlier one; None deletes it.

        False if there is no such reply.
        """
        ...

    async def withdraw(self, turn: int, person: str, verdict: ReplyVerdict, now: datetime) -> None:
        """Delete this verdict of a person, unless they have given another one since."""
        ...

    async def verdicts(self, since: datetime) -> Mapping[ReplyVerdict, int]:
        """Return the number of verdicts of each kind since then."""
        ...
