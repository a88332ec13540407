"""What each page of a reply should look like now. Pure.

Rules.
- An open page is healed while the answer grows, and shown raw once it is complete; a nearly full one only at the very
  end, as what stands below an answer may need the room.
- The last characters of an open page are shown only when its cut is known, so that the cut has room without taking back
  what was read: at most TAKEN_BACK characters move to the next page.
- Where pages can only grow, an open page shows a beginning of its final text: nothing is added that would have to be
  taken back, and no word, line of code or row of a table is shown in halves, as the page may have to end there.
- A step stays on the page that has shown it first; a new one goes on the last page.
- What is offered stands below the last page only.
- A page of only whitespace, and no steps, is not shown; no platform takes one. A reply that ends without a word shows
  nothing at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import regex

from bot.reply.draft import Draft
from bot.reply.heal import heal
from bot.reply.split import Page, Pager
from bot.surface import Limits, Look, Step

_UNBROKEN = r"\s\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}"
_WORD_BEGUN = regex.compile(rf"(?<![^{_UNBROKEN}])[^{_UNBROKEN}]{{1,40}}\Z")
"""The last word, if it is no longer than words are: what comes next may belong to it."""
TAKEN_BACK = 80
"""Characters: about a line. To end a page before a paragraph is worth that, and not more, to who is reading it."""
_LINE_CHARS = 200
"""A longer line of code, or row of a table, is not waited for."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What one page should show. It stands for the body of page `number` up to `end` in the text."""

    number: int
    look: Look
    opener: str
    body: str
    end: int


class Frames:
    """Ask for `frames` of a draft; say with `seen` which of them were shown, and with `end_page` which is the last."""

    def __init__(self, limits: Limits, turn: int) -> None:
        self._limits = limits
        self._turn = turn
        self._pager = Pager(limits.page_chars, limits.page_bytes)
        self._text = ""
        self._seen = ""
        """How much of the text has been shown."""
        self._homes: dict[str, int] = {}
        """The page that has shown a step first."""

    def frames(self, draft: Draft) -> list[Frame]:
        self._text = draft.text
        shown = _in_common(self._seen, self._text)
        shown = shown if self._limits.grows_only else max(0, shown - TAKEN_BACK)
        self._pager.read(self._text, complete=draft.complete, shown=shown)
        frames = [*self._pages(draft)]
        if frames and (draft.final or not frames[-1].look.final):
            offers = draft.offers & self._limits.offers
            frames[-1] = replace(frames[-1], look=replace(frames[-1].look, offers=offers, last=draft.final))
        return frames

    def seen(self, frame: Frame) -> None:
        """A page shows this."""
        self._seen = self._text[: max(frame.end, len(self._seen))]
        for step in frame.look.steps:
            self._homes.setdefault(step.id, frame.number)

    def stands(self, frame: Frame) -> bool:
        """Whether what was shown is a piece of the text as it is now, on the page where it is now."""
        pages = self._pager.pages
        start = frame.end - len(frame.body)
        if frame.number == len(pages):
            return not frame.body and start == self._pager.settled
        return (
            frame.number < len(pages)
            and pages[frame.number].start == start
            and self._text[start : frame.end] == frame.body
        )

    def end_page(self, frame: Frame, *, closed: bool) -> None:
        """The page ends for ever with what was shown; `closed`: it cannot even be closed any better than it is."""
        closer = frame.look.text[len(frame.opener) + len(frame.body) :] if closed else None
        self._pager.freeze(frame.number, frame.end, closer, self._text)

    def _pages(self, draft: Draft) -> Iterator[Frame]:
        pages = self._pager.pages
        if len(pages) == self._pager.full:
            pages = [*pages, Page(self._pager.settled, "", "")]  # for steps without a word
        for number, page in enumerate(pages):
            full = number < self._pager.full
            complete = draft.complete and self._pager.certain(page.text) >= len(page.text)
            if full or draft.final or complete:
                frame = Frame(number, Look(page.text, final=full or draft.final), page.opener, page.body, page.end)
            else:
                frame = self._growing(number, page, writing=not draft.status)
            steps = self._steps(draft, number, last=number == len(pages) - 1)
            if steps or not (frame.look.text.isspace() or not frame.look.text):
                yield replace(frame, look=replace(frame.look, steps=steps, turn=self._turn))

    def _steps(self, draft: Draft, number: int, *, last: bool) -> tuple[Step, ...]:
        if not self._limits.steps or (draft.final and not draft.text.strip()):
            return ()
        new = number if last else None
        steps = (step for step in draft.steps if self._homes.get(step.id, new) == number)
        return tuple(steps if self._limits.traces else (replace(step, trace="") for step in steps))

    def _growing(self, number: int, page: Page, *, writing: bool) -> Frame:
        """The open page, fit to be shown. `writing`: its last word may go on at any moment."""
        text = page.opener + page.body
        text = text[: self._pager.certain(text)]
        if self._limits.grows_only:
            healed = heal(text)
            kept, added = healed.kept, ""
            if writing and kept == len(text):
                kept = _unfinished(text, in_code=healed.added[:1] == "\n")
            kept = kept if kept > len(page.opener) else 0
        else:
            kept, added = self._healed(text)
        body = page.body[: max(0, kept - len(page.opener))]
        return Frame(number, Look(text[:kept] + added), page.opener, body, page.start + len(body))

    def _healed(self, text: str) -> tuple[int, str]:
        """How much to show, and what behind it; shortened until what closes it fits, too."""
        healing = heal(text)
        while healing.kept + len(healing.added) > self._limits.page_chars:
            text = text[: healing.kept - len(healing.added)]
            healing = heal(text)
        return healing.kept, healing.added


def _in_common(seen: str, text: str) -> int:
    """How many characters both begin with: an end may read differently from what had been shown of it."""
    if text.startswith(seen):
        return len(seen)
    return next((at for at, (one, other) in enumerate(zip(seen, text, strict=False)) if one != other), len(text))


def _unfinished(text: str, *, in_code: bool) -> int:
    """Where the word at the end of the text begins, or the line of code or row of a table."""
    line = text.rfind("\n") + 1
    if (in_code or text[line:].lstrip(" >").startswith("|")) and len(text) - line <= _LINE_CHARS:
        return line
    begun = _WORD_BEGUN.search(text, max(0, len(text) - _LINE_CHARS))
    return len(text) if begun is None else begun.start()
