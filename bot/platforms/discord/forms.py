"""The forms of commands: their buttons below what a command says, and the windows that these open.

Who asked stands in the button's and the window's own id. So only they can use it, and it works after a restart.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, assert_never, cast

import discord

from bot.commands.declaration import FieldKind, Filled, FormField, PanelForm
from bot.platforms.discord import interactions
from bot.platforms.discord.interactions import LIVES_S, Interaction, Part, button
from bot.platforms.discord.places import known_as

Component: TypeAlias = discord.ui.Item[discord.ui.Modal]
MAX_LINE_CHARS: Final = 4_000
"""Discord's limit of what a field takes."""
_ID: Final = re.compile(r"form:(\d{1,20}):([a-z]{1,20})", re.ASCII)


@dataclass(frozen=True, slots=True)
class FormPress:
    """A button or a window: whose it is, and the form's name."""

    person: int
    name: str

    @property
    def id(self) -> str:
        return f"form:{self.person}:{self.name}"


def form_press(custom_id: str) -> FormPress | None:
    """The inverse of `FormPress.id`; None for what is not one of these."""
    found = _ID.fullmatch(custom_id)
    return FormPress(int(found[1]), found[2]) if found is not None else None


def form_buttons(forms: Sequence[PanelForm], person: int) -> list[Part]:
    """What opens these forms, side by side; nothing for none."""
    buttons = [button(form.label, FormPress(person, form.name).id) for form in forms]
    return [interactions.button_row(*buttons)] if buttons else []


def form_window(form: PanelForm, person: int) -> discord.ui.Modal:
    window = discord.ui.Modal(title=form.title, custom_id=FormPress(person, form.name).id, timeout=LIVES_S)
    for field in _fields(form):
        component = _component(field)
        window.add_item(discord.ui.Label(text=field.label, description=field.hint or None, component=component))
    return window


def filled_in(interaction: Interaction, form: PanelForm) -> Filled:
    """What was filled into its window."""
    data = cast("Mapping[str, Any]", interaction.data or {})
    labels = cast("list[Mapping[str, Any]]", data.get("components", []))
    values = {str(one["custom_id"]): _value(one) for label in labels if (one := label.get("component"))}
    found = {field.name: values.get(field.name, "") for field in form.fields}
    people = {field.name for field in form.fields if field.kind is FieldKind.PERSON}
    return {name: known_as(value) if value and name in people else value for name, value in found.items()}


def _fields(form: PanelForm) -> list[FormField]:
    """A command is used in a channel, so no other has to be named."""
    return [field for field in form.fields if field.kind is not FieldKind.ELSEWHERE]


def _value(component: Mapping[str, Any]) -> str:
    chosen = component.get("values") or [component.get("value") or ""]
    return str(chosen[0]).strip()


def _component(field: FormField) -> Component:
    required, least = not field.optional, 0 if field.optional else 1
    match field.kind:
        case FieldKind.LINE | FieldKind.LINES:
            style = discord.TextStyle.short if field.kind is FieldKind.LINE else discord.TextStyle.paragraph
            return discord.ui.TextInput[discord.ui.Modal](
                custom_id=field.name, style=style, required=required, max_length=field.max_chars or MAX_LINE_CHARS
            )
        case FieldKind.CHOICE:
            options = [
                discord.SelectOption(label=label, value=value, default=number == 0)
                for number, (value, label) in enumerate(field.choices.items())
            ]
            return discord.ui.Select[discord.ui.Modal](custom_id=field.name, options=options, required=required)
        case FieldKind.PERSON:
            return discord.ui.UserSelect[discord.ui.Modal](custom_id=field.name, min_values=least, required=required)
        case FieldKind.CHANNEL | FieldKind.ELSEWHERE:
            return discord.ui.ChannelSelect[discord.ui.Modal](custom_id=field.name, min_values=least, required=required)
        case _:
            assert_never(field.kind)
