"""Asking in other ways than by a message: the command, the shortcuts, and their windows."""

import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from agent.errors import CogencyError, Refused, StoreUnavailable
from agent.memory.audience import GroupAudience
from agent.messages import Depth, Json, JsonObject
from agent.ports import Clock, Membership
from agent.records import POSTED_BY_BOT, UNASKED, Incoming, Quoted
from bot.caches import Backoff, RecentKeys
from bot.commands.declaration import MessageEntry
from bot.host import Host
from bot.platforms.slack import api, inbound, panels, slash_commands
from bot.platforms.slack.api import Method, MethodRates, SlackApi, SlackDown, SlackError, SlackLimited, SlackRefused
from bot.platforms.slack.inbound import ReplyTo, SlackBot, SlackMessage
from bot.platforms.slack.markup import quoted, readable
from bot.platforms.slack.members import Member, People, SlackMemberUnknown
from bot.platforms.slack.message_pages import Ephemeral
from bot.platforms.slack.places import Places, person_place
from bot.platforms.slack.sockets import BackgroundTasks
from bot.platforms.slack.surroundings import SlackNames
from bot.texts import command_texts, formatting, reply_texts

PASSING: Final = (SlackLimited, SlackDown, SlackMemberUnknown, StoreUnavailable)
TELL: Final = 3  # Attempts after which the person is told that their question waits: the first ones take a few seconds
MOST_AGAIN_S: Final = 30.0
OLD: Final = timedelta(days=1)  # An older question is better asked again than answered out of the blue
LOOK_BACK_S: Final = 120.0  # How much earlier than it was asked a question may seem to be posted: clocks differ
EVENT_TYPE: Final = "cogency_question"
_NOT_THERE: Final = frozenset({"not_in_channel", "channel_not_found"})

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SlackQuestion:
    """`event` names it once; `private`: only the person sees the answer."""

    event: str
    text: str
    private: bool
    depth: Depth


@dataclass(frozen=True, slots=True)
class _Kept:
    """A question as it is stored until it is taken in. `attempt`: the latest that was begun."""

    question: SlackQuestion
    to: ReplyTo
    asked: datetime
    attempt: int = 0

    def encode(self, conversations: Sequence[str]) -> str:
        """`conversations`: with which it is forgotten."""
        return json.dumps(
            {
                **asdict(self.question),
                "conversations": [*conversations],
                "to": self.to.encode(),
                "asked": self.asked.isoformat(),
                "attempt": self.attempt,
            }
        )


@dataclass(frozen=True, slots=True)
class SlackAsking:
    """Rules
    - A question becomes a message of its own, so that everybody sees what is answered; where the bot may not write, or
      on request, the answer is private. Whether the person may ask is asked before anything is posted.
    - What is asked is stored before Slack is told that it arrived, and until it is taken in. Where Slack limits the
      post, fails, or does not tell who asks, that is tried again; after a crash by the next process. Each attempt is
      claimed by one process, and all but the first look for the message before they post it: its metadata names the
      question.
    - A channel that somebody chose in a window counts only if they can read it at that moment.
    """

    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    places: Places
    membership: Membership
    budgets: MethodRates
    clock: Clock
    underway: BackgroundTasks
    done: RecentKeys

    @property
    def names(self) -> SlackNames:
        return SlackNames(self.people, self.places)

    async def _member(self, channel: str, user: str) -> Member:
        """Who asks there. Raises MemberUnknown and StoreError."""
        return await self.places.among(channel, await self.people.member(user))

    async def ask(self, body: JsonObject) -> None:
        """`/ask`. Raises CogencyError when the question could not be stored."""
        to, event = inbound.of_command(body), api.text(body, "trigger_id") or self.clock.now().isoformat()
        words, private = inbound.ask_words(api.text(body, "text"))
        depth, question = inbound.split_depth(words)
        if not private:
            question, private = inbound.ask_words(question)
        nearly = "" if private or inbound.is_direct(to.channel) else inbound.mistyped_private(question)
        if nearly:
            await self._say(to, command_texts.NEARLY_PRIVATE.format(word=formatting.literal(nearly)))
        elif question.casefold() in ("help", "help?"):
            await self._say(to, slash_commands.help_text(self.me.prefix, self.me.name))
        elif question.casefold() in ("", "deep:", "fast:"):
            await self._say(to, command_texts.ASK_USAGE)
        else:
            await self._take(SlackQuestion(event, await self.names.read(question), private, depth), to)

    async def ask_privately(self, heard: SlackMessage, words: str) -> None:
        """The same for what somebody asks privately by a message. Raises CogencyError."""
        to = inbound.of_message(heard)
        depth, asked = inbound.split_depth(words)
        if not asked:
            await self._say(to, command_texts.ASK_USAGE)
            return
        member = await self._member(heard.channel, heard.user)
        question = SlackQuestion(f"{heard.channel}:{heard.ts}", await self.names.read(asked), private=True, depth=depth)
        files = tuple(replace(file, author=member.person.name) for file in heard.files)
        await self.host.submit(replace(self._private(question, member, to), files=files))

    async def open_anywhere(self, body: JsonObject) -> None:
        """The shortcut "Ask", which belongs to no channel."""
        await self._open(body, panels.anywhere_view())

    async def asked_anywhere(self, body: JsonObject) -> None:
        """Its window was sent. Raises CogencyError when the question could not be stored."""
        view = api.fields(body, "view")
        made = panels.read_anywhere_view(view)
        if made.question:
            user = api.text(body, "user", "id")
            question = SlackQuestion(api.text(view, "id"), made.question, made.private, made.depth)
            await self._take(question, ReplyTo(await self._readable(user, made.channel), user))

    async def open_about(self, body: JsonObject) -> None:
        """The shortcut "Ask about this message": opens a window for the question."""
        message = api.fields(body, "message")
        user = api.text(message, "user")
        names = await self.names.of(api.text(message, "text"), users=(user,) if user else ())
        author = names.get(user) or api.first_text(message, "username", "bot_id") or "unknown"
        about = readable(api.text(message, "text"), names)
        to, files = inbound.of_click(body), api.items(message, "files")
        await self._open(body, panels.ask_view(author, about, to, files, api.text(message, "ts")))

    async def asked_about(self, body: JsonObject) -> None:
        """Its window was sent. Raises CogencyError when the question could not be stored."""
        asked = panels.read_ask_view(api.fields(body, "view"))
        user = api.text(body, "user", "id")
        if asked is None or asked.to.user != user:
            return
        member = await self._member(asked.to.channel, user)
        question = SlackQuestion(api.text(body, "view", "id"), asked.question, private=True, depth=Depth.ADAPT)
        about = Quoted("the message that is asked about", asked.author, asked.about, (asked.page,))
        quoted = (about,) if asked.about else ()
        incoming = self._private(question, member, asked.to)
        await self.host.submit(replace(incoming, quoted=quoted, files=asked.files))

    async def ask_by_entry(self, entry: MessageEntry, body: JsonObject) -> None:
        """An entry of a message's menu was chosen. Raises CogencyError when the question could not be stored."""
        to, message = inbound.of_click(body), api.fields(body, "message")
        ts, root = api.text(message, "ts"), api.text(message, "thread_ts")
        link = inbound.permalink(self.me, to.channel, ts, root) or f"<#{to.channel}>"
        event = api.text(body, "trigger_id") or f"{entry.id}:{self.clock.now().isoformat()}"
        question = SlackQuestion(event, entry.thread.question.format(link=link), private=True, depth=Depth.ADAPT)
        await self.host.submit(self._private(question, await self._member(to.channel, to.user), to))

    async def _say(self, to: ReplyTo, markdown: str) -> None:
        await Ephemeral(self.api, to).send(slash_commands.named(markdown, self.me.prefix))

    async def _open(self, body: JsonObject, view: JsonObject) -> None:
        await self.api.call(Method.OPEN_VIEW, trigger_id=api.text(body, "trigger_id"), view=dict(view))

    async def resume(self) -> None:
        """Go on with what earlier processes could not take in. Raises StoreError."""
        for event, person in (await self.host.preferences.of(self._owner)).items():
            kept = _decoded((await self.host.preferences.of(person)).get(_name(event), ""))
            if kept is None:  # forgotten meanwhile
                await self.host.preferences.set(self._owner, event, None)
            else:
                self.underway.start(self._resume(kept))

    async def _resume(self, kept: _Kept) -> None:
        try:
            await self._insist(kept)
        except CogencyError as error:
            with suppress(SlackError):
                await self._say(kept.to, reply_texts.failure(error))

    async def _take(self, question: SlackQuestion, to: ReplyTo) -> None:
        """Store it, then ask it, for as long as that takes. Raises CogencyError."""
        if not self.done.first(question.event):
            return
        kept = _Kept(question, to, self.clock.now())
        await self._keep(kept)
        await self.host.preferences.set(self._owner, question.event, inbound.person_id(self.me, to.user))
        await self._insist(kept)

    async def _insist(self, kept: _Kept) -> None:
        backoff = Backoff(most_s=MOST_AGAIN_S)
        while True:
            kept = replace(kept, attempt=kept.attempt + 1)
            try:
                if await self._stored(kept) is None:  # forgotten, or taken in by another process
                    await self._forget(kept)
                    return
                await self._keep(kept)
                if not await self.host.claims.claim_once(self.me.source, f"asked:{kept.question.event}:{kept.attempt}"):
                    return  # another process goes on with it
                await self._ask(kept)
            except PASSING as error:
                if self.clock.now() - kept.asked > OLD:
                    await self._forget(kept)
                    raise
                if kept.attempt == TELL:
                    self.underway.start(self._tell_to_wait(kept.to))
                asked_s = error.retry_after_s if isinstance(error, SlackLimited) else 0.0
                await self.clock.sleep(max(backoff.failed(), asked_s))
            except CogencyError:
                await self._forget(kept)
                raise
            else:
                await self._forget(kept)
                return

    async def _tell_to_wait(self, to: ReplyTo) -> None:
        with suppress(SlackError):
            await self._say(to, command_texts.QUESTION_WAITS)

    async def _ask(self, kept: _Kept) -> None:
        """In a direct message nobody else reads; nor is there any other place for a question without a channel."""
        question, to = kept.question, kept.to
        member = await self._member(to.channel, to.user)
        alone = not to.channel or inbound.is_direct(to.channel)
        unposted = self._private(question, member, replace(to, channel=to.channel or to.user))
        if kept.attempt == 1:
            await self.host.admission.admit_posting(unposted)
        if question.private and not alone:
            await self.host.submit(unposted)
            return
        found = await self._find(kept) if kept.attempt > 1 else None
        root = found or await self._post(kept, member)
        if isinstance(root, SlackRefused):
            absent = root.code in _NOT_THERE
            if not absent:
                log.warning("a question could not be shown, so its answer is private: %s", root)
            await self.host.submit(unposted)
            if not alone:
                remedy = command_texts.INVITE_ME.format(bot=self.me.name) if absent else root.remedy
                with suppress(SlackError):  # an ornament
                    await self._say(to, command_texts.ONLY_YOU.format(remedy=remedy))
        else:
            await self._take_or_delete(await self._public(question, member, root), found=found is not None)

    async def _find(self, kept: _Kept) -> ReplyTo | None:
        """Where an earlier attempt has posted it. Raises SlackError."""
        to = kept.to
        if not to.channel:
            return None  # in direct messages whose id only the post tells
        try:
            said = await self.api.call(
                Method.HISTORY,
                channel=to.channel,
                oldest=f"{kept.asked.timestamp() - LOOK_BACK_S:.6f}",
                limit=200,
                include_all_metadata=True,
            )
        except SlackRefused:
            return None
        for message in api.items(said, "messages"):
            if api.text(message, "metadata", "event_payload", "key") == kept.question.event:
                return ReplyTo(to.channel, to.user, api.text(message, "ts"), after=api.text(message, "ts"))
        return None

    async def _post(self, kept: _Kept, member: Member) -> ReplyTo | SlackRefused:
        """Show the question; where it is answered, or why the bot may not write there. Raises SlackError."""
        to, queue = kept.to, self.budgets.posts(kept.to.channel or kept.to.user)
        await self.clock.sleep(await queue.book(self.clock.monotonic()))
        shown = f"**{formatting.literal(member.person.name)}** asks:\n{quoted(kept.question.text)}"
        metadata: Json = {"event_type": EVENT_TYPE, "event_payload": {"key": kept.question.event}}
        try:
            posted = await self.api.call(
                Method.POST, channel=to.channel or to.user, markdown_text=shown, metadata=metadata
            )
        except SlackLimited as limited:
            await queue.hold(self.clock.monotonic(), limited.retry_after_s)
            raise
        except SlackRefused as refused:
            return refused
        ts = api.text(posted, "ts")
        return ReplyTo(to.channel or api.text(posted, "channel"), to.user, ts, after=ts)

    async def _take_or_delete(self, incoming: Incoming, *, found: bool) -> None:
        """A question that will not be answered below its message takes that message away."""
        try:
            taken = await self.host.submit(incoming)
        except StoreUnavailable:
            raise  # it is found again
        except CogencyError:
            taken = False
            await self.api.call(Method.DELETE, channel=incoming.channel, ts=incoming.message_id)
            raise
        if not (taken or found):
            await self.api.call(Method.DELETE, channel=incoming.channel, ts=incoming.message_id)

    # What stands in the store: with the person, so that it is forgotten with everything else of theirs

    @property
    def _owner(self) -> str:
        return f"asked:{self.me.source}"

    async def _keep(self, kept: _Kept) -> None:
        person = inbound.person_id(self.me, kept.to.user)
        there = kept.to.channel or kept.to.user
        near = [inbound.whole_channel(self.me, there), inbound.private_conversation(self.me, there, kept.to.user)]
        await self.host.preferences.set(person, _name(kept.question.event), kept.encode(near))

    async def _stored(self, kept: _Kept) -> _Kept | None:
        person = inbound.person_id(self.me, kept.to.user)
        return _decoded((await self.host.preferences.of(person)).get(_name(kept.question.event), ""))

    async def _forget(self, kept: _Kept) -> None:
        person = inbound.person_id(self.me, kept.to.user)
        await self.host.preferences.set(person, _name(kept.question.event), None)
        await self.host.preferences.set(self._owner, kept.question.event, None)

    async def _readable(self, user: str, channel: str) -> str:
        """The channel, if this person can read it now; "" for their direct messages. Raises Refused, or SlackError."""
        if not channel or inbound.is_direct(channel):
            return ""
        await self.may_read(user, channel)
        return channel

    async def may_read(self, user: str, channel: str) -> None:
        """Raises Refused if this person cannot read the channel now, or SlackError if that is not known."""
        member = await self.people.member(user)
        place = await self.places.asked_in(channel, member)
        if not isinstance(place.audience, GroupAudience):
            return
        group = place.audience.place
        reads = (await self.membership.readable(member.person.id, [group])).get(group)
        if reads is None:
            raise SlackDown(command_texts.READING_UNKNOWN)
        if not reads:
            raise Refused(command_texts.NOT_ASKED_THERE)

    async def _public(self, question: SlackQuestion, member: Member, to: ReplyTo) -> Incoming:
        direct = inbound.is_direct(to.channel)
        return Incoming(
            source=self.me.source,
            event_id=f"{POSTED_BY_BOT}{question.event}",
            channel=to.channel,
            message_id=to.after,
            conversation=inbound.thread_conversation(self.me, to.channel, to.after),
            person=member.person,
            place=person_place(self.me, member) if direct else await self.places.asked_in(to.channel, member),
            text=question.text,
            time=inbound.time_of(to.after),
            permalink=inbound.permalink(self.me, to.channel, to.after),
            reply_to=to.encode(),
            depth=question.depth,
            authority=member.authority,
            roles=member.groups,
            team=self.me.team,
            organization=inbound.organization(self.me, full=member.full),
        )

    def _private(self, question: SlackQuestion, member: Member, to: ReplyTo) -> Incoming:
        return Incoming(
            source=self.me.source,
            event_id=f"private:{question.event}",
            channel=to.channel,
            message_id=inbound.private_message(question.event),
            conversation=inbound.private_conversation(self.me, to.channel, to.user),
            person=member.person,
            place=person_place(self.me, member),
            text=question.text,
            time=self.clock.now(),
            reply_to=replace(to, private=True).encode(),
            depth=question.depth,
            authority=member.authority,
            roles=member.groups,
            team=self.me.team,
            organization=inbound.organization(self.me, full=member.full),
        )


def _name(event: str) -> str:
    return f"{UNASKED}{event}"


def _decoded(stored: str) -> _Kept | None:
    try:
        kept: Json = json.loads(stored)
        question = SlackQuestion(
            api.text(kept, "event"), api.text(kept, "text"), api.flag(kept, "private"), Depth(api.text(kept, "depth"))
        )
        asked = datetime.fromisoformat(api.text(kept, "asked"))
        return _Kept(question, _place(api.text(kept, "to")), asked, api.number(kept, "attempt"))
    except ValueError:
        return None


def _place(stored: str) -> ReplyTo:
    """As `decode`, also of a question without a channel."""
    to: Json = json.loads(stored)
    return inbound.decode_reply_to(stored) if api.text(to, "channel") else ReplyTo("", api.text(to, "user"))
