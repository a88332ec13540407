"""What happens when somebody presses a button under a reply.

Above: `desk` hands over what is pressed. Below: `buttons`, `inbound`, `interactions`, `reading`, `connection`,
`bot.host.Host`.

"Continue" is a question in the presser's name. It is stored before Discord is told that it arrived, and once for each
reply, however many people press.
"""

import asyncio
import logging
from dataclasses import replace
from typing import assert_never

import discord

from agent.errors import CogencyError
from bot import wording
from bot.host import Host
from bot.platforms.discord import panels, reading, refusals
from bot.platforms.discord.buttons import Button, Pressed
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.inbound import Press, continued
from bot.platforms.discord.interactions import STORE_FIRST_S, Interaction
from bot.platforms.discord.members import Members

log = logging.getLogger(__name__)


async def press(interaction: Interaction, made: Pressed, host: Host, connection: Connection, members: Members) -> None:
    """Do what the button says; what goes wrong is told to the presser alone."""
    try:
        match made.button:
            case Button.STOP:
                await _stop(interaction, made.conversation, host)
            case Button.CONTINUE:
                await _continue(interaction, made.conversation, host, connection, members)
            case _:
                assert_never(made.button)
    except discord.HTTPException as error:
        log.info("a button could not be answered (Discord's error %d)", error.code)


async def _stop(interaction: Interaction, conversation: str, host: Host) -> None:
    try:
        stopped = await host.stop(conversation)
    except CogencyError as error:
        await panels.refuse(interaction, wording.failure(error))
        return
    if stopped:
        await interaction.response.defer()  # the reply's own last edit takes the button away
    else:
        await interaction.response.edit_message(view=None)
        await panels.follow(interaction, wording.NOTHING_RUNNING)


async def _continue(
    interaction: Interaction, conversation: str, host: Host, connection: Connection, members: Members
) -> None:
    made = _press(interaction, conversation, connection)
    if made is None or not connection.acknowledging(str(interaction.id)):
        return
    storing = asyncio.ensure_future(_store(made, host, members))
    try:
        await asyncio.wait({storing}, timeout=STORE_FIRST_S)
        if (failed := refusals.failure(storing)) is not None:  # the button stays, for others and for later
            await refusals.answer(interaction, failed)
            return
        await interaction.response.edit_message(view=None)
    finally:
        connection.acknowledged(str(interaction.id))
    try:
        await storing
    except CogencyError as error:
        log.warning("a press of a button could not be taken in: %s", error)
        await panels.follow(interaction, wording.failure(error))


async def _store(made: Press, host: Host, members: Members) -> bool:
    author = await members.known(made.author, direct=made.where.direct)
    return await host.take(continued(replace(made, author=author)))


def _press(interaction: Interaction, conversation: str, connection: Connection) -> Press | None:
    page = interaction.message
    if page is None:
        return None
    author = reading.author_of(interaction.user)
    direct = interaction.context.dm_channel is True
    guild = interaction.client.get_guild(interaction.guild_id) if interaction.guild_id is not None else None
    return Press(
        id=interaction.id,
        application=interaction.application_id,
        token=interaction.token,
        where=reading.where(interaction.channel or interaction, author, direct=direct),
        author=author,
        page=page.id,
        conversation=conversation,
        private=page.flags.ephemeral,
        member=direct or guild is not None,
        time=connection.clock.now(),
        private_place=reading.private_place_of(interaction),
    )
