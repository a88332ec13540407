"""Presentations: what an answer shows as cards, tables, pictures and buttons, and the same in Markdown. Pure.

Rules
  The Markdown of a presentation is the end of its answer, and is stored with it: its words are the answer's words,
  for its readers, for recall and for forgetting. What a platform draws from the value says the same.
  A section's text is Markdown, as an answer is. Everything else is plain text, in which nothing is Markdown.
  A button shows the question that it asks, whole.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from agent import texts
from agent.messages import Json

# Each bound is within those of Slack's blocks and of Discord's components.
MAX_TITLE_CHARS: Final = 150
MAX_SECTIONS: Final = 8
MAX_TEXT_CHARS: Final = 2_000
MAX_FIELDS: Final = 10
MAX_NAME_CHARS: Final = 75
MAX_VALUE_CHARS: Final = 300
MAX_COLUMNS: Final = 8
MAX_ROWS: Final = 20
MAX_CELL_CHARS: Final = 150
MAX_PICTURES: Final = 10
MAX_ADDRESS_CHARS: Final = 1_000
MAX_ALT_CHARS: Final = 300
MAX_QUESTIONS: Final = 5
MAX_QUESTION_CHARS: Final = 75


@dataclass(frozen=True, slots=True)
class PresentedField:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class PresentedTable:
    """Each row has as many cells as there are columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class PresentedPicture:
    """`address`: on the web, with https. `alt`: the picture in words."""

    address: str
    alt: str


@dataclass(frozen=True, slots=True)
class PresentedSection:
    """`text`: Markdown. Its parts stand in the order of its fields."""

    heading: str = ""
    text: str = ""
    fields: tuple[PresentedField, ...] = ()
    table: PresentedTable | None = None
    pictures: tuple[PresentedPicture, ...] = ()


@dataclass(frozen=True, slots=True)
class Presentation:
    """`questions`: follow-up questions, each of which a button asks."""

    title: str = ""
    sections: tuple[PresentedSection, ...] = ()
    questions: tuple[str, ...] = ()

    def with_texts(self, change: Callable[[str], str]) -> "Presentation":
        """Return it with each text of its sections, which are Markdown, as `change` returns it."""
        return replace(self, sections=tuple(replace(section, text=change(section.text)) for section in self.sections))


def presentation_of(args: Mapping[str, Json]) -> Presentation:
    """Return the presentation that a call describes. Raises ValueError with a reason for the model."""
    title = _line(args.get("title"), MAX_TITLE_CHARS, "the title")
    given = _objects(args.get("sections"))
    if len(given) > MAX_SECTIONS:
        raise ValueError(texts.PRESENT_TOO_MANY.format(what="sections", most=MAX_SECTIONS))
    sections = tuple(_section(one) for one in given)
    questions = tuple(
        dict.fromkeys(_line(one, MAX_QUESTION_CHARS, "a question") for one in _list(args.get("questions")))
    )
    if len(questions) > MAX_QUESTIONS:
        raise ValueError(texts.PRESENT_TOO_MANY.format(what="questions", most=MAX_QUESTIONS))
    if sum(len(section.pictures) for section in sections) > MAX_PICTURES:
        raise ValueError(texts.PRESENT_TOO_MANY.format(what="pictures", most=MAX_PICTURES))
    if not any(section != PresentedSection() for section in sections):
        raise ValueError(texts.PRESENT_EMPTY)
    return Presentation(title, sections, tuple(filter(None, questions)))


def _section(given: Mapping[str, Json]) -> PresentedSection:
    text = str(given.get("text") or "").strip()
    if len(text) > MAX_TEXT_CHARS:
        raise ValueError(texts.PRESENT_TOO_LONG.format(what="the text of a section", most=MAX_TEXT_CHARS))
    fields = tuple(
        PresentedField(
            _line(one.get("name"), MAX_NAME_CHARS, "the name of a field"),
            _line(one.get("value"), MAX_VALUE_CHARS, "the value of a field"),
        )
        for one in _objects(given.get("fields"))
    )
    pictures = tuple(_picture(one) for one in _objects(given.get("pictures")))
    if len(fields) > MAX_FIELDS:
        raise ValueError(texts.PRESENT_TOO_MANY.format(what="fields in a section", most=MAX_FIELDS))
    heading = _line(given.get("heading"), MAX_TITLE_CHARS, "a heading")
    return PresentedSection(heading, text, fields, _table(given.get("table")), pictures)


def _picture(given: Mapping[str, Json]) -> PresentedPicture:
    address = str(given.get("address") or "").strip()
    if not _ADDRESS.fullmatch(address):
        raise ValueError(texts.PRESENT_ADDRESS)
    alt = _line(given.get("alt"), MAX_ALT_CHARS, "the description of a picture")
    return PresentedPicture(address, alt or texts.PRESENT_PICTURE)


def _table(given: Json) -> PresentedTable | None:
    if not isinstance(given, dict):
        return None
    columns = tuple(_line(one, MAX_CELL_CHARS, "a cell") for one in _list(given.get("columns")))
    rows = [[_line(cell, MAX_CELL_CHARS, "a cell") for cell in _list(row)] for row in _list(given.get("rows"))]
    if not columns or not rows:
        return None
    if len(columns) > MAX_COLUMNS or len(rows) > MAX_ROWS:
        raise ValueError(texts.PRESENT_LARGE_TABLE.format(columns=MAX_COLUMNS, rows=MAX_ROWS))
    if any(len(row) > len(columns) for row in rows):
        raise ValueError(texts.PRESENT_LONG_ROW)
    return PresentedTable(columns, tuple((*row, *[""] * (len(columns) - len(row))) for row in rows))


def _line(value: Json, most: int, what: str) -> str:
    """Return a text on one line. Raises ValueError if it is too long."""
    line = " ".join(("" if value is None else str(value)).split())
    if len(line) > most:
        raise ValueError(texts.PRESENT_TOO_LONG.format(what=what, most=most))
    return line


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list) else []


def _objects(value: Json) -> Sequence[Mapping[str, Json]]:
    return [cast("Mapping[str, Json]", one) for one in _list(value) if isinstance(one, dict)]


# A question that a button asked is stored under an id which names the turn of its answer: its words are a part of that
# answer, and are forgotten with it.

FOLLOW_UPS: Final = "present:"  # How these ids begin
_FOLLOW_UP: Final = re.compile(rf"{FOLLOW_UPS}(\d{{1,18}}):\d:.+", re.ASCII)


def follow_up_id(turn: int, number: int, person: str) -> str:
    """Return the id of the question with this number below the answer of a turn, asked by this person."""
    return f"{FOLLOW_UPS}{turn}:{number}:{person}"


def turn_followed_up(message_id: str) -> int | None:
    """Return the turn of `follow_up_id`; None for any other id."""
    found = _FOLLOW_UP.fullmatch(message_id)
    return None if found is None else int(found[1])


# The same in Markdown.

_ADDRESS: Final = re.compile(rf"https://[^\s<>()\[\]\\|\"'`]{{4,{MAX_ADDRESS_CHARS}}}")
# Within a word "_", "&" and "#" are not markup, and a backslash before them would be a part of an address.
_MARKUP: Final = re.compile(
    r"[\\`*\[\]<>~|]|&(?=#?\w{1,40};)|(?<!\S)#|(?<![a-z0-9])_|_(?![a-z0-9])|^(?:[+-]|\d+[.)]|=+$)", re.IGNORECASE
)


def escaped(line: str) -> str:
    """Return one line of plain text as Markdown that shows exactly these characters."""
    return _MARKUP.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", line)


def table_markdown(table: PresentedTable) -> str:
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    rows = [[cell if at == 1 else escaped(cell) for cell in row] for at, row in enumerate(lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def section_markdown(section: PresentedSection, *, pictures: bool = True) -> str:
    """Return a section as Markdown. `pictures`: with its pictures, as links."""
    return "\n\n".join(filter(None, _section_parts(section, pictures=pictures)))


def _section_parts(section: PresentedSection, *, pictures: bool) -> Iterator[str]:
    yield f"**{escaped(section.heading)}**" if section.heading else ""
    yield section.text
    yield "\n".join(field_markdown(field) for field in section.fields)
    yield table_markdown(section.table) if section.table else ""
    yield "\n".join(picture_markdown(picture) for picture in section.pictures) if pictures else ""


def field_markdown(field: PresentedField) -> str:
    return f"- **{escaped(field.name)}**: {escaped(field.value)}" if field.name else f"- {escaped(field.value)}"


def picture_markdown(picture: PresentedPicture) -> str:
    return f"- [{escaped(picture.alt)}]({picture.address})"


def presentation_markdown(presentation: Presentation, *, questions: bool = True) -> str:
    """Return the whole presentation as Markdown. `questions`: with its questions, as a list."""
    asked = "\n".join(f"- {escaped(question)}" for question in presentation.questions) if questions else ""
    parts = [
        f"**{escaped(presentation.title)}**" if presentation.title else "",
        *(section_markdown(section) for section in presentation.sections),
        f"{texts.PRESENT_NEXT}\n{asked}" if asked else "",
    ]
    return "\n\n".join(filter(None, parts))
