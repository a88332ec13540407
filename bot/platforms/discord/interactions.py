"""What every command, button and window of Discord has in common."""

import asyncio
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar, cast

import discord
from discord import app_commands

from agent.admission_terms import Authority
from agent.errors import CogencyError, Refused
from agent.records import Person
from bot.access.acl import Requester
from bot.host import Forgetter, Host, PolicyAsker, Viewer
from bot.platforms.discord import objects
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.inbound import DiscordAuthor, own_place, private_conversation
from bot.platforms.discord.members import Members
from bot.platforms.discord.places import UNREADABLE, known_as
from bot.reply.split import pages
from bot.texts import formatting, reply_texts

# What one person alone is shown: panels of text, with buttons beside and below it.
#
# Rules. A panel is made of components alone ("Components V2"), and Discord never lets such a message be plain text
# again: so each of these answers is a panel from the start, also one that only says what went wrong. Links in it
# unfold nothing.

Panel: TypeAlias = discord.ui.LayoutView
Part: TypeAlias = discord.ui.Item[discord.ui.LayoutView]
Button: TypeAlias = discord.ui.Button[discord.ui.LayoutView]
Interaction: TypeAlias = discord.Interaction[discord.Client]

MAX_CHARS: Final = 4_000
"""Discord's limit of all texts of a panel together."""
MAX_FOLLOWING: Final = 4
"""Panels behind the first: one less than may follow a command that its person alone has installed."""
LIVES_S: Final = 900.0
"""The library forgets buttons and windows after this; pressed later, they still work."""


def panel(*parts: Part) -> Panel:
    """These parts below each other; at most 40, counting those inside of others."""
    shown = discord.ui.LayoutView(timeout=LIVES_S)
    for part in parts:
        shown.add_item(part)
    return shown


def panel_text(markdown: str, limit: int = MAX_CHARS) -> Part:
    """`markdown`, as much of it as `limit` characters hold."""
    first = pages(markdown, limit)
    return discord.ui.TextDisplay(first[0].text if first else "…")


def text_beside(markdown: str, accessory: Button) -> Part:
    """Text with a button at its side."""
    return discord.ui.Section(discord.ui.TextDisplay(markdown), accessory=accessory)


def button_row(*buttons: Button) -> Part:
    """Up to five buttons side by side."""
    return discord.ui.ActionRow(*buttons)


def choice_menu(custom_id: str, placeholder: str, options: list[discord.SelectOption]) -> Part:
    """A menu of up to 25 options, one of which may be chosen."""
    menu = discord.ui.Select[discord.ui.LayoutView](custom_id=custom_id, placeholder=placeholder, options=options)
    return discord.ui.ActionRow(menu)


def button(label: str, custom_id: str, style: discord.ButtonStyle = discord.ButtonStyle.secondary) -> Button:
    return discord.ui.Button[discord.ui.LayoutView](label=label, style=style, custom_id=custom_id)


async def show_panel(interaction: Interaction, shown: Panel) -> None:
    """Show it in the place of what an acknowledged command or button shows. Raises discord.HTTPException."""
    await interaction.edit_original_response(content=None, view=shown)


async def show_text(interaction: Interaction, markdown: str, *below: Part) -> None:
    """The same with text, and perhaps something below it; what one panel cannot hold follows in others.

    Raises discord.HTTPException.
    """
    first, *more = [page.text for page in pages(markdown, MAX_CHARS - len(reply_texts.MORE_THAN_FITS))] or ["…"]
    await show_panel(interaction, panel(panel_text(first), *below))
    for number, following in enumerate(more[:MAX_FOLLOWING], start=1):
        cut = number == MAX_FOLLOWING < len(more)
        parts = [panel_text(following), panel_text(reply_texts.MORE_THAN_FITS)] if cut else [panel_text(following)]
        await interaction.followup.send(view=panel(*parts), ephemeral=True)


async def respond_alone(interaction: Interaction, sentence: str) -> None:
    """Answer a button or a command that is not yet acknowledged, for whoever used it alone. Raises as above."""
    await interaction.response.send_message(view=panel(panel_text(sentence)), ephemeral=True)


async def follow_up(interaction: Interaction, sentence: str) -> None:
    """The same behind its acknowledgement. Raises as above."""
    await interaction.followup.send(view=panel(panel_text(sentence)), ephemeral=True)


Tree = app_commands.CommandTree[discord.Client]
Choice = app_commands.Choice[str]
T = TypeVar("T")

STORE_FIRST_S: Final = 1.5
"""How long an acknowledgement waits for a question to be stored: half of Discord's three seconds."""
MAX_CHOICES: Final = 25
"""Discord's limit of what is offered while somebody types."""
MAX_CHOICE_CHARS: Final = 100
"""Discord's limit of one such choice."""


def everywhere(command: T) -> T:
    """A command that its server or its person has installed, in channels and in every kind of direct message."""
    in_channels_and_messages = app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
    return app_commands.allowed_installs(guilds=True, users=True)(in_channels_and_messages(command))


def offered(names: Collection[str], typed: str) -> list[Choice]:
    """Those that contain what was typed so far, as choices for somebody who types."""
    fitting = [name for name in names if typed.casefold() in name.casefold() and len(name) <= MAX_CHOICE_CHARS]
    return [app_commands.Choice(name=name, value=name) for name in fitting[:MAX_CHOICES]]


def installed_by_person(interaction: Interaction) -> bool:
    """Whether only the caller has installed the bot: then it may follow up on few messages, and write nowhere else."""
    return interaction.is_user_integration() and not interaction.is_guild_integration()


def typed_text(interaction: Interaction) -> str:
    """What was typed into the only field of a window that was sent."""
    data = cast("Mapping[str, Any]", interaction.data or {})
    rows = cast("list[Mapping[str, Any]]", data.get("components", []))
    fields = (field for row in rows for field in row.get("components", [row.get("component", {})]))
    return next((str(field["value"]) for field in fields if "value" in field), "")


# Who uses a command, a button or a window, and what they may decide where they do.
#
# Rule: what somebody may do for others is read off the interaction itself, which says what they are there, and now.


@dataclass(frozen=True, slots=True)
class Decides:
    """Whether somebody may decide for everybody in a channel, and in its whole server."""

    channel: bool
    team: bool


def is_direct(interaction: Interaction) -> bool:
    """Whether it comes from the caller's DM with the bot."""
    return interaction.context.dm_channel is True


def person_of(interaction: Interaction) -> Person:
    return Person(known_as(interaction.user.id), interaction.user.display_name)


def roles_of(interaction: Interaction) -> frozenset[str]:
    return objects.standing_of(interaction.user).roles


def team_of(interaction: Interaction) -> str:
    return objects.standing_of(interaction.user).team


def requester_of(interaction: Interaction) -> Requester:
    channel = objects.channel_of(interaction)
    return Requester(known_as(interaction.user.id), channel, roles_of(interaction), team_of(interaction))


def author_of(interaction: Interaction, members: Members) -> DiscordAuthor:
    """The caller, with what they are there."""
    return members.here(objects.author_of(interaction.user))


def asker_of(interaction: Interaction, members: Members) -> PolicyAsker:
    """The caller, as somebody who sets what holds for everybody where they are."""
    author = author_of(interaction, members)
    place = objects.where(interaction.channel or interaction, author, direct=False).place
    return PolicyAsker(person_of(interaction), author.standing.authority, place)


async def viewer_of(interaction: Interaction, members: Members) -> Viewer:
    """The caller, and where only they read: in a DM the same as that of its turns."""
    author = author_of(interaction, members)
    direct = is_direct(interaction)
    place = own_place(await members.known(author)) if direct else objects.private_place_of(interaction)
    manages = _manages_channel(interaction, author)
    return Viewer(person_of(interaction), place, objects.channel_of(interaction), manages)


async def forgetter_of(interaction: Interaction, host: Host) -> Forgetter:
    """The caller. "This thread" is the channel, and what they asked there in private; in a DM what goes on there now.

    Raises CogencyError.
    """
    person, channel = interaction.user.id, interaction.channel_id
    if channel is None:
        thread = frozenset[str]()
    elif is_direct(interaction):
        thread = frozenset({await host.current_conversation(known_as(channel))})
    else:
        thread = frozenset({known_as(channel), private_conversation(channel, person)})
    return Forgetter(known_as(person), thread)


def decides(interaction: Interaction, members: Members, host: Host) -> Decides:
    """What the caller may decide for others: nothing where the bot is not a member of the server."""
    guild = interaction.guild_id
    if guild is None or interaction.client.get_guild(guild) is None:
        return Decides(channel=False, team=False)
    author, operates = author_of(interaction, members), host.operates(known_as(interaction.user.id))
    return Decides(
        channel=operates or _manages_channel(interaction, author),
        team=operates or author.standing.authority >= Authority.MANAGER,
    )


def _manages_channel(interaction: Interaction, author: DiscordAuthor) -> bool:
    managing = interaction.permissions.manage_channels or author.standing.authority >= Authority.MANAGER
    return interaction.guild_id is not None and managing


# What is said to one whose question was refused or could not be taken in: to them alone, no more often than helps.

log = logging.getLogger(__name__)


async def tell_in_dm(author: discord.User | discord.Member, refused: Refused, connection: Connection) -> None:
    """A message was not taken in: say so in a DM, as Discord shows no answer to a message to one person only."""
    log.info("a message was refused: %s", refused)
    if refused.told:
        return
    try:
        await author.send(formatting.literal(str(refused)), suppress_embeds=True)
    except UNREADABLE as error:
        connection.complain("a refusal could not be told", error)


def failure_of(storing: "asyncio.Future[bool]") -> CogencyError | None:
    """Why what was to be stored was refused, or failed, if that is known already."""
    failed = storing.exception() if storing.done() and not storing.cancelled() else None
    return failed if isinstance(failed, CogencyError) else None


async def answer_failure(interaction: Interaction, failed: CogencyError, connection: Connection) -> None:
    """A command or a button was refused, or failed: whoever used it must be answered, and sees it alone."""
    text = reply_texts.failure(failed)
    try:
        if not interaction.response.is_done():
            await respond_alone(interaction, text)
            return
        await interaction.delete_original_response()  # "is thinking…" may stand there for everybody
        await follow_up(interaction, text)
    except UNREADABLE as error:
        connection.complain("a refusal or a failure could not be told", error)
