"""The draft of a reply, the content of each of its pages, and the next write to the platform. Pure.

A step shows which tool runs and how it ended, but no arguments and no results: these may hold what only the asker may
see, and others may read the page. Only a step's trace shows them, on surfaces that only the asker reads.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, assert_never

import regex

from agent import events
from agent.addresses import AddressesRead
from agent.asking import asks
from agent.citations import Citations
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.protocol.render import ReplyText
from bot.chat.ports import unshaped
from bot.chat.reply.link_addresses import show_addresses
from bot.chat.reply.markdown import close_markdown, has_table
from bot.chat.reply.split import Page, Pager
from bot.chat.reply.surface import Limits, PageContent, PageKey, PageRef, ReplyAction, ShownStep, StepState
from bot.chat.reply.tables import show_tables
from bot.chat.texts import replies as reply_texts
from bot.chat.texts.formatting import counted, shortened

STEP_STATES: Final[Mapping[ResultStatus, StepState]] = {
    ResultStatus.SUCCESS: StepState.DONE,
    ResultStatus.FAILURE: StepState.FAILED,
    ResultStatus.UNKNOWN: StepState.FAILED,
}

GROWING_OFFERS: Final = frozenset({ReplyAction.STOP})


# The smallest step of a note: each step takes an edit, and all replies in a channel share few edits.
NOTE_PERCENT: Final = 5
PROGRESS_TEMPLATES: Final[Mapping[str, str]] = {"": reply_texts.PROGRESS, events.SECONDS: reply_texts.TIMED}  # By unit

# The arguments of any tool that show what a call was about, the most informative first.
TRACE_ARGS: Final = ("query", "text", "name", "url")
TRACE_CHARS: Final = 80  # Of an argument: a trace fits one line of a usual screen


def trace_line(call: ToolCall, result: ToolResult) -> str:
    """Describe what a call did, for the asker alone: "searched past threads: boat, 2 found"."""
    subject = next((str(call.args[name]) for name in TRACE_ARGS if call.args.get(name)), "")
    done = reply_texts.DONE_BY_TOOL.get(call.name) or f"used {call.name.replace('_', ' ')}"
    line = f"{done}: {shortened(subject, TRACE_CHARS)}" if subject.strip() else done
    if result.status is not ResultStatus.SUCCESS:
        return f"{line} ({reply_texts.OUTPUTS[result.status].rstrip('.').lower()})"
    return f"{line}, {len(result.sources)} found" if call.name == "recall" else line


def _waiting_text(calls: Mapping[str, ToolCall], asked: Mapping[str, Sequence[str]]) -> str:
    """Return the sentences that say what a turn waits for that was put aside. `asked`: see `events.TurnPutAside`."""
    to_person = reply_texts.WAITS_FOR_PERSON if any(map(asks, calls.values())) else ""
    consent = reply_texts.waits_for({id_: call.name for id_, call in calls.items() if not asks(call)}, asked)
    return "\n\n".join(filter(None, [to_person, consent]))


def status_line(tool: str) -> str:
    """Return the line that people see while this tool runs."""
    return reply_texts.STATUS_LINES.get(tool) or reply_texts.USING_TOOL.format(tool=tool.replace("_", " "))


MARKS: Final[Mapping[StepState, str]] = {StepState.RUNNING: "→", StepState.DONE: "✓", StepState.FAILED: "✗"}


def step_lines(draft: "Draft", limit: int) -> str:
    """Return the last `limit` steps, a line each, below the number of earlier ones; "" if `limit` is 0."""
    if not limit:
        return ""
    lines = [f"{MARKS[step.state]} {step.title}" for step in draft.steps]
    earlier = len(lines) - limit
    head = [counted(earlier, "earlier step", "earlier steps")] if earlier > 0 else []
    between_steps = draft.status and not any(step.state is StepState.RUNNING for step in draft.steps)
    now = [f"{MARKS[StepState.RUNNING]} {draft.status}"] if between_steps else []
    return "\n".join([*head, *lines[-limit:], *now])


class Draft:
    """The text and steps of a reply so far. Feed it with `see`.

    `status` is what the bot is doing now, "" when the reply itself shows it. `note` is the progress of a running tool.
    `offers` are the buttons that a reader has now. `final`: nothing more comes. `ending`: only `end` is missing and
    follows at once, so that no frame is worth showing before it.
    """

    def __init__(self) -> None:
        self._reply = ReplyText()
        self._final_text: str | None = None
        self._is_text_given = False  # Given to `end`, with its citations already shown
        self._ended = False
        self._steps: dict[str, ShownStep] = {}
        self._calls: dict[str, ToolCall] = {}
        self._asking = set[str]()
        self.question_count = 0  # How often a call began to wait for the asker
        self.addresses = AddressesRead()
        self._citations = Citations()
        self.shape: Callable[[str], str] = unshaped
        self.status = ""
        self.note = ""
        self._note_call = ""
        self.final = False
        self._final_offers: frozenset[ReplyAction] = frozenset()

    def record_event(self, event: events.AgentEvent) -> None:
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
            case events.CallStarted(_, call, within) if within:  # its page shows the call whose code it is
                self.record_read((), [call])
            case events.CallFinished(_, result, within) if within:
                self.record_results([result])
            case events.CallStarted(name, call):
                self.status = status_line(call.name)
                self._steps[name] = ShownStep(name, self.status, StepState.RUNNING)
                self._calls[name] = call
                self.record_read((), [call])
            # A report may come after the end of its call, as both travel by themselves.
            case events.CallProgressed(name, done, total, unit):
                if name in self._steps and self._steps[name].state is StepState.RUNNING:
                    doing, share = status_line(self._calls[name].name), done / total
                    template = PROGRESS_TEMPLATES.get(unit, reply_texts.COUNTED)
                    title = template.format(doing=doing, percent=100 * share, done=done, total=total, unit=unit)
                    self._steps[name] = replace(self._steps[name], title=title)
                    # In steps, because each change of the note edits the page, and platforms limit edits.
                    percent = NOTE_PERCENT * int(share * 100 / NOTE_PERCENT)
                    note = title if unit else reply_texts.PROGRESS.format(doing=doing, percent=percent)
                    self.note, self._note_call = note, name
                    self.status = title
            case events.CallAsks(name, waits):
                self._ask(name, waits=waits)
            case events.CallFinished(name, result):
                self.note = "" if name == self._note_call else self.note
                self._ask(name, waits=False)
                self.record_results([result])
                trace = trace_line(self._calls[name], result) if name in self._calls else ""
                self._end_step(name, STEP_STATES[result.status], reply_texts.OUTPUTS[result.status], trace)
            case events.TurnPutAside(calls, question, asked, _):
                self._put_aside(question, _waiting_text(calls, asked))
            case events.ModelAnswered() | events.ModelSwitched() | events.HandleOpened() | events.HandleClosed():
                pass
            case events.TurnEnded(_, text):
                self._final_text = text
            case _:
                assert_never(event)

    def _put_aside(self, question: str, waits: str) -> None:
        self.shape = unshaped  # what it waits for must be seen
        for text in filter(None, (question, waits)):
            self._begin_part()
            self._add(text)

    def record_read(self, texts: Iterable[str], calls: Iterable[ToolCall] = ()) -> None:
        """Record texts that the turn has read, and its calls. A link shows its words without its address only if the
        address was in such a text, and in none of the `calls`.
        """
        self.addresses.read(texts)
        self.addresses.give(calls)

    def record_results(self, results: Iterable[ToolResult | None]) -> None:
        """Record the results of tools: the reply may cite their references from now on."""
        for result in results:
            if result is not None and result.status is ResultStatus.SUCCESS:
                self.addresses.read_result(result)
                if result.references:
                    self._citations.add(result)

    def end(self, text: str | None = None, offers: frozenset[ReplyAction] = frozenset()) -> None:
        """Nothing more comes. `text` replaces the whole text of the reply, with its citations already shown."""
        if text is not None or self._final_text is None:
            self._final_text, self._is_text_given = self._reply.text if text is None else text, text is not None
        self.status, self.note, self._final_offers, self.final = "", "", offers, True
        for step in self.steps:
            if step.state is StepState.RUNNING:
                self._end_step(step.id, StepState.FAILED, reply_texts.UNFINISHED)

    @property
    def waits_for_asker(self) -> bool:
        """Whether a call waits for the asker. The page does not show the question, as others may read it."""
        return bool(self._asking) and not self.final

    @property
    def offers(self) -> frozenset[ReplyAction]:
        if self.final:
            return self._final_offers
        return GROWING_OFFERS | {ReplyAction.ANSWER} if self.waits_for_asker else GROWING_OFFERS

    @property
    def steps(self) -> tuple[ShownStep, ...]:
        return tuple(self._steps.values())

    @property
    def ending(self) -> bool:
        return self._final_text is not None and not self.final

    @property
    def complete(self) -> bool:
        """Whether the answer is complete, so that no Markdown in it is unfinished."""
        return self._ended or self._final_text is not None

    @property
    def text(self) -> str:
        """The whole text if it is complete; else without trailing whitespace, so that it only grows."""
        text = self._final_text
        if text is None:
            text = self._reply.text if self._ended else self._reply.settled
        if self._is_text_given:
            return text
        text = self.shape(text)
        return self._citations.shown(text, complete=self.complete) if self._citations.known else text

    def _end_step(self, name: str, state: StepState, output: str, trace: str = "") -> None:
        if name in self._steps:  # else it started in an earlier process
            title = status_line(self._calls[name].name)
            self._steps[name] = replace(self._steps[name], title=title, state=state, output=output, trace=trace)

    def _ask(self, name: str, *, waits: bool) -> None:
        if name not in self._calls or waits == (name in self._asking):
            return
        tool = self._calls[name].name
        if waits:
            self._asking.add(name)
            self.question_count += 1
        else:
            self._asking.discard(name)
        self.status = reply_texts.ASKING_STATUS.format(tool=tool) if waits else status_line(tool)
        self.note, self._note_call = reply_texts.WAITS_FOR_ANSWER.format(tool=tool) if waits else self.status, name
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


# What each page of a reply should show now. Pure.
#
# Rules.
# - While the answer grows, open Markdown on the last page is closed. A complete answer is shown as it is; but a nearly
#   full page waits for the very end, as the lines below an answer may need the room.
# - The last characters of an open page are shown only when its cut is known, so that there is room for the cut without
#   removing text that was read: up to MAX_TAKEN_BACK characters move to the next page.
# - Where pages can only grow, an open page shows a prefix of its final text: nothing is added that would have to be
#   removed again, and no word, line of code or row of a table is shown in part, as the page may have to end there.
# - A step stays on the page that showed it first; a new one goes on the last page.
# - Buttons are on the last page only.
# - A page with only whitespace and no steps is not shown, as no platform accepts one. A reply that ends without text
#   shows nothing at all.

_UNBROKEN = r"\s\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}"
# The last word, up to the length of a word: the next characters may belong to it.
_WORD_BEGUN = regex.compile(rf"(?<![^{_UNBROKEN}])[^{_UNBROKEN}]{{1,40}}\Z")
# Characters, about a line: how much shown text may move to the next page, so that the page ends before a paragraph.
MAX_TAKEN_BACK = 80
_LINE_CHARS = 200  # A longer line of code, or row of a table, is shown before it is complete


@dataclass(frozen=True, slots=True)
class Frame:
    """What one page should show: the body of page `number`, up to `end` in the text."""

    number: int
    look: PageContent
    opener: str
    body: str
    end: int


class Frames:
    """Computes the `frames` of a draft. The caller reports shown frames with `record_shown`, and the last frame of a
    page with `end_page`.
    """

    def __init__(self, limits: Limits, turn: int) -> None:
        self._limits = limits
        self._turn = turn
        self._pager = Pager(limits.page_chars, limits.page_bytes)
        self._text = ""
        self._shown_text = ""
        self._step_pages: dict[str, int] = {}  # By step id, the page that showed it first

    def frames(self, draft: Draft) -> list[Frame]:
        self._text = draft.text
        if not self._limits.shows_addresses:
            self._text = show_addresses(
                self._text, draft.addresses, complete=draft.complete, reader=self._limits.reader
            )
        if self._limits.table_width is not None:
            self._text = show_tables(self._text, self._limits.table_width, complete=draft.complete)
        shown = _common_length(self._shown_text, self._text)
        shown = shown if self._limits.grows_only else max(0, shown - MAX_TAKEN_BACK)
        self._pager.read(self._text, complete=draft.complete, shown=shown)
        frames = [*self._pages(draft)]
        if frames and (draft.final or not frames[-1].look.final):
            offers = draft.offers & self._limits.offers
            frames[-1] = replace(frames[-1], look=replace(frames[-1].look, offers=offers, last=draft.final))
        return frames

    def record_shown(self, frame: Frame) -> None:
        self._shown_text = self._text[: max(frame.end, len(self._shown_text))]
        for step in frame.look.steps:
            self._step_pages.setdefault(step.id, frame.number)

    def is_current(self, frame: Frame) -> bool:
        """Whether the body of `frame` is still part of the text, at the same place and on the same page."""
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
        """End the page permanently with what `frame` shows. `closed`: its closer cannot be changed any more, either."""
        closer = frame.look.text[len(frame.opener) + len(frame.body) :] if closed else None
        self._pager.freeze(frame.number, frame.end, closer, self._text)

    def _pages(self, draft: Draft) -> Iterator[Frame]:
        pages = self._pager.pages
        if len(pages) == self._pager.full:
            pages = [*pages, Page(self._pager.settled, "", "")]  # for steps without text
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
            is_blank = frame.look.text.isspace() or not frame.look.text
            # After a full page, a note alone is not worth a new message.
            has_note = self._limits.notes and last and not frame.look.final and not (is_blank and number)
            note = (step_lines(draft, self._limits.step_lines) or draft.note) if has_note else ""
            if steps or note or not is_blank:
                yield replace(frame, look=replace(frame.look, steps=steps, turn=self._turn, note=note))

    def _steps(self, draft: Draft, number: int, *, last: bool) -> tuple[ShownStep, ...]:
        if not self._limits.steps or (draft.final and not draft.text.strip()):
            return ()
        new_step_page = number if last else None
        steps = (step for step in draft.steps if self._step_pages.get(step.id, new_step_page) == number)
        return tuple(steps if self._limits.traces else (replace(step, trace="") for step in steps))

    def _growing(self, number: int, page: Page, *, writing: bool) -> Frame:
        """Return the frame of the open page. `writing`: more text may follow its last word at any moment."""
        text = page.opener + page.body
        text = text[: self._pager.certain(text)]
        if self._limits.grows_only:
            closed = close_markdown(text)
            kept, added = closed.kept, ""
            if writing and kept == len(text):
                kept = _unfinished(text, in_code=closed.added[:1] == "\n")
        else:
            kept, added = self._close_open(text)
        if kept <= len(page.opener):
            kept, added = 0, ""
        body = page.body[: max(0, kept - len(page.opener))]
        return Frame(number, PageContent(text[:kept] + added), page.opener, body, page.start + len(body))

    def _close_open(self, text: str) -> tuple[int, str]:
        """Return how much of the text to show and what to add behind it, shortened until both fit the page."""
        closed = close_markdown(text)
        while closed.kept + len(closed.added) > self._limits.page_chars:
            text = text[: closed.kept - len(closed.added)]
            closed = close_markdown(text)
        return closed.kept, closed.added


def _common_length(shown: str, text: str) -> int:
    """Return the length of the common prefix: the final text may differ from what was shown of it."""
    if text.startswith(shown):
        return len(shown)
    return next((at for at, (old, new) in enumerate(zip(shown, text, strict=False)) if old != new), len(text))


def _unfinished(text: str, *, in_code: bool) -> int:
    """Return where the last word of the text begins, or its last line in code or in a table."""
    line = text.rfind("\n") + 1
    if (in_code or text[line:].lstrip(" >").startswith("|")) and len(text) - line <= _LINE_CHARS:
        return line
    word = _WORD_BEGUN.search(text, max(0, len(text) - _LINE_CHARS))
    return len(text) if word is None else word.start()


@dataclass(frozen=True, slots=True)
class FindPage:
    """Look for a page that may have been posted already."""

    key: PageKey


@dataclass(frozen=True, slots=True)
class PostPage:
    key: PageKey
    frame: Frame


@dataclass(frozen=True, slots=True)
class EditPage:
    """`only_buttons`: nothing but the buttons changes."""

    page: PageRef
    frame: Frame
    only_buttons: bool = False


@dataclass(frozen=True, slots=True)
class DeletePage:
    page: PageRef


Write: TypeAlias = FindPage | PostPage | EditPage | DeletePage


@dataclass(frozen=True, slots=True)
class _PostedPage:
    """A posted page. `frame` is what it shows, if known. `locked`: it cannot be changed any more."""

    page: PageRef
    frame: Frame | None = None
    locked: bool = False


class PageReconciler:
    """Compares what a reply should show with what its pages show, and returns the next write.

    Call `next_write`, perform it, report the result with `found`, `posted`, `unsent`, `edited`, `deleted`, `full` or
    `locked`, and call it again. `resumed`: another process may have posted one more page after `pages`. `first`: the
    number in the first page's key.

    Rules.
    - Pages are written in order: a page's last text before the next page's post. Removing buttons from an earlier page
      waits until there is no text to write.
    - A page found after a restart is edited like any other. What it shows is not known, so it is always written.
    - After an interrupted post, the page may exist: it is looked for before the next post.
    - At the end, pages that the reply does not need are deleted.
    - A page that accepts no more text ends with what it shows, and the reply continues on the next one.
    - A page that can no longer be edited keeps what it shows, and the rest follows on a new one. If what it shows is
      not known, it is deleted at the end. From then on no intermediate frames are shown: if editing failed once, it
      would fail again, and each frame would become a message of its own.
    """

    def __init__(
        self, limits: Limits, turn: int, pages: Sequence[PageRef] = (), *, resumed: bool = False, first: int = 0
    ) -> None:
        self._limits = limits
        self._turn = turn
        self._frames = Frames(limits, turn)
        self._posted = [_PostedPage(page) for page in pages]
        self._given_up: list[PageRef] = []
        self._posts = first + len(pages)
        self._uncertain = resumed
        self._only_final = limits.only_final

    @property
    def pages(self) -> tuple[PageRef, ...]:
        """All posted pages, in the order of the reply; those to be deleted at the end are last."""
        return (*(posted.page for posted in self._posted), *self._given_up)

    def next_write(self, draft: Draft) -> Write | None:
        """Return the next write toward showing `draft`; None if the pages show it."""
        if draft.ending:
            return None
        frames = self._frames.frames(draft)
        buttons: EditPage | None = None
        for index, frame in enumerate(frames):
            if self._only_final and not frame.look.final:
                return buttons
            # If a process died between posting and storing, the page may be there: it is looked for first, or it would
            # be posted twice.
            if index == len(self._posted):
                key = PageKey(self._turn, self._posts)
                return FindPage(key) if self._uncertain else PostPage(key, frame)
            posted = self._posted[index]
            if not self._can_show(posted, frame):
                return buttons
            if self._needs_edit(posted, frame, complete=draft.complete, last=index == len(frames) - 1):
                edit = EditPage(posted.page, frame, only_buttons=self._changes_only_buttons(posted, frame))
                if not edit.only_buttons:
                    return edit
                # Text before buttons: an edit that changes only buttons waits until no page needs another text.
                buttons = buttons or edit
        if buttons is not None:
            return buttons
        # Pages are removed only at the end: a draft can become shorter and grow again.
        if draft.final and (surplus := [*(posted.page for posted in self._posted[len(frames) :]), *self._given_up]):
            return DeletePage(surplus[-1])
        return None

    def report_search(self, page: PageRef | None) -> None:
        """Report the search for a page: `page` is the page of the next post, if it exists already."""
        self._uncertain = False
        if page is not None:
            self._posts += 1
            self._posted.append(_PostedPage(page))

    def unsent(self) -> None:
        """Report a post that may or may not have taken effect."""
        self._uncertain = True

    def posted(self, write: PostPage, page: PageRef) -> None:
        self._posts += 1
        self._posted.append(_PostedPage(page, write.frame))
        self._frames.record_shown(write.frame)

    def edited(self, write: EditPage) -> None:
        self._posted[self._index(write.page)] = _PostedPage(write.page, write.frame)
        self._frames.record_shown(write.frame)

    def deleted(self, write: DeletePage) -> None:
        self._posted = [posted for posted in self._posted if posted.page != write.page]
        self._given_up = [page for page in self._given_up if page != write.page]

    def full(self, write: EditPage) -> None:
        """Report that the page accepts no more text: it ends with what it shows."""
        shown = self._posted[self._index(write.page)].frame
        if shown is None or not self._frames.is_current(shown):
            self.locked(write)
        elif write.frame.look.final and write.frame.end == shown.end:
            self._lock(write.page, shown)  # not even the end of the page was accepted
        else:
            self._frames.end_page(shown, closed=False)

    def locked(self, write: EditPage) -> None:
        """Report that the page cannot be edited any more."""
        self._only_final = True
        index = self._index(write.page)
        shown = self._posted[index].frame
        if shown is not None and self._frames.is_current(shown):
            self._lock(write.page, shown)
        else:
            del self._posted[index]
            self._given_up.append(write.page)

    def _lock(self, page: PageRef, shown: Frame) -> None:
        self._frames.end_page(shown, closed=True)
        self._posted[self._index(page)] = _PostedPage(page, shown, locked=True)

    def _index(self, page: PageRef) -> int:
        return [posted.page for posted in self._posted].index(page)

    def _can_show(self, posted: _PostedPage, frame: Frame) -> bool:
        """Whether the page can show `frame` now: one that can only grow is rewritten at the end alone."""
        shown = posted.frame
        if shown is None or frame.look.final or not self._limits.grows_only:
            return True
        return frame.look.text.startswith(shown.look.text)

    def _needs_edit(self, posted: _PostedPage, frame: Frame, *, complete: bool, last: bool) -> bool:
        if posted.frame is None:
            return True
        shown, look = posted.frame.look, frame.look
        # Whitespace at the end of the whole reply is not visible; elsewhere it belongs to the cut between two pages.
        same_text = shown.text == look.text or (last and shown.text == look.text.rstrip())
        if posted.locked:
            return not same_text
        if shown.steps != look.steps or shown.note != look.note:
            return True
        if same_text:
            return self._must_announce_end(posted.frame, frame) or shown.offers != look.offers
        growth = len(look.text) - len(shown.text)
        return look.final or complete or not 0 <= growth < self._limits.min_growth_chars

    def _changes_only_buttons(self, posted: _PostedPage, frame: Frame) -> bool:
        shown = posted.frame
        if shown is None or self._must_announce_end(shown, frame):
            return False
        same_text = shown.look.text in (frame.look.text, frame.look.text.rstrip())
        return same_text and shown.look.steps == frame.look.steps and shown.look.note == frame.look.note

    def _must_announce_end(self, shown: Frame, frame: Frame) -> bool:
        """Whether the surface has to be told that the page is final."""
        if not frame.look.final or shown.look.final:
            return False
        return self._limits.announce_final or (self._limits.announces_tables and has_table(frame.look.text))
