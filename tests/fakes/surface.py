"""A place that records every frame that it shows, and can be slow, limited, locked or emptied."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.ports.clock import Clock
from bot.chat.reply.surface import (
    Limits,
    OutFile,
    PageContent,
    PageFull,
    PageGone,
    PageKey,
    PageLocked,
    PageRef,
    ReplyAction,
    ReplyEnd,
    ShownStep,
    SurfaceError,
)

DISCORD_LIKE = Limits(page_chars=2_000, edit_interval_s=1.2, shows_addresses=True)
BUTTONED = replace(DISCORD_LIKE, announce_final=False, offers=frozenset(ReplyAction))  # The places of all buttons


@dataclass(frozen=True, slots=True)
class SeenFrame:
    """The content of page `page` from `time` on. `began` is the time of the call."""

    began: float
    time: float
    page: str
    text: str
    final: bool
    posted: bool
    steps: tuple[ShownStep, ...] = ()
    offers: frozenset[ReplyAction] = frozenset()


class FakeSurface:
    """`frames` is the whole history, `wall` the current content, with the buttons in `offers`; `calls` all attempts,
    `sought` the keys that were searched. `full` pages accept only their end.

    `fail_next` errors are raised by the next calls that show a page, one each, before they take effect;
    `fail_lost` ones after it, as when the answer of the platform is lost.
    """

    def __init__(self, clock: Clock, limits: Limits = DISCORD_LIKE, latency_s: float = 0.0) -> None:
        self.limits = limits
        self.frames: list[SeenFrame] = []
        self.wall: dict[str, str] = {}
        self.keys: dict[PageKey, str] = {}
        self.calls: list[str] = []
        self.sought: list[PageKey] = []
        self.statuses: list[str] = []
        self.begun: list[bool] = []
        self.endings: list[ReplyEnd] = []
        self.asides: list[str] = []
        self.waiting_shown: list[int] = []
        self.fail_waiting: list[SurfaceError] = []
        self.attached: dict[str, dict[str, bytes]] = {}
        self.fail_attach: SurfaceError | None = None
        self.offers: dict[str, frozenset[ReplyAction]] = {}
        self.fail_next: deque[SurfaceError] = deque()
        self.fail_lost: deque[SurfaceError] = deque()
        self.locked: set[str] = set()
        self.full: set[str] = set()
        self.most_in_flight = 0
        self._in_flight = 0
        self._clock = clock
        self._latency_s = latency_s

    async def find(self, key: PageKey) -> PageRef | None:
        self.sought.append(key)
        return PageRef(self.keys[key]) if key in self.keys else None

    async def post(self, key: PageKey, look: PageContent) -> PageRef:
        began = await self._call(f"post {key}", look)
        page = self.keys.setdefault(key, f"page-{key}")
        self._show(began, page, look, posted=True)
        return PageRef(page)

    async def edit(self, page: PageRef, look: PageContent) -> None:
        began = await self._call(f"edit {page.id}", look)
        if page.id not in self.wall:
            raise PageGone("the message is gone")
        if page.id in self.locked:
            raise PageLocked("the message is too old to be edited")
        if page.id in self.full and not look.final:
            raise PageFull("the message takes no more")
        shown = self.wall[page.id]
        assert look.final or not self.limits.grows_only or look.text.startswith(shown), "a stream only grows"
        self._show(began, page.id, look, posted=False)

    async def delete(self, page: PageRef) -> None:
        await self._call(f"delete {page.id}", PageContent("-"))
        if self.wall.pop(page.id, None) is None:
            raise PageGone("the message is gone")

    async def attach(self, key: PageKey, files: Sequence[OutFile], *, again: bool) -> tuple[PageRef, ...]:
        self.calls.append(f"attach {key}")
        if self.fail_attach is not None:
            raise self.fail_attach
        name = f"files-{key}"
        if not (again and name in self.attached):
            assert name not in self.attached, "handed over twice"
            self.attached[name] = {file.name: file.content for file in files}
        return (PageRef(name),)

    async def send_ephemeral(self, text: str) -> None:
        self.asides.append(text)

    async def show_waiting(self, turn: int) -> None:
        self.waiting_shown.append(turn)
        if self.fail_waiting:
            raise self.fail_waiting.pop(0)

    async def status(self, text: str) -> None:
        self.statuses.append(text)

    def begin(self, *, resumed: bool) -> None:
        self.begun.append(resumed)

    def finish(self, end: ReplyEnd) -> None:
        self.endings.append(end)

    @property
    def shown(self) -> list[str]:
        """Return what a reader sees now, page after page."""
        return list(self.wall.values())

    async def _call(self, name: str, look: PageContent) -> float:
        self.calls.append(name)
        assert look.text.strip() or look.steps, "no platform takes an empty message"
        assert len(look.text) <= self.limits.page_chars, "the message is too long"
        assert len(look.text.encode()) <= (self.limits.page_bytes or 10**9), "the message is too long"
        assert look.offers <= self.limits.offers, "there are no such buttons here"
        assert self.limits.steps or not look.steps, "steps are not shown here"
        began = self._clock.monotonic()
        self._in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self._in_flight)
        try:
            if self._latency_s:
                await self._clock.sleep(self._latency_s)
        finally:
            self._in_flight -= 1
        if self.fail_next:
            raise self.fail_next.popleft()
        return began

    def _show(self, began: float, page: str, look: PageContent, *, posted: bool) -> None:
        self.wall[page] = look.text
        self.offers[page] = look.offers
        frame = SeenFrame(began, self._clock.monotonic(), page, look.text, look.final, posted, look.steps, look.offers)
        self.frames.append(frame)
        if self.fail_lost:
            raise self.fail_lost.popleft()
