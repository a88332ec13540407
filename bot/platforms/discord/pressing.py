"""Handle what readers do with a reply on Discord: its buttons, reactions to it, its deletion."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, assert_never

import discord

from agent.errors import CogencyError, Refused
from agent.incoming import Incoming, Person
from agent.memory.audience import Place
from agent.presentations import follow_up_id
from agent.repeats import message_of
from agent.schedules.long_work import asked_in
from agent.shown_replies import EPHEMERAL_PAGE, Answered, ReplyVerdict
from bot.chat import intake as message_intake
from bot.chat.askers import Requester
from bot.chat.commands.declaration import BoundCommand, PressedReply, command_below
from bot.chat.host import Host
from bot.chat.panels import PanelAction
from bot.chat.reply.surface import PRESSED_ONCE, ReplyAction, SurfaceError
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import checks, inbound, interactions, objects
from bot.platforms.discord.buttons import ReplyPress
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.inbound import ChannelFactsForConversation, DiscordAuthor
from bot.platforms.discord.interactions import STORE_FIRST_S, Interaction, installed_by_person
from bot.platforms.discord.members import Members, zone_chosen
from bot.platforms.discord.places import SOURCE, UNREADABLE, known_as
from bot.platforms.discord.presentations import QuestionPress
from bot.platforms.discord.reply_to import Address, pages_at, place_of_page, token_until
from bot.platforms.discord.surroundings import Surroundings

log = logging.getLogger(__name__)

VERDICTS: Final[Mapping[str, ReplyVerdict]] = {"👍": ReplyVerdict.GOOD, "👎": ReplyVerdict.BAD}
WASTE_BASKET: Final = "🗑"
# Skin tones and the emoji variation selector: they do not change the meaning.
_VARIATIONS: Final = "\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


async def reaction_added(host: Host, connection: Connection, event: discord.RawReactionActionEvent) -> None:
    """Handle a reaction. Raises CogencyError."""
    emoji, person = _emoji_of(event), known_as(event.user_id)
    if emoji not in {*VERDICTS, WASTE_BASKET}:
        return
    if (reply := await _reply(host, event.channel_id, event.message_id)) is None:
        if emoji == WASTE_BASKET:
            await _delete_running(host, event.channel_id, event.message_id, person)
        return
    if emoji in VERDICTS:
        await host.feedback.judge(reply.turn, person, VERDICTS[emoji])
        return
    with suppress(Refused):
        if reply.person == person and await host.feedback.delete(reply.turn, person):
            await delete_pages(connection, event.channel_id, reply)


async def reaction_removed(host: Host, event: discord.RawReactionActionEvent) -> None:
    """Handle a reaction taken back; it counts only if the person gave no other verdict since.

    Raises CogencyError.
    """
    verdict, person = VERDICTS.get(_emoji_of(event)), known_as(event.user_id)
    if verdict is None or (reply := await _reply(host, event.channel_id, event.message_id)) is None:
        return
    await host.feedback.take_verdict_back(reply.turn, person, verdict)


async def messages_deleted(host: Host, connection: Connection, channel: int, messages: Collection[int]) -> None:
    """Handle the deletion of these messages. Raises CogencyError."""
    for message in messages:
        reply = await _reply(host, channel, message)
        if reply is not None and await host.feedback.delete(reply.turn, reply.person):
            await delete_pages(connection, channel, reply)


def _emoji_of(event: discord.RawReactionActionEvent) -> str:
    """Return the emoji without variations; "" for a server's own emoji."""
    return event.emoji.name.rstrip(_VARIATIONS) if event.emoji.id is None else ""


async def _reply(host: Host, channel: int, message: int) -> Answered | None:
    found = [await host.feedback.at(SOURCE, page) for page in pages_at(channel, message)]
    return next((reply for reply in found if reply is not None), None)


async def _delete_running(host: Host, channel: int, message: int, person: str) -> None:
    """Withdraw the growing reply with this page, if it answers this person."""
    for page in pages_at(channel, message):
        if await host.feedback.delete_running(SOURCE, page, person):
            return


async def delete_pages(connection: Connection, channel: int, reply: Answered) -> None:
    """Delete the reply's pages that the host cannot reach: those of an interaction's answer.

    A page that could be reacted to is visible to all, whatever its id says.
    """
    rest = await connection.rest()
    for page in reply.pages:
        page_channel, message, _ = place_of_page(page)
        if page_channel == EPHEMERAL_PAGE:
            with suppress(SurfaceError):
                await rest.delete(str(channel), message)


# Presses of "Continue" and "Regenerate" below a reply, converted to questions. Pure.


@dataclass(frozen=True, slots=True)
class Press:
    """The parts of a press of "Continue" or "Regenerate" under `page`, a reply of `conversation`, that the bot uses.

    `private`: only the presser sees the page. `member`: the bot can write there without the interaction's token.
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
    """Whether only the presser has installed the bot, and the server has not."""


def continue_pressed(press: Press) -> Incoming:
    """Return the press of "Continue" as a question of the presser, accepted once for each page."""
    return _pressed(press, platforms_texts.GO_ON, f"continue:{press.page}")


def regenerate_pressed(press: Press, reply: Answered) -> Incoming:
    """Return the press of "Regenerate": the reply's question again, accepted once for each reply. Raises Refused."""
    dedupe_key = message_intake.repeat_question(reply, known_as(press.author.id))
    question = _pressed(replace(press, conversation=reply.conversation), reply.question, dedupe_key)
    return message_intake.check_readers(question, reply)


def follow_up_pressed(press: Press, question: str, number: int, reply: Answered) -> Incoming:
    """Return the press of a follow-up question as a question of the presser, accepted once for each of them. A model
    wrote its words, so they are not the presser's own.
    """
    dedupe_key = follow_up_id(reply.turn, number, str(press.author.id))
    asked = _pressed(replace(press, conversation=asked_in(reply.conversation)), question, dedupe_key)
    return replace(asked, own=False)


def _pressed(press: Press, text: str, dedupe_key: str) -> Incoming:
    """Build the question; `dedupe_key` identifies it permanently."""
    where, author = press.where, press.author
    private = press.private and not where.direct
    in_channel = not (where.direct or where.parent)
    address = Address(str(where.channel), str(author.id), message=str(press.page) if in_channel and not private else "")
    if private or not press.member:
        address = replace(
            address,
            interaction=str(press.id),
            application=str(press.application),
            token=press.token,
            token_until=token_until(press.time),
            private=private,
            follows=True,
            by_person=press.by_person,
        )
    return Incoming(
        source=SOURCE,
        event_id=str(press.id),
        channel=str(where.parent or where.channel),
        message_id=dedupe_key,
        conversation=press.conversation,
        person=Person(known_as(author.id), author.name),
        place=press.private_place if private else inbound.place_of_answer(where, author),
        text=text,
        time=press.time,
        reply_to=address.encode(),
        authority=author.standing.authority,
        roles=author.standing.roles,
        team=author.standing.team,
        organization=author.standing.organization,
    )


@dataclass(frozen=True, slots=True)
class Pressing:
    """Performs the actions of the buttons; errors are shown to the presser only.

    Rules. Everyone who can read the reply may use "Stop" and "Continue": a thread belongs to all its members. Everyone
    may rate the reply, and change the rating. Only the asker may have it answered again or deleted, or take back what
    was remembered. "Continue" and "Regenerate" are questions of the presser, stored before Discord receives the
    acknowledgement, and once for each reply. A reaction gets no response, and one without a meaning has no effect.
    Moderators may delete a page: its text is then forgotten, and the reply's other pages are deleted, too.
    """

    host: Host
    connection: Connection
    members: Members
    surroundings: Surroundings
    press_below: Callable[[Interaction, BoundCommand, PanelAction], Awaitable[None]]
    """Presses a button of a command's panel for the presser, to which one below a reply leads (`Command.presses`)."""

    async def press(self, interaction: Interaction, button: ReplyPress) -> None:
        try:
            match button.offer:
                case ReplyAction.STOP:
                    await self._stop(interaction, button)
                case ReplyAction.CONTINUE:
                    await self._continue(interaction, button)
                case ReplyAction.REGENERATE:
                    await self._regenerate(interaction, button)
                case ReplyAction.GOOD:
                    await self._judge(interaction, button.turn, ReplyVerdict.GOOD)
                case ReplyAction.BAD:
                    await self._use_command(interaction, button, verdict=ReplyVerdict.BAD)
                case ReplyAction.DELETE:
                    await self._delete(interaction, button.turn)
                case ReplyAction.DECIDE | ReplyAction.ANSWER:
                    await self._use_command(interaction, button, ended=False)
                case ReplyAction.UNDO | ReplyAction.CANCEL | ReplyAction.KEEP | ReplyAction.END:
                    await self._take_back(interaction, button)
                case (
                    ReplyAction.CHANGE
                    | ReplyAction.CODE
                    | ReplyAction.NUMBERS
                    | ReplyAction.WHY
                    | ReplyAction.SOLVED
                    | ReplyAction.HUMAN
                    | ReplyAction.HAND_BACK
                ):
                    await self._use_command(interaction, button)
                case _:
                    assert_never(button.offer)
        except UNREADABLE as error:
            self.connection.log_failure("a button could not be answered", error)

    async def _stop(self, interaction: Interaction, button: ReplyPress) -> None:
        await interactions.acknowledge(interaction)
        try:
            author = await self.members.author(objects.author_of(interaction.user))
            person, standing = known_as(author.id), author.standing
            requester = Requester(person, objects.channel_of(interaction), standing.roles, standing.team)
            await self.host.admission.admit_order(requester, standing.authority)
            conversation = await self._conversation_above(interaction)
            if conversation is not None and await self.host.turns.stop_conversation(conversation, alone=True):
                return  # the reply's own last edit takes the button away
        except CogencyError as error:
            await interactions.follow_up(interaction, platforms_texts.failure(error))
            return
        # The turn may have ended meanwhile: the buttons that were added since then stay.
        view = _without(await interaction.original_response(), button)
        await interaction.edit_original_response(view=view)
        await interactions.follow_up(interaction, reply_texts.NOTHING_RUNNING)

    async def _judge(self, interaction: Interaction, turn: int, verdict: ReplyVerdict) -> None:
        await interactions.think(interaction)
        try:
            is_known = await self._reply_above(interaction, turn) is not None
            is_recorded = is_known and await self.host.feedback.judge(turn, known_as(interaction.user.id), verdict)
            reply_text = platforms_texts.NOTED if is_recorded else platforms_texts.NO_SUCH_REPLY
        except CogencyError as error:
            reply_text = platforms_texts.failure(error)
        await interactions.show_text(interaction, reply_text)

    async def _use_command(
        self, interaction: Interaction, button: ReplyPress, *, ended: bool = True, verdict: ReplyVerdict | None = None
    ) -> None:
        """Press the button of the command to which this one leads. `ended`: whether it needs the reply above it;
        `verdict`: the presser's on it, which is stored before.

        A window cannot follow an acknowledgement, so what was stored is read first.
        """
        command = command_below(self.host.commands, button.offer)
        try:
            async with asyncio.timeout(STORE_FIRST_S):
                reply = await self._reply_above(interaction, button.turn) if ended else None
                if ended and reply is None:
                    raise Refused(platforms_texts.NO_SUCH_REPLY)
                person = known_as(interaction.user.id)
                if verdict is not None and not await self.host.feedback.judge(button.turn, person, verdict):
                    raise Refused(platforms_texts.NO_SUCH_REPLY)
                pressed = PressedReply(button.turn, person, reply)
                press = await command.presses[button.offer](pressed)
        except TimeoutError:
            await interactions.respond_alone(interaction, platforms_texts.WINDOW_TRY_AGAIN)
        except CogencyError as error:
            await interactions.respond_alone(interaction, platforms_texts.failure(error))
        else:
            await self.press_below(interaction, command, press)

    async def _take_back(self, interaction: Interaction, button: ReplyPress) -> None:
        """Change what a line of the reply reports, such as by undoing it, and mark that on the page."""
        await interactions.acknowledge(interaction)
        person = known_as(interaction.user.id)
        try:
            if (reply := await self._reply_above(interaction, button.turn)) is None:
                reply_text = platforms_texts.NO_SUCH_REPLY
            else:
                reply_text = await self.host.feedback.press_note(button.offer, reply, person)
        except CogencyError as error:
            await interactions.follow_up(interaction, platforms_texts.failure(error))
            return
        await interactions.follow_up(interaction, reply_text)
        if reply is not None and (page := interaction.message) is not None:
            content = platforms_texts.AFTER_PRESS[button.offer](page.content)
            removed = [replace(button, offer=offer) for offer in PRESSED_ONCE[button.offer]]
            with suppress(discord.NotFound):
                await interaction.edit_original_response(content=content, view=_without(page, *removed))

    async def _delete(self, interaction: Interaction, turn: int) -> None:
        await interactions.acknowledge(interaction)
        try:
            reply = await self._reply_above(interaction, turn)
            if reply is None or not await self.host.feedback.delete(turn, known_as(interaction.user.id)):
                await interactions.follow_up(interaction, platforms_texts.NO_SUCH_REPLY)
                return
        except CogencyError as error:
            await interactions.follow_up(interaction, platforms_texts.failure(error))
            return
        await self._delete_shown_pages(interaction, reply)

    async def _reply_above(self, interaction: Interaction, turn: int) -> Answered | None:
        """Return the reply above the button.

        None if it was forgotten, or if the turn's number now belongs to another reply, as after restoring an older copy
        of the database: that reply may not be meant for the readers here.
        """
        reply, page = await self.host.feedback.of(turn), interaction.message
        pages = frozenset(pages_at(page.channel.id, page.id)) if page is not None else frozenset[str]()
        return reply if reply is not None and not pages.isdisjoint(reply.pages) else None

    async def _conversation_above(self, interaction: Interaction) -> str | None:
        """Return the conversation of the reply above the button; None if there is none, or no longer.

        A press may name any conversation, but only a message that its presser reads.
        """
        page = interaction.message
        pages = pages_at(page.channel.id, page.id) if page is not None else ()
        return await self.host.feedback.conversation_at(SOURCE, pages)

    async def _delete_shown_pages(self, interaction: Interaction, reply: Answered) -> None:
        """Delete the pages of an interaction's answer, which the host cannot reach."""
        with suppress(discord.NotFound):
            await interaction.delete_original_response()
        page = interaction.message
        if page is None or not page.flags.ephemeral:
            await delete_pages(self.connection, interaction.channel_id or interaction.id, reply)
        elif len(reply.pages) > 1:
            await interactions.follow_up(interaction, platforms_texts.ONLY_THIS_PAGE)

    async def _continue(self, interaction: Interaction, button: ReplyPress) -> None:
        async def question(press: Press) -> Incoming:
            if (conversation := await self._conversation_above(interaction)) is None:
                raise Refused(platforms_texts.NO_SUCH_REPLY)
            return continue_pressed(replace(press, conversation=asked_in(conversation)))

        await self._ask(interaction, question, _without(interaction.message, button))

    async def _regenerate(self, interaction: Interaction, button: ReplyPress) -> None:
        async def question(press: Press) -> Incoming:
            reply = await self._reply_above(interaction, button.turn)
            if reply is None:
                raise Refused(platforms_texts.NO_SUCH_REPLY)
            incoming = regenerate_pressed(press, reply)
            files = await self.surroundings.files_of(message_of(reply.message_id), interaction.channel)
            return replace(incoming, files=files)

        await self._ask(interaction, question, _without(interaction.message, button))

    async def ask_follow_up(self, interaction: Interaction, button: QuestionPress) -> None:
        """Ask a follow-up question below an answer; the button stays for others."""

        async def question(press: Press) -> Incoming:
            reply = await self._reply_above(interaction, button.turn)
            if reply is None:
                raise Refused(platforms_texts.NO_SUCH_REPLY)
            text = await self.host.feedback.follow_up(reply, button.number)
            return follow_up_pressed(press, text, button.number, reply)

        await self._ask(interaction, question, None, changes=False)

    async def _acknowledge(self, interaction: Interaction, view: discord.ui.View | None, *, changes: bool) -> None:
        """Never raises: the question is stored, and is answered in any case."""
        try:
            await (interaction.response.edit_message(view=view) if changes else interaction.response.defer())
        except UNREADABLE as error:
            self.connection.log_failure("a button could not be acknowledged", error)

    async def _ask(
        self,
        interaction: Interaction,
        question: Callable[[Press], Awaitable[Incoming]],
        view: discord.ui.View | None,
        *,
        changes: bool = True,
    ) -> None:
        """Store the question, and leave these buttons below the reply; without `changes`, its buttons stay."""
        press = _press(interaction, self.connection)
        if press is None or not self.connection.acknowledging(str(interaction.id)):
            return

        async def store() -> bool:
            author = await self.members.author_retrying(press.author)
            incoming = await question(replace(press, author=author))
            zone = await zone_chosen(self.host.preferences, incoming.person.id)
            return await self.host.messages.submit(replace(incoming, person=replace(incoming.person, time_zone=zone)))

        storing = asyncio.ensure_future(store())
        try:
            await asyncio.wait({storing}, timeout=STORE_FIRST_S)
            if (failure := interactions.failure_of(storing)) is not None:  # the button stays, for others and for later
                await interactions.answer_failure(interaction, failure, self.connection)
                return
            await self._acknowledge(interaction, view, changes=changes)
        finally:
            self.connection.acknowledged(str(interaction.id))
        try:
            if not await storing and not changes:
                await interactions.follow_up(interaction, platforms_texts.ASKED_ALREADY)
        except CogencyError as error:
            log.warning("a press of a button could not be accepted: %s", error)
            await interactions.follow_up(interaction, platforms_texts.failure(error))


def _press(interaction: Interaction, connection: Connection) -> Press | None:
    page = interaction.message
    if page is None:
        return None
    author = objects.author_of(interaction.user)
    direct = interaction.context.dm_channel is True
    where = objects.where(interaction.channel or interaction, author, direct=direct)
    guild = interaction.client.get_guild(interaction.guild_id) if interaction.guild_id is not None else None
    can_write = checks.may_answer(interaction.app_permissions, in_thread=where.parent is not None)
    return Press(
        id=interaction.id,
        application=interaction.application_id,
        token=interaction.token,
        where=where,
        author=author,
        page=page.id,
        conversation="",
        private=page.flags.ephemeral,
        member=direct or (guild is not None and can_write),
        time=connection.clock.now(),
        private_place=objects.private_place_of(interaction),
        by_person=installed_by_person(interaction),
    )


def _without(page: discord.Message | None, *buttons: ReplyPress) -> discord.ui.View | None:
    """Return a page's buttons without these; None for a panel, which has none of them."""
    if page is None or page.flags.components_v2:
        return None
    view = discord.ui.View.from_message(page, timeout=interactions.VIEW_TIMEOUT_S)
    for item in view.children:
        if isinstance(item, discord.ui.Button) and item.custom_id in {button.id for button in buttons}:
            view.remove_item(item)
    return view
