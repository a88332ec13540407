"""`/forget`: what would fall, where only the caller sees it, and the buttons below.

Above: `commands` shows it, `client` hands over what is pressed. Below: `inbound`, `interactions`, `panels`,
`bot.host.Host`; `bot.memory.forget_words`.

Who asked, and what they would agree to, stand in the button's own id. So only the caller can use it, and it works after
a restart of the bot, with nothing remembered until it is pressed.
"""

import re
from dataclasses import dataclass
from typing import Final

import discord

from agent.errors import CogencyError
from bot import wording
from bot.host import ForgetAnswer, Forgetter, Host
from bot.memory.forget_words import MAX_TOKEN_CHARS
from bot.platforms.discord import panels
from bot.platforms.discord.inbound import private_conversation
from bot.platforms.discord.interactions import Interaction
from bot.platforms.discord.panels import Part, button
from bot.platforms.discord.place import known_as

NOTHING: Final = "nothing"

_ID: Final = re.compile(rf"forget:(\d{{1,20}}):([01]):(.{{1,{MAX_TOKEN_CHARS}}})")


@dataclass(frozen=True, slots=True)
class Decision:
    """A button: whose it is, what they agree to (NOTHING: to nothing), and whether the bot's replies go, too."""

    person: int
    token: str
    replies: bool = False

    @property
    def id(self) -> str:
        return f"forget:{self.person}:{int(self.replies)}:{self.token}"


def decision(button_id: str) -> Decision | None:
    """The inverse of `Decision.id`; None for a button that is not one of these."""
    found = _ID.fullmatch(button_id)
    return None if found is None else Decision(int(found[1]), found[3], found[2] == "1")


async def ask(interaction: Interaction, host: Host, words: str, *, replies: bool) -> None:
    """Ask back."""
    await interaction.response.defer(ephemeral=True)
    try:
        answer = await host.ask_to_forget(_who(interaction), words)
    except CogencyError as error:
        answer = ForgetAnswer(wording.failure(error))
    await _show(interaction, answer, replies=replies)


async def decide(interaction: Interaction, made: Decision, host: Host) -> None:
    """Do what the button says, for the one who may press it, and put the receipt in its place."""
    if interaction.user.id != made.person:
        await panels.refuse(interaction, wording.NOT_YOURS)
    elif made.token == NOTHING:
        shown = panels.panel(panels.text(wording.forget_declined()))
        await interaction.response.edit_message(content=None, view=shown)
    else:
        await interaction.response.defer()  # erasing with proof may take longer than three seconds
        try:
            answer = await host.forget(_who(interaction), made.token, replies=made.replies)
        except CogencyError as error:
            answer = ForgetAnswer(wording.failure(error))
        await _show(interaction, answer, replies=made.replies)


async def _show(interaction: Interaction, answer: ForgetAnswer, *, replies: bool) -> None:
    below = [_buttons(interaction.user.id, answer.token, replies=replies)] if answer.token else []
    await panels.put(interaction, panels.panel(panels.text(answer.text), *below))


def _buttons(person: int, token: str, *, replies: bool) -> Part:
    yes, no = Decision(person, token, replies), Decision(person, NOTHING)
    return panels.row(button("Forget", yes.id, discord.ButtonStyle.danger), button("Keep", no.id))


def _who(interaction: Interaction) -> Forgetter:
    """The caller. "This thread" is the channel, and what they asked there in private."""
    person, channel = interaction.user.id, interaction.channel_id
    thread = () if channel is None else (known_as(channel), private_conversation(channel, person))
    return Forgetter(known_as(person), frozenset(thread))
