"""What the commands, buttons and modals of Discord share."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar, cast

import aiohttp
import discord
from discord import app_commands

from agent.errors import CogencyError, Refused
from bot.chat.reply.split import pages
from bot.chat.texts import formatting
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.places import UNREADABLE

# Ephemeral panels of text, with buttons beside and below it.
#
# Rules. A panel consists of components only ("Components V2"), and Discord never lets such a message become plain text
# again: so each of these answers is a panel from the start, even one that only reports an error. Links in it have no
# preview.

Layout: TypeAlias = discord.ui.LayoutView
Part: TypeAlias = discord.ui.Item[discord.ui.LayoutView]
Button: TypeAlias = discord.ui.Button[discord.ui.LayoutView]
Interaction: TypeAlias = discord.Interaction[discord.Client]

UNCONFIRMED: Final = (aiohttp.ClientError, OSError, TimeoutError)  # Whether Discord did it is not known
MAX_CHARS: Final = 4_000  # Discord's limit of all texts of a panel together
# Panels after the first: one less than the follow-ups allowed to a command that only its user has installed.
MAX_FOLLOWING: Final = 4
VIEW_TIMEOUT_S: Final = 900.0  # The library forgets buttons and modals after this; pressed later, they still work


def layout(*parts: Part) -> Layout:
    """Return a layout of these parts, one below the other; Discord allows 40, including nested ones."""
    view = discord.ui.LayoutView(timeout=VIEW_TIMEOUT_S)
    for part in parts:
        view.add_item(part)
    return view


def panel_text(markdown: str, limit: int = MAX_CHARS) -> Part:
    """Return a part with the beginning of `markdown`, up to `limit` characters."""
    first = pages(markdown, limit)
    return discord.ui.TextDisplay(first[0].text if first else "…")


def button(label: str, custom_id: str, style: discord.ButtonStyle = discord.ButtonStyle.secondary) -> Button:
    return discord.ui.Button[discord.ui.LayoutView](label=label, style=style, custom_id=custom_id)


def first_layout(markdown: str, *below: Part, taken: int = 0) -> tuple[Layout, list[str]]:
    """Return a layout with the text that fits above the parts `below`, of `taken` characters, and the other pages."""
    first, *more = [page.text for page in pages(markdown, MAX_CHARS - len(platforms_texts.MORE_THAN_FITS) - taken)] or [
        "…"
    ]
    return layout(panel_text(first), *below), more


async def insist(show: Callable[[], Awaitable[object]]) -> None:
    """Show what must not be lost, such as the outcome of a command: once more if Discord does not confirm it. Its user
    may read a text twice, which is better than not at all. Raises UNREADABLE.
    """
    try:
        await show()
    except UNCONFIRMED:
        await show()


async def acknowledge(interaction: Interaction) -> None:
    """Acknowledge a button or a modal whose message stays as it is. Raises UNREADABLE, after an error to its user:
    Discord may have done it without confirming, and then shows none.
    """
    try:
        await interaction.response.defer()
    except UNCONFIRMED:
        with suppress(*UNREADABLE):
            await follow_up(interaction, platforms_texts.DISCORD_TRY_AGAIN)
        raise


async def think(interaction: Interaction) -> None:
    """Acknowledge a command or a button so that its user sees that the bot is thinking. Raises UNREADABLE, after an
    error in place of that: Discord may show it without confirming, for a quarter of an hour.
    """
    try:
        await interaction.response.defer(ephemeral=True, thinking=True)
    except UNCONFIRMED:
        with suppress(*UNREADABLE):
            await interaction.edit_original_response(view=layout(panel_text(platforms_texts.DISCORD_TRY_AGAIN)))
        raise


async def show_text(interaction: Interaction, markdown: str) -> None:
    """Show the text in place of the response to an acknowledged command or button. Raises discord.HTTPException."""
    await show_layout(interaction, *first_layout(markdown))


async def show_layout(interaction: Interaction, first: Layout, more: Sequence[str]) -> None:
    """Show a layout in the same way, and texts that do not fit one panel in further panels."""
    await insist(partial(interaction.edit_original_response, content=None, view=first))
    for number, following in enumerate(more[:MAX_FOLLOWING], start=1):
        is_cut = number == MAX_FOLLOWING < len(more)
        parts = (
            [panel_text(following), panel_text(platforms_texts.MORE_THAN_FITS)] if is_cut else [panel_text(following)]
        )
        await insist(partial(interaction.followup.send, view=layout(*parts), ephemeral=True))


async def respond_alone(interaction: Interaction, sentence: str, *below: Part) -> None:
    """Respond to a button or command that is not yet acknowledged, to its user only. Raises discord.HTTPException."""
    await interaction.response.send_message(view=layout(panel_text(sentence), *below), ephemeral=True)


async def acknowledge_window(interaction: Interaction) -> None:
    """Acknowledge a submitted modal: the answer replaces the panel from which it was opened, and no other message."""
    page = interaction.message
    if page is None or page.flags.components_v2:
        await acknowledge(interaction)
    else:
        await think(interaction)


async def show_error(interaction: Interaction, sentence: str) -> None:
    """Show a sentence to the user only, whether or not the interaction is acknowledged; log if that fails."""
    try:
        await (follow_up if interaction.response.is_done() else respond_alone)(interaction, sentence)
    except UNREADABLE as error:
        log.warning("an error could not be shown: %s", error)


async def follow_up(interaction: Interaction, sentence: str) -> None:
    """Show a sentence to the user only, after the acknowledgement. Raises discord.HTTPException."""
    await insist(partial(interaction.followup.send, view=layout(panel_text(sentence)), ephemeral=True))


Tree = app_commands.CommandTree[discord.Client]
Choice = app_commands.Choice[str]
T = TypeVar("T")

# How long an acknowledgement waits for a question to be stored: half of the three seconds that Discord allows.
STORE_FIRST_S: Final = 1.5
MAX_CHOICES: Final = 25  # Discord's limit of autocomplete choices
MAX_CHOICE_CHARS: Final = 100  # Discord's limit of one choice


def everywhere(command: T) -> T:
    """Make a command available in channels and all kinds of direct messages, installed by a server or by a person."""
    in_channels_and_messages = app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
    return app_commands.allowed_installs(guilds=True, users=True)(in_channels_and_messages(command))


def matching_choices(names: Collection[str], typed: str) -> list[Choice]:
    """Return autocomplete choices: the names that contain what was typed so far; "_" counts as a space."""
    query = typed.casefold().replace("_", " ")
    matches = [name for name in names if query in name.casefold().replace("_", " ") and len(name) <= MAX_CHOICE_CHARS]
    return [app_commands.Choice(name=name, value=name) for name in matches[:MAX_CHOICES]]


def installed_by_person(interaction: Interaction) -> bool:
    """Return whether only the user has installed the bot: then it may send few follow-ups, and write nowhere else."""
    return interaction.is_user_integration() and not interaction.is_guild_integration()


def typed_text(interaction: Interaction) -> str:
    """Return the text of the only field of a submitted modal."""
    data = cast("Mapping[str, Any]", interaction.data or {})
    rows = cast("list[Mapping[str, Any]]", data.get("components", []))
    fields = (field for row in rows for field in row.get("components", [row.get("component", {})]))
    return next((str(field["value"]) for field in fields if "value" in field), "")


# Notices of a question that was refused or failed: to its asker only, and throttled.

log = logging.getLogger(__name__)


async def tell_in_dm(author: discord.User | discord.Member, refused: Refused, connection: Connection) -> None:
    """Report a refused message in a DM: Discord has no ephemeral reply to a message."""
    log.info("a message was refused: %s", refused)
    if refused.was_shown:
        return
    try:
        await author.send(formatting.literal(str(refused)), suppress_embeds=True)
    except UNREADABLE as error:
        connection.log_failure("a refusal could not be shown", error)


def failure_of(storing: "asyncio.Future[bool]") -> CogencyError | None:
    """Return why storing was refused or failed, if it has; else None."""
    error = storing.exception() if storing.done() and not storing.cancelled() else None
    return error if isinstance(error, CogencyError) else None


async def answer_failure(interaction: Interaction, failed: CogencyError, connection: Connection) -> None:
    """Report a refused or failed command or button to its user only."""
    text = platforms_texts.failure(failed)
    try:
        if not interaction.response.is_done():
            await respond_alone(interaction, text)
            return
        await interaction.delete_original_response()  # "is thinking…" may be visible to all
        await follow_up(interaction, text)
    except UNREADABLE as send_error:
        connection.log_failure("a refusal or a failure could not be shown", send_error)
