"""What is said to one who may not ask, or not now: to them alone, and no more often than it helps.

Above: `client`, `commands`, `pressing`. Below: `interactions`, discord.py.
"""

import asyncio
import logging

import discord

from agent.errors import Refused
from bot import wording
from bot.platforms.discord.interactions import Interaction

log = logging.getLogger(__name__)


async def tell(author: discord.User | discord.Member, refused: Refused) -> None:
    """A message was not taken in: say so in a DM, as Discord shows no answer to a message to one person only."""
    log.info("a message was refused: %s", refused)
    if refused.told:
        return
    try:
        await author.send(wording.literal(str(refused)))
    except discord.HTTPException as error:
        log.info("a refusal could not be told (Discord's error %d)", error.code)


def refusal(storing: "asyncio.Future[bool]") -> Refused | None:
    """Why what was to be stored was refused, if that is known already."""
    failed = storing.exception() if storing.done() and not storing.cancelled() else None
    return failed if isinstance(failed, Refused) else None


async def answer(interaction: Interaction, refused: Refused) -> None:
    """A command or a button was refused: whoever used it must be answered, and sees it alone."""
    text = wording.literal(str(refused))
    try:
        if not interaction.response.is_done():
            await interaction.response.send_message(text, ephemeral=True)
            return
        await interaction.delete_original_response()  # "is thinking…" may stand there for everybody
        await interaction.followup.send(text, ephemeral=True)
    except discord.HTTPException as error:
        log.info("a refusal could not be told (Discord's error %d)", error.code)
