"""The surface of the terminal and of pipes: `bot.chat.reply.surface.Surface` on top of a `Display`.

It has one reader, so each step leaves its trace there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from bot.chat.reply.surface import Limits, OutFile, PageContent, PageKey, PageRef, PageUnsent, ReplyAction, ReplyEnd
from bot.platforms import texts as platforms_texts
from bot.platforms.terminal.attachments import write_files
from bot.platforms.terminal.window import Display

# The common prefix of all terminals' sources; each terminal has its own, so that none claims another's questions.
SOURCE = "terminal"
LIMITS = Limits(
    page_chars=10_000_000,  # a terminal scrolls: one page for any answer
    edit_interval_s=0.05,  # twenty frames a second look continuous
    offers=frozenset({ReplyAction.CONTINUE, ReplyAction.UNDO}),
    steps=True,
    traces=True,
    shows_addresses=True,
    attaches_text=False,  # text in a terminal can be copied
)


class TerminalSurface:
    """Joins the pages on the display to one text. A page is identified by its key, also after a restart."""

    def __init__(
        self, display: Display, asks: Callable[[int], None], written_for: Callable[[ReplyAction, int], Awaitable[str]]
    ) -> None:
        """`asks` is called with the turn that waits for an answer of the user. `written_for` returns what the user
        writes in place of a button below a turn's reply.
        """
        self._display = display
        self._asks = asks
        self._written_for = written_for
        self._pages: dict[str, str] = {}
        self._traced: set[str] = set()

    @property
    def limits(self) -> Limits:
        return LIMITS

    async def find(self, key: PageKey) -> PageRef | None:  # noqa: ARG002 -- no display outlives its process
        return None

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        page = PageRef(str(key))
        await self.edit(page, look)
        return page

    async def edit(self, page: PageRef, look: PageContent) -> None:
        for step in look.steps:
            if step.trace and step.id not in self._traced:
                self._traced.add(step.id)
                self._display.trace(step.trace)
        self._pages[page.id] = look.text
        if ReplyAction.CONTINUE in look.offers:
            self._pages[platforms_texts.WRITE_CONTINUE] = f"\n{platforms_texts.WRITE_CONTINUE}"
        if ReplyAction.UNDO in look.offers:
            written = await self._written_for(ReplyAction.UNDO, look.turn)
            self._pages[platforms_texts.WRITE_UNDO] = f"\n{platforms_texts.WRITE_UNDO.format(written=written)}"
        self._show()

    async def delete(self, page: PageRef) -> None:
        self._pages.pop(page.id, None)
        self._show()

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- a file that was written stays where it is
        """Write the files into a new folder, and show their paths below the reply. Raises PageUnsent."""
        try:
            paths = await asyncio.to_thread(write_files, files)
        except OSError as error:
            raise PageUnsent(f"the files could not be written: {error.strerror}") from error
        for path in paths:
            self._pages[str(path)] = f"\n{platforms_texts.FILE_SAVED.format(path=path)}"
        self._show()
        return ()

    async def send_ephemeral(self, text: str) -> None:
        """The terminal has one reader: there is nothing to hide from others."""

    async def show_waiting(self, turn: int) -> None:
        self._asks(turn)

    async def status(self, text: str) -> None:
        self._display.status(text)

    def begin(self, *, resumed: bool) -> None:
        """Nothing is shown before the first status."""

    def finish(self, end: ReplyEnd) -> None:
        """The last frame has removed the status."""

    def _show(self) -> None:
        self._display.show("\n".join(self._pages.values()))


class InterjectedSurface(TerminalSurface):
    """A reply that is shown once it is complete, while the user writes."""

    def finish(self, end: ReplyEnd) -> None:
        super().finish(end)
        self._display.close()
