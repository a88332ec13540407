"""`/settings`: what somebody chose about their answers, and what managers chose about a channel or a server.

Rules. The panel is its caller's alone; who may decide for others is asked anew at each press. What was chosen stands
below an owner: the person, "channel:" or "team:" and Discord's id.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from agent.errors import CogencyError
from agent.memory.forgetting_plans import PAUSED
from bot.commands import talking
from bot.commands.declaration import Argument, Command, CommandCall, Panel, PanelAction, PanelPart, PanelSelect
from bot.commands.talking import model_part
from bot.host import Host, ModelMenu
from bot.memory.learning import PAUSE
from bot.platforms.discord.interactions import DiscordCaller, discord_caller, is_direct, zone_part
from bot.platforms.discord.members import ZONE
from bot.platforms.discord.places import known_as
from bot.texts import command_texts
from bot.texts.formatting import zone_names

PRIVATE: Final = "private"
"""A person's choice: YES if only they see the answers to their commands, unless they say otherwise."""
REPLIES: Final = "replies"
"""A channel's or a server's choice: where a mention is answered, one of PLACES."""
YES: Final = "yes"
USUAL: Final = "usual"
PLACES: Final[Mapping[str, str]] = {
    USUAL: command_texts.AS_USUAL,
    "thread": command_texts.IN_NEW_THREAD,
    "chain": command_texts.AS_REPLY,
    "place": command_texts.IN_CHANNEL,
}
PATIENCE_S: Final = 1.0
"""For the choice that an acknowledgement depends on; with the time for storing it is less than Discord's three seconds.
"""

_CHANNEL, _TEAM = "channel", "team"


async def private_by_default(host: Host, person: int) -> bool:
    """Whether only this person sees the answers to their commands, unless they say otherwise.

    It is, if that cannot be found out in time: what all have seen cannot be taken back.
    """
    try:
        async with asyncio.timeout(PATIENCE_S):
            return (await host.preferences.of(known_as(person))).get(PRIVATE) == YES
    except (CogencyError, TimeoutError):
        return True


async def settings(call: CommandCall) -> Panel:
    """Everything that this person may choose, as it is now: after what they pressed or chose, if anything."""
    caller, told = discord_caller(call), ""
    if call.pressed:
        name, _, value = call.words.partition(" ")
        told = await _change(call, caller, name, value)
    elif call.words:
        told = await caller.keep_zone(call.words)
    choices, decides = caller.host.preferences, caller.decides()
    may = {_CHANNEL: decides.channel, _TEAM: decides.team}
    replies = {name: (await choices.of(_owner(caller, name))).get(REPLIES, USUAL) for name in may if may[name]}
    menu = await caller.host.models.menu(await caller.requester())
    direct, now = is_direct(caller.interaction), caller.members.clock.now()
    panel = settings_panel(menu, await choices.of(caller.person.id), replies, now, direct=direct)
    return replace(panel, text=f"{panel.text}\n{told}".rstrip())


def settings_panel(
    menu: ModelMenu, own: Mapping[str, str], replies: Mapping[str, str], now: datetime, *, direct: bool = False
) -> Panel:
    """`replies`: where mentions are answered in what this person decides about, one of PLACES each. `direct`: it is
    chosen in a direct message, where nobody else sees anything.
    """
    paused, private = own.get(PAUSE) == PAUSED, own.get(PRIVATE) == YES
    learning = command_texts.LEARNS_NOTHING if paused else command_texts.LEARNS_FROM_YOU
    elsewhere, where = (" outside of direct messages", "there") if direct else ("", "here")
    whom = "only you see them" if private else f"everybody {where} sees them"
    parts = [
        model_part(menu, "model"),
        zone_part(own.get(ZONE, ""), ZONE, now),
        PanelPart(
            command_texts.LEARNING_NOW.format(learning=learning),
            (PanelAction(command_texts.LEARN_AGAIN if paused else command_texts.STOP_LEARNING, "learning"),),
        ),
        PanelPart(
            command_texts.WHO_SEES_COMMANDS.format(elsewhere=elsewhere, whom=whom),
            (PanelAction(command_texts.SHOW_TO_ALL if private else command_texts.SHOW_TO_ME, PRIVATE),),
        ),
    ]
    for name, value in replies.items():
        heading = command_texts.WHERE_I_ANSWER.format(where=f"this {'channel' if name == _CHANNEL else 'server'}")
        parts.append(PanelPart(heading, select=PanelSelect(PLACES[USUAL], PLACES, value, name)))
    return Panel("**Settings**", parts=tuple(parts))


async def _change(call: CommandCall, caller: DiscordCaller, name: str, value: str) -> str:
    """Why it is not changed, or "". Raises CogencyError."""
    person, choices = caller.person.id, caller.host.preferences
    own, decides = await choices.of(person), caller.decides()
    match name:
        case "model":
            await talking.show_model(replace(call, words=value))
        case "learning":
            await caller.host.memory(await caller.viewer(), "resume" if own.get(PAUSE) == PAUSED else "pause")
        case "zone":
            return await caller.keep_zone(value)
        case "private":
            await choices.set(person, PRIVATE, None if own.get(PRIVATE) == YES else YES)
        case _:
            if (name == _CHANNEL and decides.channel) or (name == _TEAM and decides.team):
                await choices.set(_owner(caller, name), REPLIES, value if value in PLACES and value != USUAL else None)
    return ""


def _owner(caller: DiscordCaller, name: str) -> str:
    return f"channel:{caller.channel}" if name == _CHANNEL else f"team:{caller.interaction.guild_id}"


async def _zones(*_: object) -> Sequence[str]:
    return tuple(zone_names())


SETTINGS: Final = Command(
    name="settings",
    summary=command_texts.SETTINGS_SUMMARY,
    run=settings,
    arguments=(Argument(ZONE, command_texts.ZONE_SUMMARY, suggests=_zones),),
    open_to_all=True,
    bare=False,
)
"""Discord's own."""
