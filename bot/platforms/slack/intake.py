"""From an event of Slack to the bot's hands."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeVar, assert_never

from agent.admission_terms import Authority
from agent.errors import Refused, SettingsError
from agent.memory.audience import Place
from agent.memory.forgetting_plans import Gone
from agent.messages import Depth, JsonObject
from agent.records import Attachment, Incoming, Quoted, repeats_of
from bot import message_intake
from bot.access.acl import Requester
from bot.attachments.kinds import naming
from bot.commands.declaration import CommandMeant, command_meant, command_named, nearest, nearly_meant
from bot.commands.talking import HELP_COMMAND as HELP
from bot.host import Host
from bot.message_intake import MessageFacts, QuestionToAll, asks_everybody, decide, is_stop
from bot.platforms.slack import inbound
from bot.platforms.slack.agent_view import AgentDesk
from bot.platforms.slack.api import SlackError
from bot.platforms.slack.commands import AnswerCommands, PersonalCommands
from bot.platforms.slack.home import home_opened
from bot.platforms.slack.inbound import ReplyTo, SlackBot, SlackMessage
from bot.platforms.slack.markup import without_mention
from bot.platforms.slack.members import Member, OurBots, People, SlackMemberUnknown, member_of
from bot.platforms.slack.places import Places, group_place, person_place
from bot.platforms.slack.slash_commands import COMMANDS
from bot.platforms.slack.surroundings import SlackNames, Threads
from bot.texts import reply_texts

log = logging.getLogger(__name__)

CONTEXT_S = 2.0  # Slack wants its acknowledgement within three seconds, and what was found must still be stored


# What a message of Slack orders to be done at once: slash commands do not work in threads. Pure.
#
# Rules. Only a message that is an order as a whole is one; everything else is a question, or talk. Who seems to want
# something forgotten is asked, never answered by the model, which could claim to have done it.


@dataclass(frozen=True, slots=True)
class AskPrivately:
    """A question whose answer only the asker shall see. `words`: as behind "/ask privately"."""

    words: str


@dataclass(frozen=True, slots=True)
class MistypedOrder:
    """There is no such command ("": none was named by a slash); `near` may have been meant."""

    name: str
    near: str


Order: TypeAlias = CommandMeant | AskPrivately | MistypedOrder


def says_stop(heard: SlackMessage, me: SlackBot) -> bool:
    """Whether the message, without the mention, only says "stop"; "/stop" as a message, too."""
    return is_stop(_said(heard, me).removeprefix("/").removeprefix(me.prefix))


def read_order(heard: SlackMessage, me: SlackBot) -> Order | None:
    """What the whole message orders; None for every other one."""
    said = _said(heard, me)
    word, _, rest = said.partition(" ")
    if word.startswith("/") and (name := word[1:].strip(" .!?")):
        return _commanded(name.casefold().removeprefix(me.prefix), rest.strip(), heard, me)
    if (meant := command_meant(said, COMMANDS, heard.time, partial(inbound.budget_ids, me=me))) is not None:
        return meant
    if word.casefold() == "ask":
        return None if heard.direct else _private(rest)
    near = nearly_meant(said, COMMANDS, heard.time)
    return MistypedOrder("", near) if near else None


def without_ask(said: str, me: SlackBot) -> str:
    """A question without the command "/ask" that somebody wrote before it."""
    word, _, rest = said.strip().partition(" ")
    return rest.strip() if word.casefold() == f"/{me.prefix}ask" else said.strip()


def _commanded(name: str, rest: str, heard: SlackMessage, me: SlackBot) -> Order | None:
    """What is written behind a slash: a command, or what was meant for one; a path or the like is neither."""
    command = command_named(name, COMMANDS)
    if command is None or (name == "stop" and rest):
        near = nearest(name, rest, COMMANDS)
        return MistypedOrder(name, near) if near else None
    if name == "ask":
        private = None if heard.direct else _private(rest)
        return private or (None if rest or heard.files else CommandMeant(HELP))
    return CommandMeant(command, inbound.budget_ids(rest, me) if command.mentions else rest)


def _private(rest: str) -> AskPrivately | MistypedOrder | None:
    """What is asked behind "ask" if only the asker shall see the answer; None for what everybody may."""
    words, private = inbound.ask_words(rest)
    if private:
        return AskPrivately(words)
    nearly = inbound.mistyped_private(rest)
    return MistypedOrder(f"ask {nearly}", f"ask {inbound.PRIVATELY}") if nearly else None


def _said(heard: SlackMessage, me: SlackBot) -> str:
    return without_mention(heard.text, me.user).strip()


T = TypeVar("T")
Before: TypeAlias = Callable[[SlackMessage], Awaitable[None]]


async def nothing_missed(_: SlackMessage) -> None:
    """Before this message."""


@dataclass(frozen=True, slots=True)
class SlackIntake:
    """Rules
    - What belongs to a message is read from Slack in bounded time: the question is then taken as it is. Who its author
      is must be known (MemberUnknown otherwise). Nothing is asked about messages that are not for the bot.
    - Orders and talk that is overheard obey the same lists and rates as questions. To have their own words forgotten,
      people are let in whatever the lists say.
    - Whether a channel is closed, a message itself says best.
    """

    host: Host
    me: SlackBot
    allowed_bots: frozenset[str]
    people: People
    places: Places
    threads: Threads
    desk: PersonalCommands
    control: AnswerCommands
    agent: AgentDesk
    uninstalled: asyncio.Event
    """To be set once the app is, or its token revoked, and what was said there goes in time."""
    ours: OurBots

    @property
    def names(self) -> SlackNames:
        return SlackNames(self.people, self.places)

    async def see(self, body: JsonObject, before: Before = nothing_missed, *, late: bool = False) -> bool:
        """Take in what this event says, if it is for the bot. Whether it is a message that is new, and is answered.

        `before`: takes in what was missed before a message. `late`: it was itself missed when it came: a refusal is
        told to nobody. Raises CogencyError when it could not be stored.
        """
        if (heard := inbound.read_event(body, self.me, self.allowed_bots)) is None:
            await self._happened(body)
            return False
        thread = f"{heard.channel}:{heard.thread_ts}" if heard.in_thread else ""
        if await self.ours.is_for_another(heard.text, thread):
            return False
        await before(heard)
        conversation = inbound.conversation(self.me, heard)
        participants = await self.host.conversations.participants(conversation)
        order = read_order(heard, self.me)
        decision = decide(self._facts(heard, participants, orders_something=order is not None, late=late))
        if isinstance(decision, message_intake.TALK) and not (heard.direct or late):
            self.host.ambient.heard(heard.channel, inbound.person_id(self.me, heard.user), heard.ts)
        if isinstance(decision, message_intake.Consider):
            self._consider(heard, conversation)
            return False
        if isinstance(decision, message_intake.Ignore) or (author := await self._author(heard)).gone:
            return False
        if isinstance(decision, message_intake.Stop):
            decision = await self._stop(decision, heard, author)
        match decision:
            case message_intake.Answer():
                incoming = await self._question(heard, conversation, new=participants is None)
                try:
                    return await self.host.submit(incoming)
                except Refused as refusal:
                    _unless_unsure(author, refusal)
                    if not decision.late:
                        await self.control.refused(refusal, heard)
            case message_intake.Overhear():
                await self.host.record_context_message(await self._incoming(heard, conversation))
            case message_intake.Obey():
                assert order is not None  # noqa: S101 -- that is what is obeyed
                await self._obey(order, heard, author)
            case message_intake.Ignore():
                pass
            case _:
                assert_never(decision)
        return False

    def _consider(self, heard: SlackMessage, conversation: str) -> None:
        """A question that nobody asked the bot: it may answer in a thread below."""
        read = partial(self._question, heard, conversation, new=False)
        person = inbound.person_id(self.me, heard.user)
        question = QuestionToAll(self.me.source, heard.channel, heard.ts, person, read, self.host.submit)
        self.host.ambient.consider(question)

    async def _happened(self, body: JsonObject) -> None:
        """What an event says that is no message."""
        if (home := home_opened(body)) is not None:
            self.desk.home.open(home)
        elif (event := inbound.read_agent_event(body)) is not None:
            if not isinstance(event, inbound.SessionStopped) or await self._may_stop(event):
                await self.agent.see(event)
        elif inbound.is_revoked(body, self.me):
            gone = Gone(sources=frozenset({self.me.source}))
            await self.host.forgetting.gone(self.me.source, gone, at_once=False)
            self.uninstalled.set()
        elif (gone := inbound.read_gone(body, self.me)) is not None:
            await self.host.forgetting.gone(*gone, at_once=True)
        elif (closed := inbound.read_closed(body)) is not None:
            await self.host.restrict_place(closed, await self.places.closed(closed))
        elif (changed := inbound.read_change(body, self.me)) is not None:
            await self._change(changed)
        elif (reacted := inbound.read_reaction(body, self.me)) is not None:
            await self.desk.replies.reacted(reacted)

    def _facts(
        self, heard: SlackMessage, participants: frozenset[str] | None, *, orders_something: bool, late: bool
    ) -> MessageFacts:
        return MessageFacts(
            author=inbound.person_id(self.me, heard.user),
            direct=heard.direct,
            mentioned=heard.mentioned,
            participants=participants,
            automatic=heard.by_bot,
            stops=says_stop(heard, self.me),
            orders=orders_something,
            late=late,
            to_everybody=not (heard.in_thread or heard.files) and asks_everybody(heard.text),
        )

    async def _admit_order(self, heard: SlackMessage, author: Member) -> None:
        """Raises Refused."""
        person = author.person
        who = Requester(person.id, heard.channel, author.groups, self.me.team)
        authority = Authority.EMPLOYEE if heard.by_bot else author.authority
        await self.host.admission.admit_order(who, authority, person.time_zone)

    async def _may_stop(self, stopped: inbound.SessionStopped) -> bool:
        """Whether whoever pressed Slack's Stop button may; nobody is told that they may not."""
        if not stopped.user:
            return True
        member = await self.places.among(stopped.channel, await self.people.member(stopped.user))
        who = Requester(member.person.id, stopped.channel, member.groups, self.me.team)
        try:
            await self.host.admission.admit_order(who, member.authority, member.person.time_zone)
        except Refused as refused:
            log.info("a stop was refused: %s", refused)
            return False
        return True

    async def _stop(self, stop: message_intake.Stop, heard: SlackMessage, author: Member) -> message_intake.AfterStop:
        """The word "stop"; what else is to be done about it."""

        async def stopped() -> bool:
            await self._admit_order(heard, author)
            if hushed := await self.host.ambient.hush(heard.channel, inbound.conversation(self.me, heard)):
                await self.control.hushed(heard)
            return await self.control.stop_in_words(heard) or hushed

        told = partial(self.control.nothing_runs, heard), partial(self.control.refused, heard=heard)
        obey = partial(message_intake.stop_by_word, stop, stopped, *told)
        return await self._once(heard, obey) or message_intake.Ignore()

    async def _once(self, heard: SlackMessage, obey: Callable[[], Awaitable[T]]) -> T | None:
        """One mention comes as two events, each to any process."""
        return await self.host.claims.run_once(self.me.source, f"{heard.channel}:{heard.ts}", obey)

    async def _obey(self, order: Order, heard: SlackMessage, author: Member) -> None:
        await self._once(heard, partial(self._do, order, heard, author))

    async def _do(self, order: Order, heard: SlackMessage, author: Member) -> None:
        to = inbound.of_message(heard)
        if not (isinstance(order, CommandMeant) and order.command.open_to_all):
            try:
                await self._admit_order(heard, author)
            except Refused as refusal:
                await self.control.refused(refusal, heard)
                return
        try:
            match order:
                case CommandMeant(command, words):
                    thread = await self.desk.direct.thread_of(heard) if command.name == "forget" else ()
                    link = inbound.permalink(self.me, heard.channel, heard.ts, heard.thread_ts) or ""
                    await self.desk.run(command, to, words, thread, (heard.files, link))
                case AskPrivately(words):
                    await self.desk.asking.ask_privately(heard, words)
                case MistypedOrder(name, near):
                    await self.desk.mistyped(to, name, near)
                case _:
                    assert_never(order)
        except (SettingsError, Refused) as error:
            await self.desk.tell(to, error)

    async def _change(self, changed: inbound.Changed) -> None:
        """An edited question is answered, and learned from, as edited; a deleted one not at all."""
        self.host.ambient.changed(changed.channel, changed.ts)
        repeats = repeats_of(changed.ts)
        if changed.text is None:
            private = inbound.private_message(f"{changed.channel}:{changed.ts}")
            await self.host.forgetting.deleted(changed.channel, {changed.ts, private, *repeats, *repeats_of(private)})
            if changed.ours:
                await self.desk.replies.gone(changed.channel, changed.ts)
            return
        text = (await self._asked(changed.text))[1]
        said = naming(text, changed.files)
        await self.host.forgetting.amend(changed.channel, changed.ts, said)
        private = inbound.private_message(f"{changed.channel}:{changed.ts}")
        await self._amend_known(changed.channel, repeats, said)
        alone = naming(inbound.split_private(text), changed.files)
        await self._amend_known(changed.channel, (private, *repeats_of(private)), alone)

    async def _amend_known(self, channel: str, messages: Iterable[str], text: str) -> None:
        """Up to the first that is not known: none is asked again before the one before it."""
        for message in messages:
            if not await self.host.forgetting.amend(channel, message, text):
                return

    async def _asked(self, written: str) -> tuple[Depth, str]:
        """What a message of Slack asks, and how deep."""
        asked_for = without_ask(without_mention(written, self.me.user), self.me)
        depth, asked = inbound.split_depth(await self.names.read(asked_for))
        return depth, asked or f"@{self.me.name}"

    async def _incoming(self, heard: SlackMessage, conversation: str) -> Incoming:
        member, channel, (depth, asked) = await asyncio.gather(
            self._author(heard), self._channel(heard), self._asked(heard.text)
        )
        to = ReplyTo(heard.channel, heard.user, thread_ts=heard.thread_ts or heard.ts, after=heard.ts)
        return Incoming(
            source=self.me.source,
            event_id=heard.event_id or f"{heard.channel}:{heard.ts}",
            channel=heard.channel,
            message_id=heard.ts,
            conversation=conversation,
            person=member.person,
            place=person_place(self.me, member) if heard.direct else self._read_by(heard, member, channel),
            text=asked,
            time=heard.time,
            permalink=inbound.permalink(self.me, heard.channel, heard.ts, heard.thread_ts),
            reply_to=to.encode(heard.action_token),
            depth=depth,
            # Another bot that may talk to this one is on the operator's list: nobody else vouches for it.
            authority=Authority.EMPLOYEE if heard.by_bot else member.authority,
            roles=member.groups,
            team=self.me.team,
            organization=inbound.organization(self.me, full=member.full),
            files=tuple(replace(file, author=member.person.name) for file in heard.files),
        )

    async def _question(self, heard: SlackMessage, conversation: str, *, new: bool) -> Incoming:
        """A message with what belongs to it: the thread in which a conversation begins, linked messages."""
        incoming = await self._incoming(heard, conversation)
        found: list[Quoted | Attachment] = []
        try:
            async with asyncio.timeout(CONTEXT_S):
                if new and heard.in_thread:
                    found += await self.threads.before(heard)
                found += await self.threads.linked(heard, incoming.place)
                if heard.direct:
                    found += await self.agent.looking.beside(heard, incoming.person.name, incoming.place)
        except TimeoutError:
            found.append(Quoted("note", self.me.name, "(more belongs to this message; it could not be read in time)"))
        quoted = tuple(one for one in found if isinstance(one, Quoted))
        files = (*incoming.files, *(one for one in found if isinstance(one, Attachment)))
        return replace(incoming, quoted=quoted, files=files)

    def _read_by(self, heard: SlackMessage, author: Member, channel: Place) -> Place:
        """Where a guest writes, one reads: also one that is not listed yet."""
        return channel if author.full or heard.by_bot else group_place(self.me, heard.channel)

    async def _author(self, heard: SlackMessage) -> Member:
        if heard.bot_name:
            return member_of(self.me, heard.user, {"name": heard.bot_name})
        member = await self.people.member(heard.user)
        return member if heard.external else await self.places.among(heard.channel, member)

    async def _channel(self, heard: SlackMessage) -> Place:
        if heard.direct:
            return group_place(self.me, heard.channel)
        place = await self.places.of(heard.channel)
        if heard.closed and place.within_team:
            return await self.places.closed(heard.channel)
        return group_place(self.me, heard.channel) if heard.outside and place.within_team else place


def _unless_unsure(author: Member, refusal: Refused) -> None:
    """Somebody who is refused while it is not known what they are is no stranger. Raises MemberUnknown."""
    if author.unsure:
        raise SlackMemberUnknown(SlackError(reply_texts.SLACK_GROUPS_UNREAD)) from refusal
