"""What a reply shows so far, what its pages should show of it, and the one write that comes next. Pure.

A step tells what is done and how it went, never with what: arguments and results may hold what only the asker may see,
and the page may be read by others. Only its trace does, for surfaces that nobody else reads.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, assert_never

import regex

from agent import events
from agent.citations import Citations
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.progress import AddressesRead
from agent.protocol.render import ReplyText
from bot.reply.markdown import close_markdown, show_addresses
from bot.reply.split import Page, Pager
from bot.reply_surface import Limits, PageContent, PageKey, PageRef, ReplyAction, ShownStep, StepState
from bot.texts import reply_texts
from bot.texts.formatting import counted, shortened

ENDS: Final[Mapping[ResultStatus, StepState]] = {
    ResultStatus.SUCCESS: StepState.DONE,
    ResultStatus.FAILURE: StepState.FAILED,
    ResultStatus.UNKNOWN: StepState.FAILED,
}

GROWING: Final = frozenset({ReplyAction.STOP})  # What is offered below a reply that grows


NOTED_PERCENT: Final = 5  # A note tells no smaller steps: each takes an edit, of which all replies of a place share few

# The arguments that say what a call was about, of whichever tool, the most telling first.
TELLING: Final = ("query", "text", "name", "url")
TRACE_CHARS: Final = 80  # Of an argument: a trace is one line on a usual screen


def trace(call: ToolCall, result: ToolResult) -> str:
    """What a call did, for the asker alone: "searched past threads: boat, 2 found"."""
    about = next((str(call.args[name]) for name in TELLING if call.args.get(name)), "")
    done = reply_texts.DONE_BY_TOOL.get(call.name) or f"used {call.name.replace('_', ' ')}"
    said = f"{done}: {shortened(about, TRACE_CHARS)}" if about.strip() else done
    if result.status is not ResultStatus.SUCCESS:
        return f"{said} ({reply_texts.OUTPUTS[result.status].rstrip('.').lower()})"
    return f"{said}, {len(result.sources)} found" if call.name == "recall" else said


def status_line(tool: str) -> str:
    """What a person reads while this tool runs."""
    return reply_texts.STATUS_LINES.get(tool) or reply_texts.USING_TOOL.format(tool=tool.replace("_", " "))


MARKS: Final[Mapping[StepState, str]] = {StepState.RUNNING: "→", StepState.DONE: "✓", StepState.FAILED: "✗"}


def step_lines(draft: "Draft", most: int) -> str:
    """The last steps, a line each, and how many there were before; "" for a reply that shows none."""
    if not most:
        return ""
    shown = [f"{MARKS[step.state]} {step.title}" for step in draft.steps]
    before = len(shown) - most
    head = [reply_texts.STEPS_BEFORE.format(count=counted(before, "step", "steps"))] if before > 0 else []
    rests = draft.status and not any(step.state is StepState.RUNNING for step in draft.steps)
    now = [f"{MARKS[StepState.RUNNING]} {draft.status}"] if rests else []
    return "\n".join([*head, *shown[-most:], *now])


class Draft:
    """Feed it with `see`. `status` is what the bot is doing now, "" when the reply itself shows it.

    `note` tells how far a tool is, as long as it runs. `offers` is what a reader may do about it now; `final` that
    nothing more comes at all; `ending` that only the end is missing, and comes at once: a frame before it would be one
    too many.
    """

    def __init__(self) -> None:
        self._reply = ReplyText()
        self._whole: str | None = None
        self._is_given = False  # By who has seen to its citations
        self._ended = False
        self._steps: dict[str, ShownStep] = {}
        self._calls: dict[str, ToolCall] = {}
        self._asking = set[str]()
        self.asked = 0  # How often a call has asked the asker something
        self.addresses = AddressesRead()
        self._citations = Citations()
        self.status = ""
        self.note = ""
        self._noted = ""
        self.final = False
        self._below: frozenset[ReplyAction] = frozenset()

    def see(self, event: events.AgentEvent) -> None:
        match event:
            case events.IterationStarted():
                self._begin_part()
                self.status, self.note = reply_texts.THINKING, ""
            case events.TextArrived(text):
                self._add(text)
            case events.NoticeArrived(text):
                self._begin_part()
                self._add(text)
            case events.ReplyEnded():
                self._ended = True
            case events.CallStarted(name, call):
                self.status = status_line(call.name)
                self._steps[name] = ShownStep(name, self.status, StepState.RUNNING)
                self._calls[name] = call
                self.read((), [call])
            case events.CallProgressed(name, done, total, unit):
                if name in self._steps and self._steps[name].state is StepState.RUNNING:
                    doing, share = status_line(self._calls[name].name), done / total
                    form = reply_texts.COUNTED if unit else reply_texts.PROGRESS
                    told = form.format(doing=doing, percent=100 * share, done=done, total=total, unit=unit)
                    self._steps[name] = replace(self._steps[name], title=told)
                    percent = NOTED_PERCENT * int(share * 100 / NOTED_PERCENT)
                    noted = told if unit else reply_texts.PROGRESS.format(doing=doing, percent=percent)
                    self.note, self._noted = noted, name
                    self.status = told
            case events.CallAsks(name, waits):
                self._ask(name, waits=waits)
            case events.CallFinished(name, result):
                self.note = "" if name == self._noted else self.note
                self._ask(name, waits=False)
                self.brought([result])
                told = trace(self._calls[name], result) if name in self._calls else ""
                self._end_step(name, ENDS[result.status], reply_texts.OUTPUTS[result.status], told)
            case events.TurnPutAside(calls):
                tools = ", ".join(f"`{name}`" for name in sorted({call.name for call in calls.values()}))
                self._begin_part()
                self._add(reply_texts.WAITS_FOR_CONSENT.format(tools=tools))
            case events.ModelAnswered() | events.ModelSwitched() | events.HandleOpened() | events.HandleClosed():
                pass
            case events.TurnEnded(_, text):
                self._whole = text
            case _:
                assert_never(event)

    def read(self, texts: Iterable[str], calls: Iterable[ToolCall] = ()) -> None:
        """The turn has read these: a link to an address that stands there, and in none of its `calls`, shows its words
        alone.
        """
        self.addresses.read(texts)
        self.addresses.give(calls)

    def brought(self, results: Iterable[ToolResult | None]) -> None:
        """Tools have brought these: what they tell of may be cited from now on."""
        for result in results:
            if result is not None and result.status is ResultStatus.SUCCESS:
                self.addresses.read([result.content])
                if result.references:
                    self._citations.take(result)

    def end(self, text: str | None = None, offers: frozenset[ReplyAction] = frozenset()) -> None:
        """Nothing more comes. `text` is the whole reply, if somebody else knows it better."""
        if text is not None or self._whole is None:
            self._whole, self._is_given = self._reply.text if text is None else text, text is not None
        self.status, self.note, self._below, self.final = "", "", offers, True
        for step in self.steps:
            if step.state is StepState.RUNNING:
                self._end_step(step.id, StepState.FAILED, reply_texts.UNFINISHED)

    @property
    def asks(self) -> bool:
        """Whether a call waits for the asker. What they are asked is not told: the page may be read by others."""
        return bool(self._asking) and not self.final

    @property
    def offers(self) -> frozenset[ReplyAction]:
        if self.final:
            return self._below
        return GROWING | {ReplyAction.ANSWER} if self.asks else GROWING

    @property
    def steps(self) -> tuple[ShownStep, ...]:
        """What was done on the way, in its order."""
        return tuple(self._steps.values())

    @property
    def ending(self) -> bool:
        return self._whole is not None and not self.final

    @property
    def complete(self) -> bool:
        """The answer is said to its end, so that none of its Markdown is unfinished."""
        return self._ended or self._whole is not None

    @property
    def text(self) -> str:
        """The whole text if it is complete; else without whitespace at its end, so that it only ever grows."""
        text = self._whole
        if text is None:
            text = self._reply.text if self._ended else self._reply.settled
        if self._is_given or not self._citations.known:
            return text
        return self._citations.shown(text, complete=self.complete)

    def _end_step(self, name: str, state: StepState, output: str, told: str = "") -> None:
        if name in self._steps:  # else it began in an earlier process
            title = status_line(self._calls[name].name)
            self._steps[name] = replace(self._steps[name], title=title, state=state, output=output, trace=told)

    def _ask(self, name: str, *, waits: bool) -> None:
        if name not in self._calls or waits == (name in self._asking):
            return
        tool = self._calls[name].name
        if waits:
            self._asking.add(name)
            self.asked += 1
        else:
            self._asking.discard(name)
        self.status = reply_texts.ASKING_STATUS.format(tool=tool) if waits else status_line(tool)
        self.note, self._noted = reply_texts.WAITS_FOR_ANSWER.format(tool=tool) if waits else self.status, name
        if name in self._steps:
            self._steps[name] = replace(self._steps[name], title=self.status)

    def _begin_part(self) -> None:
        self._reply.begin_part()
        self._ended = False

    def _add(self, text: str) -> None:
        self._reply.add(text)
        if not text.isspace():
            self._ended = False
            self.status = ""


# What each page of a reply should look like now. Pure.
#
# Rules.
# - An open page is healed while the answer grows, and shown raw once it is complete; a nearly full one only at the very
#   end, as what stands below an answer may need the room.
# - The last characters of an open page are shown only when its cut is known, so that the cut has room without taking
#   back what was read: at most TAKEN_BACK characters move to the next page.
# - Where pages can only grow, an open page shows a beginning of its final text: nothing is added that would have to be
#   taken back, and no word, line of code or row of a table is shown in halves, as the page may have to end there.
# - A step stays on the page that has shown it first; a new one goes on the last page.
# - What is offered stands below the last page only.
# - A page of only whitespace, and no steps, is not shown; no platform takes one. A reply that ends without a word shows
#   nothing at all.

_UNBROKEN = r"\s\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}"
# The last word, if it is no longer than words are: what comes next may belong to it.
_WORD_BEGUN = regex.compile(rf"(?<![^{_UNBROKEN}])[^{_UNBROKEN}]{{1,40}}\Z")
# Characters: about a line. To end a page before a paragraph is worth that, and not more, to who is reading it.
TAKEN_BACK = 80
_LINE_CHARS = 200  # A longer line of code, or row of a table, is not waited for


@dataclass(frozen=True, slots=True)
class Frame:
    """What one page should show. It stands for the body of page `number` up to `end` in the text."""

    number: int
    look: PageContent
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
        self._seen = ""  # How much of the text has been shown
        self._homes: dict[str, int] = {}  # The page that has shown a step first

    def frames(self, draft: Draft) -> list[Frame]:
        self._text = draft.text
        if not self._limits.shows_addresses:
            self._text = show_addresses(self._text, draft.addresses, complete=draft.complete)
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
                frame = Frame(
                    number, PageContent(page.text, final=full or draft.final), page.opener, page.body, page.end
                )
            else:
                frame = self._growing(number, page, writing=not draft.status)
            last = number == len(pages) - 1
            steps = self._steps(draft, number, last=last)
            wordless = frame.look.text.isspace() or not frame.look.text
            # A message that only told how far something is would be one too many behind a page that is full.
            noted = self._limits.notes and last and not frame.look.final and not (wordless and number)
            note = (step_lines(draft, self._limits.step_lines) or draft.note) if noted else ""
            if steps or note or not wordless:
                yield replace(frame, look=replace(frame.look, steps=steps, turn=self._turn, note=note))

    def _steps(self, draft: Draft, number: int, *, last: bool) -> tuple[ShownStep, ...]:
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
            healed = close_markdown(text)
            kept, added = healed.kept, ""
            if writing and kept == len(text):
                kept = _unfinished(text, in_code=healed.added[:1] == "\n")
            kept = kept if kept > len(page.opener) else 0
        else:
            kept, added = self._healed(text)
        body = page.body[: max(0, kept - len(page.opener))]
        return Frame(number, PageContent(text[:kept] + added), page.opener, body, page.start + len(body))

    def _healed(self, text: str) -> tuple[int, str]:
        """How much to show, and what behind it; shortened until what closes it fits, too."""
        healing = close_markdown(text)
        while healing.kept + len(healing.added) > self._limits.page_chars:
            text = text[: healing.kept - len(healing.added)]
            healing = close_markdown(text)
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


@dataclass(frozen=True, slots=True)
class FindPage:
    """Whether this page has been posted already."""

    key: PageKey


@dataclass(frozen=True, slots=True)
class PostPage:
    key: PageKey
    frame: Frame


@dataclass(frozen=True, slots=True)
class EditPage:
    """`ornament`: nothing changes but the buttons."""

    page: PageRef
    frame: Frame
    ornament: bool = False


@dataclass(frozen=True, slots=True)
class DeletePage:
    page: PageRef


Write: TypeAlias = FindPage | PostPage | EditPage | DeletePage


@dataclass(frozen=True, slots=True)
class _PostedPage:
    """A page that is up, and what it shows, if we know. `locked`: it can show nothing else."""

    page: PageRef
    frame: Frame | None = None
    locked: bool = False


class PageReconciler:
    """Ask `next_write`, perform it, report with `found`, `posted`, `unsent`, `edited`, `deleted`, `full` or `locked`;
    then ask again. `resumed`: another process may have posted one more page after `pages`.

    Rules.
    - Pages are written in order: a page's last words before the next page's post. Buttons on an earlier page that are
      to go wait until there are no words to be written.
    - A page found after a restart is edited like one of ours; nobody knows what it shows, so it is written in any case.
    - Where a page may hang that nobody knows of, because a post was interrupted, it is looked for before the next post.
    - At the end, pages that the reply does not need are deleted.
    - A page that takes no more is ended as it stands, and the reply goes on growing in the next one.
    - A page that can no longer be edited keeps what it shows, and the rest follows in a new one. If that is not known,
      the page is given up: it is deleted at the end. From then on no intermediate frames are shown: where editing fails
      once, it would fail again, and each frame would become a message of its own.
    """

    def __init__(self, limits: Limits, turn: int, pages: Sequence[PageRef] = (), *, resumed: bool = False) -> None:
        self._limits = limits
        self._turn = turn
        self._frames = Frames(limits, turn)
        self._hung = [_PostedPage(page) for page in pages]
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
        ornament: EditPage | None = None
        for place, frame in enumerate(frames):
            if self._only_final and not frame.look.final:
                return ornament
            if place == len(self._hung):
                key = PageKey(self._turn, self._posts)
                return FindPage(key) if self._uncertain else PostPage(key, frame)
            hung = self._hung[place]
            if not self._can_show(hung, frame):
                return ornament
            if self._worth_an_edit(hung, frame, complete=draft.complete, last=place == len(frames) - 1):
                edit = EditPage(hung.page, frame, ornament=self._only_buttons(hung, frame))
                if not edit.ornament:
                    return edit
                ornament = ornament or edit
        if ornament is not None:
            return ornament
        if draft.final and (surplus := [*(hung.page for hung in self._hung[len(frames) :]), *self._given_up]):
            return DeletePage(surplus[-1])
        return None

    def found(self, page: PageRef | None) -> None:
        """The page of the next post, if it was already there."""
        self._uncertain = False
        if page is not None:
            self._posts += 1
            self._hung.append(_PostedPage(page))

    def unsent(self) -> None:
        """Nobody knows whether the post took effect."""
        self._uncertain = True

    def posted(self, write: PostPage, page: PageRef) -> None:
        self._posts += 1
        self._hung.append(_PostedPage(page, write.frame))
        self._frames.seen(write.frame)

    def edited(self, write: EditPage) -> None:
        self._hung[self._place(write.page)] = _PostedPage(write.page, write.frame)
        self._frames.seen(write.frame)

    def deleted(self, write: DeletePage) -> None:
        self._hung = [hung for hung in self._hung if hung.page != write.page]
        self._given_up = [page for page in self._given_up if page != write.page]

    def full(self, write: EditPage) -> None:
        """The page takes no more: it ends with what it shows."""
        shown = self._hung[self._place(write.page)].frame
        if shown is None or not self._frames.stands(shown):
            self.locked(write)
        elif write.frame.look.final and write.frame.end == shown.end:
            self._lock(write.page, shown)  # it does not even take its end
        else:
            self._frames.end_page(shown, closed=False)

    def locked(self, write: EditPage) -> None:
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
        self._hung[self._place(page)] = _PostedPage(page, shown, locked=True)

    def _place(self, page: PageRef) -> int:
        return [hung.page for hung in self._hung].index(page)

    def _can_show(self, hung: _PostedPage, frame: Frame) -> bool:
        """Whether a page that can only grow can show this before the end, when it may be written anew."""
        shown = hung.frame
        if shown is None or frame.look.final or not self._limits.grows_only:
            return True
        return frame.look.text.startswith(shown.look.text)

    def _worth_an_edit(self, hung: _PostedPage, frame: Frame, *, complete: bool, last: bool) -> bool:
        if hung.frame is None:
            return True
        shown, look = hung.frame.look, frame.look
        # Whitespace at the end of the whole reply is never seen; elsewhere it belongs to the cut between two pages.
        same_text = shown.text == look.text or (last and shown.text == look.text.rstrip())
        if hung.locked:
            return not same_text
        if shown.steps != look.steps or shown.note != look.note:
            return True
        if same_text:
            return self._ends(hung.frame, frame) or shown.offers != look.offers
        growth = len(look.text) - len(shown.text)
        return look.final or complete or not 0 <= growth < self._limits.min_growth_chars

    def _only_buttons(self, hung: _PostedPage, frame: Frame) -> bool:
        shown = hung.frame
        if shown is None or self._ends(shown, frame):
            return False
        same_text = shown.look.text in (frame.look.text, frame.look.text.rstrip())
        return same_text and shown.look.steps == frame.look.steps and shown.look.note == frame.look.note

    def _ends(self, shown: Frame, frame: Frame) -> bool:
        """Whether the surface must hear of the page's end."""
        return self._limits.announce_final and frame.look.final and not shown.look.final
