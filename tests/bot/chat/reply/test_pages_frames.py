"""Pages that can only grow: for any text, in any pieces, and wherever a page is full."""

from dataclasses import replace
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.events import CallFinished, CallProgressed, CallStarted, ReplyEnded, TextArrived
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.protocol.render import joined
from bot.chat.reply.pages import (
    MAX_TAKEN_BACK,
    NOTE_PERCENT,
    DeletePage,
    Draft,
    EditPage,
    FindPage,
    Frame,
    Frames,
    PageReconciler,
    PostPage,
)
from bot.chat.reply.split import MIN_LAST_CHARS
from bot.chat.reply.surface import Limits, PageRef
from tests.examples import examples
from tests.fakes.answers import answers, scribbles
from tests.fakes.reader import read_back

STREAM = Limits(
    page_chars=6_000, edit_interval_s=0, page_bytes=5_000, grows_only=True, steps=True, shows_addresses=True
)
EDITED = Limits(page_chars=2_000, edit_interval_s=0, shows_addresses=True)
CLOSER_CHARS = 300


class Reader:
    """Performs a reconciler's writes on pages that only grow. Every n-th edit finds its page full."""

    def __init__(self, full_every: int) -> None:
        self.reconciler = PageReconciler(STREAM, turn=1)
        self.shown: dict[PageRef, str] = {}
        self._edits = 0
        self._full_every = full_every

    def show(self, draft: Draft) -> None:
        while (write := self.reconciler.next_write(draft)) is not None:
            match write:
                case PostPage(key, frame):
                    page = PageRef(str(key))
                    self.shown[page] = frame.look.text
                    self.reconciler.posted(write, page)
                case EditPage(page, frame):
                    assert frame.look.text.startswith(self.shown[page]), "a stream only grows"
                    self._edits += 1
                    if self._full_every and self._edits % self._full_every == 0 and not frame.look.final:
                        self.reconciler.full(write)
                    else:
                        self.shown[page] = frame.look.text
                        self.reconciler.edited(write)
                case FindPage() | DeletePage():
                    raise AssertionError("nothing was lost, and nothing is too much")


@settings(max_examples=examples(60), deadline=None)
@given(
    st.one_of(answers, scribbles).filter(lambda text: bool(text.strip())),
    st.integers(1, 12),
    st.lists(st.integers(1, 400), min_size=1, max_size=10),
    st.integers(0, 12),
)
def test_pages_that_only_grow_hold_the_whole_text_and_stand_alone(
    text: str, times: int, chunks: list[int], full_every: int
) -> None:
    text = "\n\n".join([text.strip()] * times)
    reader, draft, at = Reader(full_every), Draft(), 0
    for chunk in cycle(chunks):
        draft.record_event(TextArrived(text[at : at + chunk]))
        at += chunk
        if at >= len(text):
            break
        reader.show(draft)
    draft.end(text)
    reader.show(draft)
    pages = [*reader.shown.values()]
    assert read_back(pages, STREAM.page_chars) == text
    assert all(len(page.encode()) <= 5_000 + CLOSER_CHARS for page in pages)


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(answers.filter(lambda text: bool(text.strip())), st.integers(1, 12), st.lists(st.integers(1, 300), min_size=1))
def test_no_more_than_a_line_of_what_was_read_moves_to_the_next_page(text: str, times: int, chunks: list[int]) -> None:
    text = "\n\n".join([text.strip()] * times)
    frames, draft, at, seen = Frames(EDITED, turn=1), Draft(), 0, dict[int, int]()
    for chunk in cycle(chunks):
        draft.record_event(TextArrived(text[at : at + chunk]))
        at += chunk
        if at >= len(text):
            break
        for frame in frames.frames(draft):
            assert not frame.look.final or frame.end >= seen.get(frame.number, 0) - MAX_TAKEN_BACK
            seen[frame.number] = max(frame.end, seen.get(frame.number, 0))
            frames.record_shown(frame)


def said(text: str) -> Draft:
    draft = Draft()
    draft.record_event(TextArrived(text))
    return draft


def shown(draft: Draft) -> list[str]:
    return [frame.look.text for frame in Frames(STREAM, turn=1).frames(draft)]


def test_a_word_that_may_go_on_waits_unless_nobody_writes() -> None:
    draft = said("Let me look it up")
    assert shown(draft) == ["Let me look it "]
    draft.record_event(CallStarted("1.1", ToolCall("recall", {})))
    assert shown(draft) == ["Let me look it up"]


def test_a_line_of_code_and_a_row_of_a_table_wait_for_their_end() -> None:
    assert shown(said("Look:\n\n```py\nx = 1\ny = 2 + ")) == ["Look:\n\n```py\nx = 1\n"]
    assert shown(said("| a |\n|---|\n| 1 |\n| 2 ")) == ["| a |\n|---|\n| 1 |\n"]


def test_a_line_that_is_too_long_to_wait_for_does_not() -> None:
    (text,) = shown(said("```\n" + "x " * 300))
    assert len(text) > 500


def test_chinese_has_no_words_to_wait_for() -> None:
    assert shown(said("我的船是蓝色的")) == ["我的船是蓝色的"]


def test_a_step_stays_on_the_page_that_has_shown_it_first() -> None:
    frames, draft = Frames(STREAM, turn=1), said("word " * 900)
    draft.record_event(CallStarted("1.1", ToolCall("recall", {})))
    (first,) = frames.frames(draft)
    frames.record_shown(first)
    draft.record_event(TextArrived("word " * 900))
    draft.record_event(CallFinished("1.1", ToolResult("recall", ResultStatus.SUCCESS, "")))
    draft.record_event(CallStarted("2.1", ToolCall("recall", {})))
    assert [[step.id for step in frame.look.steps] for frame in frames.frames(draft)] == [["1.1"], ["2.1"]]


def test_a_reply_that_is_taken_back_shows_no_steps() -> None:
    draft = Draft()
    draft.record_event(CallStarted("1.1", ToolCall("recall", {})))
    draft.end("")
    assert shown(draft) == []


@pytest.mark.slow
@given(
    st.integers(1_500, 6_200),
    st.sampled_from([" ", "\n\n"]),
    st.sampled_from(["", "*Stopped.*", "One line of a footer. " * 5]),
    st.sampled_from([4, 40, 900]),
)
def test_the_end_takes_back_a_line_at_most_and_leaves_no_scrap_on_the_last_page(
    length: int, between: str, below: str, step: int
) -> None:
    paragraph = " ".join(f"word{number}" for number in range(60)) + between
    text = (paragraph * 30)[:length]
    draft, frames, ends = Draft(), Frames(EDITED, 7), dict[int, int]()

    def show() -> list[Frame]:
        shown = frames.frames(draft)
        for frame in shown:
            assert ends.get(frame.number, 0) - frame.end <= MAX_TAKEN_BACK
            frames.record_shown(frame)
            ends[frame.number] = frame.end
        return shown

    for at in range(0, length, step):
        draft.record_event(TextArrived(text[at : at + step]))
        show()
    draft.record_event(ReplyEnded())
    show()
    draft.end(joined([text, below]))
    pages = show()
    assert all(len(frame.body) >= MIN_LAST_CHARS for frame in pages[1:])


NOTED = replace(EDITED, notes=True)
HALF_DONE = CallProgressed("1.1", 1, 2)


def test_a_note_stands_below_the_text_of_the_last_page_or_alone_where_there_is_none_yet() -> None:
    draft, frames = Draft(), Frames(NOTED, turn=1)
    draft.record_event(CallStarted("1.1", ToolCall("recall", {})))
    assert frames.frames(draft) == []
    draft.record_event(HALF_DONE)
    (alone,) = frames.frames(draft)
    assert (alone.look.text, alone.look.note) == ("", draft.note)
    for text in ("I look. ", "x" * 3_000):
        draft.record_event(TextArrived(text))
        *before, last = frames.frames(draft)
        assert (last.look.note, {one.look.note for one in before} - {""}) == (draft.note, set())
    draft.record_event(CallFinished("1.1", ToolResult("recall", ResultStatus.SUCCESS, "blue")))
    assert {one.look.note for one in frames.frames(draft)} == {""}


def test_each_change_of_a_note_is_a_write_and_its_end_too() -> None:
    draft, reconciler, shown = Draft(), PageReconciler(NOTED, turn=1), list[str]()
    events = (CallProgressed("1.1", done, 100) for done in range(1, 101))
    for event in (CallStarted("1.1", ToolCall("recall", {})), *events):
        draft.record_event(event)
        match reconciler.next_write(draft):
            case PostPage(key, frame) as post:
                reconciler.posted(post, PageRef(str(key)))
                shown.append(frame.look.note)
            case EditPage(_, frame) as edit:
                reconciler.edited(edit)
                shown.append(frame.look.note)
            case write:
                assert write is None
    assert [int(note.rpartition("…")[2].rstrip(" %")) for note in shown] == [*range(0, 101, NOTE_PERCENT)]
    draft.record_event(TextArrived("It is blue."))
    draft.end("It is blue.")
    assert isinstance(write := reconciler.next_write(draft), EditPage)
    assert (write.frame.look.text, write.frame.look.note) == ("It is blue.", "")
