"""The surface of the terminal and of pipes: `bot.surface.Surface` on top of a `Display`.

One person reads it, so that each step leaves its trace there.
"""

from collections.abc import Sequence

from bot.memory.words import undo_turn_words
from bot.platforms.terminal.window import Display
from bot.surface import Limits, Look, Offer, OutFile, PageKey, PageRef

LIMITS = Limits(
    page_chars=10_000_000,  # a terminal scrolls: one page, whatever a model says
    edit_interval_s=0.05,  # twenty frames a second look continuous
    offers=frozenset({Offer.CONTINUE, Offer.UNDO}),
    steps=True,
    traces=True,
)

CONTINUE = "*Write “continue” to go on.*"
"""A terminal has no buttons."""
UNDO = "*Write `/memory {words}` to take back what I remembered.*"


class TerminalSurface:
    """Pages follow one another on the display as one text. A page is known by its key, also after a restart."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._pages: dict[str, str] = {}
        self._traced: set[str] = set()

    @property
    def limits(self) -> Limits:
        return LIMITS

    async def find(self, key: PageKey) -> PageRef | None:  # noqa: ARG002 -- no display outlives its process
        return None

    async def post(self, key: PageKey, look: Look) -> PageRef:
        page = PageRef(str(key))
        await self.edit(page, look)
        return page

    async def edit(self, page: PageRef, look: Look) -> None:
        for step in look.steps:
            if step.trace and step.id not in self._traced:
                self._traced.add(step.id)
                self._display.trace(step.trace)
        self._pages[page.id] = look.text
        if Offer.CONTINUE in look.offers:
            self._pages[CONTINUE] = f"\n{CONTINUE}"
        if Offer.UNDO in look.offers:
            self._pages[UNDO] = f"\n{UNDO.format(words=undo_turn_words(look.turn))}"
        self._show()

    async def delete(self, page: PageRef) -> None:
        self._pages.pop(page.id, None)
        self._show()

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:  # noqa: ARG002 -- what stands in a terminal can be copied
        return ()

    async def aside(self, text: str) -> None:
        """There is nothing here that only one person may see."""

    async def status(self, text: str) -> None:
        self._display.status(text)

    def leave(self, *, ended: bool) -> None:
        """The last frame has taken the status away."""

    def _show(self) -> None:
        self._display.show("\n".join(self._pages.values()))
