"""What every command, button and window of Discord has in common."""

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, TypeAlias, TypeVar, cast

import discord
from discord import app_commands

from agent.admission_terms import Authority
from agent.errors import CogencyError, Refused
from agent.ports import Asker
from agent.records import Person
from bot.access.acl import Requester
from bot.commands.declaration import CommandCall, PanelPart, PanelSelect, Stoppable
from bot.host import Forgetter, Host, PolicyAsker, Viewer
from bot.platforms.discord import objects
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.inbound import DiscordAuthor, own_place, private_conversation
from bot.platforms.discord.members import ZONE, Members, zone_chosen
from bot.platforms.discord.places import UNREADABLE, known_as
from bot.reply.split import pages
from bot.texts import command_texts, formatting, memory_texts, reply_texts

# What one person alone is shown: panels of text, with buttons beside and below it.
#
# Rules. A panel is made of components alone ("Components V2"), and Discord never lets such a message be plain text
# again: so each of these answers is a panel from the start, also one that only says what went wrong. Links in it
# unfold nothing.

Layout: TypeAlias = discord.ui.LayoutView
Part: TypeAlias = discord.ui.Item[discord.ui.LayoutView]
Button: TypeAlias = discord.ui.Button[discord.ui.LayoutView]
Interaction: TypeAlias = discord.Interaction[discord.Client]

MAX_CHARS: Final = 4_000  # Discord's limit of all texts of a panel together
# Panels behind the first: one less than may follow a command that its person alone has installed.
MAX_FOLLOWING: Final = 4
LIVES_S: Final = 900.0  # The library forgets buttons and windows after this; pressed later, they still work


def layout(*parts: Part) -> Layout:
    """These parts below each other; at most 40, counting those inside of others."""
    shown = discord.ui.LayoutView(timeout=LIVES_S)
    for part in parts:
        shown.add_item(part)
    return shown


def panel_text(markdown: str, limit: int = MAX_CHARS) -> Part:
    """`markdown`, as much of it as `limit` characters hold."""
    first = pages(markdown, limit)
    return discord.ui.TextDisplay(first[0].text if first else "…")


def button(label: str, custom_id: str, style: discord.ButtonStyle = discord.ButtonStyle.secondary) -> Button:
    return discord.ui.Button[discord.ui.LayoutView](label=label, style=style, custom_id=custom_id)


def first_layout(markdown: str, *below: Part, taken: int = 0) -> tuple[Layout, list[str]]:
    """As much of the text as fits above what stands below it, which has `taken` so many characters; and the rest."""
    first, *more = [page.text for page in pages(markdown, MAX_CHARS - len(reply_texts.MORE_THAN_FITS) - taken)] or ["…"]
    return layout(panel_text(first), *below), more


async def show_text(interaction: Interaction, markdown: str) -> None:
    """Show it in the place of what an acknowledged command or button shows. Raises discord.HTTPException."""
    await show_layout(interaction, *first_layout(markdown))


async def show_layout(interaction: Interaction, first: Layout, more: Sequence[str]) -> None:
    """The same with what one panel cannot hold, which follows in others."""
    await interaction.edit_original_response(content=None, view=first)
    for number, following in enumerate(more[:MAX_FOLLOWING], start=1):
        cut = number == MAX_FOLLOWING < len(more)
        parts = [panel_text(following), panel_text(reply_texts.MORE_THAN_FITS)] if cut else [panel_text(following)]
        await interaction.followup.send(view=layout(*parts), ephemeral=True)


async def respond_alone(interaction: Interaction, sentence: str, *below: Part) -> None:
    """Answer a button or a command that is not yet acknowledged, for whoever used it alone. Raises as above."""
    await interaction.response.send_message(view=layout(panel_text(sentence), *below), ephemeral=True)


async def acknowledge_window(interaction: Interaction) -> None:
    """A window was sent: its answer takes the place of the panel from which it was opened, and of nothing else."""
    page = interaction.message
    if page is None or page.flags.components_v2:
        await interaction.response.defer()
    else:
        await interaction.response.defer(ephemeral=True, thinking=True)


async def follow_up(interaction: Interaction, sentence: str) -> None:
    """The same behind its acknowledgement. Raises as above."""
    await interaction.followup.send(view=layout(panel_text(sentence)), ephemeral=True)


Tree = app_commands.CommandTree[discord.Client]
Choice = app_commands.Choice[str]
T = TypeVar("T")

# How long an acknowledgement waits for a question to be stored: half of Discord's three seconds.
STORE_FIRST_S: Final = 1.5
MAX_CHOICES: Final = 25  # Discord's limit of what is offered while somebody types
WINDOW_FIELDS: Final = 5  # Discord's limit of fields in a window
MAX_CHOICE_CHARS: Final = 100  # Discord's limit of one such choice
# Of an entry in a list, which is for finding it: a page of them, with their links, fits one panel.
ENTRY_CHARS: Final = 140


def everywhere(command: T) -> T:
    """A command that its server or its person has installed, in channels and in every kind of direct message."""
    in_channels_and_messages = app_commands.allowed_contexts(guilds=True, dms=True, private_channels=True)
    return app_commands.allowed_installs(guilds=True, users=True)(in_channels_and_messages(command))


def offered(names: Collection[str], typed: str) -> list[Choice]:
    """Those that contain what was typed so far, as choices for somebody who types; "_" counts as a blank."""
    wanted = typed.casefold().replace("_", " ")
    fitting = [name for name in names if wanted in name.casefold().replace("_", " ") and len(name) <= MAX_CHOICE_CHARS]
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


# Where somebody's clock stands: Discord tells no time zone, so they choose one.

OTHER_ZONE: Final = "other"  # What is chosen in the menu to hear how another zone is


def zone_part(chosen: str, words: str, now: datetime) -> PanelPart:
    """Which zone it is, and the choice of another; `chosen`: "" for none so far. What is chosen follows `words`."""
    said = command_texts.ZONE_NOW.format(moment=formatting.local_moment(now, chosen))
    common = dict(formatting.zone_options(now))
    if chosen and chosen not in common:  # the menu shows what holds, in the place of the least common one
        common = {chosen: chosen} | dict(list(common.items())[: MAX_CHOICES - 2])
    options = common | {OTHER_ZONE: command_texts.ZONE_ANOTHER}
    return PanelPart(
        said if chosen else command_texts.ZONE_ASKED,
        select=PanelSelect(command_texts.ZONE_CHOOSE, options, chosen, words),
    )


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


def requester_of(interaction: Interaction) -> Requester:
    channel, standing = objects.channel_of(interaction), objects.standing_of(interaction.user)
    return Requester(known_as(interaction.user.id), channel, standing.roles, standing.team)


@dataclass(frozen=True, slots=True)
class DiscordCaller:
    """Implements `Caller`. `asked_last`: the conversation of the last `/ask` in a channel by a person: nothing else
    leads to it. `commands_help`: the help about the commands.
    """

    interaction: Interaction
    host: Host
    members: Members
    asked_last: Callable[[int, int], str | None]
    commands_help: Callable[[Interaction], str]

    @property
    def person(self) -> Person:
        return Person(known_as(self.interaction.user.id), self.interaction.user.display_name)

    @property
    def channel(self) -> str:
        return objects.channel_of(self.interaction)

    @property
    def entry_chars(self) -> int:
        return ENTRY_CHARS

    async def requester(self) -> Requester:
        return requester_of(self.interaction)

    async def policy_asker(self) -> PolicyAsker:
        author = self._author
        place = objects.where(self.interaction.channel or self.interaction, author, direct=False).place
        return PolicyAsker(await self.known(), author.standing.authority, place)

    async def viewer(self) -> Viewer:
        """In a DM they read at the place of its turns."""
        author, direct = self._author, is_direct(self.interaction)
        place = own_place(await self.members.author(author)) if direct else objects.private_place_of(self.interaction)
        return Viewer(await self.known(), place, self.channel, self._manages_channel)

    async def tool_asker(self) -> Asker:
        author = await self.members.author(self._author) if is_direct(self.interaction) else self._author
        where = objects.where(self.interaction.channel or self.interaction, author, direct=is_direct(self.interaction))
        place = own_place(author) if is_direct(self.interaction) else where.place
        return Asker(await self.known(), place, self.channel, author.standing.authority)

    async def known(self) -> Person:
        """With the time zone that they chose."""
        return replace(self.person, time_zone=await zone_chosen(self.host.preferences, self.person.id))

    async def ask_zone(self, words: str) -> PanelPart | None:
        return None if (await self.known()).time_zone else zone_part("", words, self.members.clock.now())

    async def keep_zone(self, zone: str) -> str:
        if not (named := formatting.zone_named(zone)):
            return command_texts.ZONE_UNKNOWN if zone != OTHER_ZONE else command_texts.ZONE_OTHER
        await self.host.preferences.set(self.person.id, ZONE, named)
        return ""

    async def forgetter(self) -> Forgetter:
        """ "This thread" is the channel, and what they asked there in private; in a DM what goes on there now."""
        person, channel = self.interaction.user.id, self.interaction.channel_id
        if channel is None:
            thread = frozenset[str]()
        elif is_direct(self.interaction):
            thread = frozenset({await self.host.direct_messages.current(known_as(channel))})
        else:
            thread = frozenset({known_as(channel), private_conversation(channel, person)})
        return Forgetter(known_as(person), thread, (await self.known()).time_zone)

    @property
    def deaf(self) -> str:
        return "" if self.interaction.client.intents.message_content else command_texts.NO_CONTENT_INTENT

    @property
    def window_fields(self) -> int:
        return WINDOW_FIELDS

    async def stoppable(self) -> Stoppable:
        """What runs in this channel, and what the caller asked here by command."""
        channel, person = self.interaction.channel_id or self.interaction.id, self.interaction.user.id
        here = {known_as(channel), private_conversation(channel, person), self.asked_last(channel, person)}
        if is_direct(self.interaction):
            here.add(await self.host.direct_messages.current(known_as(channel)))
        return Stoppable([one for one in here if one])

    async def begin_conversation(self) -> str:
        channel = known_as(self.interaction.channel_id or self.interaction.id)
        await self.host.direct_messages.begin(channel, str(self.interaction.id))
        return command_texts.NEW_CONVERSATION

    async def announce(self, markdown: str) -> None:
        """In a thread, where its channel is read; in a forum, which nobody can write in, in the post."""
        here = self.interaction.channel
        above = here.parent if isinstance(here, discord.Thread) else None
        channel = above if isinstance(above, discord.TextChannel) else here
        try:
            if not isinstance(channel, discord.abc.Messageable):
                raise Refused(memory_texts.NOT_SAID_THERE)
            await channel.send(markdown, suppress_embeds=True)
        except UNREADABLE as error:
            raise Refused(memory_texts.NOT_SAID_THERE) from error

    async def with_names(self, markdown: str) -> str:
        return markdown

    def help(self) -> str:
        return self.commands_help(self.interaction)

    def decides(self) -> Decides:
        """What they may decide for others: nothing where the bot is not a member of the server."""
        guild = self.interaction.guild_id
        if guild is None or self.interaction.client.get_guild(guild) is None:
            return Decides(channel=False, team=False)
        operates = self.host.operates(self.person.id)
        return Decides(
            channel=operates or self._manages_channel,
            team=operates or self._author.standing.authority >= Authority.MANAGER,
        )

    @property
    def _author(self) -> DiscordAuthor:
        """With what they are there."""
        return self.members.here(objects.author_of(self.interaction.user))

    @property
    def _manages_channel(self) -> bool:
        managing = self.interaction.permissions.manage_channels or self._author.standing.authority >= Authority.MANAGER
        return self.interaction.guild_id is not None and managing


def discord_caller(call: CommandCall) -> DiscordCaller:
    """The caller of a command that only Discord has."""
    if not isinstance(call.caller, DiscordCaller):
        raise TypeError("a command of Discord was used elsewhere")
    return call.caller


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
