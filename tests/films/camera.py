"""Pages as pictures, by a Chromium without a window, and pictures as an animated GIF.

Chromium is spoken to by its DevTools protocol: it starts once for all the pictures of a film.
"""

import asyncio
import json
import shutil
import subprocess
from base64 import b64decode
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from itertools import count
from math import dist
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from PIL import Image
from websockets.asyncio.client import ClientConnection, connect

from tests.patience import LOOK_S

Colour: TypeAlias = tuple[int, int, int]

SETTING: Final = "CHROMIUM"  # The variable of the Makefile that names a Chromium
USUAL: Final = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
OPTIONS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
STARTS_S: Final = 30.0
ANSWERS_S: Final = 30.0
# Pixels of a picture for each of the page, in both directions: screens are finer than pages count.
SHARPNESS: Final = 1.5
EXACT_COLOURS: Final = 72  # The most common ones, which are kept as they are: surfaces, and the letters on them
OTHER_COLOURS: Final = 24  # For all the rest, such as the shades in an emoji
CUBE: Final = 4  # How far apart Pillow tells two values of a colour's part from each other
SHORTEST_S: Final = 0.05  # No picture stands there shorter: browsers show a GIF no faster than 50 pictures a second

# What a loaded page is asked: its layout says which fonts it needs, and these have to come.
LETTERS: Final = "document.body.offsetHeight; document.fonts.ready.then(() => true)"


class NoChromium(Exception):
    """There is none to take pictures with. Its text says what to do."""


def find_chromium(named: str) -> str:
    """The path of the one that is named, else of one at a usual place. Raises NoChromium."""
    for name in (named,) if named else USUAL:
        if (found := shutil.which(name)) is not None:
            return found
    missing = f"{SETTING} names {named}, which is no program" if named else "no Chromium is found here"
    raise NoChromium(f"Films need a browser, and {missing}: install chromium, or set {SETTING} to its path.")


@dataclass
class Camera:
    """Takes pictures of pages of this size. Use `open_camera`."""

    folder: Path
    size: tuple[int, int]
    tab: ClientConnection
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    async def take(self, page: str) -> Image.Image:
        """The picture of a page, once its fonts are there."""
        file = self.folder / "page.html"
        file.write_text(page, encoding="utf-8")
        await self._ask("Page.navigate", url=file.as_uri())
        await self._hear(lambda told: told.get("method") == "Page.loadEventFired")
        await self._ask("Runtime.evaluate", expression=LETTERS, awaitPromise=True)
        taken = await self._ask("Page.captureScreenshot", format="png")
        return Image.open(BytesIO(b64decode(taken["data"]))).convert("RGB")

    async def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        await self.tab.send(json.dumps({"id": number, "method": method, "params": params}))
        answer = await self._hear(lambda told: told.get("id") == number)
        assert "result" in answer, answer
        return answer["result"]

    async def _hear(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        async with asyncio.timeout(ANSWERS_S):
            while not wanted(told := json.loads(await self.tab.recv())):
                pass
        return told

    async def prepare(self) -> None:
        width, height = self.size
        shape = {"width": width, "height": height, "deviceScaleFactor": SHARPNESS, "mobile": False}
        await self._ask("Page.enable")
        await self._ask("Emulation.setDeviceMetricsOverride", **shape)


@asynccontextmanager
async def open_camera(chromium: str, folder: Path, size: tuple[int, int]) -> AsyncGenerator[Camera, None]:
    """`folder`: an empty one, which Chromium may write in. `size`: of the pages, in their own pixels."""
    profile = folder / "profile"
    command = [chromium, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:  # noqa: ASYNC220, S603 -- it starts at once; the operator's own browser
        try:
            address = await _address(profile / "DevToolsActivePort", running)
            async with connect(address, max_size=None) as browser:
                tab = await _open_tab(browser, address)
            async with connect(tab, max_size=None) as connection:
                camera = Camera(folder, size, connection)
                await camera.prepare()
                yield camera
        finally:
            running.terminate()


async def _address(file: Path, running: subprocess.Popen[bytes]) -> str:
    async with asyncio.timeout(STARTS_S):
        while len(lines := _lines(file)) < 2:
            if running.poll() is not None:
                raise NoChromium(f"Films need a browser, and {running.args} ended at once.")
            await asyncio.sleep(LOOK_S)
    return f"ws://127.0.0.1:{lines[0]}{lines[1]}"


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file.is_file() else []


async def _open_tab(browser: ClientConnection, address: str) -> str:
    """Its own address."""
    await browser.send(json.dumps({"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}}))
    answer = json.loads(await browser.recv())
    return f"{address.partition('/devtools/')[0]}/devtools/page/{answer['result']['targetId']}"


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture, and for how long it stands there."""

    picture: Image.Image
    lasts_s: float


def without_flicker(pages: Iterable[tuple[float, str]]) -> list[tuple[float, str]]:
    """Pages, each with the time from which on it is seen, without those that are the same as the one before, or seen
    too shortly.
    """
    kept: list[tuple[float, str]] = []
    for at_s, page in pages:
        since_s = kept.pop()[0] if kept and at_s - kept[-1][0] < SHORTEST_S else at_s
        if not kept or kept[-1][1] != page:
            kept.append((since_s, page))
    return kept


async def film(camera: Camera, pages: Iterable[tuple[float, str]], last_s: float) -> list[Frame]:
    """`last_s`: for how long the last page stands there."""
    kept = without_flicker(pages)
    ends = [at_s for at_s, _ in kept[1:]] + [kept[-1][0] + last_s]
    return [Frame(await camera.take(page), end - at_s) for (at_s, page), end in zip(kept, ends, strict=True)]


def write_gif(path: Path, frames: Sequence[Frame]) -> None:
    """All frames in one palette, without dithering: what does not change between two of them is not stored again."""
    palette = _palette([frame.picture for frame in frames])
    first, *others = (frame.picture.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    lasting = [round(frame.lasts_s * 100) * 10 for frame in frames]
    first.save(path, save_all=True, append_images=others, duration=lasting, loop=0, optimize=True)


def _palette(pictures: Sequence[Image.Image]) -> Image.Image:
    counted = Counter[Colour]()
    for picture in pictures:
        for times, colour in picture.getcolors(picture.width * picture.height) or []:
            counted[cast("Colour", colour)] += times
    exact, rest = list[Colour](), list[Colour]()
    for colour, _ in counted.most_common():
        if not any(_alike(colour, other) for other in exact):
            (exact if len(exact) < EXACT_COLOURS else rest).append(colour)
    others = [one for one in _summed_up(rest) if not any(_alike(one, other) for other in exact)]
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in (*exact, *others) for part in colour])
    return palette


def _summed_up(colours: Sequence[Colour]) -> list[Colour]:
    """A few that stand for all of these."""
    if not colours:
        return []
    line = Image.new("RGB", (len(colours), 1))
    line.putdata(colours)
    few = line.quantize(OTHER_COLOURS).convert("RGB").getcolors() or []
    return [cast("Colour", colour) for _, colour in few]


def _alike(one: Colour, exact: Colour) -> bool:
    """Whether Pillow would take this one for the exact one: it looks colours up by the corners of small cubes."""
    corner = [part - part % CUBE for part in exact]
    return dist(one, corner) <= dist(exact, corner)
