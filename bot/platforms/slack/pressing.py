"""Buttons and reactions on a reply: judge it, delete it, regenerate it, continue it, undo what it did."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, assert_never

from agent.errors import Refused
from agent.incoming import Attachment, Incoming
from agent.messages import JsonObject
from agent.ports.clock import Clock
from agent.presentations import follow_up_id
from agent.repeats import message_of
from agent.schedules.long_work import asked_in
from agent.shown_replies import EPHEMERAL_PAGE, Answered, ReplyVerdict
from bot.chat import intake as message_intake
from bot.chat.commands.declaration import AnyCommand, PressedReply, command_below
from bot.chat.host import Host
from bot.chat.panels import PanelAction
from bot.chat.reply.surface import ELSEWHERE_OFFERS, LAPSING, SCHEDULING, ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import inbound
from bot.platforms.slack.api import SlackApi, SlackError, items, text
from bot.platforms.slack.ephemeral import Ephemeral
from bot.platforms.slack.inbound import DELETE, Reacted, SlackBot
from bot.platforms.slack.markup import SlackMessageLink
from bot.platforms.slack.members import People
from bot.platforms.slack.occurrences import is_conversation_of
from bot.platforms.slack.options import Method
from bot.platforms.slack.places import Places, person_place
from bot.platforms.slack.presentations import follow_up_click
from bot.platforms.slack.reply_buttons import ReplyClick, reply_click
from bot.platforms.slack.reply_to import ReplyTo, of_click
from bot.platforms.slack.retraction import RETRACTIONS, without, without_buttons
from bot.platforms.slack.surroundings import message_at

# The actions that show no content of the reply's place: they do not need the right to read it.
JUDGING: Final = frozenset(
    {ReplyAction.GOOD, ReplyAction.BAD, ReplyAction.DELETE, ReplyAction.UNDO, ReplyAction.DECIDE, ReplyAction.ANSWER}
    | SCHEDULING
    | LAPSING
)

FILES_S: Final = 2.0  # Slack wants a click acknowledged within three seconds, after its question is stored
REMOVE_S: Final = 1.0  # For removing a button, of the three seconds in which Slack wants a click acknowledged


@dataclass(frozen=True, slots=True)
class ReplyPresses:
    """Rules. Each reader of a reply may judge it, once, and change their verdict. Only the asker may delete or
    regenerate it. "Continue" is a question of the user who clicked. Such a question is stored before the click is
    acknowledged, and once for each reply, however often the button is clicked. Answers to a click are ephemeral; a
    reaction gets none.

    `may_read` raises Refused, or SlackError, unless a user can read a channel now. `check_access` raises Refused, or
    MemberUnknown, unless they may use the bot there now. `press_below` presses a button of a
    command's panel for the user, to which one below a reply leads (`Command.presses`).
    """

    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    places: Places
    may_read: Callable[[str, str], Awaitable[None]]
    check_access: Callable[[ReplyTo], Awaitable[None]]
    clock: Clock
    press_below: Callable[[JsonObject, ReplyTo, AnyCommand, PanelAction], Awaitable[None]]

    async def handle_click(self, body: JsonObject, action: JsonObject) -> None:
        """Handle a click on a button below a reply. Raises CogencyError when its request could not be stored."""
        click = reply_click(action)
        user = text(body, "user", "id")
        if click is None or not user:
            return
        clicked_at = replace(of_click(body), thread_ts=click.to.thread_ts, after=_page_of(body) or click.to.after)
        await self._check(click, clicked_at)
        match click.offer:
            case ReplyAction.STOP:
                await self.check_access(replace(clicked_at, channel=click.to.channel))
                await self.host.turns.stop_conversation(click.conversation, alone=True)
            case ReplyAction.GOOD:
                await self._judge(click, clicked_at, ReplyVerdict.GOOD)
            case ReplyAction.BAD:
                await self._judge_bad(click, clicked_at, body)
            case ReplyAction.DELETE:
                await self._delete(click, clicked_at)
            case ReplyAction.UNDO | ReplyAction.CANCEL | ReplyAction.KEEP | ReplyAction.END:
                await self._take_back(click, clicked_at, body)
            case (
                ReplyAction.CHANGE
                | ReplyAction.CODE
                | ReplyAction.NUMBERS
                | ReplyAction.WHY
                | ReplyAction.SOLVED
                | ReplyAction.HUMAN
                | ReplyAction.HAND_BACK
            ):
                if (reply := await self._find_reply(click)) is None:
                    await self._send(clicked_at, platforms_texts.NO_SUCH_REPLY)
                else:
                    await self._use_command(click, clicked_at, body, reply)
            case ReplyAction.DECIDE | ReplyAction.ANSWER:
                await self._use_command(click, clicked_at, body)
            case ReplyAction.CONTINUE:
                await self._ask(
                    await self._question(click, clicked_at, f"continue:{click.turn}", platforms_texts.GO_ON), clicked_at
                )
                await self._remove_button(click, clicked_at, body)
            case ReplyAction.REGENERATE:
                if await self._regenerate(click, clicked_at):
                    await self._remove_button(click, clicked_at, body)
            case _:
                assert_never(click.offer)

    async def ask_follow_up(self, body: JsonObject, action: JsonObject) -> None:
        """Ask the follow-up question that was clicked below an answer, for the user who clicked. A model wrote its
        words, so they are not the user's own. Raises CogencyError when it could not be stored.
        """
        asked, user = follow_up_click(action), text(body, "user", "id")
        if asked is None or not user:
            return
        click = ReplyClick(ReplyAction.CONTINUE, asked.turn, asked.conversation, asked.to)
        clicked_at = replace(of_click(body), thread_ts=click.to.thread_ts, after=_page_of(body) or click.to.after)
        await self._check(click, clicked_at)
        if (reply := await self._find_reply(click)) is None:
            await self._send(clicked_at, platforms_texts.NO_SUCH_REPLY)
            return
        words = await self.host.feedback.follow_up(reply, asked.number)
        once = follow_up_id(asked.turn, asked.number, user)
        await self._ask(replace(await self._question(click, clicked_at, once, words), own=False), clicked_at)

    async def _check(self, click: ReplyClick, clicked_at: ReplyTo) -> None:
        """Raise Refused, or SlackError, unless the user can read the conversation that the button names.

        Slack itself says in which channel the button was clicked; for any other channel, Slack is asked.
        """
        channel, is_elsewhere = click.to.channel, click.to.channel != clicked_at.channel
        if click.to.private:
            if click.conversation != inbound.private_conversation(self.me, channel, clicked_at.user):
                raise Refused(reply_texts.NOT_YOURS)
            return
        if not is_conversation_of(self.me, channel, click.conversation):
            # Only in the person's own messages, to which the reply was moved
            if inbound.is_direct(channel) and not is_elsewhere and click.offer in ELSEWHERE_OFFERS:
                return
            raise Refused(platforms_texts.NO_SUCH_REPLY)
        if inbound.is_direct(channel) and is_elsewhere:
            raise Refused(reply_texts.NOT_YOURS)
        if not inbound.is_direct(channel) and (is_elsewhere or click.offer not in JUDGING):
            await self.may_read(clicked_at.user, channel)

    async def handle_reaction(self, reacted: Reacted) -> None:
        """Handle a reaction that was added or removed. Raises CogencyError."""
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
            record = self.host.feedback.judge if reacted.added else self.host.feedback.take_verdict_back
            await record(reply.turn, person, reacted.verdict)

    async def page_deleted(self, channel: str, page: str) -> None:
        """Forget a reply and delete its other pages: a user deleted one of them."""
        reply = await self.host.feedback.at(self.me.source, page, channel)
        if reply is not None:
            await self.host.feedback.delete(reply.turn, reply.person)

    async def _judge(self, click: ReplyClick, clicked_at: ReplyTo, verdict: ReplyVerdict) -> Answered | None:
        """Store the verdict; return the reply, and None if it is not known, after a sentence that says so."""
        person, reply = inbound.person_id(self.me, clicked_at.user), await self._find_reply(click)
        is_recorded = reply is not None and await self.host.feedback.judge(click.turn, person, verdict)
        if not is_recorded or verdict is ReplyVerdict.GOOD:
            await self._send(clicked_at, platforms_texts.NOTED if is_recorded else platforms_texts.NO_SUCH_REPLY)
        return reply if is_recorded else None

    async def _judge_bad(self, click: ReplyClick, clicked_at: ReplyTo, body: JsonObject) -> None:
        """Store the verdict, then ask why. It is stored, whether or not Slack opens a window for it."""
        if (reply := await self._judge(click, clicked_at, ReplyVerdict.BAD)) is not None:
            try:
                await self._use_command(click, clicked_at, body, reply)
            except SlackError:
                await self._send(clicked_at, platforms_texts.NOTED)

    async def _delete(self, click: ReplyClick, clicked_at: ReplyTo) -> None:
        """Delete a reply. A private one is in no channel: its message is deleted by the click's `response_url`."""
        person = inbound.person_id(self.me, clicked_at.user)
        reply = await self._find_reply(click)
        if reply is None and click.to.user == clicked_at.user:  # it was forgotten, and this page was left
            await self._delete_left(click, clicked_at)
        elif reply is None or not await self.host.feedback.delete(click.turn, person):
            await self._send(clicked_at, platforms_texts.NO_SUCH_REPLY)
        elif click.to.private and clicked_at.response_url:
            await self.api.respond(clicked_at.response_url, delete_original=True)
            if sum(page.startswith(EPHEMERAL_PAGE) for page in reply.pages) > 1:
                await self._send(clicked_at, platforms_texts.ONLY_THIS_PAGE)

    async def _delete_left(self, click: ReplyClick, clicked_at: ReplyTo) -> None:
        """Delete the message that was clicked: it shows its user a reply that is not stored any more."""
        if click.to.private and clicked_at.response_url:
            await self.api.respond(clicked_at.response_url, delete_original=True)
        else:
            await self.api.call(Method.DELETE, channel=clicked_at.channel, ts=clicked_at.after)

    async def _take_back(self, click: ReplyClick, clicked_at: ReplyTo, body: JsonObject) -> None:
        """Change what a line of a reply reports, such as by undoing it, and change the page to say so."""
        if (reply := await self._find_reply(click)) is None:
            await self._send(clicked_at, platforms_texts.NO_SUCH_REPLY)
            return
        person, retraction = inbound.person_id(self.me, clicked_at.user), RETRACTIONS[click.offer]
        await self._send(clicked_at, await self.host.feedback.press_note(click.offer, reply, person))
        blocks, page = without(retraction, items(body, "message", "blocks")), text(body, "message", "ts")
        if blocks and page:  # Slack sends no blocks of an ephemeral message
            words = retraction.rewrite(text(body, "message", "text"))
            with suppress(SlackError):  # best effort: the user has read that it was undone
                await self.api.call(Method.UPDATE, channel=clicked_at.channel, ts=page, text=words, blocks=blocks)

    async def _use_command(
        self, click: ReplyClick, clicked_at: ReplyTo, body: JsonObject, reply: Answered | None = None
    ) -> None:
        """Press the button of the command to which the one that was clicked leads."""
        command = command_below(self.host.commands, click.offer)
        pressed = PressedReply(click.turn, inbound.person_id(self.me, clicked_at.user), reply)
        await self.press_below(body, clicked_at, command.declared, await command.presses[click.offer](pressed))

    async def _regenerate(self, click: ReplyClick, clicked_at: ReplyTo) -> bool:
        """Ask the reply's question again; return whether there is such a reply."""
        reply = await self._find_reply(click)
        if reply is None:
            await self._send(clicked_at, platforms_texts.NO_SUCH_REPLY)
            return False
        once = message_intake.repeat_question(reply, inbound.person_id(self.me, clicked_at.user))
        question = await self._question(click, clicked_at, once, reply.question)
        incoming = message_intake.check_readers(question, reply)
        files = await self._files(message_of(reply.message_id), click.to, incoming.person.name)
        await self._ask(replace(incoming, files=files), clicked_at)
        return True

    async def _remove_button(self, click: ReplyClick, clicked_at: ReplyTo, body: JsonObject) -> None:
        """Remove a button that has no use any more. Best effort: the question is stored, and the click, which is
        acknowledged after this, may not wait for Slack's limits.
        """
        blocks = without_buttons({click.offer}, items(body, "message", "blocks"))
        page, words = text(body, "message", "ts"), text(body, "message", "text")
        if blocks and page:  # Slack sends no blocks of an ephemeral message
            with suppress(SlackError, TimeoutError):
                async with asyncio.timeout(REMOVE_S):
                    await self.api.call(Method.UPDATE, channel=clicked_at.channel, ts=page, text=words, blocks=blocks)

    async def _find_reply(self, click: ReplyClick) -> Answered | None:
        """Return the reply above the button; None if it was forgotten. Also None if its number now belongs to another
        reply, as after a restore of an older database: that one may not be for the readers here.
        """
        reply = await self.host.feedback.of(click.turn)
        is_same = reply is not None and asked_in(reply.conversation) == asked_in(click.conversation)
        return reply if is_same else None

    async def _files(self, ts: str, to: ReplyTo, author: str) -> tuple[Attachment, ...]:
        """Return the files of the question; () if they cannot be read within FILES_S."""
        if not inbound.is_ts(ts):
            return ()
        try:
            async with asyncio.timeout(FILES_S):
                message = await message_at(self.api, SlackMessageLink(to.channel, ts, to.thread_ts))
        except (SlackError, TimeoutError):
            return ()
        return tuple(replace(file, author=author) for file in inbound.attachments(message or {}, self.me))

    async def _ask(self, incoming: Incoming, clicked_at: ReplyTo) -> None:
        if not await self.host.messages.submit(incoming):
            await self._send(clicked_at, platforms_texts.ASKED_ALREADY)

    async def _question(self, click: ReplyClick, clicked_at: ReplyTo, once: str, question_text: str) -> Incoming:
        """Return a question of the user who clicked, answered where the reply is. `once`: its dedupe key."""
        member = await self.places.member_in(click.to.channel, await self.people.member(clicked_at.user))
        to = replace(clicked_at, channel=click.to.channel, private=click.to.private)
        is_alone = to.private or inbound.is_direct(to.channel)
        return Incoming(
            source=self.me.source,
            event_id=f"{to.channel}:{once}",
            channel=to.channel,
            message_id=once,
            conversation=asked_in(click.conversation),
            person=member.person,
            place=person_place(self.me, member) if is_alone else await self.places.asked_in(to.channel, member),
            text=question_text,
            authority=member.authority,
            roles=member.groups,
            team=self.me.team,
            organization=inbound.organization(self.me, full=member.full),
            time=self.clock.now(),
            reply_to=(to if to.private else replace(to, response_url="")).encode(),
        )

    async def _send(self, to: ReplyTo, sentence: str) -> None:
        await Ephemeral(self.api, to, self.clock).send(sentence)


def _page_of(body: JsonObject) -> str:
    """Return the time stamp of the page above the button."""
    return text(body, "container", "message_ts") or text(body, "message", "ts")
