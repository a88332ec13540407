"""`/memory`: the list of what is remembered, its buttons and its window, where only the caller sees them.

Above: `commands` shows it, `client` hands over what is pressed and sent. Below: `reading`, `members`, `inbound`,
`interactions`, `place`, `bot.host.Host`; `bot.memory` (words and texts).

Who asked, and the words that a button stands for, stand in its own id. So only the caller can use it, it works after a
restart of the bot, and it is about the entry that was chosen, whatever became of the list.
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, cast

import discord

from agent.authority import Authority
from agent.errors import CogencyError
from agent.records import Person
from bot import wording
from bot.host import Host, MemoryAnswer, ShownEntry, Viewer
from bot.memory import view, words
from bot.memory.desk import FACT_CHARS
from bot.platforms.discord import reading
from bot.platforms.discord.inbound import own_place
from bot.platforms.discord.interactions import LIVES_S, Interaction
from bot.platforms.discord.members import Members
from bot.platforms.discord.place import known_as
from bot.platforms.discord.surface import PAGE_CHARS
from bot.reply.split import pages

log = logging.getLogger(__name__)

FILE_NAME: Final = "what-i-know.json"
ENTRY_CHARS: Final = 140
"""Of an entry in the list: so a page of them with their links fits one message. Whoever opens one sees all of it."""
OPENED_CHARS: Final = 1_700
"""Of an entry that was opened: with its link it fits one message."""
OPTION_CHARS: Final = 100
"""Discord's own limit."""

OPEN: Final = "open"
CORRECT: Final = "correct"
_ID: Final = re.compile(r"view:(\d{1,20}):(.{1,70})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button, a choice or a window: whose it is, and what it asks.

    That is words of `/memory`, or OPEN, or CORRECT with a key and the page on which it stands.
    """

    person: int
    asked: str

    @property
    def id(self) -> str:
        return f"view:{self.person}:{self.asked}"


def pressed(custom_id: str) -> Pressed | None:
    """The inverse of `Pressed.id`; None for what is not one of these."""
    found = _ID.fullmatch(custom_id)
    return Pressed(int(found[1]), found[2]) if found is not None else None


async def show(interaction: Interaction, host: Host, members: Members, asked: str) -> None:
    """What `/memory` with these words says."""
    await interaction.response.defer(ephemeral=True)
    await _fill(interaction, host, members, asked)


async def press(interaction: Interaction, made: Pressed, host: Host, members: Members) -> None:
    """Do what was pressed, chosen or sent, for the one who may, in the place of the list."""
    try:
        await _decide(interaction, made, host, members)
    except discord.HTTPException as error:
        log.info("a decision about the memory could not be answered (Discord's error %d)", error.code)


async def _decide(interaction: Interaction, made: Pressed, host: Host, members: Members) -> None:
    if interaction.user.id != made.person:
        await interaction.response.send_message(wording.NOT_YOURS, ephemeral=True)
        return
    data = cast("Mapping[str, Any]", interaction.data or {})
    if interaction.type is discord.InteractionType.modal_submit:
        await interaction.response.defer()
        await _fill(interaction, host, members, f"{made.asked} {_typed(data)}")
    elif made.asked == OPEN:
        await interaction.response.defer()
        await _open(interaction, host, members, "".join(data.get("values", ())[:1]))
    elif made.asked.startswith(f"{CORRECT} "):
        await _ask_for_words(interaction, made, host, members)
    else:
        await interaction.response.defer()
        await _fill(interaction, host, members, made.asked)


async def _fill(interaction: Interaction, host: Host, members: Members, asked: str) -> None:
    """Put the answer in the place of what stands there."""
    try:
        answer = await host.memory(await _viewer(interaction, members), asked)
    except CogencyError as error:
        answer = MemoryAnswer(wording.failure(error))
    shown = pages(list_text(answer), PAGE_CHARS)[0].text
    if answer.file is None:
        await interaction.edit_original_response(content=shown, view=list_view(answer, interaction.user.id))
    else:
        file = discord.File(BytesIO(answer.file.encode()), FILE_NAME)
        await interaction.edit_original_response(content=shown, attachments=[file])


async def _open(interaction: Interaction, host: Host, members: Members, asked: str) -> None:
    """Show one entry whole, with what may be decided about it. `asked`: the page on which it stands, and its key."""
    page, _, key = asked.partition(" ")
    try:
        answer = await _page(interaction, host, members, page)
    except CogencyError as error:
        answer = MemoryAnswer(wording.failure(error))
    entry = _entry(answer, key)
    if entry is None:
        gone = list_view(answer, interaction.user.id)
        await interaction.edit_original_response(content=pages(list_text(answer), PAGE_CHARS)[0].text, view=gone)
    else:
        buttons = entry_view(entry, answer.page, interaction.user.id)
        await interaction.edit_original_response(content=view.line(entry, OPENED_CHARS), view=buttons)


async def _ask_for_words(interaction: Interaction, made: Pressed, host: Host, members: Members) -> None:
    """Open the window for the words that hold instead, with those that stand there now."""
    _, key, page = (*made.asked.split(" "), "")[:3]
    try:
        entry = _entry(await _page(interaction, host, members, page), key)
    except CogencyError as error:
        await interaction.response.send_message(wording.failure(error), ephemeral=True)
        return
    await interaction.response.send_modal(
        _window(Pressed(made.person, f"{CORRECT} {key}"), entry.plain if entry else "")
    )


async def _page(interaction: Interaction, host: Host, members: Members, page: str) -> MemoryAnswer:
    """That page of the list, the first if it is no number. Raises CogencyError."""
    asked = words.page_words(int(page)) if page.isdecimal() else ""
    return await host.memory(await _viewer(interaction, members), asked)


def _entry(answer: MemoryAnswer, key: str) -> ShownEntry | None:
    return next((one for one in answer.entries if one.key == key), None)


def list_text(answer: MemoryAnswer) -> str:
    """A page of the list as Markdown. Pure."""
    lines = [view.line(entry, ENTRY_CHARS) for entry in answer.entries]
    where = [f"Page {answer.page} of {answer.pages}"] if answer.pages > 1 else []
    return "\n".join([answer.text, *lines, *where])


def list_view(answer: MemoryAnswer, person: int) -> discord.ui.View:
    """The choice of an entry, and the other pages."""
    shown = discord.ui.View(timeout=LIVES_S)
    options = [
        discord.SelectOption(
            label=wording.shortened(f"{entry.number}. {entry.plain}", OPTION_CHARS), value=f"{answer.page} {entry.key}"
        )
        for entry in answer.entries
    ]
    if options:
        choose = "Choose one to delete, correct or use everywhere"
        chosen = Pressed(person, OPEN).id
        shown.add_item(discord.ui.Select[discord.ui.View](custom_id=chosen, placeholder=choose, options=options))
    for label, page in {"Earlier page": answer.page - 1, "Next page": answer.page + 1}.items():
        if options and 1 <= page <= answer.pages:
            shown.add_item(_button(label, Pressed(person, words.page_words(page))))
    return shown


def entry_view(entry: ShownEntry, page: int, person: int) -> discord.ui.View:
    """What may be decided about one entry."""
    shown = discord.ui.View(timeout=LIVES_S)
    delete = Pressed(person, words.delete_words(entry.key))
    shown.add_item(_button("Delete", delete, discord.ButtonStyle.danger))
    shown.add_item(_button("Correct", Pressed(person, f"{CORRECT} {entry.key} {page}")))
    if entry.may_go_everywhere:
        shown.add_item(_button("Use everywhere", Pressed(person, words.everywhere_words(entry.key, on=True))))
    if entry.everywhere:
        here = Pressed(person, words.everywhere_words(entry.key, on=False))
        shown.add_item(_button("Only where it was said", here))
    shown.add_item(_button("Back", Pressed(person, words.page_words(page))))
    return shown


def _button(
    label: str, made: Pressed, style: discord.ButtonStyle = discord.ButtonStyle.secondary
) -> discord.ui.Button[discord.ui.View]:
    return discord.ui.Button[discord.ui.View](label=label, style=style, custom_id=made.id)


def _window(made: Pressed, before: str) -> discord.ui.Modal:
    window = discord.ui.Modal(title="Correct an entry", custom_id=made.id, timeout=LIVES_S)
    window.add_item(
        discord.ui.TextInput[discord.ui.Modal](
            label="In your own words",
            style=discord.TextStyle.paragraph,
            default=before[:FACT_CHARS] or None,
            max_length=FACT_CHARS,
        )
    )
    return window


def _typed(data: Mapping[str, Any]) -> str:
    """What was typed into the only field of the window."""
    rows = cast("list[Mapping[str, Any]]", data.get("components", []))
    fields = (field for row in rows for field in row.get("components", [row.get("component", {})]))
    return next((str(field["value"]) for field in fields if "value" in field), "")


async def _viewer(interaction: Interaction, members: Members) -> Viewer:
    """Who asks, and where only they read: in a DM the same as that of its turns."""
    user = interaction.user
    manages = interaction.guild_id is not None and (
        interaction.permissions.manage_channels or reading.standing_of(user).authority >= Authority.MANAGER
    )
    if interaction.context.dm_channel is True:
        place = own_place(await members.known(reading.author_of(user), direct=True))
    else:
        place = reading.private_place_of(interaction)
    return Viewer(
        Person(known_as(user.id), user.display_name),
        place,
        reading.channel_of(interaction),
        manages,
    )
