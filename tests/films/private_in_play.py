"""The film of `cogency play`: what one says in private reaches nobody else, is found with its source, and is forgotten
with a receipt. Its pictures are of the real page, whose bot answers by the rehearsal model.
"""

import asyncio
import io
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.async_api import Page

from agent.machine import CLOCK
from bot.forgetting import texts as forgetting_texts
from tests.browser import open_browser, open_page
from tests.fakes.play_people import playing
from tests.fakes.play_sides import Side, sides
from tests.films.camera import SHARPNESS, Frame
from tests.films.recording import Pace

SIZE: Final = (1000, 620)
TYPES_MS: Final = 28.0  # Between two letters
READS_S: Final = 1.1
FACT: Final = "the launch of Apollo is on Friday"
ASKED: Final = "what do you know about Apollo?"


async def record(folder: Path, pace: Pace, last_s: float) -> list[Frame]:
    """`last_s`: for how long the last picture stands there."""
    pictures: list[tuple[float, bytes]] = []
    async with (
        open_browser() as browser,
        open_page(browser, size=SIZE, sharpness=SHARPNESS) as opened,
        playing(folder) as here,
    ):
        await opened.page.goto(here.address)
        ann, ben = sides(opened)
        await ann.column.get_by_text("No messages here yet.").wait_for()
        async with _filming(opened.page, pictures):
            await _tell(ann, ben, pace)
    return frames(pictures, last_s)


async def _tell(ann: Side, ben: Side, pace: Pace) -> None:
    await pace.wait(READS_S)
    await ann.open("Cogency")
    await _type(ann, f"remember that {FACT}", pace)
    await ann.sees("I will remember that")
    await pace.wait(READS_S)
    await _type(ben, f"@Cogency {ASKED}", pace)
    await ben.sees("I found nothing")
    await pace.wait(READS_S)
    await _type(ann, "/new", pace)
    await ann.sees("starts a new conversation")
    await _type(ann, ASKED, pace)
    await ann.sees("This is what I found")
    await pace.wait(READS_S)
    await _type(ann, "/forget about Apollo", pace)
    await ann.sees("This cannot be undone")
    await pace.wait(READS_S)
    await ann.press("Forget")
    await ann.sees(forgetting_texts.FOUND_NOTHING)
    await pace.wait(READS_S)
    await _type(ann, ASKED, pace)
    await ann.sees("I found nothing")


async def _type(side: Side, words: str, pace: Pace) -> None:
    box = side.column.get_by_role("combobox")
    await box.press_sequentially(words, delay=TYPES_MS / pace.speed)
    await box.press("Enter")


@asynccontextmanager
async def _filming(page: Page, pictures: list[tuple[float, bytes]]) -> AsyncGenerator[None]:
    """One picture after the other, with its time, until the block ends."""

    async def watch() -> None:
        while not over.is_set():
            pictures.append((CLOCK.monotonic(), await page.screenshot()))

    over = asyncio.Event()
    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        over.set()
        await watching


def frames(pictures: Sequence[tuple[float, bytes]], last_s: float) -> list[Frame]:
    """Of pictures as PNG with the times at which they were taken; what stays the same is one frame."""
    kept = [one for number, one in enumerate(pictures) if not number or one[1] != pictures[number - 1][1]]
    ends = [at for at, _ in kept[1:]] + [kept[-1][0] + last_s]
    return [
        Frame(Image.open(io.BytesIO(png)).convert("RGB"), end - at) for (at, png), end in zip(kept, ends, strict=True)
    ]
