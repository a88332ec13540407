"""Render commands' panels on Discord, and read what is pressed in them and the forms' modals.

A button's id contains the user of the command and the button's words. So only that user can use it, and it works after
a restart, without state until it is pressed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, TypeAlias, assert_never, cast

import discord

from agent.incoming import Incoming
from bot.chat.commands.declaration import AnyCommand
from bot.chat.host import Host
from bot.chat.panels import FieldKind, Filled, FormField, Panel, PanelAction, PanelForm, PanelSelect
from bot.chat.texts import formatting
from bot.chat.waiting import waiting_panel
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import interactions
from bot.platforms.discord.buttons import Components
from bot.platforms.discord.caller import WINDOW_FIELDS
from bot.platforms.discord.interactions import Button, Interaction, Layout, Part
from bot.platforms.discord.places import known_as
from bot.platforms.discord.reply_to import decode_address

Component: TypeAlias = discord.ui.Item[discord.ui.Modal]
MAX_LINE_CHARS: Final = 4_000  # Discord's limit of a field's input
PART_CHARS: Final = 600  # Limit of a part's text: operators name the models, and links may be long
IN_A_ROW: Final = 5  # Discord's limit of buttons side by side
_ID: Final = re.compile(r"([cf]):([0-9a-f]{1,16}):([a-z]{1,20}):(\d{0,9}):(.{0,80})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ButtonPress:
    """A button, a menu or a modal: its user, and the words for the command, or the form, of this name.

    `ticked`: the positions of the command's arguments whose flags are set, one digit each.
    """

    person: int
    name: str
    words: str = ""
    ticked: str = ""
    opens: bool = False
    """Whether `name` is a form's."""

    @property
    def id(self) -> str:
        return f"{'f' if self.opens else 'c'}:{self.person:x}:{self.name}:{self.ticked}:{self.words}"

    def options(self, command: AnyCommand) -> Mapping[str, str]:
        """Return the flags that are set."""
        return {argument.name: "yes" for place, argument in enumerate(command.arguments) if str(place) in self.ticked}


def press_of(custom_id: str) -> ButtonPress | None:
    """The inverse of `ButtonPress.id`; None for any other id."""
    found = _ID.fullmatch(custom_id)
    return None if found is None else ButtonPress(int(found[2], 16), found[3], found[5], found[4], found[1] == "f")


async def show(interaction: Interaction, panel: Panel, command: AnyCommand) -> None:
    """Show the panel in place of the response to an acknowledged command or button. Raises discord.HTTPException."""
    if panel.file is None:
        await interactions.show_layout(interaction, *laid_out(panel, command, interaction.user.id))
        return
    panel_file = panel.file

    async def show_file() -> None:
        # A new one for each request: sending it reads it to its end.
        file = discord.File(BytesIO(panel_file.content.encode()), panel_file.name)
        view = interactions.layout(interactions.panel_text(panel.text), discord.ui.File(file))
        await interaction.edit_original_response(content=None, attachments=[file], view=view)

    await interactions.insist(show_file)


def laid_out(panel: Panel, command: AnyCommand, person: int) -> tuple[Layout, list[str]]:
    """Return the panel's layout, and the text that does not fit in it."""
    taken = sum(min(len(part.text), PART_CHARS) for part in panel.parts)
    return interactions.first_layout(panel.text, *_below(panel, command, person), taken=taken)


def _below(panel: Panel, command: AnyCommand, person: int) -> list[Part]:
    """Return the parts below the panel's text."""
    ticked = "".join(str(place) for place, item in enumerate(command.arguments) if panel.boxes.get(item.name))
    parts = _rows([_button(item, command, person, ticked) for item in panel.actions])
    for part in panel.parts:
        buttons = [_button(item, command, person, ticked) for item in part.actions]
        if part.text and len(buttons) == 1:
            parts.append(discord.ui.Section(interactions.panel_text(part.text, PART_CHARS), accessory=buttons[0]))
            continue
        parts += [interactions.panel_text(part.text, PART_CHARS)] if part.text else []
        parts += _rows(buttons)
        parts += [_menu(part.select, command, person)] if part.select else []
    return parts


def _rows(buttons: Sequence[Button]) -> list[Part]:
    return [discord.ui.ActionRow(*buttons[start : start + IN_A_ROW]) for start in range(0, len(buttons), IN_A_ROW)]


def _button(action: PanelAction, command: AnyCommand, person: int, ticked: str) -> Button:
    press = ButtonPress(person, command.name, action.words, ticked)
    if action.form is not None:
        press = ButtonPress(person, action.form.name, action.words, opens=True)
    return interactions.button(
        action.label, press.id, discord.ButtonStyle.danger if action.danger else discord.ButtonStyle.secondary
    )


def _menu(select: PanelSelect, command: AnyCommand, person: int) -> Part:
    choices = [(value, label) for value, label in select.options.items() if len(value) <= interactions.MAX_CHOICE_CHARS]
    options = [
        discord.SelectOption(label=label[: interactions.MAX_CHOICE_CHARS], value=value, default=value == select.chosen)
        for value, label in choices[: interactions.MAX_CHOICES]
    ]
    custom_id = ButtonPress(person, command.name, select.words).id
    return discord.ui.ActionRow(
        discord.ui.Select[Layout](custom_id=custom_id, placeholder=select.placeholder, options=options)
    )


async def waiting_panels(host: Host, incoming: Incoming, turn: int) -> Sequence[Components]:
    """Return the panels that show the asker what this turn waits for; () for nothing. Raises CogencyError."""
    waiting = await waiting_panel(host.commands, incoming, WINDOW_FIELDS, turn)
    if waiting is None:
        return ()
    first, more = laid_out(waiting.panel, waiting.command, int(decode_address(incoming.reply_to).person))
    following = [interactions.layout(interactions.panel_text(text)) for text in more[: interactions.MAX_FOLLOWING]]
    return [panel_layout.to_components() for panel_layout in (first, *following)]


# The modals of forms.
#
# Discord cannot open a modal in response to a modal, and closes each one that is submitted. So mistakes are shown
# together with the input, above a button that opens the modal again with that input.


def mistakes_panel(form: PanelForm, press: ButtonPress, filled: Filled, mistakes: Filled) -> tuple[str, Part]:
    """Return the text that lists the mistakes and the input, and the button to try again."""
    typed = [
        f"- {field.label}: {formatting.literal(filled[field.name])}"
        for field in form.fields
        if field.kind in (FieldKind.LINE, FieldKind.LINES) and filled[field.name]
    ]
    retry = discord.ui.ActionRow(interactions.button(form.label, press.id))
    return "\n".join([" ".join(mistakes.values()), *([platforms_texts.YOU_TYPED, *typed] if typed else [])]), retry


def form_window(form: PanelForm, press: ButtonPress, filled: Filled) -> discord.ui.Modal:
    """Return the form's modal, prefilled with `filled`."""
    window = discord.ui.Modal(title=form.title, custom_id=press.id, timeout=interactions.VIEW_TIMEOUT_S)
    for field in form.fields:
        if field.kind is not FieldKind.ELSEWHERE:  # a command is used in a channel, so none needs to be chosen
            component = _component(field, filled.get(field.name, ""))
            hint = None if field.kind is FieldKind.BOX else field.hint or None
            window.add_item(discord.ui.Label(text=field.label, description=hint, component=component))
    return window


def filled_in(interaction: Interaction, form: PanelForm) -> Filled:
    """Return the values of a submitted modal."""
    data = cast("Mapping[str, Any]", interaction.data or {})
    labels = cast("list[Mapping[str, Any]]", data.get("components", []))
    values = {
        str(component["custom_id"]): _value(component) for label in labels if (component := label.get("component"))
    }
    filled = {field.name: values.get(field.name, "") for field in form.fields}
    people = {field.name for field in form.fields if field.kind is FieldKind.PERSON}
    return {name: known_as(value) if value and name in people else value for name, value in filled.items()}


def _value(component: Mapping[str, Any]) -> str:
    chosen = component.get("values") or [component.get("value") or ""]
    return " ".join(map(str, chosen)).strip()


def _component(field: FormField, current: str) -> Component:
    required, min_values = not field.optional, 0 if field.optional else 1
    match field.kind:
        case FieldKind.LINE | FieldKind.LINES | FieldKind.SECRET:
            return discord.ui.TextInput[discord.ui.Modal](
                custom_id=field.name,
                style=discord.TextStyle.paragraph if field.kind is FieldKind.LINES else discord.TextStyle.short,
                default=current or None,
                required=required,
                max_length=field.max_chars or MAX_LINE_CHARS,
            )
        case FieldKind.CHOICE:
            chosen = current or next(iter(field.choices), "")
            options = [
                discord.SelectOption(label=label, value=value, default=value == chosen)
                for value, label in field.choices.items()
            ]
            return discord.ui.Select[discord.ui.Modal](custom_id=field.name, options=options, required=required)
        case FieldKind.PICK | FieldKind.PICKS:
            chosen = current.split()
            picks = [
                discord.SelectOption(label=label, value=value, default=value in chosen)
                for value, label in field.choices.items()
            ]
            max_values = len(picks) if field.kind is FieldKind.PICKS else 1
            return discord.ui.Select[discord.ui.Modal](
                custom_id=field.name, options=picks, required=required, min_values=min_values, max_values=max_values
            )
        case FieldKind.BOX:
            # Not ticking it is an answer, too, so it is never required.
            box = discord.CheckboxGroupOption(label=field.hint, value="yes", default=bool(current))
            return discord.ui.CheckboxGroup[discord.ui.Modal](
                custom_id=field.name, options=[box], required=False, min_values=0
            )
        case FieldKind.PERSON:
            people = [discord.Object(int(current.rpartition(":")[2]), type=discord.User)] if current else []
            return discord.ui.UserSelect[discord.ui.Modal](
                custom_id=field.name, min_values=min_values, required=required, default_values=people
            )
        case FieldKind.CHANNEL | FieldKind.ELSEWHERE:
            channels = [discord.SelectDefaultValue.from_channel(discord.Object(int(current)))] if current else []
            return discord.ui.ChannelSelect[discord.ui.Modal](
                custom_id=field.name, min_values=min_values, required=required, default_values=channels
            )
        case _:
            assert_never(field.kind)
