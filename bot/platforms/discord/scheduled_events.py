"""Events on Discord that the bot schedules for people: `agent.ports.acting.ScheduledEvents`.

Rules
- An event is in a voice or stage channel, or external, at a location. An external one is seen by the whole server.
- The permissions are those that Discord documents for each of these kinds (`needed`).
- Discord has no nonce for events: one is asked for once. Each is changed only where the bot scheduled it: an event that
  somebody moved takes other rights now.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

import discord

from agent.errors import ToolError
from agent.memory.audience import Place, TeamAudience
from agent.ports.acting import ActTarget, EventDetails, Posted
from bot.chat.reply.surface import PageGone
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.objects import channel_place
from bot.platforms.discord.places import Readable, known_as
from bot.platforms.discord.rest import Payload, Rest

EVENT_PAGE: Final = "event:"  # The prefix of the page of an event; its server and id follow: "event:10/73"
GUILD_ONLY: Final = 2
STAGE, VOICE, EXTERNAL = 1, 2, 3  # Kinds of events
_LINK: Final = re.compile(r"https://(?:\w{1,10}\.)?discord\.com/events/(\d{1,20})/(\d{1,20})", re.ASCII)
_T = TypeVar("_T")


class Calls(Protocol):
    async def __call__(self, call: Callable[[Rest], Awaitable[_T]], *, again: bool = True) -> _T: ...


def event_page(link: str) -> str:
    """Return the page of an event by its link; "" for any other text. Pure."""
    found = _LINK.search(link)
    return "" if found is None else f"{EVENT_PAGE}{found[1]}/{found[2]}"


def event_of(page: str) -> tuple[str, str] | None:
    """Return the server and the id of an event; None for the page of a message. Pure."""
    guild, _, event = page.removeprefix(EVENT_PAGE).partition("/")
    return (guild, event) if page.startswith(EVENT_PAGE) else None


def needed(channel: Readable) -> tuple[str, ...]:
    """Return discord.py's names of the permissions for an event: in this channel, or in the server for an external one.
    Pure.
    """
    match channel:
        case discord.StageChannel():
            return ("create_events", "manage_channels", "mute_members", "move_members")
        case discord.VoiceChannel():
            return ("create_events", "view_channel", "connect")
        case _:
            return ("create_events",)


def has_events(channel: Readable) -> bool:
    """Return whether events take place in the channel itself."""
    return isinstance(channel, discord.VoiceChannel | discord.StageChannel)


def place_of_events(channel: Readable) -> Place:
    """Return the place of those who see an event that is scheduled in this channel, or external there."""
    if has_events(channel):
        return channel_place(channel)
    server = known_as(channel.guild.id)
    return Place(TeamAudience(server), within_team=server)


@dataclass(frozen=True, slots=True)
class DiscordEvents:
    client: discord.Client
    call: Calls

    async def create_event(self, target: ActTarget, event: EventDetails) -> Posted:
        channel, guild = self._channel(target)
        body = _fields(event, in_channel=has_events(channel)) | {"privacy_level": GUILD_ONLY}
        if has_events(channel):
            kind = STAGE if isinstance(channel, discord.StageChannel) else VOICE
            body |= {"channel_id": target.channel, "entity_type": kind}
        elif event.location:
            body |= {"entity_type": EXTERNAL}
        else:
            raise ToolError(platforms_texts.ACT_NO_LOCATION, ours=True)
        id_ = await self.call(lambda rest: rest.create_event(guild, body), again=False)
        return Posted((f"{EVENT_PAGE}{guild}/{id_}",), f"https://discord.com/events/{guild}/{id_}")

    async def edit_event(self, target: ActTarget, event: EventDetails) -> EventDetails:
        if (found := await self.find(target)) is None:
            raise ToolError(platforms_texts.ACT_EVENT_MOVED, ours=True)
        guild, id_ = found
        body = _fields(event, in_channel=has_events(self._channel(target)[0]))
        return _details(await self.call(lambda rest: rest.edit_event(guild, id_, body)))

    async def find(self, target: ActTarget) -> tuple[str, str] | None:
        """Return the server and the id of the target's event; None if it is gone. Raises ToolError if it takes place
        elsewhere now.
        """
        found, (channel, guild) = event_of(target.page), self._channel(target)
        if found is None or found[0] != guild:
            raise ToolError(platforms_texts.ACT_EVENT_MOVED, ours=True)
        event = await self.call(lambda rest: _read(rest, *found))
        if event is None:
            return None
        if str(event.get("channel_id") or "") != (target.channel if has_events(channel) else ""):
            raise ToolError(platforms_texts.ACT_EVENT_MOVED, ours=True)
        return found

    def _channel(self, target: ActTarget) -> tuple[Readable, str]:
        """Return the channel of a target, and its server."""
        channel = self.client.get_channel(int(target.channel))
        if not isinstance(channel, Readable):
            raise ToolError(platforms_texts.ACT_NOT_FOUND, ours=True)
        return channel, str(channel.guild.id)


async def _read(rest: Rest, guild: str, event: str) -> Payload | None:
    try:
        return await rest.read_event(guild, event)
    except PageGone:
        return None


def _fields(event: EventDetails, *, in_channel: bool) -> Payload:
    """Return Discord's fields of what is given. Raises ToolError."""
    if in_channel and event.location:
        raise ToolError(platforms_texts.ACT_IN_VOICE, ours=True)
    given: dict[str, Any] = {
        "name": event.title,
        "description": event.description,
        "scheduled_start_time": event.start and event.start.isoformat(),
        "scheduled_end_time": event.end and event.end.isoformat(),
        "entity_metadata": {"location": event.location} if event.location else None,
    }
    return {name: value for name, value in given.items() if value}


def _details(event: Payload) -> EventDetails:
    metadata: Payload = event.get("entity_metadata") or {}
    location, end = metadata.get("location"), event.get("scheduled_end_time")
    return EventDetails(
        title=str(event["name"]),
        start=datetime.fromisoformat(event["scheduled_start_time"]),
        end=datetime.fromisoformat(end) if end else None,
        location=str(location or ""),
        description=str(event.get("description") or ""),
    )
