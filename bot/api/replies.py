"""The replies to questions of programs: each grows in the process that holds its connection, which reads it there."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from agent.incoming import Incoming
from agent.ports.api_tokens import ApiToken
from agent.progress import Progress
from agent.shown_replies import EPHEMERAL_PAGE
from agent.spending import Spent
from agent.turn_events import EndDue
from agent.turn_records import Closing
from bot.api import texts as api_texts
from bot.api.wire import ApiError
from bot.chat.reply.surface import Limits, OutFile, PageContent, PageKey, PageRef, ReplyEnd

LIMITS: Final = Limits(
    page_chars=10_000_000,  # One page for any answer
    edit_interval_s=0.05,  # Twenty pieces a second look continuous
    grows_only=True,  # What was sent cannot be taken back
    attaches_text=False,  # A program has the text
)


@dataclass(slots=True, eq=False)
class PendingReply:
    """A reply for which a program waits. `changed` is set with each change; `begun`: its turn has been claimed.
    `spent`: by its turn, as long as that is not recorded. `refusal`: why its turn was ended.
    """

    token: ApiToken
    text: str = ""
    begun: bool = False
    closing: Closing | None = None
    spent: Spent = field(default_factory=Spent)
    refusal: ApiError | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_unbegun(self) -> bool:
        """Whether its turn ended before any call of a model."""
        return self.closing is None or not self.closing.calls

    def show(self, text: str) -> None:
        self.text = text
        self.changed.set()

    def begin(self) -> None:
        self.begun = True
        self.changed.set()


@dataclass(frozen=True, slots=True)
class ApiSurface:
    """Shows a reply to the program that waits for it; to nobody if none does any more."""

    pending: PendingReply | None

    @property
    def limits(self) -> Limits:
        return LIMITS

    async def find(self, key: PageKey) -> PageRef | None:  # noqa: ARG002 -- a connection that is gone is not found again
        return None

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        page = PageRef(f"{EPHEMERAL_PAGE}{key}")
        await self.edit(page, look)
        return page

    async def edit(self, page: PageRef, look: PageContent) -> None:  # noqa: ARG002 -- there is one page
        if self.pending is not None and look.text:
            self.pending.show(look.text)

    async def delete(self, page: PageRef) -> None:
        """What was sent cannot be taken back."""

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- no file is sent
        """Say which files there are, which the wire has no place for."""
        if self.pending is not None:
            lines = (api_texts.FILE_NOT_SENT.format(name=file.name) for file in files)
            self.pending.show("\n\n".join([self.pending.text, *lines]).strip())
        return ()

    async def send_ephemeral(self, text: str) -> None:
        """There is nobody beside the program."""

    async def show_waiting(self, turn: int) -> None:
        """No call waits: nobody can be asked."""

    async def status(self, text: str) -> None:
        """The wire has no place for it."""

    def begin(self, *, resumed: bool) -> None:  # noqa: ARG002 -- the connection is the same
        if self.pending is not None:
            self.pending.begin()

    def finish(self, end: ReplyEnd) -> None:
        """The caller of the turn learns how it ended."""


@dataclass(slots=True, eq=False)
class ApiReplies:
    """The pending replies of this process by the ids of their events; implements `bot.chat.kinds.TurnWatcher`.

    A turn without one was asked over a connection that is gone, perhaps in a process that is: it ends before its next
    call of a model. So does one whose token was revoked, or has used its budget. `why_not`: returns why a token may not
    spend more; None if it may.
    """

    why_not: Callable[[ApiToken], Awaitable[ApiError | None]]
    _pending: dict[str, PendingReply] = field(default_factory=dict[str, PendingReply])

    def __len__(self) -> int:
        return len(self._pending)

    def open(self, event_id: str, token: ApiToken) -> PendingReply:
        pending = self._pending[event_id] = PendingReply(token)
        return pending

    def close(self, event_id: str) -> None:
        self._pending.pop(event_id, None)

    def unrecorded(self, token: ApiToken) -> Spent:
        """Return what the token's replies have spent so far that is not recorded yet."""
        return sum((one.spent for one in self._pending.values() if one.token.id == token.id), Spent())

    def surface_for(self, incoming: Incoming) -> ApiSurface:
        return ApiSurface(self._pending.get(incoming.event_id))

    async def end_due(self, question: Incoming, progress: Progress) -> EndDue | None:
        pending = self._pending.get(question.event_id)
        if pending is None:
            return EndDue(api_texts.CLIENT_GONE, at_once=True)
        pending.spent = Spent.on(progress.calls)
        pending.refusal = await self.why_not(pending.token)
        return None if pending.refusal is None else EndDue(str(pending.refusal), at_once=True)

    async def ended(self, question: Incoming, closing: Closing) -> Incoming | None:
        if (pending := self._pending.get(question.event_id)) is not None:
            pending.closing, pending.spent = closing, Spent.on(closing.calls)
        return None
