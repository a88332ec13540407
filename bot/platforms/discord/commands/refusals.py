"""What is said to one whose question was refused or could not be taken in: to them alone, no more often than helps."""

import asyncio
import logging

import discord

from agent.errors import CogencyError, Refused
from bot import wording
from bot.platforms.discord.commands import panels
from bot.platforms.discord.commands.interactions import Interaction
from bot.platforms.discord.members.membership import UNREADABLE
from bot.platforms.discord.replies.connection import Connection

log = logging.getLogger(__name__)


async def tell(author: discord.User | discord.Member, refused: Refused, connection: Connection) -> None:
    """A message was not taken in: say so in a DM, as Discord shows no answer to a message to one person only."""
    log.info("a message was refused: %s", refused)
    if refused.told:
        return
    try:
        await author.send(wording.literal(str(refused)), suppress_embeds=True)
    except UNREADABLE as error:
        connection.complain("a refusal could not be told", error)


def failure(storing: "asyncio.Future[bool]") -> CogencyError | None:
    """Why what was to be stored was refused, or failed, if that is known already."""
    failed = storing.exception() if storing.done() and not storing.cancelled() else None
    return failed if isinstance(failed, CogencyError) else None


async def answer(interaction: Interaction, failed: CogencyError, connection: Connection) -> None:
    """A command or a button was refused, or failed: whoever used it must be answered, and sees it alone."""
    text = wording.failure(failed)
    try:
        if not interaction.response.is_done():
            await panels.refuse(interaction, text)
            return
        await interaction.delete_original_response()  # "is thinking…" may stand there for everybody
        await panels.follow(interaction, text)
    except UNREADABLE as error:
        connection.complain("a refusal or a failure could not be told", error)
