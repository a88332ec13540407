"""`/settings`: users choose about their answers, and managers about a channel or a server.

Rules. Only the caller sees the panel; their right to decide for others is checked at each press. A choice is stored
under an owner: the person, "channel:" or "team:" and Discord's id.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from agent.errors import CogencyError
from bot.chat.commands.declaration import Argument, Command, CommandCall
from bot.chat.commands.settings import change_setting, setting_parts
from bot.chat.host import Host
from bot.chat.panels import Panel, PanelAction, PanelPart, PanelSelect
from bot.chat.texts.formatting import zone_names
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.caller import DiscordCaller, discord_caller, is_direct, zone_part
from bot.platforms.discord.members import ZONE
from bot.platforms.discord.places import known_as

# A person's choice: YES if only they see the answers to their commands, unless a command says otherwise.
PRIVATE: Final = "private"
REPLIES: Final = "replies"  # A channel's or a server's choice: where a mention is answered, one of PLACES
YES: Final = "yes"
USUAL: Final = "usual"
PLACES: Final[Mapping[str, str]] = {
    USUAL: platforms_texts.AS_USUAL,
    "thread": platforms_texts.IN_NEW_THREAD,
    "chain": platforms_texts.AS_REPLY,
    "place": platforms_texts.IN_CHANNEL,
}
# For reading PRIVATE, which the acknowledgement needs; with storing it takes less than Discord's three seconds.
PATIENCE_S: Final = 1.0

_CHANNEL, _TEAM = "channel", "team"


async def private_by_default(host: Host, person: int) -> bool:
    """Return whether only this person sees the answers to their commands, unless a command says otherwise.

    True if that cannot be read in time: a public answer cannot be taken back.
    """
    try:
        async with asyncio.timeout(PATIENCE_S):
            return (await host.preferences.all_of(known_as(person))).get(PRIVATE) == YES
    except (CogencyError, TimeoutError):
        return True


async def settings(host: Host, call: CommandCall) -> Panel:
    """Show the caller's settings, after the change that they pressed or chose, if any."""
    caller, error_text = discord_caller(call), ""
    if call.pressed:
        if not await change_setting(host.commands, call):
            name, _, value = call.words.partition(" ")
            error_text = await _change(host, caller, name, value)
    elif call.words:
        error_text = await caller.keep_zone(call.words)
    choices, decides = host.preferences, caller.decides()
    may_decide = {_CHANNEL: decides.channel, _TEAM: decides.team}
    replies = {
        name: (await choices.all_of(_owner(caller, name))).get(REPLIES, USUAL)
        for name in may_decide
        if may_decide[name]
    }
    direct, now = is_direct(caller.interaction), caller.members.clock.now()
    own = await choices.all_of(caller.person.id)
    panel = settings_panel(await setting_parts(host.commands, caller, own), own, replies, now, direct=direct)
    return replace(panel, text=f"{panel.text}\n{error_text}".rstrip())


def settings_panel(
    of_commands: Sequence[PanelPart],
    own: Mapping[str, str],
    replies: Mapping[str, str],
    now: datetime,
    *,
    direct: bool = False,
) -> Panel:
    """Return the panel of `/settings`.

    `of_commands`: what commands show there. `replies`: for "channel" and "team", where this person may decide, the
    current one of PLACES. `direct`: in a DM, where no other person sees anything.
    """
    private = own.get(PRIVATE) == YES
    elsewhere, where = (" outside direct messages", "there") if direct else ("", "here")
    whom = "only you see them" if private else f"everyone {where} can see them"
    parts = [
        *of_commands,
        zone_part(own.get(ZONE, ""), ZONE, now),
        PanelPart(
            platforms_texts.WHO_SEES_COMMANDS.format(elsewhere=elsewhere, whom=whom),
            (PanelAction(platforms_texts.SHOW_TO_ALL if private else platforms_texts.SHOW_TO_ME, PRIVATE),),
        ),
    ]
    for name, value in replies.items():
        heading = platforms_texts.WHERE_I_ANSWER.format(where=f"this {'channel' if name == _CHANNEL else 'server'}")
        parts.append(PanelPart(heading, select=PanelSelect(PLACES[USUAL], PLACES, value, name)))
    return Panel("**Settings**", parts=tuple(parts))


async def _change(host: Host, caller: DiscordCaller, name: str, value: str) -> str:
    """Apply a choice; return why it is not possible, or "". Raises CogencyError."""
    person, choices = caller.person.id, host.preferences
    own, decides = await choices.all_of(person), caller.decides()
    match name:
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


# Only Discord has this command.
SETTINGS: Final = Command(
    name="settings",
    summary=platforms_texts.SETTINGS_SUMMARY,
    run=settings,
    suggests={ZONE: _zones},
    arguments=(Argument(ZONE, platforms_texts.ZONE_SUMMARY),),
    open_to_all=True,
    bare=False,
)
