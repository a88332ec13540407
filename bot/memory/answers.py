"""What people do about a reply that has ended: say what they think of it, or have it deleted.

Above: `bot.hosting`. Below: `bot.surface`, the ports Replies, Forgetting and Jobs.

Rules
  Whoever can see a reply may judge it; only who asked, or an operator, may delete it.
  Its words are forgotten first, and then its pages are deleted in the platform; a page that cannot be deleted now is
  deleted later, by a job.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agent.errors import Refused
from agent.memory.forgetting import OneReply
from agent.ports import Clock, Forgetting, Jobs, Ledger, Replies
from agent.records import DELETE_REPLY, REACHED_ONCE, Answered, ShownPage, Verdict
from bot.memory.replies import Delete
from bot.surface import PageGone, PageLocked, SurfaceError

ENDING_S: Final = 1.5
"""Between the buttons below a reply and its place in the store lies a moment, longer where files are handed over; who
presses then waits for so long, which leaves platforms their three seconds."""
LOOK_S: Final = 0.1

NOT_YOURS: Final = "Only whoever asked can delete this reply."


@dataclass(frozen=True, slots=True)
class ReplyDesk:
    """`deletions`: how to delete a page, by the source of its question."""

    replies: Replies
    ledger: Ledger
    forgetting: Forgetting
    jobs: Jobs
    clock: Clock
    deletions: Mapping[str, Delete]

    async def of(self, turn: int) -> Answered | None:
        """The reply of a turn, which may just be ending. Raises StoreError."""
        until = self.clock.monotonic() + ENDING_S
        while (reply := await self.replies.of(turn)) is None and await self.ledger.pages(turn) is None:
            if self.clock.monotonic() >= until:
                return None
            await self.clock.sleep(LOOK_S)
        return reply

    async def judge(self, turn: int, person: str, verdict: Verdict | None) -> bool:
        """False if there is no such reply any more. Raises StoreError."""
        return await self.replies.judge(turn, person, verdict, self.clock.now())

    async def delete(self, turn: int, person: str, *, operates: bool) -> bool:
        """False if there is no such reply any more. Raises Refused, StoreError."""
        reply = await self.replies.of(turn)
        if reply is None:
            return False
        if reply.person != person and not operates:
            raise Refused(NOT_YOURS)
        await self.forgetting.forget(OneReply(turn), self.clock.now())
        for page in reply.pages:
            if not page.startswith(REACHED_ONCE):
                await self._delete(ShownPage(reply.source, reply.channel, page))
        return True

    async def _delete(self, page: ShownPage) -> None:
        try:
            if page.source in self.deletions:
                await self.deletions[page.source](page)
                return
        except (PageGone, PageLocked):
            return
        except SurfaceError:
            pass  # later
        await self.jobs.schedule(DELETE_REPLY, page.key, page.encode(), self.clock.now())
