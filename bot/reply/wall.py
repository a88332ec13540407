"""What hangs on the wall, what should, and the one write that comes next. Pure.

Above: `bot.reply.live` performs the writes and reports back. Below: `bot.reply.split`, `bot.reply.heal`, `bot.surface`.

Rules.
- Pages are written in order: a page's last edit before the next page's post.
- A page found after a restart is edited like one of ours; nobody knows what it shows, so it is written in any case.
- Where a page may hang that nobody knows of, because a post was interrupted, it is looked for before the next post.
- At the end, pages that the reply does not need are deleted.
- A page that can no longer be edited keeps what it shows, and the rest follows in a new one. If that is not known, the
  page is given up: it is deleted at the end. From then on no intermediate frames are shown: where editing fails once,
  it would fail again, and each frame would become a message of its own.
- A page of only whitespace is not shown; no platform takes one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from bot.reply.draft import Draft
from bot.reply.heal import heal
from bot.reply.split import Page, Pager
from bot.surface import Limits, PageKey, PageRef


@dataclass(frozen=True, slots=True)
class Frame:
    """What one page should show. It stands for the body of page `number` up to `end` in the text."""

    number: int
    text: str
    final: bool
    opener: str
    body: str
    end: int


@dataclass(frozen=True, slots=True)
class Find:
    """Whether this page has been posted already."""

    key: PageKey


@dataclass(frozen=True, slots=True)
class Post:
    key: PageKey
    frame: Frame


@dataclass(frozen=True, slots=True)
class Edit:
    page: PageRef
    frame: Frame


@dataclass(frozen=True, slots=True)
class Delete:
    page: PageRef


Write: TypeAlias = Find | Post | Edit | Delete


@dataclass(frozen=True, slots=True)
class _Hung:
    """A page that is up, and what it shows, if we know."""

    page: PageRef
    frame: Frame | None = None


class Wall:
    """Ask `next_write`, perform it, report with `found`, `posted`, `unsent`, `edited`, `deleted` or `locked`; then ask
    again. `resumed`: another process may have posted one more page after `pages`.
    """

    def __init__(self, limits: Limits, turn: int, pages: Sequence[PageRef] = (), *, resumed: bool = False) -> None:
        self._limits = limits
        self._turn = turn
        self._hung = [_Hung(page) for page in pages]
        self._given_up: list[PageRef] = []
        self._posts = len(pages)
        self._uncertain = resumed
        self._pager = Pager(limits.page_chars)
        self._text = ""
        self._only_final = False

    @property
    def pages(self) -> tuple[PageRef, ...]:
        """All pages that are up, in the order of the reply; given-up ones last."""
        return (*(hung.page for hung in self._hung), *self._given_up)

    def next_write(self, draft: Draft) -> Write | None:
        """What to write next so that the wall shows `draft`; None if it does."""
        frames = list(self._frames(draft))
        for place, frame in enumerate(frames):
            if self._only_final and not frame.final:
                return None
            if place == len(self._hung):
                key = PageKey(self._turn, self._posts)
                return Find(key) if self._uncertain else Post(key, frame)
            last = place == len(frames) - 1
            if self._worth_an_edit(self._hung[place].frame, frame, complete=draft.complete, last=last):
                return Edit(self._hung[place].page, frame)
        if draft.final and (surplus := [*(hung.page for hung in self._hung[len(frames) :]), *self._given_up]):
            return Delete(surplus[-1])
        return None

    def found(self, page: PageRef | None) -> None:
        """The page of the next post, if it was already there."""
        self._uncertain = False
        if page is not None:
            self._posts += 1
            self._hung.append(_Hung(page))

    def unsent(self) -> None:
        """Nobody knows whether the post took effect."""
        self._uncertain = True

    def posted(self, write: Post, page: PageRef) -> None:
        self._posts += 1
        self._hung.append(_Hung(page, write.frame))

    def edited(self, write: Edit) -> None:
        self._hung[self._place(write.page)] = _Hung(write.page, write.frame)

    def deleted(self, write: Delete) -> None:
        self._hung = [hung for hung in self._hung if hung.page != write.page]
        self._given_up = [page for page in self._given_up if page != write.page]

    def locked(self, write: Edit) -> None:
        """The page cannot be edited any more."""
        self._only_final = True
        place = self._place(write.page)
        shown = self._hung[place].frame
        if shown is not None and self._still_stands(shown):
            closer = shown.text[len(shown.opener) + len(shown.body) :]
            self._pager.freeze(shown.number, shown.end, closer, self._text)
            self._hung[place] = _Hung(write.page, replace(shown, final=True))
        else:
            del self._hung[place]
            self._given_up.append(write.page)

    def _place(self, page: PageRef) -> int:
        return [hung.page for hung in self._hung].index(page)

    def _still_stands(self, shown: Frame) -> bool:
        """Whether what is shown is a piece of the text as it is now, on the page where it is now."""
        pages = self._pager.pages
        start = shown.end - len(shown.body)
        return (
            shown.number < len(pages)
            and pages[shown.number].start == start
            and self._text[start : shown.end] == shown.body
        )

    def _frames(self, draft: Draft) -> Iterator[Frame]:
        self._text = draft.text
        self._pager.read(self._text, complete=draft.complete)
        for number, page in enumerate(self._pager.pages):
            full = number < self._pager.full
            frame = self._raw(number, page, final=full or draft.final)
            if not (full or draft.complete):
                frame = self._healed(number, page)
            if not frame.text.isspace() and frame.text:
                yield frame

    def _raw(self, number: int, page: Page, *, final: bool) -> Frame:
        return Frame(number, page.text, final, page.opener, page.body, page.end)

    def _healed(self, number: int, page: Page) -> Frame:
        """The open page, fit to be shown; shortened until what closes it fits, too."""
        text = page.opener + page.body
        healing = heal(text)
        while healing.kept + len(healing.added) > self._limits.page_chars:
            text = text[: healing.kept - len(healing.added)]
            healing = heal(text)
        body = page.body[: max(0, healing.kept - len(page.opener))]
        shown = text[: healing.kept] + healing.added
        return Frame(number, shown, final=False, opener=page.opener, body=body, end=page.start + len(body))

    def _worth_an_edit(self, shown: Frame | None, frame: Frame, *, complete: bool, last: bool) -> bool:
        if shown is None:
            return True
        # Whitespace at the end of the whole reply is never seen; elsewhere it belongs to the cut between two pages.
        if shown.text == frame.text or (last and shown.text == frame.text.rstrip()):
            return self._limits.announce_final and frame.final and not shown.final
        growth = len(frame.text) - len(shown.text)
        return frame.final or complete or not 0 <= growth < self._limits.min_growth_chars
