"""What readers do about a reply: judge it, delete it, have it answered again or go on."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, assert_never

from agent.errors import Refused
from agent.messages import JsonObject
from agent.ports import Clock
from agent.records import EPHEMERAL_PAGE, Answered, Attachment, Incoming, ReplyVerdict, message_of
from agent.schedules import asked_in
from bot import message_intake
from bot.host import Host
from bot.platforms.slack import block_kit, inbound
from bot.platforms.slack.api import SlackApi, SlackError, items, text
from bot.platforms.slack.block_kit import ReplyClick
from bot.platforms.slack.inbound import DELETE, Reacted, ReplyTo, SlackBot, of_click
from bot.platforms.slack.markup import SlackMessageLink
from bot.platforms.slack.members import People
from bot.platforms.slack.message_pages import Ephemeral
from bot.platforms.slack.occurrences import is_conversation_of
from bot.platforms.slack.options import Method
from bot.platforms.slack.places import Places, person_place
from bot.platforms.slack.surroundings import message_at
from bot.reply_surface import SCHEDULING, ReplyAction
from bot.texts import reply_texts

# What brings no words of a place anywhere.
JUDGING: Final = frozenset(
    {ReplyAction.GOOD, ReplyAction.BAD, ReplyAction.DELETE, ReplyAction.UNDO, ReplyAction.DECIDE, ReplyAction.ANSWER}
    | SCHEDULING
)

LOOK_S: Final = 2.0  # Slack wants a press acknowledged within three seconds, and what it asks must still be stored


@dataclass(frozen=True, slots=True)
class ReplyPresses:
    """Rules. Everybody who reads a reply may judge it, once, and change their mind. Only the asker has it deleted or
    answered again. "Continue" is a question in the presser's name. What is asked so is stored before Slack is told
    that the press arrived, and once for each reply, however often the button is pressed. What is said about it shows
    only to the presser; to a reaction, nothing is said.
    """

    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    places: Places
    may_read: Callable[[str, str], Awaitable[None]]
    """Raises Refused, or SlackError, unless this user can read this channel now."""
    clock: Clock
    show_waiting: Callable[[ReplyTo, int], Awaitable[None]]
    """What this turn waits for, to whoever it waits for."""
    change: Callable[[JsonObject, ReplyTo, str], Awaitable[None]]
    """Have `/schedules` change what these words of it name (`ScheduleAnswers.change_words`)."""

    async def clicked(self, body: JsonObject, action: JsonObject) -> None:
        """A button below a reply. Raises CogencyError when what it asks for could not be stored."""
        made = block_kit.reply_click(action)
        user = text(body, "user", "id")
        if made is None or not user:
            return
        here = replace(of_click(body), thread_ts=made.to.thread_ts, after=_shown_on(body) or made.to.after)
        await self._check(made, here)
        match made.offer:
            case ReplyAction.STOP:
                await self.host.turns.stop_conversation(made.conversation, alone=True)
            case ReplyAction.GOOD:
                await self._judge(made, here, ReplyVerdict.GOOD)
            case ReplyAction.BAD:
                await self._judge(made, here, ReplyVerdict.BAD)
            case ReplyAction.DELETE:
                await self._delete(made, here)
            case ReplyAction.UNDO | ReplyAction.CANCEL:
                await self._take_back(made, here, body)
            case ReplyAction.CHANGE:
                await self._change(made, here, body)
            case ReplyAction.DECIDE | ReplyAction.ANSWER:
                await self.show_waiting(here, made.turn)
            case ReplyAction.CONTINUE:
                await self._ask(await self._question(made, here, f"continue:{made.turn}", reply_texts.GO_ON), here)
            case ReplyAction.REGENERATE:
                await self._again(made, here)
            case _:
                assert_never(made.offer)

    async def _check(self, made: ReplyClick, here: ReplyTo) -> None:
        """What a button carries counts only for who can read it there. Raises Refused, or SlackError.

        Where a button was pressed Slack says itself; what another place holds is asked about.
        """
        channel, elsewhere = made.to.channel, made.to.channel != here.channel
        if made.to.private:
            if made.conversation != inbound.private_conversation(self.me, channel, here.user):
                raise Refused(reply_texts.NOT_YOURS)
            return
        if not is_conversation_of(self.me, channel, made.conversation):
            raise Refused(reply_texts.NO_SUCH_REPLY)
        if inbound.is_direct(channel) and elsewhere:
            raise Refused(reply_texts.NOT_YOURS)
        if not inbound.is_direct(channel) and (elsewhere or made.offer not in JUDGING):
            await self.may_read(here.user, channel)

    async def reacted(self, reacted: Reacted) -> None:
        """Somebody reacted to a message, or took that back. Raises CogencyError."""
        reply = await self.host.feedback.at(self.me.source, reacted.ts, reacted.channel)
        person = inbound.person_id(self.me, reacted.user)
        if reply is None:
            if reacted.name in DELETE and reacted.added:
                await self.host.feedback.delete_running(self.me.source, reacted.ts, person, reacted.channel)
            return
        if reacted.name in DELETE:
            if reacted.added and reply.person == person:
                await self.host.feedback.delete(reply.turn, person)
        elif reacted.verdict is not None:
            note = self.host.feedback.judge if reacted.added else self.host.feedback.take_verdict_back
            await note(reply.turn, person, reacted.verdict)

    async def gone(self, channel: str, page: str) -> None:
        """Somebody deleted a page of a reply: its words are forgotten, and its other pages go, too."""
        reply = await self.host.feedback.at(self.me.source, page, channel)
        if reply is not None:
            await self.host.feedback.delete(reply.turn, reply.person)

    async def _judge(self, made: ReplyClick, here: ReplyTo, verdict: ReplyVerdict) -> None:
        person = inbound.person_id(self.me, here.user)
        kept = await self._known(made) is not None and await self.host.feedback.judge(made.turn, person, verdict)
        await self._say(here, reply_texts.NOTED if kept else reply_texts.NO_SUCH_REPLY)

    async def _delete(self, made: ReplyClick, here: ReplyTo) -> None:
        """A private answer stands in no channel: its message goes by the way on which the press came."""
        person = inbound.person_id(self.me, here.user)
        reply = await self._known(made)
        if reply is None or not await self.host.feedback.delete(made.turn, person):
            await self._say(here, reply_texts.NO_SUCH_REPLY)
        elif made.to.private and here.response_url:
            await self.api.respond(here.response_url, delete_original=True)
            if sum(page.startswith(EPHEMERAL_PAGE) for page in reply.pages) > 1:
                await self._say(here, reply_texts.ONLY_THIS_PAGE)

    async def _take_back(self, made: ReplyClick, here: ReplyTo, body: JsonObject) -> None:
        """What was remembered, or what is done at a time; the page then says so."""
        if (reply := await self._known(made)) is None:
            await self._say(here, reply_texts.NO_SUCH_REPLY)
            return
        person, cancels = inbound.person_id(self.me, here.user), made.offer is ReplyAction.CANCEL
        done = self.host.schedules.take_back(reply, person) if cancels else self.host.take_back(made.turn, person)
        await self._say(here, await done)
        retraction = block_kit.SCHEDULES if cancels else block_kit.FACTS
        blocks, page = block_kit.without(retraction, items(body, "message", "blocks")), text(body, "message", "ts")
        if blocks and page:  # of what only one person sees, Slack tells no blocks
            words = retraction.rewrite(text(body, "message", "text"))
            with suppress(SlackError):  # it stays as it was; that it is taken back has been said
                await self.api.call(Method.UPDATE, channel=here.channel, ts=page, text=words, blocks=blocks)

    async def _change(self, made: ReplyClick, here: ReplyTo, body: JsonObject) -> None:
        if (reply := await self._known(made)) is None:
            await self._say(here, reply_texts.NO_SUCH_REPLY)
            return
        words = await self.host.schedules.change_words(reply, inbound.person_id(self.me, here.user))
        await self.change(body, here, words)

    async def _again(self, made: ReplyClick, here: ReplyTo) -> None:
        reply = await self._known(made)
        if reply is None:
            await self._say(here, reply_texts.NO_SUCH_REPLY)
        else:
            once = message_intake.repeat_question(reply, inbound.person_id(self.me, here.user))
            asked = await self._question(made, here, once, reply.question)
            incoming = message_intake.check_readers(asked, reply)
            files = await self._files(message_of(reply.message_id), made.to, incoming.person.name)
            await self._ask(replace(incoming, files=files), here)

    async def _known(self, made: ReplyClick) -> Answered | None:
        """The reply that the button stands below; None if it is forgotten, or if its number is now another reply's, as
        after a return to an older copy of the database: what that one says may not be for those who read here.
        """
        reply = await self.host.feedback.of(made.turn)
        here = reply is not None and asked_in(reply.conversation) == asked_in(made.conversation)
        return reply if here else None

    async def _files(self, ts: str, to: ReplyTo, author: str) -> tuple[Attachment, ...]:
        """What is attached to the question; () where that cannot be told in time."""
        if not inbound.is_ts(ts):
            return ()
        try:
            async with asyncio.timeout(LOOK_S):
                message = await message_at(self.api, SlackMessageLink(to.channel, ts, to.thread_ts))
        except (SlackError, TimeoutError):
            return ()
        return tuple(replace(file, author=author) for file in inbound.attachments(message or {}, self.me))

    async def _ask(self, incoming: Incoming, here: ReplyTo) -> None:
        if not await self.host.submit(incoming):
            await self._say(here, reply_texts.ASKED_ALREADY)

    async def _question(self, made: ReplyClick, here: ReplyTo, once: str, asked: str) -> Incoming:
        """A question of the presser, answered where the reply stands. `once` names it for ever."""
        member = await self.places.among(made.to.channel, await self.people.member(here.user))
        to = replace(here, channel=made.to.channel, private=made.to.private)
        alone = to.private or inbound.is_direct(to.channel)
        return Incoming(
            source=self.me.source,
            event_id=f"{to.channel}:{once}",
            channel=to.channel,
            message_id=once,
            conversation=asked_in(made.conversation),
            person=member.person,
            place=person_place(self.me, member) if alone else await self.places.asked_in(to.channel, member),
            text=asked,
            authority=member.authority,
            roles=member.groups,
            team=self.me.team,
            organization=inbound.organization(self.me, full=member.full),
            time=self.clock.now(),
            reply_to=(to if to.private else replace(to, response_url="")).encode(),
        )

    async def _say(self, to: ReplyTo, sentence: str) -> None:
        await Ephemeral(self.api, to).send(sentence)


def _shown_on(body: JsonObject) -> str:
    """The page below which the button stands."""
    return text(body, "container", "message_ts") or text(body, "message", "ts")
