"""The terminal's surface: pages of a reply as one growing text."""

import re
import shutil
from contextlib import AbstractContextManager
from pathlib import Path

from bot.chat.reply.surface import FILES, OutFile, PageContent, PageKey, PageRef, ReplyAction, Surface
from bot.platforms import texts as platforms_texts
from bot.platforms.terminal.surface import TerminalSurface


class FakeDisplay:
    def __init__(self) -> None:
        self.frames: list[str] = []
        self.statuses: list[str] = []

    def show(self, text: str) -> None:
        self.frames.append(text)

    def status(self, text: str) -> None:
        self.statuses.append(text)

    def trace(self, text: str) -> None:
        self.statuses.append(text)

    def paused(self) -> AbstractContextManager[None]:
        raise AssertionError("a surface asks nobody anything")

    def fail(self) -> None:
        raise AssertionError("a surface does not say that there is no answer")

    def close(self) -> None:
        raise AssertionError("a surface does not end a reply")


async def written_for(action: ReplyAction, turn: int) -> str:
    return f"/{action} {turn}"


def surface_on(display: FakeDisplay) -> TerminalSurface:
    return TerminalSurface(display, lambda _: None, written_for)


async def test_each_post_and_edit_shows_the_whole_reply_so_far() -> None:
    display = FakeDisplay()
    surface: Surface = surface_on(display)
    first = await surface.post(PageKey(7, 0), PageContent("one"))
    await surface.edit(first, PageContent("one, two", final=True))
    second = await surface.post(PageKey(7, 1), PageContent("three"))
    await surface.delete(second)
    assert display.frames == ["one", "one, two", "one, two\nthree", "one, two"]


async def test_files_of_tools_are_written_and_their_paths_stand_below_the_reply() -> None:
    display = FakeDisplay()
    surface = surface_on(display)
    await surface.post(PageKey(7, 0), PageContent("Done.", final=True))
    assert (
        await surface.attach(PageKey(7, FILES), [OutFile("chart.png", b"\xff"), OutFile("b.csv", b"1")], again=False)
        == ()
    )
    paths = [Path(path) for path in re.findall(r"File: `(.+)`", display.frames[-1])]
    assert display.frames[-1].startswith("Done.\n")
    assert [(path.name, path.read_bytes()) for path in paths] == [("chart.png", b"\xff"), ("b.csv", b"1")]
    assert paths[0].parent.stat().st_mode & 0o077 == 0
    shutil.rmtree(paths[0].parent)


async def test_posting_the_same_key_again_makes_no_second_page() -> None:
    display = FakeDisplay()
    surface = surface_on(display)
    assert await surface.post(PageKey(7, 0), PageContent("on")) == await surface.post(
        PageKey(7, 0), PageContent("one", final=True)
    )
    assert display.frames == ["on", "one"]


async def test_a_page_of_an_earlier_process_is_shown_here_when_it_is_edited() -> None:
    display = FakeDisplay()
    await surface_on(display).edit(PageRef("7-0"), PageContent("one", final=True))
    assert display.frames == ["one"]


async def test_the_status_is_handed_on() -> None:
    display = FakeDisplay()
    await surface_on(display).status("Searching past threads…")
    assert display.statuses == ["Searching past threads…"]


def test_every_answer_fits_on_one_page() -> None:
    limits = surface_on(FakeDisplay()).limits
    assert limits.page_chars >= 1_000_000
    assert limits.edit_interval_s <= 0.1


async def test_an_answer_that_was_cut_says_what_to_write_since_there_are_no_buttons() -> None:
    display = FakeDisplay()
    surface = surface_on(display)
    page = await surface.post(PageKey(7, 0), PageContent("one", final=True))
    assert display.frames == ["one"]
    await surface.edit(page, PageContent("one", final=True, offers=frozenset({ReplyAction.CONTINUE})))
    assert display.frames[-1] == f"one\n\n{platforms_texts.WRITE_CONTINUE}"


async def test_what_was_remembered_is_taken_back_by_a_command_since_there_are_no_buttons() -> None:
    display = FakeDisplay()
    surface = surface_on(display)
    look = PageContent("one", final=True, offers=frozenset({ReplyAction.UNDO}), turn=7)
    await surface.post(PageKey(7, 0), look)
    assert display.frames[-1] == f"one\n\n{platforms_texts.WRITE_UNDO.format(written='/undo 7')}"
