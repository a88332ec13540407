"""What readers do about a reply on Discord: its buttons, reactions to it, its deletion."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, assert_never

import discord

from agent.errors import CogencyError, Refused
from agent.memory.audience import Place
from agent.records import EPHEMERAL_PAGE, Answered, Incoming, Person, ReplyVerdict, message_of
from agent.schedules import asked_in
from bot import message_intake
from bot.access.acl import Requester
from bot.host import Host
from bot.platforms.discord import checks, inbound, interactions, objects
from bot.platforms.discord.buttons import ReplyPress
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.inbound import Address, ChannelFactsForConversation, DiscordAuthor
from bot.platforms.discord.interactions import STORE_FIRST_S, Interaction, installed_by_person
from bot.platforms.discord.members import Members, zone_chosen
from bot.platforms.discord.places import SOURCE, UNREADABLE, known_as
from bot.platforms.discord.surroundings import Surroundings
from bot.reply_surface import SCHEDULING, ReplyAction, SurfaceError
from bot.texts import command_texts, memory_texts, reply_texts

log = logging.getLogger(__name__)

VERDICTS: Final[Mapping[str, ReplyVerdict]] = {"👍": ReplyVerdict.GOOD, "👎": ReplyVerdict.BAD}
WASTE_BASKET: Final = "🗑"
# The colours of skin, and the wish for a picture in colour: they change nothing of what is meant.
_VARIATIONS: Final = "\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


async def reaction_added(host: Host, connection: Connection, event: discord.RawReactionActionEvent) -> None:
    """Somebody reacted. Raises CogencyError."""
    emoji, person = _meant(event), known_as(event.user_id)
    if emoji not in {*VERDICTS, WASTE_BASKET}:
        return
    if (reply := await _reply(host, event.channel_id, event.message_id)) is None:
        return
    if emoji in VERDICTS:
        await host.feedback.judge(reply.turn, person, VERDICTS[emoji])
        return
    with suppress(Refused):
        if reply.person == person and await host.feedback.delete(reply.turn, person):
            await delete_pages(connection, event.channel_id, reply)


async def reaction_removed(host: Host, event: discord.RawReactionActionEvent) -> None:
    """Somebody took a reaction back, which counts only if they said nothing after it. Raises CogencyError."""
    verdict, person = VERDICTS.get(_meant(event)), known_as(event.user_id)
    if verdict is None or (reply := await _reply(host, event.channel_id, event.message_id)) is None:
        return
    await host.feedback.take_verdict_back(reply.turn, person, verdict)


async def messages_deleted(host: Host, connection: Connection, channel: int, messages: Collection[int]) -> None:
    """These messages were deleted. Raises CogencyError."""
    for message in messages:
        reply = await _reply(host, channel, message)
        if reply is not None and await host.feedback.delete(reply.turn, reply.person):
            await delete_pages(connection, channel, reply)


def _meant(event: discord.RawReactionActionEvent) -> str:
    """The emoji, if it is one of everybody's."""
    return event.emoji.name.rstrip(_VARIATIONS) if event.emoji.id is None else ""


async def _reply(host: Host, channel: int, message: int) -> Answered | None:
    found = [await host.feedback.at(SOURCE, page) for page in inbound.pages_at(channel, message)]
    return next((reply for reply in found if reply is not None), None)


async def delete_pages(connection: Connection, channel: int, reply: Answered) -> None:
    """The pages of an interaction's answer, which the host cannot reach; all see them, or nobody could react."""
    rest = await connection.rest()
    for page in reply.pages:
        reached, message, _ = inbound.place_of_page(page)
        if reached == EPHEMERAL_PAGE:
            with suppress(SurfaceError):
                await rest.delete(str(channel), message)


# Presses of buttons that ask: "Continue" and "Regenerate" below a reply, as the bot takes them. Pure.


@dataclass(frozen=True, slots=True)
class Press:
    """What matters of a press of "Continue" or "Regenerate" under `page`, a reply of `conversation`.

    `private`: only the presser sees the page. `member`: the bot can write there by itself.
    """

    id: int
    application: int
    token: str
    where: ChannelFactsForConversation
    author: DiscordAuthor
    page: int
    conversation: str
    private: bool
    member: bool
    time: datetime
    private_place: Place
    by_person: bool = False
    """Whether only the presser has installed the bot, and not the server."""


def continue_pressed(press: Press) -> Incoming:
    """The press of "Continue" as the bot takes it: a question in the presser's name, once for each page."""
    return _pressed(press, reply_texts.GO_ON, f"continue:{press.page}")


def regenerate_pressed(press: Press, reply: Answered) -> Incoming:
    """The press of "Regenerate": the reply's question once more, once for each reply. Raises Refused."""
    once = message_intake.repeat_question(reply, known_as(press.author.id))
    asked = _pressed(replace(press, conversation=reply.conversation), reply.question, once)
    return message_intake.check_readers(asked, reply)


def _pressed(press: Press, text: str, once: str) -> Incoming:
    """`once` names it for ever."""
    where, author = press.where, press.author
    private = press.private and not where.direct
    in_channel = not (where.direct or where.parent)
    here = Address(str(where.channel), str(author.id), message=str(press.page) if in_channel and not private else "")
    if private or not press.member:
        here = replace(
            here,
            interaction=str(press.id),
            application=str(press.application),
            token=press.token,
            token_until=inbound.token_until(press.time),
            private=private,
            follows=True,
            by_person=press.by_person,
        )
    return Incoming(
        source=SOURCE,
        event_id=str(press.id),
        channel=str(where.parent or where.channel),
        message_id=once,
        conversation=press.conversation,
        person=Person(known_as(author.id), author.name),
        place=press.private_place if private else inbound.place_of_answer(where, author),
        text=text,
        time=press.time,
        reply_to=here.encode(),
        authority=author.standing.authority,
        roles=author.standing.roles,
        team=author.standing.team,
        organization=author.standing.organization,
    )


@dataclass(frozen=True, slots=True)
class Pressing:
    """Does what the buttons say; what goes wrong is told to the presser alone.

    "Stop" and "Continue" are everybody's who can read the reply: a thread belongs to all who are in it. Each may say
    what they think of it, and change that. Only whoever asked may have it answered again or deleted, or what was
    remembered taken back. "Continue" and "Regenerate" are questions in the presser's name, stored before Discord is
    told that they arrived, and once for each reply. A reaction is a light word: nobody is answered, and what means
    nothing has no consequence. Whoever manages the messages may delete a page: its words are forgotten, and its other
    pages go, too.
    """

    host: Host
    connection: Connection
    members: Members
    surroundings: Surroundings
    show_waiting: Callable[[Interaction, int], Awaitable[None]]
    """What this turn waits for, to whoever it waits for."""
    change: Callable[[Interaction, str], Awaitable[None]]
    """Have `/schedules` change what these words of it name (`ScheduleAnswers.change_words`)."""

    async def press(self, interaction: Interaction, made: ReplyPress) -> None:
        try:
            match made.offer:
                case ReplyAction.STOP:
                    await self._stop(interaction, made)
                case ReplyAction.CONTINUE:
                    await self._continue(interaction, made.conversation)
                case ReplyAction.REGENERATE:
                    await self._regenerate(interaction, made)
                case ReplyAction.GOOD:
                    await self._judge(interaction, made.turn, ReplyVerdict.GOOD)
                case ReplyAction.BAD:
                    await self._judge(interaction, made.turn, ReplyVerdict.BAD)
                case ReplyAction.DELETE:
                    await self._delete(interaction, made.turn)
                case ReplyAction.DECIDE | ReplyAction.ANSWER:
                    await self.show_waiting(interaction, made.turn)
                case ReplyAction.UNDO:
                    await self._take_back(interaction, made)
                case ReplyAction.CHANGE:
                    await self._change(interaction, made.turn)
                case ReplyAction.CANCEL:
                    await self._take_back(interaction, made)
                case _:
                    assert_never(made.offer)
        except UNREADABLE as error:
            self.connection.complain("a button could not be answered", error)

    async def _stop(self, interaction: Interaction, made: ReplyPress) -> None:
        await interaction.response.defer()
        try:
            author = await self.members.author(objects.author_of(interaction.user))
            person, standing = known_as(author.id), author.standing
            who = Requester(person, objects.channel_of(interaction), standing.roles, standing.team)
            await self.host.admission.admit_order(who, standing.authority)
            if await self.host.turns.stop_conversation(made.conversation, alone=True):
                return  # the reply's own last edit takes the button away
        except CogencyError as error:
            await interactions.follow_up(interaction, reply_texts.failure(error))
            return
        # It may have ended meanwhile: what stands below it since then stays there.
        below = _without(await interaction.original_response(), made)
        await interaction.edit_original_response(view=below)
        await interactions.follow_up(interaction, reply_texts.NOTHING_RUNNING)

    async def _judge(self, interaction: Interaction, turn: int, verdict: ReplyVerdict) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        try:
            known = await self._known(interaction, turn) is not None
            kept = known and await self.host.feedback.judge(turn, known_as(interaction.user.id), verdict)
            said = reply_texts.NOTED if kept else reply_texts.NO_SUCH_REPLY
        except CogencyError as error:
            said = reply_texts.failure(error)
        await interactions.show_text(interaction, said)

    async def _change(self, interaction: Interaction, turn: int) -> None:
        """A window cannot be announced: so nothing is acknowledged before it is known what is to be changed."""
        try:
            async with asyncio.timeout(STORE_FIRST_S):
                if (reply := await self._known(interaction, turn)) is None:
                    raise Refused(reply_texts.NO_SUCH_REPLY)
                words = await self.host.schedules.change_words(reply, known_as(interaction.user.id))
        except TimeoutError:
            await interactions.respond_alone(interaction, command_texts.WINDOW_TRY_AGAIN)
        except CogencyError as error:
            await interactions.respond_alone(interaction, reply_texts.failure(error))
        else:
            await self.change(interaction, words)

    async def _take_back(self, interaction: Interaction, made: ReplyPress) -> None:
        """What was remembered, or what is done at a time; the page then says so."""
        await interaction.response.defer()
        cancels, person = made.offer is ReplyAction.CANCEL, known_as(interaction.user.id)
        try:
            if (reply := await self._known(interaction, made.turn)) is None:
                said = reply_texts.NO_SUCH_REPLY
            elif cancels:
                said = await self.host.schedules.take_back(reply, person)
            else:
                said = await self.host.take_back(made.turn, person)
        except CogencyError as error:
            await interactions.follow_up(interaction, reply_texts.failure(error))
            return
        await interactions.follow_up(interaction, said)
        if reply is not None and (page := interaction.message) is not None:
            says = memory_texts.unscheduled(page.content) if cancels else memory_texts.undone(page.content)
            gone = [replace(made, offer=offer) for offer in SCHEDULING] if cancels else [made]
            with suppress(discord.NotFound):
                await interaction.edit_original_response(content=says, view=_without(page, *gone))

    async def _delete(self, interaction: Interaction, turn: int) -> None:
        await interaction.response.defer()
        try:
            reply = await self._known(interaction, turn)
            if reply is None or not await self.host.feedback.delete(turn, known_as(interaction.user.id)):
                await interactions.follow_up(interaction, reply_texts.NO_SUCH_REPLY)
                return
        except CogencyError as error:
            await interactions.follow_up(interaction, reply_texts.failure(error))
            return
        await self._take_away(interaction, reply)

    async def _known(self, interaction: Interaction, turn: int) -> Answered | None:
        """The reply that the button stands below; None if it is forgotten, or if its number is now another reply's, as
        after a return to an older copy of the database: what that one says may not be for those who read here.
        """
        reply, page = await self.host.feedback.of(turn), interaction.message
        pages = frozenset(inbound.pages_at(page.channel.id, page.id)) if page is not None else frozenset[str]()
        return reply if reply is not None and not pages.isdisjoint(reply.pages) else None

    async def _take_away(self, interaction: Interaction, reply: Answered) -> None:
        """The pages of an interaction's answer: the host cannot reach those by itself."""
        with suppress(discord.NotFound):
            await interaction.delete_original_response()
        page = interaction.message
        if page is None or not page.flags.ephemeral:
            await delete_pages(self.connection, interaction.channel_id or interaction.id, reply)
        elif len(reply.pages) > 1:
            await interactions.follow_up(interaction, reply_texts.ONLY_THIS_PAGE)

    async def _continue(self, interaction: Interaction, conversation: str) -> None:
        async def question(made: Press) -> Incoming:
            return continue_pressed(replace(made, conversation=asked_in(conversation)))

        await self._ask(
            interaction, question, _without(interaction.message, ReplyPress(ReplyAction.CONTINUE, conversation))
        )

    async def _regenerate(self, interaction: Interaction, button: ReplyPress) -> None:
        async def question(made: Press) -> Incoming:
            reply = await self._known(interaction, button.turn)
            if reply is None:
                raise Refused(reply_texts.NO_SUCH_REPLY)
            asked = regenerate_pressed(made, reply)
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
            author = await self.members.author_retrying(made.author)
            asked = await question(replace(made, author=author))
            zone = await zone_chosen(self.host.preferences, asked.person.id)
            return await self.host.submit(replace(asked, person=replace(asked.person, time_zone=zone)))

        storing = asyncio.ensure_future(store())
        try:
            await asyncio.wait({storing}, timeout=STORE_FIRST_S)
            if (failed := interactions.failure_of(storing)) is not None:  # the button stays, for others and for later
                await interactions.answer_failure(interaction, failed, self.connection)
                return
            await self._acknowledge(interaction, below)
        finally:
            self.connection.acknowledged(str(interaction.id))
        try:
            await storing
        except CogencyError as error:
            log.warning("a press of a button could not be taken in: %s", error)
            await interactions.follow_up(interaction, reply_texts.failure(error))


def _press(interaction: Interaction, connection: Connection) -> Press | None:
    page = interaction.message
    if page is None:
        return None
    author = objects.author_of(interaction.user)
    direct = interaction.context.dm_channel is True
    where = objects.where(interaction.channel or interaction, author, direct=direct)
    guild = interaction.client.get_guild(interaction.guild_id) if interaction.guild_id is not None else None
    writes = checks.may_answer(interaction.app_permissions, in_thread=where.parent is not None)
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
        private_place=objects.private_place_of(interaction),
        by_person=installed_by_person(interaction),
    )


def _without(page: discord.Message | None, *buttons: ReplyPress) -> discord.ui.View | None:
    """The buttons of a page but these."""
    if page is None:
        return None
    view = discord.ui.View.from_message(page, timeout=interactions.LIVES_S)
    for item in view.children:
        if isinstance(item, discord.ui.Button) and item.custom_id in {button.id for button in buttons}:
            view.remove_item(item)
    return view
