"""`/settings`: what somebody chose about their answers, and what managers chose about a channel or a server.

Rules. The panel is its caller's alone; who may decide for others is asked anew at each press. What was chosen stands
below an owner: the person, "channel:" or "team:" and Discord's id.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import discord

from agent.errors import CogencyError
from agent.memory.forgetting_plans import PAUSED
from bot.host import Host, ModelMenu
from bot.memory.learning import PAUSE
from bot.platforms.discord import interactions, objects
from bot.platforms.discord.interactions import (
    MAX_CHOICE_CHARS,
    MAX_CHOICES,
    Interaction,
    Panel,
    Part,
    button,
)
from bot.platforms.discord.members import Members
from bot.platforms.discord.places import known_as
from bot.texts import command_texts, reply_texts

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

_MODEL_CHARS: Final = 600
"""Of the sentence about the model: names of models are the operator's, and may be long."""

_MODEL, _LEARNING, _CHANNEL, _TEAM = "model", "learning", "channel", "team"
_ID: Final = re.compile(rf"set:(\d{{1,20}}):({_MODEL}|{_LEARNING}|{PRIVATE}|{_CHANNEL}|{_TEAM})", re.ASCII)


@dataclass(frozen=True, slots=True)
class SettingsPress:
    """A button or a menu of the panel: whose it is, and which choice it changes."""

    person: int
    name: str

    @property
    def id(self) -> str:
        return f"set:{self.person}:{self.name}"


@dataclass(frozen=True, slots=True)
class ChosenSettings:
    """What is chosen now. `channel` and `team`: where mentions are answered there; None: not for this person to say."""

    menu: ModelMenu
    paused: bool
    private: bool
    channel: str | None = None
    team: str | None = None
    direct: bool = False
    """Whether it is chosen in a direct message, where nobody else sees anything."""


def settings_press(custom_id: str) -> SettingsPress | None:
    """The inverse of `Pressed.id`; None for what is not one of these."""
    found = _ID.fullmatch(custom_id)
    return SettingsPress(int(found[1]), found[2]) if found is not None else None


async def private_by_default(host: Host, person: int) -> bool:
    """Whether only this person sees the answers to their commands, unless they say otherwise.

    It is, if that cannot be found out in time: what all have seen cannot be taken back.
    """
    try:
        async with asyncio.timeout(PATIENCE_S):
            return (await host.preferences.of(known_as(person))).get(PRIVATE) == YES
    except (CogencyError, TimeoutError):
        return True


class SettingsCommand:
    """`press` does what its panel's buttons and menus say."""

    def __init__(self, host: Host, members: Members) -> None:
        self._host = host
        self._members = members

    async def show(self, interaction: Interaction) -> None:
        await interaction.response.defer(ephemeral=True)
        await self._show(interaction)

    async def press(self, interaction: Interaction, made: SettingsPress) -> None:
        """Change what was pressed or chosen, for the one who may, and show the panel then. Raises UNREADABLE."""
        if interaction.user.id != made.person:
            await interactions.respond_alone(interaction, reply_texts.NOT_YOURS)
            return
        await interaction.response.defer()
        values = cast("Mapping[str, Any]", interaction.data or {}).get("values", ())
        try:
            await self._change(interaction, made.name, str(next(iter(values), USUAL)))
        except CogencyError as error:
            await interactions.follow_up(interaction, reply_texts.failure(error))
            return
        await self._show(interaction)

    async def _show(self, interaction: Interaction) -> None:
        try:
            shown = settings_panel(await self._chosen(interaction), interaction.user.id)
        except CogencyError as error:
            shown = interactions.panel(interactions.panel_text(reply_texts.failure(error)))
        await interactions.show_panel(interaction, shown)

    async def _chosen(self, interaction: Interaction) -> ChosenSettings:
        person = known_as(interaction.user.id)
        own = await self._host.preferences.of(person)
        menu = await self._host.models(interactions.requester_of(interaction))
        decides = interactions.decides(interaction, self._members, self._host)
        return ChosenSettings(
            menu,
            paused=own.get(PAUSE) == PAUSED,
            private=own.get(PRIVATE) == YES,
            channel=await self._replies(_owner_channel(interaction)) if decides.channel else None,
            team=await self._replies(_owner_team(interaction)) if decides.team else None,
            direct=interactions.is_direct(interaction),
        )

    async def _replies(self, owner: str) -> str:
        return (await self._host.preferences.of(owner)).get(REPLIES, USUAL)

    async def _change(self, interaction: Interaction, name: str, value: str) -> None:
        """Raises CogencyError."""
        person = known_as(interaction.user.id)
        own = await self._host.preferences.of(person)
        match name:
            case "model":
                who = interactions.requester_of(interaction)
                await self._host.choose_model(who, reply_texts.chosen_model(value))
            case "learning":
                on = own.get(PAUSE) == PAUSED
                viewer = await interactions.viewer_of(interaction, self._members)
                await self._host.memory(viewer, "resume" if on else "pause")
            case "private":
                await self._host.preferences.set(person, PRIVATE, None if own.get(PRIVATE) == YES else YES)
            case _:
                decides = interactions.decides(interaction, self._members, self._host)
                kept = value if value in PLACES and value != USUAL else None
                if name == _CHANNEL and decides.channel:
                    await self._host.preferences.set(_owner_channel(interaction), REPLIES, kept)
                elif name == _TEAM and decides.team:
                    await self._host.preferences.set(_owner_team(interaction), REPLIES, kept)


def settings_panel(chosen: ChosenSettings, person: int) -> Panel:
    """Everything that this person may choose, as it is now."""
    menu = chosen.menu
    parts: list[Part] = [
        interactions.panel_text(reply_texts.model_text(menu.current, menu.why, (), "/model"), _MODEL_CHARS)
    ]
    if menu.allowed:
        parts[0] = interactions.panel_text(command_texts.MODEL_NOW.format(model=menu.current), _MODEL_CHARS)
        names = [name for name in menu.allowed if len(name) <= MAX_CHOICE_CHARS][: MAX_CHOICES - 1]
        options = [discord.SelectOption(label=name, value=name, default=name == menu.current) for name in names]
        options.append(discord.SelectOption(label=command_texts.USUAL_MODEL, value=reply_texts.USUAL))
        parts.append(interactions.choice_menu(SettingsPress(person, _MODEL).id, command_texts.CHOOSE_MODEL, options))
    learning = command_texts.LEARNS_NOTHING if chosen.paused else command_texts.LEARNS_FROM_YOU
    change = command_texts.LEARN_AGAIN if chosen.paused else command_texts.STOP_LEARNING
    parts.append(
        interactions.text_beside(
            command_texts.LEARNING_NOW.format(learning=learning),
            button(change, SettingsPress(person, _LEARNING).id),
        )
    )
    where = "there" if chosen.direct else "here"
    whom = "only you see them" if chosen.private else f"everybody {where} sees them"
    elsewhere = " outside of direct messages" if chosen.direct else ""
    parts.append(
        interactions.text_beside(
            command_texts.WHO_SEES_COMMANDS.format(elsewhere=elsewhere, whom=whom),
            button(
                command_texts.SHOW_TO_ALL if chosen.private else command_texts.SHOW_TO_ME,
                SettingsPress(person, PRIVATE).id,
            ),
        )
    )
    for name, where, value in ((_CHANNEL, "this channel", chosen.channel), (_TEAM, "this server", chosen.team)):
        if value is not None:
            parts.append(interactions.panel_text(command_texts.WHERE_I_ANSWER.format(where=where)))
            parts.append(interactions.choice_menu(SettingsPress(person, name).id, PLACES[USUAL], _places(value)))
    return interactions.panel(*parts)


def _places(value: str) -> list[discord.SelectOption]:
    return [discord.SelectOption(label=label, value=name, default=name == value) for name, label in PLACES.items()]


def _owner_channel(interaction: Interaction) -> str:
    return f"channel:{objects.channel_of(interaction)}"


def _owner_team(interaction: Interaction) -> str:
    return f"team:{interaction.guild_id}"
