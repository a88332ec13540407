"""What people say about a reply, by buttons and reactions, and the deletion of a reply by who asked for it."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from agent.errors import Refused
from agent.memory.audience import WIDE
from agent.memory.forgetting_plans import OneReply
from agent.ports.clock import Clock
from agent.ports.forgetting import Forgetting
from agent.ports.jobs import Jobs
from agent.ports.ledger import Ledger
from agent.ports.replies import Replies
from agent.shown_replies import DELETE_REPLY, EPHEMERAL_PAGE, Answered, ReplyVerdict, ShownPage
from agent.tools.present import NAME as PRESENT
from agent.tools.present import called
from bot.chat.access.acl import AccessRules
from bot.chat.notes import NotePress
from bot.chat.reply.surface import Delete, PageGone, PageLocked, ReplyAction, SurfaceError
from bot.chat.texts import replies as reply_texts

# Rules
#   Each person who can see a reply may judge it, and change their verdict. Taking a verdict back counts only if it is
#   the person's latest. Only the asker or an operator may delete a reply.
#   The reply's text is forgotten first, then its pages are deleted on the platform. A job later deletes pages that
#   cannot be deleted now.

# A reply's buttons appear shortly before the reply is stored, earlier where files are uploaded, and a page shortly
# before its id is. A button pressed in between waits this long, within the three seconds that platforms allow.
ENDING_S: Final = 1.5
LOOK_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class ReplyFeedback:
    """What readers do about finished replies. `turn`: the reply's turn. `deletions`: deletes a page, by the source of
    its question.
    """

    replies: Replies
    ledger: Ledger
    forgetting: Forgetting
    jobs: Jobs
    clock: Clock
    deletions: Mapping[str, Delete]
    access: AccessRules
    withdraw: Callable[[str, str, str], Awaitable[bool]]
    """Withdraws a question, by its channel and message id."""
    disliked: Callable[[Answered], Awaitable[None]] | None = None
    """Receives each reply that a person judged bad or deleted."""
    presses: Mapping[ReplyAction, NotePress] = field(default_factory=dict[ReplyAction, NotePress])
    """What the buttons of features' notes do."""

    async def at(self, source: str, page: str, channel: str = "") -> Answered | None:
        """Return the finished reply with this page (its id); None if the bot does not know it, or no longer does.

        `channel`: the question's, for platforms whose page ids are unique only within a channel (Slack's).
        """
        return await self.replies.by_page(source, page, channel)

    async def of(self, turn: int) -> Answered | None:
        """Return the reply of a turn, waiting for one that is just ending. Raises StoreError."""
        deadline = self.clock.monotonic() + ENDING_S
        while (reply := await self.replies.by_turn(turn)) is None and await self.ledger.pages(turn) is None:
            if self.clock.monotonic() >= deadline:
                return None
            await self.clock.sleep(LOOK_S)
        return reply

    async def conversation_at(self, source: str, pages: Collection[str]) -> str | None:
        """Return the conversation of the reply, finished or not, that has one of these pages, waiting for one that was
        only just shown; None as for `at`. Raises StoreError.
        """
        deadline = self.clock.monotonic() + ENDING_S
        while True:
            for page in pages:
                reply = await self.at(source, page) or await self.replies.running_by_page(source, page)
                if reply is not None:
                    return reply.conversation
            if self.clock.monotonic() >= deadline:
                return None
            await self.clock.sleep(LOOK_S)

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict) -> bool:
        """Store this person's verdict in place of their last one. False if the reply is not known.

        Raises StoreError.
        """
        known = await self.replies.judge(turn, person, verdict, self.clock.now())
        judged = await self.replies.by_turn(turn) if known and verdict is ReplyVerdict.BAD and self.disliked else None
        if judged is not None and self.disliked is not None:
            await self.disliked(judged)
        return known

    async def take_verdict_back(self, turn: int, person: str, verdict: ReplyVerdict) -> None:
        """Withdraw this verdict, unless the person has given another one since."""
        await self.replies.withdraw(turn, person, verdict, self.clock.now())

    async def press_note(self, action: ReplyAction, reply: Answered, person: str) -> str:
        """Undo what a note below the reply reports, as this button of the note says. Return a sentence that confirms
        it. Raises Refused unless `person` asked the question.
        """
        if reply.person != person:
            raise Refused(reply_texts.NOT_YOURS)
        return await self.presses[action](reply, person)

    async def follow_up(self, reply: Answered, number: int) -> str:
        """Return the follow-up question with this number, from 0, that the reply presents. Raises Refused if it is not
        known any more, and StoreError.
        """
        calls = await self.replies.calls(reply.turn, [PRESENT], succeeded=True)
        shown = called(calls[-1]) if calls else None
        if shown is None or number >= len(shown.questions) or reply.drawn_from != WIDE:
            raise Refused(reply_texts.NO_FOLLOW_UP)
        return shown.questions[number]

    async def delete_running(self, source: str, page: str, person: str, channel: str = "") -> bool:
        """Withdraw the unfinished reply with this page, for the person whom it answers: its question is no longer
        answered. False if there is none, or it answers another person. `channel`: as in `at`.
        """
        reply = await self.replies.running_by_page(source, page, channel)
        if reply is None or reply.person != person:
            return False
        return await self.withdraw(reply.source, reply.channel, reply.message_id)

    async def delete(self, turn: int, person: str) -> bool:
        """Delete a reply in the platform, and its words from memory, for the person whom it answers, or an operator.

        False if there is no such reply. Raises StoreError, and Refused for anyone else.
        """
        reply = await self.replies.by_turn(turn)
        if reply is None:
            return False
        if reply.person != person and not self.access.is_operator(person):
            raise Refused(reply_texts.NOT_YOURS)
        if self.disliked is not None:
            await self.disliked(reply)
        await self.forgetting.forget(OneReply(turn), self.clock.now())
        for page in reply.pages:
            if not page.startswith(EPHEMERAL_PAGE):
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
            pass  # the job below tries again
        await self.jobs.schedule(DELETE_REPLY, page.key, page.encode(), self.clock.now())
