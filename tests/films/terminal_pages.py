"""What stands on a terminal at one moment, as a page: a recording in, HTML out. Pure.

The terminal itself is pyte's, which knows what each control sequence does.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any, Final

import pyte
from pyte.screens import Char

from tests.films.chat_pages import document

DIM: Final = "dim"
CURSOR: Final = "cursor"
COLOURS: Final = frozenset({DIM, "black", "red", "green", "brown", "blue", "magenta", "cyan", "white"})


@dataclass(frozen=True, slots=True)
class Cast:
    """What a program wrote on a terminal of this size: `events` are the pieces, each with its time in seconds."""

    width: int
    height: int
    events: tuple[tuple[float, str], ...]

    def asciicast(self, title: str) -> str:
        """As a file of asciinema's, version 2."""
        header = {"version": 2, "width": self.width, "height": self.height, "title": title}
        lines = [header, *([round(at_s, 3), "o", written] for at_s, written in self.events)]
        return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


def terminal_pages(cast: Cast, title: str, styles: Sequence[str] = ()) -> Iterator[tuple[float, str]]:
    """The page after each event, with its time. `styles`: addresses of more style sheets."""
    screen = _Screen(cast.width, cast.height)
    stream = pyte.Stream(screen)
    for at_s, written in cast.events:
        stream.feed(written)
        lines = "".join(f"<div>{_line(screen, number)}</div>" for number in range(cast.height))
        header = f'<header><i></i><i></i><i></i><span class="title">{escape(title)}</span></header>'
        yield at_s, document("terminal", f"{header}<main>{lines}</main>", styles)


class _Screen(pyte.Screen):
    """One that knows faint letters, too."""

    def select_graphic_rendition(self, *attrs: int, **more: Any) -> None:
        super().select_graphic_rendition(*attrs, **more)
        if attrs[:1] == (2,):
            self.cursor.attrs = self.cursor.attrs._replace(fg=DIM)


def _line(screen: pyte.Screen, number: int) -> str:
    line, cursor = screen.buffer[number], screen.cursor
    cells = [(_classes(line[column]), line[column].data) for column in range(screen.columns)]
    if number == cursor.y and not cursor.hidden and cursor.x < screen.columns:
        cells[cursor.x] = (CURSOR, cells[cursor.x][1])
    runs = [(kind, "".join(letters for _, letters in run)) for kind, run in groupby(cells, key=lambda cell: cell[0])]
    if runs and not runs[-1][0]:
        runs[-1] = ("", runs[-1][1].rstrip())
    return "".join(f'<span class="{kind}">{escape(run)}</span>' if kind else escape(run) for kind, run in runs)


def _classes(cell: Char) -> str:
    kinds = [name for name in ("bold", "italics", "reverse") if getattr(cell, name)]
    kinds += [cell.fg] if cell.fg in COLOURS else []
    kinds += [f"on-{cell.bg}"] if cell.bg in COLOURS else []
    return " ".join(kinds)
