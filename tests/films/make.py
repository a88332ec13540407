"""`make film`: the films of the documents, each recorded from the real bot and drawn by a browser."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from tests.films import chat_in_terminal, forgetting_in_discord, private_in_play, reply_in_slack
from tests.films.camera import Frame, NoChromium, film, find_chromium, open_camera, write_gif
from tests.films.chat_pages import discord_page, slack_page
from tests.films.chat_states import Shot
from tests.films.recording import Pace
from tests.films.terminal_pages import terminal_pages

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "films"
STYLES: Final = (Path(__file__).with_name("fonts.css").as_uri(),)
LAST_S: Final = 4.0  # The end is read before it begins again
TITLE: Final = "cogency chat"

Pages: TypeAlias = Iterable[tuple[float, str]]


@dataclass(frozen=True, slots=True)
class Film:
    """`record`: its pages with their times, by the real bot in a folder of its own."""

    size: tuple[int, int]
    record: Callable[[Path], Coroutine[None, None, Pages]]


async def _reply(folder: Path) -> Pages:
    return [(shot.at_s, slack_page(shot.chat, STYLES)) for shot in await reply_in_slack.record(folder, Pace())]


async def _forget(folder: Path) -> Pages:
    shots: list[Shot] = await forgetting_in_discord.record(folder, Pace())
    return [(shot.at_s, discord_page(shot.chat, STYLES)) for shot in shots]


async def _terminal(folder: Path) -> Pages:
    cast = await chat_in_terminal.record(folder, Pace(1.35))
    (FOLDER / "terminal.cast").write_text(cast.asciicast(TITLE), encoding="utf-8")
    return terminal_pages(cast, TITLE, STYLES)


FILMS: Final = {
    "reply": Film((820, 684), _reply),
    "forget": Film((820, 660), _forget),
    "terminal": Film((760, 596), _terminal),
}


PLAY: Final = "play"  # Filmed on the page itself
ALL: Final = (*FILMS, PLAY)


async def _drawn(made: Film, home: Path, chromium: str) -> list[Frame]:
    pages = await made.record(home)
    # A browser's helpers write in its folder for a moment after it has ended.
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with open_camera(chromium, Path(folder), made.size) as camera:
            return await film(camera, pages, LAST_S)


async def make(name: str, chromium: str) -> Path:
    """Record one, and write it."""
    with TemporaryDirectory() as home:
        if name == PLAY:
            frames = await private_in_play.record(Path(home), Pace(), LAST_S)
        else:
            frames = await _drawn(FILMS[name], Path(home), chromium)
    path = FOLDER / f"{name}.gif"
    write_gif(path, frames)
    lasts_s = sum(frame.lasts_s for frame in frames)
    print(f"{path.relative_to(ROOT)}: {lasts_s:.0f} s, {len(frames)} pictures, {path.stat().st_size / 1000:.0f} kB")
    return path


def main() -> int:
    """Make those that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("films", nargs="*", choices=[*ALL, []], help=f"of {', '.join(ALL)}; all of them by default")
    parser.add_argument("--chromium", default="", help="the path of a Chromium; else one at a usual place")
    given = parser.parse_args()
    try:
        chromium = find_chromium(given.chromium)
        for name in given.films or ALL:
            asyncio.run(make(name, chromium))
    except NoChromium as missing:
        print(missing, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
