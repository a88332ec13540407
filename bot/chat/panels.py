"""What a command answers: text, menus, forms and files, whatever the platform makes of them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Final, TypeAlias

from bot.chat.texts import commands as command_texts

# What a person may type where there are no buttons (`PanelAction.typed`).
TYPED_YES: Final[tuple[str, ...]] = ("y", "yes")
TYPED_NO: Final[tuple[str, ...]] = ("n", "no")


class FieldKind(Enum):
    LINE = auto()
    LINES = auto()
    CHOICE = auto()
    """One of the field's choices; the first one is preselected."""
    PICK = auto()
    """One of the choices, or none; none is preselected, unless a value is filled in."""
    PICKS = auto()
    """Some of the choices. The value holds theirs, separated by blanks."""
    PERSON = auto()
    """The value is the person's id, such as "slack:T0123:U0123"."""
    CHANNEL = auto()
    """The value is the platform's id of a channel."""
    ELSEWHERE = auto()
    """A private channel to use the command for, in place of the one where it was asked. It is only shown in forms
    without another field about a channel."""
    SECRET = auto()
    """A line whose value is an option of the command, and never a part of its words: those may be shown again."""
    BOX = auto()
    """A flag of the command, as a box beside its hint. The value is "" if it is not ticked."""


@dataclass(frozen=True, slots=True)
class FormField:
    name: str
    label: str
    kind: FieldKind = FieldKind.LINE
    hint: str = ""
    optional: bool = False
    max_chars: int | None = None
    choices: Mapping[str, str] = field(default_factory=dict[str, str])
    """Labels, by their values."""


Filled: TypeAlias = Mapping[str, str]  # A form's values, by the names of its fields; "" for an empty one


@dataclass(frozen=True, slots=True)
class PanelForm:
    """A form, as an alternative to typing a command. Its values are turned into the words of that command.

    `label` is the text of the button that opens it; `name` is unique among all forms.
    """

    name: str
    label: str
    title: str
    submit: str
    fields: tuple[FormField, ...]
    words: Callable[[Filled], str]
    mistakes: Callable[[Filled], Mapping[str, str]] = lambda _: {}
    """Returns a sentence for each wrong value, by the fields' names; while there are any, the form stays open."""

    def button(self, words: str = "") -> "PanelAction":
        return PanelAction(self.label, words, form=self)

    def spelled(self, before: str, filled: Filled) -> str:
        """Return the words of the command: those of the button, and then those made of the values."""
        return f"{before} {self.words(filled)}".strip()

    def options(self, filled: Filled) -> Mapping[str, str]:
        """Return the options of the command: the flags that were ticked in the form, and its secrets."""
        return {
            form_field.name: filled[form_field.name]
            for form_field in self.fields
            if form_field.kind in (FieldKind.BOX, FieldKind.SECRET) and filled[form_field.name]
        }

    def without_secrets(self, filled: Filled) -> Filled:
        """Return the values of which a form may be filled in again."""
        secrets = {form_field.name for form_field in self.fields if form_field.kind is FieldKind.SECRET}
        return {name: "" if name in secrets else value for name, value in filled.items()}


@dataclass(frozen=True, slots=True)
class PanelAction:
    """A button, which runs its command with these words (see `CommandCall.pressed`).

    `form`: a form to fill in first; its words follow the button's. `danger`: the effect cannot be undone, or only for a
    short time. `confirm`: a text to confirm first, on platforms that can ask. `typed`: what a person may type for it
    where there are no buttons, in small letters, and "" for anything else that they type; a panel with such buttons is
    a question there. If one of them opens a form, the form is filled in before they are asked.
    """

    label: str
    words: str = ""
    danger: bool = False
    confirm: str = ""
    form: PanelForm | None = None
    typed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PanelSelect:
    """A menu, whose chosen value follows its words. `options`: labels, by their values."""

    placeholder: str
    options: Mapping[str, str]
    chosen: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class PanelPart:
    """Markdown, with buttons or a menu that belong to it."""

    text: str = ""
    actions: tuple[PanelAction, ...] = ()
    select: PanelSelect | None = None


@dataclass(frozen=True, slots=True)
class PanelFile:
    """`path`: where its user asked to have it written, as a program on their own machine can; "" for nowhere."""

    name: str
    content: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """What a command shows, to its user alone: Markdown, its buttons, and its parts below.

    `boxes`: flags of the command that can be ticked before a button is pressed, with their initial values; they keep
    these on platforms without boxes. `page`: of the list that it shows, from 1. `refused`: nothing was done, and the
    text says why. `takes_words`: where there are no buttons, what the person types next are the command's words, after
    `words_before`.
    """

    text: str
    actions: tuple[PanelAction, ...] = ()
    parts: tuple[PanelPart, ...] = ()
    boxes: Mapping[str, bool] = field(default_factory=dict[str, bool])
    file: PanelFile | None = None
    page: int = 1
    refused: bool = False
    takes_words: bool = False
    words_before: str = ""


_PAGE: Final = re.compile(r"page ([0-9]{1,9})")


def page_words(page: int) -> str:
    """Return the words that show this page of a command's list, from 1."""
    return f"page {page}"


def page_of(words: str) -> int | None:
    """Return the inverse of `page_words`; None for other words."""
    found = _PAGE.fullmatch(words)
    return max(1, int(found[1])) if found else None


def as_part(panel: Panel, words: str = "") -> PanelPart:
    """Return a panel that has a text and at most one menu as a part of another panel, whose command takes what is
    chosen behind `words`.
    """
    select = next((part.select for part in panel.parts if part.select), None)
    return PanelPart(panel.text, select=select and replace(select, words=words))


def page_part(page: int, pages: int, usage: str = "") -> PanelPart:
    """Return the number of a list's page (from 1), with buttons for its neighbours; or only the text `usage`, with
    {page}, {pages} and {another}, for platforms without buttons.
    """
    if usage:
        return PanelPart(usage.format(page=page, pages=pages, another=page % pages + 1))
    neighbours = {command_texts.EARLIER_PAGE: page - 1, command_texts.NEXT_PAGE: page + 1}
    actions = [PanelAction(label, page_words(other)) for label, other in neighbours.items() if 1 <= other <= pages]
    return PanelPart(command_texts.PAGE.format(page=page, pages=pages), tuple(actions))
