"""What hangs on the wall, what should, and the one write that comes next. Pure.

Above: `bot.reply.live` performs the writes and reports back. Below: `bot.reply.frames`, `bot.surface`.

Rules.
- Pages are written in order: a page's last words before the next page's post. Buttons on an earlier page that are to
  go wait until there are no words to be written.
- A page found after a restart is edited like one of ours; nobody knows what it shows, so it is written in any case.
- Where a page may hang that nobody knows of, because a post was interrupted, it is looked for before the next post.
- At the end, pages that the reply does not need are deleted.
- A page that takes no more is ended as it stands, and the reply goes on growing in the next one.
- A page that can no longer be edited keeps what it shows, and the rest follows in a new one. If that is not known, the
  page is given up: it is deleted at the end. From then on no intermediate frames are shown: where editing fails once,
  it would fail again, and each frame would become a message of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot.reply.draft import Draft
from bot.reply.frames import Frame, Frames
from bot.surface import Limits, PageKey, PageRef


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
    """`ornament`: nothing changes but the buttons."""

    page: PageRef
    frame: Frame
    ornament: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    page: PageRef


Write: TypeAlias = Find | Post | Edit | Delete


@dataclass(frozen=True, slots=True)
class _Hung:
    """A page that is up, and what it shows, if we know. `locked`: it can show nothing else."""

    page: PageRef
    frame: Frame | None = None
    locked: bool = False


class Wall:
    """Ask `next_write`, perform it, report with `found`, `posted`, `unsent`, `edited`, `deleted`, `full` or `locked`;
    then ask again. `resumed`: another process may have posted one more page after `pages`.
    """

    def __init__(self, limits: Limits, turn: int, pages: Sequence[PageRef] = (), *, resumed: bool = False) -> None:
        self._limits = limits
        self._turn = turn
        self._frames = Frames(limits, turn)
        self._hung = [_Hung(page) for page in pages]
        self._given_up: list[PageRef] = []
        self._posts = len(pages)
        self._uncertain = resumed
        self._only_final = False

    @property
    def pages(self) -> tuple[PageRef, ...]:
        """All pages that are up, in the order of the reply; given-up ones last."""
        return (*(hung.page for hung in self._hung), *self._given_up)

    def next_write(self, draft: Draft) -> Write | None:
        """What to write next so that the wall shows `draft`; None if it does."""
        if draft.ending:
            return None
        frames = self._frames.frames(draft)
        ornament: Edit | None = None
        for place, frame in enumerate(frames):
            if self._only_final and not frame.look.final:
                return ornament
            if place == len(self._hung):
                key = PageKey(self._turn, self._posts)
                return Find(key) if self._uncertain else Post(key, frame)
            hung = self._hung[place]
            if not self._can_show(hung, frame):
                return ornament
            if self._worth_an_edit(hung, frame, complete=draft.complete, last=place == len(frames) - 1):
                edit = Edit(hung.page, frame, ornament=self._only_buttons(hung, frame))
                if not edit.ornament:
                    return edit
                ornament = ornament or edit
        if ornament is not None:
            return ornament
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
        self._frames.seen(write.frame)

    def edited(self, write: Edit) -> None:
        self._hung[self._place(write.page)] = _Hung(write.page, write.frame)
        self._frames.seen(write.frame)

    def deleted(self, write: Delete) -> None:
        self._hung = [hung for hung in self._hung if hung.page != write.page]
        self._given_up = [page for page in self._given_up if page != write.page]

    def full(self, write: Edit) -> None:
        """The page takes no more: it ends with what it shows."""
        shown = self._hung[self._place(write.page)].frame
        if shown is None or not self._frames.stands(shown):
            self.locked(write)
        elif write.frame.look.final and write.frame.end == shown.end:
            self._lock(write.page, shown)  # it does not even take its end
        else:
            self._frames.end_page(shown, closed=False)

    def locked(self, write: Edit) -> None:
        """The page cannot be edited any more."""
        self._only_final = True
        place = self._place(write.page)
        shown = self._hung[place].frame
        if shown is not None and self._frames.stands(shown):
            self._lock(write.page, shown)
        else:
            del self._hung[place]
            self._given_up.append(write.page)

    def _lock(self, page: PageRef, shown: Frame) -> None:
        self._frames.end_page(shown, closed=True)
        self._hung[self._place(page)] = _Hung(page, shown, locked=True)

    def _place(self, page: PageRef) -> int:
        return [hung.page for hung in self._hung].index(page)

    def _can_show(self, hung: _Hung, frame: Frame) -> bool:
        """Whether a page that can only grow can show this before the end, when it may be written anew."""
        shown = hung.frame
        if shown is None or frame.look.final or not self._limits.grows_only:
            return True
        return frame.look.text.startswith(shown.look.text)

    def _worth_an_edit(self, hung: _Hung, frame: Frame, *, complete: bool, last: bool) -> bool:
        if hung.frame is None:
            return True
        shown, look = hung.frame.look, frame.look
        # Whitespace at the end of the whole reply is never seen; elsewhere it belongs to the cut between two pages.
        same_text = shown.text == look.text or (last and shown.text == look.text.rstrip())
        if hung.locked:
            return not same_text
        if shown.steps != look.steps:
            return True
        if same_text:
            return self._ends(hung.frame, frame) or shown.offers != look.offers
        growth = len(look.text) - len(shown.text)
        return look.final or complete or not 0 <= growth < self._limits.min_growth_chars

    def _only_buttons(self, hung: _Hung, frame: Frame) -> bool:
        shown = hung.frame
        if shown is None or self._ends(shown, frame):
            return False
        same_text = shown.look.text in (frame.look.text, frame.look.text.rstrip())
        return same_text and shown.look.steps == frame.look.steps

    def _ends(self, shown: Frame, frame: Frame) -> bool:
        """Whether the surface must hear of the page's end."""
        return self._limits.announce_final and frame.look.final and not shown.look.final
