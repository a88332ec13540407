"""Takes Slack's events in: answers, obeys or stores what they say, by the rules of `bot.chat.intake`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias, TypeVar, assert_never

from agent.admission_terms import Authority
from agent.errors import Refused, SettingsError
from agent.incoming import Attachment, Incoming, Quoted
from agent.memory.audience import Place
from agent.memory.forgetting_plans import Gone
from agent.messages import Depth, JsonObject
from agent.repeats import repeats_of
from bot.chat import intake as message_intake
from bot.chat.askers import Requester
from bot.chat.attachments.kinds import naming
from bot.chat.commands.declaration import CommandMeant, command_meant, command_named, nearest, nearly_meant
from bot.chat.commands.talking import HELP_COMMAND as HELP
from bot.chat.host import Host
from bot.chat.intake import MessageFacts, decide, is_stop
from bot.chat.message_events import QuestionToAll
from bot.chat.message_parts import NOT_IN_TIME
from bot.chat.open_questions import is_open_question
from bot.chat.unexpected import unexpected_logged
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import api, inbound
from bot.platforms.slack.agent_view import AgentEventHandler
from bot.platforms.slack.answer_commands import AnswerCommands
from bot.platforms.slack.api import SlackError
from bot.platforms.slack.commands import PersonalCommands
from bot.platforms.slack.home import read_home_opened
from bot.platforms.slack.inbound import SlackBot, SlackMessage, is_direct
from bot.platforms.slack.markup import without_mention
from bot.platforms.slack.members import Member, OurBots, People, SlackMemberUnknown, member_of
from bot.platforms.slack.places import Places, group_place, person_place
from bot.platforms.slack.reply_to import ReplyTo, of_message
from bot.platforms.slack.slash_commands import COMMANDS
from bot.platforms.slack.stored_questions import StoredQuestions
from bot.platforms.slack.surroundings import SlackNames, Threads

log = logging.getLogger(__name__)

CONTEXT_S = 2.0  # Slack wants its acknowledgement within three seconds, and the question must be stored before it


# Orders: commands that are written as messages, because slash commands do not work in threads. Pure.
#
# Rules. A message is an order only as a whole; everything else is a question, or talk. A message that seems to ask for
# something to be forgotten gets a confirmation, never an answer of the model, which could claim to have done it.


@dataclass(frozen=True, slots=True)
class AskPrivately:
    """A question whose answer only the asker may see. `words`: the arguments of "/ask privately"."""

    words: str


@dataclass(frozen=True, slots=True)
class MistypedOrder:
    """There is no command `name` ("": the message had no slash command); `near` may have been meant."""

    name: str
    near: str


Order: TypeAlias = CommandMeant | AskPrivately | MistypedOrder


def says_stop(message: SlackMessage, me: SlackBot) -> bool:
    """Whether the message, without the mention, only says "stop"; "/stop" as a message, too."""
    return is_stop(_words_of(message, me).removeprefix("/").removeprefix(me.prefix))


def read_order(message: SlackMessage, me: SlackBot) -> Order | None:
    """Return what the message orders; None if it is not an order as a whole."""
    words = _words_of(message, me)
    word, _, rest = words.partition(" ")
    if word.startswith("/") and (name := word[1:].strip(" .!?")):
        return _parse_slash_command(name.casefold().removeprefix(me.prefix), rest.strip(), message, me)
    if (meant := command_meant(words, COMMANDS, message.time, partial(inbound.budget_ids, me=me))) is not None:
        return meant
    if word.casefold() == "ask":
        return None if message.direct else _parse_private(rest)
    near = nearly_meant(words, COMMANDS, message.time)
    return MistypedOrder("", near) if near else None


def without_ask(question: str, me: SlackBot) -> str:
    """Return a question without the command "/ask" before it."""
    word, _, rest = question.strip().partition(" ")
    return rest.strip() if word.casefold() == f"/{me.prefix}ask" else question.strip()


def _parse_slash_command(name: str, rest: str, message: SlackMessage, me: SlackBot) -> Order | None:
    """Return the command behind a slash, or the one that was probably meant; None for a path or the like."""
    command = command_named(name, COMMANDS)
    if command is None or (name == "stop" and rest):
        near = nearest(name, rest, COMMANDS)
        return MistypedOrder(name, near) if near else None
    if name == "ask":
        private = None if message.direct else _parse_private(rest)
        return private or (None if rest or message.files else CommandMeant(HELP))
    return CommandMeant(command, inbound.budget_ids(rest, me) if command.mentions else rest)


def _parse_private(rest: str) -> AskPrivately | MistypedOrder | None:
    """Return what follows "ask" if its answer is private, or "privately" was probably meant; None otherwise."""
    words, private = inbound.split_privacy(rest)
    if private:
        return AskPrivately(words)
    mistyped = inbound.mistyped_private(rest)
    return MistypedOrder(f"ask {mistyped}", f"ask {inbound.PRIVATELY}") if mistyped else None


def _words_of(message: SlackMessage, me: SlackBot) -> str:
    return without_mention(message.text, me.user).strip()


T = TypeVar("T")
Before: TypeAlias = Callable[[SlackMessage], Awaitable[None]]


async def nothing_missed(_: SlackMessage) -> None:
    """Do nothing: there are no missed messages before this one."""


@dataclass(frozen=True, slots=True)
class SlackIntake:
    """Rules
    - A question's context is read from Slack within CONTEXT_S; what takes longer is left out. The author must be known
      (MemberUnknown otherwise). No request is made about messages that are not for the bot.
    - Orders and overheard talk obey the same lists and rates as questions. Any person may have their own words
      forgotten, whatever the lists say.
    - Whether a channel is private, the message itself says most reliably.
    """

    host: Host
    me: SlackBot
    allowed_bots: frozenset[str]
    people: People
    places: Places
    threads: Threads
    personal_commands: PersonalCommands
    answer_commands: AnswerCommands
    agent_events: AgentEventHandler
    uninstalled: asyncio.Event  # Set once the app is uninstalled, or its token revoked
    our_bots: OurBots
    stored: StoredQuestions = field(default_factory=StoredQuestions)

    @property
    def names(self) -> SlackNames:
        return SlackNames(self.people, self.places)

    async def handle_event(self, body: JsonObject, before: Before = nothing_missed, *, late: bool = False) -> bool:
        """Handle an event, if it is for the bot. Return whether it is a new message that gets an answer.

        `before`: takes in what was missed before a message. `late`: the event itself was missed; its author is then not
        notified of a refusal. Raises CogencyError when it could not be stored.
        """
        with unexpected_logged(f"event {api.text(body, 'event_id')}"):
            return await self._handle(body, before, late=late)

    async def _handle(self, body: JsonObject, before: Before, *, late: bool) -> bool:
        if (message := inbound.read_event(body, self.me, self.allowed_bots)) is None:
            await self._handle_notice(body)
            return False
        if _key(message) in self.stored:
            await self._note_closed(message)
            return False
        thread = f"{message.channel}:{message.thread_ts}" if message.in_thread else ""
        # Several apps of one operator may sit in a channel: only the mentioned one answers.
        if await self.our_bots.is_for_another(message.text, thread):
            return False
        # What was missed before this message is stored first, or the conversation would be out of order.
        await before(message)
        conversation = inbound.conversation(self.me, message)
        begins = not (message.thread_ts or message.direct)  # nobody has written in the thread that it would begin
        participants = None if begins else await self.host.conversations.participants(conversation)
        order = read_order(message, self.me)
        decision = decide(self._facts(message, participants, orders_something=order is not None, late=late))
        if isinstance(decision, message_intake.TALK) and not (message.direct or late):
            self.host.events.talked(
                self.me.source, message.channel, inbound.person_id(self.me, message.user), message.ts
            )
        if isinstance(decision, message_intake.Consider):
            self._consider(message, conversation)
            return False
        if isinstance(decision, message_intake.Ignore) or (author := await self._author(message)).gone:
            return False
        if isinstance(decision, message_intake.Stop):
            decision = await self._stop(decision, message, author)
        match decision:
            case message_intake.Answer():
                read = partial(self._read_question, message, author, conversation, new=participants is None)
                return await self._ask(message, author, read, late=decision.late)
            case message_intake.StoreAsContext():
                await self.host.messages.record_context_message(
                    await self._incoming(message, author, conversation, message.content.whole)
                )
            case message_intake.RunCommand():
                assert order is not None  # noqa: S101 -- only an order is obeyed
                await self._run_once(message, partial(self._obey, order, message, author))
            case message_intake.Ignore():
                pass
            case _:
                assert_never(decision)
        return False

    async def _ask(
        self, message: SlackMessage, author: Member, read: Callable[[], Awaitable[Incoming]], *, late: bool
    ) -> bool:
        """Submit the message as a question, once. Return whether it is new. Raises CogencyError."""
        # A mention's two events may come together: the second waits, and is needed if the first one fails.
        async with self.stored.lock(_key(message)):
            if _key(message) in self.stored:
                await self._note_closed(message)
                return False
            question = await read()
            try:
                is_new = await self.host.messages.submit(question)
            except Refused as refusal:
                _raise_if_unsure(author, refusal)
                if not late:
                    await self.answer_commands.notify_refused(refusal, message)
                return False
            if is_new:
                self.stored.add(_key(message))
            return is_new

    def _consider(self, message: SlackMessage, conversation: str) -> None:
        """Offer an open question, which was not asked of the bot, for an ambient answer in a thread below it."""

        async def read() -> Incoming:
            return await self._read_question(message, await self._author(message), conversation, new=False)

        person = inbound.person_id(self.me, message.user)
        question = QuestionToAll(self.me.source, message.channel, message.ts, person, read, self.host.messages.submit)
        self.host.events.asked_all(question)

    async def _handle_notice(self, body: JsonObject) -> None:
        """Handle an event that is not a message."""
        if (home := read_home_opened(body)) is not None:
            self.personal_commands.home.open(home)
        elif (event := inbound.read_agent_event(body)) is not None:
            if not isinstance(event, inbound.SessionStopped) or await self._may_stop(event):
                await self.agent_events.handle(event)
        elif inbound.is_revoked(body, self.me):
            gone = Gone(sources=frozenset({self.me.source}))
            await self.host.events.place_gone(self.me.source, gone, at_once=False)
            self.uninstalled.set()
        elif (gone := inbound.read_deleted_channel(body, self.me)) is not None:
            await self.host.events.place_gone(*gone, at_once=True)
        elif (renumbered := inbound.read_renumbered_channel(body)) is not None:
            await self.places.mark_renumbered(*renumbered)
            await self.host.events.place_renumbered(self.me.source, *renumbered)
        elif (closed := inbound.read_closed_channel(body)) is not None:
            place = await self.places.mark_closed(closed)
            await self.host.messages.restrict_place(self.me.source, closed, place)
        elif (change := inbound.read_change(body, self.me)) is not None:
            await self._change(change)
            if not is_direct(change.channel) and (earlier := await self.places.earlier_id(change.channel)):
                await self._change(replace(change, channel=earlier))  # what was said before is stored under that id
        elif (reaction := inbound.read_reaction(body, self.me)) is not None:
            await self.personal_commands.replies.handle_reaction(reaction)

    def _facts(
        self, message: SlackMessage, participants: frozenset[str] | None, *, orders_something: bool, late: bool
    ) -> MessageFacts:
        return MessageFacts(
            author=inbound.person_id(self.me, message.user),
            direct=message.direct,
            mentioned=message.mentioned,
            participants=participants,
            automatic=message.by_bot,
            stops=says_stop(message, self.me),
            orders=orders_something,
            late=late,
            to_everybody=not (message.mentioned or message.in_thread or message.files or message.content.enclosed)
            and is_open_question(message.text),
        )

    async def _admit_order(self, message: SlackMessage, author: Member) -> None:
        """Raises Refused."""
        person = author.person
        who = Requester(person.id, message.channel, author.groups, self.me.team)
        authority = Authority.EMPLOYEE if message.by_bot else author.authority
        await self.host.admission.admit_order(who, authority, person.time_zone)

    async def _may_stop(self, stopped: inbound.SessionStopped) -> bool:
        """Whether the user who pressed Slack's Stop button may stop answers. They are not notified if they may not."""
        if not stopped.user:
            return True
        member = await self.places.member_in(stopped.channel, await self.people.member(stopped.user))
        who = Requester(member.person.id, stopped.channel, member.groups, self.me.team)
        try:
            await self.host.admission.admit_order(who, member.authority, member.person.time_zone)
        except Refused as refused:
            log.info("a stop was refused: %s", refused)
            return False
        return True

    async def _stop(self, stop: message_intake.Stop, message: SlackMessage, author: Member) -> message_intake.AfterStop:
        """Handle the word "stop"; return what else is to be done about the message."""

        async def stop_all() -> bool:
            await self._admit_order(message, author)
            if is_muted := await self.host.events.stopped(
                self.me.source, message.channel, inbound.conversation(self.me, message)
            ):
                await self.answer_commands.notify_muted(message)
            return await self.answer_commands.stop_by_message(message) or is_muted

        notifications = (
            partial(self.answer_commands.notify_nothing_runs, message),
            partial(self.answer_commands.notify_refused, message=message),
        )
        obey = partial(message_intake.stop_by_word, stop, stop_all, *notifications)
        return await self._run_once(message, obey) or message_intake.Ignore()

    async def _run_once(self, message: SlackMessage, obey: Callable[[], Awaitable[T]]) -> T | None:
        """Run `obey` once per message: a mention arrives as two events, which two processes may receive."""
        return await self.host.deduplication.run_once(self.me.source, _key(message), obey)

    async def _obey(self, order: Order, message: SlackMessage, author: Member) -> None:
        to = of_message(message)
        if not (isinstance(order, CommandMeant) and order.command.open_to_all):
            try:
                await self._admit_order(message, author)
            except Refused as refusal:
                await self.answer_commands.notify_refused(refusal, message)
                return
        try:
            match order:
                case CommandMeant(command, words):
                    thread = await self.personal_commands.direct.thread_of(message) if command.means_thread else ()
                    link = inbound.permalink(self.me, message.channel, message.ts, message.thread_ts) or ""
                    await self.personal_commands.run(command, to, words, thread, (message.files, link))
                case AskPrivately(words):
                    await self.personal_commands.asking.ask_privately(message, words)
                case MistypedOrder(name, near):
                    await self.personal_commands.suggest_command(to, name, near)
                case _:
                    assert_never(order)
        except (SettingsError, Refused) as error:
            await self.personal_commands.send_error(to, error)

    async def _change(self, change: inbound.Changed) -> None:
        """Amend an edited question, so that it is answered and learned from as edited; forget a deleted one."""
        self.host.events.changed(self.me.source, change.channel, change.ts)
        repeats = repeats_of(change.ts)
        if change.text is None:
            private = inbound.private_message_id(f"{change.channel}:{change.ts}")
            await self.host.events.deleted(
                self.me.source, change.channel, {change.ts, private, *repeats, *repeats_of(private)}
            )
            if change.ours:
                await self.personal_commands.replies.page_deleted(change.channel, change.ts)
            return
        whole = alone = (await self._parse_question(change.text))[1]
        if change.alone is not None:
            alone = (await self._parse_question(change.alone))[1]
        asked = naming(alone, change.files)
        await self.host.events.edited(self.me.source, change.channel, change.ts, naming(whole, change.files), asked)
        private = inbound.private_message_id(f"{change.channel}:{change.ts}")
        await self._amend_known(change.channel, repeats, asked)
        asked_privately = naming(inbound.private_question(alone), change.files)
        await self._amend_known(change.channel, (private, *repeats_of(private)), asked_privately)

    async def _amend_known(self, channel: str, messages: Iterable[str], text: str) -> None:
        """Amend these messages up to the first that is not stored: repeats of a question are stored in their order."""
        for message in messages:
            if not await self.host.events.edited(self.me.source, channel, message, text):
                return

    async def _parse_question(self, message_text: str) -> tuple[Depth, str]:
        """Return the depth that a message asks for, and its question; "@<bot>" for a bare mention."""
        without_command = without_ask(without_mention(message_text, self.me.user), self.me)
        depth, question = inbound.split_depth(await self.names.read(without_command))
        return depth, question or f"@{self.me.name}"

    async def _incoming(self, message: SlackMessage, author: Member, conversation: str, words: str) -> Incoming:
        """Return the message as the bot takes it in. `words`: its own, or all that it shows."""
        channel, (depth, asked) = await asyncio.gather(self._channel_place(message), self._parse_question(words))
        to = ReplyTo(message.channel, message.user, thread_ts=message.thread_ts or message.ts, after=message.ts)
        return Incoming(
            source=self.me.source,
            event_id=message.event_id or f"{message.channel}:{message.ts}",
            channel=message.channel,
            message_id=message.ts,
            conversation=conversation,
            person=author.person,
            place=person_place(self.me, author) if message.direct else self._group_place(message, author, channel),
            text=asked,
            time=message.time,
            permalink=inbound.permalink(self.me, message.channel, message.ts, message.thread_ts),
            reply_to=to.encode(message.action_token),
            depth=depth,
            # Another bot that may talk to this one is on the operator's list, which vouches for it.
            authority=Authority.EMPLOYEE if message.by_bot else author.authority,
            roles=author.groups,
            team=self.me.team,
            organization=inbound.organization(self.me, full=author.full),
            files=tuple(replace(file, author=file.author or author.person.name) for file in message.files),
        )

    async def _read_question(self, message: SlackMessage, author: Member, conversation: str, *, new: bool) -> Incoming:
        """Return a message with its context: the messages that it forwards, and those that it links to; the thread in
        which a conversation begins, and what other apps wrote there.
        """
        incoming = await self._incoming(message, author, conversation, message.content.text)
        forwarded, found = await self.names.quotes(message.content), list[Quoted | Attachment]()
        try:
            async with asyncio.timeout(CONTEXT_S):
                if message.in_thread and (new or not message.direct):
                    found += await self.threads.before(message, apps_alone=not new)
                found += await self.threads.linked(message, incoming.place)
                if message.direct:
                    found += await self.agent_events.viewed.quotes_for(message, incoming.person.name, incoming.place)
        except TimeoutError:
            found.append(Quoted("note", self.me.name, NOT_IN_TIME))
        quoted = (*(item for item in found if isinstance(item, Quoted)), *forwarded)
        files = (*incoming.files, *(item for item in found if isinstance(item, Attachment)))
        return replace(incoming, quoted=quoted, files=files)

    def _group_place(self, message: SlackMessage, author: Member, channel: Place) -> Place:
        """A channel in which a guest writes is read by guests, also before its list of members says so."""
        return channel if author.full or message.by_bot else group_place(self.me, message.channel)

    async def _author(self, message: SlackMessage) -> Member:
        if message.bot_name:
            return member_of(self.me, message.user, {"name": message.bot_name})
        member = await self.people.member(message.user)
        return member if message.external else await self.places.member_in(message.channel, member)

    async def _note_closed(self, message: SlackMessage) -> None:
        """Record that a channel is private, if this event says so: the one that was stored may not have."""
        if message.closed:
            await self._channel_place(message)

    async def _channel_place(self, message: SlackMessage) -> Place:
        if message.direct:
            return group_place(self.me, message.channel)
        place = await self.places.of(message.channel)
        if message.closed and place.within_team:
            return await self.places.mark_closed(message.channel)
        return group_place(self.me, message.channel) if message.outside and place.within_team else place


def _key(message: SlackMessage) -> str:
    return f"{message.channel}:{message.ts}"


def _raise_if_unsure(author: Member, refusal: Refused) -> None:
    """Raise MemberUnknown if the refused author's groups could not be read: the refusal may be wrong."""
    if author.unsure:
        raise SlackMemberUnknown(SlackError(platforms_texts.SLACK_GROUPS_UNREAD)) from refusal
