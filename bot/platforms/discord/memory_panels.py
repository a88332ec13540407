"""`/memory`: the list of what is remembered, its buttons and its window, where only the caller sees them.

Who asked, and the words that a button stands for, stand in its own id. So only the caller can use it, it works after a
restart of the bot, and it is about the entry that was chosen, whatever became of the list.
"""

import asyncio
import re
from dataclasses import dataclass
from io import BytesIO
from typing import Final

import discord

from agent.errors import CogencyError
from bot.commands.declaration import PanelAction
from bot.commands.memory import entry_actions, page_actions, undo_actions
from bot.host import Host, MemoryAnswer, ShownEntry
from bot.memory import view
from bot.memory.desk import FACT_CHARS
from bot.platforms.discord import interactions
from bot.platforms.discord.interactions import (
    LIVES_S,
    STORE_FIRST_S,
    Button,
    Interaction,
    Panel,
    button,
    typed_text,
)
from bot.platforms.discord.members import Members
from bot.texts import command_texts, reply_texts

FILE_NAME: Final = "what-i-know.json"
ENTRY_CHARS: Final = 140
"""Of an entry in the list, which is for finding it. Whoever opens one sees all of it."""
LIST_CHARS: Final = 1_600
"""Of what stands above the list: with a page of entries and their links it fits one panel."""
OPENED_CHARS: Final = 3_400
"""Of an entry that was opened: with its link it fits one panel."""

OPEN: Final = "open"
CORRECT: Final = "correct"
_ID: Final = re.compile(r"view:(\d{1,20}):(.{1,70})", re.ASCII)


@dataclass(frozen=True, slots=True)
class MemoryPress:
    """A button, a choice or a window: whose it is, and what it asks.

    That is words of `/memory`, or OPEN or CORRECT with a key and the page on which it stands.
    """

    person: int
    asked: str

    @property
    def id(self) -> str:
        return f"view:{self.person}:{self.asked}"


def memory_press(custom_id: str) -> MemoryPress | None:
    """The inverse of `Pressed.id`; None for what is not one of these."""
    found = _ID.fullmatch(custom_id)
    return MemoryPress(int(found[1]), found[2]) if found is not None else None


async def show(interaction: Interaction, host: Host, members: Members, asked: str) -> None:
    """What `/memory` with these words says."""
    await interaction.response.defer(ephemeral=True)
    await _fill(interaction, host, members, asked)


async def press(interaction: Interaction, made: MemoryPress, host: Host, members: Members) -> None:
    """Do what was pressed, chosen or sent, for the one who may, in the place of the list. Raises UNREADABLE."""
    if interaction.user.id != made.person:
        await interactions.respond_alone(interaction, reply_texts.NOT_YOURS)
        return
    if interaction.type is discord.InteractionType.modal_submit:
        await interaction.response.defer()
        await _fill(interaction, host, members, f"{made.asked} {typed_text(interaction)}")
    elif made.asked.startswith(f"{OPEN} "):
        await interaction.response.defer()
        await _open(interaction, host, members, made)
    elif made.asked.startswith(f"{CORRECT} "):
        await _ask_for_words(interaction, made, host, members)
    else:
        await interaction.response.defer()
        await _fill(interaction, host, members, made.asked)


async def _fill(interaction: Interaction, host: Host, members: Members, asked: str) -> None:
    """Put the answer in the place of what stands there."""
    try:
        answer = await host.memory(await interactions.viewer_of(interaction, members), asked)
    except CogencyError as error:
        answer = MemoryAnswer(reply_texts.failure(error))
    if answer.file is None:
        await interactions.show_panel(interaction, list_panel(answer, interaction.user.id))
    else:
        file = discord.File(BytesIO(answer.file.encode()), FILE_NAME)
        shown = interactions.panel(interactions.panel_text(answer.text), discord.ui.File(file))
        await interaction.edit_original_response(content=None, attachments=[file], view=shown)


async def _open(interaction: Interaction, host: Host, members: Members, made: MemoryPress) -> None:
    """Show one entry whole, with what may be decided about it; the list, if it is gone."""
    _, key, page = (*made.asked.split(" "), "")[:3]
    try:
        answer = await _page(interaction, host, members, page)
    except CogencyError as error:
        answer = MemoryAnswer(reply_texts.failure(error))
    entry = _entry(answer, key)
    shown = list_panel(answer, made.person) if entry is None else entry_panel(entry, answer.page, made.person)
    await interactions.show_panel(interaction, shown)


async def _ask_for_words(interaction: Interaction, made: MemoryPress, host: Host, members: Members) -> None:
    """Open the window for the words that hold instead, with those that stand there now if they are found in time: a
    window cannot be announced.
    """
    _, key, page = (*made.asked.split(" "), "")[:3]
    try:
        async with asyncio.timeout(STORE_FIRST_S):
            entry = _entry(await _page(interaction, host, members, page), key)
    except TimeoutError:
        entry = None
    except CogencyError as error:
        await interactions.respond_alone(interaction, reply_texts.failure(error))
        return
    await interaction.response.send_modal(
        _window(MemoryPress(made.person, f"{CORRECT} {key}"), entry.plain if entry else "")
    )


async def _page(interaction: Interaction, host: Host, members: Members, page: str) -> MemoryAnswer:
    """That page of the list, the first if it is no number. Raises CogencyError."""
    asked = view.page_words(int(page)) if page.isdecimal() else ""
    return await host.memory(await interactions.viewer_of(interaction, members), asked)


def _entry(answer: MemoryAnswer, key: str) -> ShownEntry | None:
    return next((one for one in answer.entries if one.key == key), None)


def list_panel(answer: MemoryAnswer, person: int) -> Panel:
    """A page of the list: each entry with its button, and below them the way to the other pages."""
    parts = [interactions.panel_text(answer.text, LIST_CHARS if answer.entries else interactions.MAX_CHARS)]
    if undoing := undo_actions(answer):
        parts.append(interactions.button_row(*(_button(one, person) for one in undoing)))
    for entry in answer.entries:
        opening = MemoryPress(person, f"{OPEN} {entry.key} {answer.page}")
        parts.append(
            interactions.text_beside(
                view.entry_line(entry, ENTRY_CHARS),
                button(command_texts.OPEN_ENTRY.format(number=entry.number), opening.id),
            )
        )
    if answer.entries and answer.pages > 1:
        parts.append(interactions.panel_text(command_texts.PAGE.format(page=answer.page, pages=answer.pages)))
        parts.append(interactions.button_row(*(_button(one, person) for one in page_actions(answer))))
    return interactions.panel(*parts)


def entry_panel(entry: ShownEntry, page: int, person: int) -> Panel:
    """One entry, and what may be decided about it."""

    offers = [_button(one, person, f" {page}" if one.fills_in else "") for one in entry_actions(entry)]
    offers.append(button("Back", MemoryPress(person, view.page_words(page)).id))
    return interactions.panel(
        interactions.panel_text(view.entry_line(entry, OPENED_CHARS)), interactions.button_row(*offers)
    )


def _button(one: PanelAction, person: int, more: str = "") -> Button:
    style = discord.ButtonStyle.danger if one.danger else discord.ButtonStyle.secondary
    return button(one.label, MemoryPress(person, f"{one.words}{more}").id, style)


def _window(made: MemoryPress, before: str) -> discord.ui.Modal:
    window = discord.ui.Modal(title=command_texts.CORRECT_ENTRY, custom_id=made.id, timeout=LIVES_S)
    window.add_item(
        discord.ui.TextInput[discord.ui.Modal](
            label=command_texts.IN_YOUR_WORDS,
            style=discord.TextStyle.paragraph,
            default=before[:FACT_CHARS] or None,
            max_length=FACT_CHARS,
        )
    )
    return window
