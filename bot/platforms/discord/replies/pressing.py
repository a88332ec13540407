"""What happens when somebody presses a button under a reply.

Above: `desk` hands over what is pressed. Below: `buttons`, `interactions`, `panels`, `presses`,
`reading`, `surroundings`, `connection`, `bot.host.Host`.

Rules. "Stop" and "Continue" are everybody's who can read the reply: a thread belongs to all who are in it. Each may say
what they think of a reply, and change it. Only whoever asked may have the question asked again, the reply deleted, or
what was remembered taken back: then the line that says so goes, and its button.
"Continue" and "Regenerate" are questions in the presser's name. They are stored before Discord is told that they
arrived, and once for each reply, however many people press.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import assert_never

import discord

from agent.errors import CogencyError, Refused
from agent.records import Answered, Incoming, Verdict
from bot import wording
from bot.access.lists import Who
from bot.host import Host
from bot.latest import Latest
from bot.platforms.discord.commands import panels, refusals
from bot.platforms.discord.commands.interactions import STORE_FIRST_S, Interaction, installed_by_person
from bot.platforms.discord.members import permissions
from bot.platforms.discord.members.members import Members
from bot.platforms.discord.members.membership import UNREADABLE
from bot.platforms.discord.members.place import known_as
from bot.platforms.discord.reading import reading
from bot.platforms.discord.reading.surroundings import Surroundings
from bot.platforms.discord.replies import reactions
from bot.platforms.discord.replies.address import pages_at
from bot.platforms.discord.replies.buttons import Pressed
from bot.platforms.discord.replies.connection import Connection
from bot.platforms.discord.replies.presses import Press, again, continued
from bot.repeats import message_of
from bot.surface import Offer

log = logging.getLogger(__name__)

NOTED = "Thank you, I have noted that. The other button changes it."
NO_SUCH_REPLY = "I do not know this reply any more."
ONLY_THIS_PAGE = "Forgotten. Discord lets me take away only this page of it: please dismiss the others yourself."
NOT_YOUR_QUESTION = "Only the person who asked can have this question asked again."


@dataclass(frozen=True, slots=True)
class Pressing:
    """Does what the buttons say; what goes wrong is told to the presser alone."""

    host: Host
    connection: Connection
    members: Members
    surroundings: Surroundings
    said_last: Latest
    """The last verdict of each person on each reply, as far as it was seen."""

    async def press(self, interaction: Interaction, made: Pressed) -> None:
        try:
            match made.offer:
                case Offer.STOP:
                    await self._stop(interaction, made)
                case Offer.CONTINUE:
                    await self._continue(interaction, made.conversation)
                case Offer.REGENERATE:
                    await self._regenerate(interaction, made)
                case Offer.GOOD:
                    await self._judge(interaction, made.turn, Verdict.GOOD)
                case Offer.BAD:
                    await self._judge(interaction, made.turn, Verdict.BAD)
                case Offer.DELETE:
                    await self._delete(interaction, made.turn)
                case Offer.UNDO:
                    await self._take_back(interaction, made)
                case _:
                    assert_never(made.offer)
        except UNREADABLE as error:
            self.connection.complain("a button could not be answered", error)

    async def _stop(self, interaction: Interaction, made: Pressed) -> None:
        await interaction.response.defer()
        try:
            author = await self.members.known(reading.author_of(interaction.user))
            person, standing = known_as(author.id), author.standing
            who = Who(person, reading.channel_of(interaction), standing.roles, standing.team)
            self.host.admit_order(who, standing.authority)
            if await self.host.stop(made.conversation):
                return  # the reply's own last edit takes the button away
        except CogencyError as error:
            await panels.follow(interaction, wording.failure(error))
            return
        # It may have ended meanwhile: what stands below it since then stays there.
        below = _without(await interaction.original_response(), made)
        await interaction.edit_original_response(view=below)
        await panels.follow(interaction, wording.NOTHING_RUNNING)

    async def _judge(self, interaction: Interaction, turn: int, verdict: Verdict) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        self.said_last.keep(f"{turn}:{known_as(interaction.user.id)}", verdict)
        try:
            known = await self._known(interaction, turn) is not None
            kept = known and await self.host.judge(turn, known_as(interaction.user.id), verdict)
            said = NOTED if kept else NO_SUCH_REPLY
        except CogencyError as error:
            said = wording.failure(error)
        await panels.say(interaction, said)

    async def _take_back(self, interaction: Interaction, made: Pressed) -> None:
        await interaction.response.defer()
        try:
            known = await self._known(interaction, made.turn) is not None
            said = await self.host.take_back(made.turn, known_as(interaction.user.id)) if known else NO_SUCH_REPLY
        except CogencyError as error:
            await panels.follow(interaction, wording.failure(error))
            return
        await panels.follow(interaction, said)
        if known and (page := interaction.message) is not None:
            with suppress(discord.NotFound):
                await interaction.edit_original_response(
                    content=wording.undone(page.content), view=_without(page, made)
                )

    async def _delete(self, interaction: Interaction, turn: int) -> None:
        await interaction.response.defer()
        try:
            reply = await self._known(interaction, turn)
            if reply is None or not await self.host.delete_reply(turn, known_as(interaction.user.id)):
                await panels.follow(interaction, NO_SUCH_REPLY)
                return
        except CogencyError as error:
            await panels.follow(interaction, wording.failure(error))
            return
        await self._take_away(interaction, reply)

    async def _known(self, interaction: Interaction, turn: int) -> Answered | None:
        """The reply that the button stands below; None if it is forgotten, or if its number is now another reply's, as
        after a return to an older copy of the database: what that one says may not be for those who read here.
        """
        reply, page = await self.host.reply_of(turn), interaction.message
        pages = frozenset(pages_at(page.channel.id, page.id)) if page is not None else frozenset[str]()
        return reply if reply is not None and not pages.isdisjoint(reply.pages) else None

    async def _take_away(self, interaction: Interaction, reply: Answered) -> None:
        """The pages of an interaction's answer: the host cannot reach those by itself."""
        with suppress(discord.NotFound):
            await interaction.delete_original_response()
        page = interaction.message
        if page is None or not page.flags.ephemeral:
            await reactions.take_away(self.connection, interaction.channel_id or interaction.id, reply)
        elif len(reply.pages) > 1:
            await panels.follow(interaction, ONLY_THIS_PAGE)

    async def _continue(self, interaction: Interaction, conversation: str) -> None:
        async def question(made: Press) -> Incoming:
            return continued(replace(made, conversation=conversation))

        await self._ask(interaction, question, None)

    async def _regenerate(self, interaction: Interaction, button: Pressed) -> None:
        async def question(made: Press) -> Incoming:
            reply = await self._known(interaction, button.turn)
            if reply is None:
                raise Refused(NO_SUCH_REPLY)
            if reply.person != known_as(made.author.id):
                raise Refused(NOT_YOUR_QUESTION)
            asked = again(made, reply)
            files = await self.surroundings.files_of(message_of(reply.message_id), interaction.channel)
            return replace(asked, files=files)

        await self._ask(interaction, question, _without(interaction.message, button))

    async def _acknowledge(self, interaction: Interaction, below: discord.ui.View | None) -> None:
        """Never raises: the question is stored, and its answer finds its way."""
        try:
            await interaction.response.edit_message(view=below)
        except UNREADABLE as error:
            self.connection.complain("a button could not be acknowledged", error)

    async def _ask(
        self,
        interaction: Interaction,
        question: Callable[[Press], Awaitable[Incoming]],
        below: discord.ui.View | None,
    ) -> None:
        """Take the question in, and leave these buttons below the reply."""
        made = _press(interaction, self.connection)
        if made is None or not self.connection.acknowledging(str(interaction.id)):
            return

        async def store() -> bool:
            author = await self.members.known_at_last(made.author)
            return await self.host.take(await question(replace(made, author=author)))

        storing = asyncio.ensure_future(store())
        try:
            await asyncio.wait({storing}, timeout=STORE_FIRST_S)
            if (failed := refusals.failure(storing)) is not None:  # the button stays, for others and for later
                await refusals.answer(interaction, failed, self.connection)
                return
            await self._acknowledge(interaction, below)
        finally:
            self.connection.acknowledged(str(interaction.id))
        try:
            await storing
        except CogencyError as error:
            log.warning("a press of a button could not be taken in: %s", error)
            await panels.follow(interaction, wording.failure(error))


def _press(interaction: Interaction, connection: Connection) -> Press | None:
    page = interaction.message
    if page is None:
        return None
    author = reading.author_of(interaction.user)
    direct = interaction.context.dm_channel is True
    where = reading.where(interaction.channel or interaction, author, direct=direct)
    guild = interaction.client.get_guild(interaction.guild_id) if interaction.guild_id is not None else None
    writes = permissions.may_answer(interaction.app_permissions, in_thread=where.parent is not None)
    return Press(
        id=interaction.id,
        application=interaction.application_id,
        token=interaction.token,
        where=where,
        author=author,
        page=page.id,
        conversation="",
        private=page.flags.ephemeral,
        member=direct or (guild is not None and writes),
        time=connection.clock.now(),
        private_place=reading.private_place_of(interaction),
        by_person=installed_by_person(interaction),
    )


def _without(page: discord.Message | None, button: Pressed) -> discord.ui.View | None:
    """The buttons of a page but this one."""
    if page is None:
        return None
    view = discord.ui.View.from_message(page, timeout=panels.LIVES_S)
    for item in view.children:
        if isinstance(item, discord.ui.Button) and item.custom_id == button.id:
            view.remove_item(item)
    return view
