"""What the commands, buttons and modals of Discord share."""

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
from agent.incoming import Person
from agent.ports.tools import Asker
from bot.chat.askers import Requester
from bot.chat.commands.declaration import CommandCall, Stoppable
from bot.chat.host import Host
from bot.chat.panels import PanelPart, PanelSelect
from bot.chat.reply.split import pages
from bot.chat.texts import formatting
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import objects
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.inbound import DiscordAuthor, own_place, private_conversation
from bot.platforms.discord.members import ZONE, Members, zone_chosen
from bot.platforms.discord.places import UNREADABLE, known_as

# Ephemeral panels of text, with buttons beside and below it.
#
# Rules. A panel consists of components only ("Components V2"), and Discord never lets such a message become plain text
# again: so each of these answers is a panel from the start, even one that only reports an error. Links in it have no
# preview.

Layout: TypeAlias = discord.ui.LayoutView
Part: TypeAlias = discord.ui.Item[discord.ui.LayoutView]
Button: TypeAlias = discord.ui.Button[discord.ui.LayoutView]
Interaction: TypeAlias = discord.Interaction[discord.Client]

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


async def show_text(interaction: Interaction, markdown: str) -> None:
    """Show the text in place of the response to an acknowledged command or button. Raises discord.HTTPException."""
    await show_layout(interaction, *first_layout(markdown))


async def show_layout(interaction: Interaction, first: Layout, more: Sequence[str]) -> None:
    """Show a layout in the same way, and texts that do not fit one panel in further panels."""
    await interaction.edit_original_response(content=None, view=first)
    for number, following in enumerate(more[:MAX_FOLLOWING], start=1):
        is_cut = number == MAX_FOLLOWING < len(more)
        parts = (
            [panel_text(following), panel_text(platforms_texts.MORE_THAN_FITS)] if is_cut else [panel_text(following)]
        )
        await interaction.followup.send(view=layout(*parts), ephemeral=True)


async def respond_alone(interaction: Interaction, sentence: str, *below: Part) -> None:
    """Respond to a button or command that is not yet acknowledged, to its user only. Raises discord.HTTPException."""
    await interaction.response.send_message(view=layout(panel_text(sentence), *below), ephemeral=True)


async def acknowledge_window(interaction: Interaction) -> None:
    """Acknowledge a submitted modal: the answer replaces the panel from which it was opened, and no other message."""
    page = interaction.message
    if page is None or page.flags.components_v2:
        await interaction.response.defer()
    else:
        await interaction.response.defer(ephemeral=True, thinking=True)


async def follow_up(interaction: Interaction, sentence: str) -> None:
    """Show a sentence to the user only, after the acknowledgement. Raises discord.HTTPException."""
    await interaction.followup.send(view=layout(panel_text(sentence)), ephemeral=True)


Tree = app_commands.CommandTree[discord.Client]
Choice = app_commands.Choice[str]
T = TypeVar("T")

# How long an acknowledgement waits for a question to be stored: half of the three seconds that Discord allows.
STORE_FIRST_S: Final = 1.5
MAX_CHOICES: Final = 25  # Discord's limit of autocomplete choices
WINDOW_FIELDS: Final = 5  # Discord's limit of fields in a modal
MAX_CHOICE_CHARS: Final = 100  # Discord's limit of one choice
# An entry in a list is shortened to this: a page of entries, with their links, then fits one panel.
ENTRY_CHARS: Final = 140


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


# The user's time zone: Discord does not report it, so users choose one.

OTHER_ZONE: Final = "other"  # The menu's entry that explains how to set another zone


def zone_part(chosen: str, words: str, now: datetime) -> PanelPart:
    """Return the panel part with the current zone ("" for none) and a menu of others, whose choice follows `words`."""
    current = platforms_texts.ZONE_NOW.format(moment=formatting.local_moment(now, chosen))
    common = dict(formatting.zone_options(now))
    if chosen and chosen not in common:  # the menu shows the current zone in place of the least common one
        common = {chosen: chosen} | dict(list(common.items())[: MAX_CHOICES - 2])
    options = common | {OTHER_ZONE: platforms_texts.ZONE_ANOTHER}
    return PanelPart(
        current if chosen else platforms_texts.ZONE_ASKED,
        select=PanelSelect(platforms_texts.ZONE_CHOOSE, options, chosen, words),
    )


# The user of a command, a button or a modal, and what they may decide there.
#
# Rule: what a user may do for others is taken from the interaction itself, which holds their current permissions.


@dataclass(frozen=True, slots=True)
class Decides:
    """Whether a user may decide for everyone in a channel, and in its whole server."""

    channel: bool
    team: bool


def is_direct(interaction: Interaction) -> bool:
    """Return whether the interaction comes from the user's DM with the bot."""
    return interaction.context.dm_channel is True


def requester_of(interaction: Interaction) -> Requester:
    channel, standing = objects.channel_of(interaction), objects.standing_of(interaction.user)
    return Requester(known_as(interaction.user.id), channel, standing.roles, standing.team)


@dataclass(frozen=True, slots=True)
class DiscordCaller:
    """Implements `Caller`.

    `asked_last`: returns the conversation of a person's last `/ask` in a channel, which has no other reference.
    `commands_help`: returns the help about the commands.
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

    async def policy_asker(self) -> Asker:
        author = self._author
        place = objects.where(self.interaction.channel or self.interaction, author, direct=False).place
        return Asker(await self.known(), place, self.channel, author.standing.authority)

    async def private_asker(self) -> Asker:
        """In a DM, the caller reads at the place of the DM's turns."""
        author, direct = self._author, is_direct(self.interaction)
        place = own_place(await self.members.author(author)) if direct else objects.private_place_of(self.interaction)
        authority, manages = author.standing.authority, self._manages_channel
        thread = await self._thread()
        return Asker(await self.known(), place, self.channel, authority, manages=manages, thread=thread)

    async def asker(self) -> Asker:
        author = await self.members.author(self._author) if is_direct(self.interaction) else self._author
        where = objects.where(self.interaction.channel or self.interaction, author, direct=is_direct(self.interaction))
        place = own_place(author) if is_direct(self.interaction) else where.place
        authority, manages = author.standing.authority, self._manages_channel
        return Asker(await self.known(), place, self.channel, authority, manages=manages)

    async def known(self) -> Person:
        """Return the person with the time zone that they chose."""
        return replace(self.person, time_zone=await zone_chosen(self.host.preferences, self.person.id))

    async def ask_zone(self, words: str) -> PanelPart | None:
        return None if (await self.known()).time_zone else zone_part("", words, self.members.clock.now())

    async def keep_zone(self, zone: str) -> str:
        if not (zone_name := formatting.zone_named(zone)):
            return platforms_texts.ZONE_UNKNOWN if zone != OTHER_ZONE else platforms_texts.ZONE_OTHER
        await self.host.preferences.set(self.person.id, ZONE, zone_name)
        return ""

    async def _thread(self) -> frozenset[str]:
        """Return what "this thread" means: the channel and the private conversation there; in a DM the current one."""
        person, channel = self.interaction.user.id, self.interaction.channel_id
        if channel is None:
            return frozenset()
        if is_direct(self.interaction):
            return frozenset({await self.host.direct_messages.current(known_as(channel))})
        return frozenset({known_as(channel), private_conversation(channel, person)})

    @property
    def not_receiving(self) -> str:
        return "" if self.interaction.client.intents.message_content else platforms_texts.NO_CONTENT_INTENT

    @property
    def window_fields(self) -> int:
        return WINDOW_FIELDS

    async def stoppable(self) -> Stoppable:
        """Return what runs in this channel, and what the caller asked here by command."""
        channel, person = self.interaction.channel_id or self.interaction.id, self.interaction.user.id
        candidates = {known_as(channel), private_conversation(channel, person), self.asked_last(channel, person)}
        if is_direct(self.interaction):
            candidates.add(await self.host.direct_messages.current(known_as(channel)))
        return Stoppable([conversation for conversation in candidates if conversation])

    async def begin_conversation(self) -> str:
        channel = known_as(self.interaction.channel_id or self.interaction.id)
        await self.host.direct_messages.begin(channel, str(self.interaction.id))
        return platforms_texts.NEW_CONVERSATION

    async def announce(self, markdown: str) -> None:
        """Post to the channel: of a thread, in its parent channel; of a forum post, in the post itself."""
        current = self.interaction.channel
        parent = current.parent if isinstance(current, discord.Thread) else None
        channel = parent if isinstance(parent, discord.TextChannel) else current
        try:
            if not isinstance(channel, discord.abc.Messageable):
                raise Refused(reply_texts.NOT_SAID_THERE)
            await channel.send(markdown, suppress_embeds=True)
        except UNREADABLE as error:
            raise Refused(reply_texts.NOT_SAID_THERE) from error

    async def with_names(self, markdown: str) -> str:
        return markdown

    def help(self) -> str:
        return self.commands_help(self.interaction)

    def decides(self) -> Decides:
        """What the caller may decide for others: nothing where the bot is not a member of the server."""
        guild = self.interaction.guild_id
        if guild is None or self.interaction.client.get_guild(guild) is None:
            return Decides(channel=False, team=False)
        operates = self.host.admission.operates(self.person.id)
        return Decides(
            channel=operates or self._manages_channel,
            team=operates or self._author.standing.authority >= Authority.MANAGER,
        )

    @property
    def _author(self) -> DiscordAuthor:
        """The caller with their standing in this server."""
        return self.members.here(objects.author_of(self.interaction.user))

    @property
    def _manages_channel(self) -> bool:
        managing = self.interaction.permissions.manage_channels or self._author.standing.authority >= Authority.MANAGER
        return self.interaction.guild_id is not None and managing


def discord_caller(call: CommandCall) -> DiscordCaller:
    """Return the caller of a command that only Discord has."""
    if not isinstance(call.caller, DiscordCaller):
        raise TypeError("a command of Discord was used elsewhere")
    return call.caller


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
        connection.log_failure("a refusal could not be told", error)


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
        connection.log_failure("a refusal or a failure could not be told", send_error)
