"""`/forget`: what would fall, where only the caller sees it, and the buttons below.

Who asked, and what they would agree to, stand in the button's own id. So only the caller can use it, and it works after
a restart of the bot, with nothing remembered until it is pressed.
"""

import re
from dataclasses import dataclass
from typing import Final

import discord

from agent.errors import CogencyError
from agent.records import repeats_of
from bot.host import ForgetAnswer, Host
from bot.memory.forget_desk import MAX_TOKEN_CHARS
from bot.platforms.discord import interactions, pressing
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.interactions import Interaction, Part, button
from bot.platforms.discord.places import known_as
from bot.texts import command_texts, memory_texts, reply_texts

NOTHING: Final = "nothing"
MESSAGE: Final = "message"
"""With a channel and a message of the caller's own, in place of what `bot.memory` makes of words."""
REPLY: Final = "reply"
"""The same with the turn of a reply to them."""

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


def wish_words(what: str, scope: str) -> str:
    """The words that `bot.memory.forget_desk` reads. Pure."""
    match scope:
        case "about" if what.strip() and not what.casefold().startswith("about "):
            return f"about {what}"
        case "thread" | "everything":
            return scope
        case _:
            return what


async def ask(interaction: Interaction, host: Host, words: str, *, replies: bool) -> None:
    """Ask back."""
    await interaction.response.defer(ephemeral=True)
    try:
        answer = await host.forgetting.ask(await interactions.forgetter_of(interaction, host), words)
    except CogencyError as error:
        answer = ForgetAnswer(reply_texts.failure(error))
    await show(interaction, answer, replies=replies)


async def decide(interaction: Interaction, made: Decision, host: Host, connection: Connection) -> None:
    """Do what the button says, for the one who may press it, and put the receipt in its place."""
    if interaction.user.id != made.person:
        await interactions.respond_alone(interaction, reply_texts.NOT_YOURS)
    elif made.token == NOTHING:
        shown = interactions.panel(interactions.panel_text(memory_texts.FORGET_DECLINED))
        await interaction.response.edit_message(content=None, view=shown)
    else:
        await interaction.response.defer()  # erasing with proof may take longer than three seconds
        try:
            answer = await _forget(interaction, made, host, connection)
        except CogencyError as error:
            answer = ForgetAnswer(reply_texts.failure(error))
        await show(interaction, answer, replies=made.replies)


async def _forget(interaction: Interaction, made: Decision, host: Host, connection: Connection) -> ForgetAnswer:
    """Raises CogencyError."""
    match made.token.split("|"):
        case [kind, channel, message] if kind == MESSAGE:
            await host.forgetting.deleted(channel, {message, *repeats_of(message)})
            return ForgetAnswer(command_texts.MESSAGE_FORGOTTEN)
        case [kind, turn] if kind == REPLY and turn.isdecimal():
            reply = await host.reply_of(int(turn))
            if reply is None or not await host.delete_reply(int(turn), known_as(made.person)):
                return ForgetAnswer(reply_texts.NO_SUCH_REPLY)
            await pressing.delete_pages(connection, interaction.channel_id or interaction.id, reply)
            return ForgetAnswer(command_texts.REPLY_FORGOTTEN)
        case _:
            return await host.forgetting.forget(
                await interactions.forgetter_of(interaction, host), made.token, replies=made.replies
            )


async def show(interaction: Interaction, answer: ForgetAnswer, *, replies: bool = False) -> None:
    """The question with its buttons, or the receipt. Raises discord.HTTPException."""
    below = [_buttons(interaction.user.id, answer, replies=replies)] if answer.token else []
    await interactions.show_panel(interaction, interactions.panel(interactions.panel_text(answer.text), *below))


def _buttons(person: int, answer: ForgetAnswer, *, replies: bool) -> Part:
    yes, no = Decision(person, answer.token, replies), Decision(person, NOTHING)
    agree = [button("Forget", yes.id, discord.ButtonStyle.danger)]
    if answer.wider:
        too = Decision(person, answer.wider, replies)
        agree.append(button(command_texts.FORGET_THOSE_TOO, too.id, discord.ButtonStyle.danger))
    return interactions.button_row(*agree, button("Keep", no.id))
