"""Questions that are not messages: by the command `/ask`, the shortcuts, and their windows."""

import json
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from agent.errors import CogencyError, Refused, StoreUnavailable
from agent.incoming import UNASKED, Incoming, Quoted
from agent.memory.audience import GroupAudience
from agent.messages import Depth, Json, JsonObject
from agent.ports.clock import Clock
from agent.ports.membership import Membership
from agent.turn_kinds import TurnKind
from bot.chat.background_tasks import BackgroundTasks
from bot.chat.backoff import Backoff
from bot.chat.caches import RecentKeys
from bot.chat.commands.declaration import MessageEntry
from bot.chat.host import Host
from bot.chat.patience import PATIENCE_S, if_slow
from bot.chat.texts import formatting
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import api, inbound, slash_commands
from bot.platforms.slack.api import MethodRates, SlackApi, SlackDown, SlackError, SlackLimited, SlackRefused
from bot.platforms.slack.ephemeral import Ephemeral
from bot.platforms.slack.inbound import SlackBot, SlackMessage
from bot.platforms.slack.markup import quoted, readable
from bot.platforms.slack.members import Member, People, SlackMemberUnknown
from bot.platforms.slack.message_content import content_of
from bot.platforms.slack.options import Method
from bot.platforms.slack.places import Places, person_place
from bot.platforms.slack.question_views import PageAsked, anywhere_view, ask_view, read_anywhere_view, read_ask_view
from bot.platforms.slack.reply_to import ReplyTo, decode_reply_to, of_click, of_command, of_message
from bot.platforms.slack.surroundings import SlackNames, author_of

PASSING: Final = (SlackLimited, SlackDown, SlackMemberUnknown, StoreUnavailable)
NOTIFY_ATTEMPT: Final = 3  # The person is notified that their question waits: earlier attempts take a few seconds
MAX_RETRY_S: Final = 30.0
MAX_AGE: Final = timedelta(days=1)  # An older question is dropped: an answer would no longer be expected
LOOK_BACK_S: Final = (
    120.0  # Slack's clock may be earlier than ours: a question's post is searched from this long before
)
EVENT_TYPE: Final = "cogency_question"
_NOT_THERE: Final = frozenset({"not_in_channel", "channel_not_found"})

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SlackQuestion:
    """`event`: its dedupe key. `private`: only the person sees the answer."""

    event: str
    text: str
    private: bool
    depth: Depth


@dataclass(frozen=True, slots=True)
class _Pending:
    """A question as it is stored until it is taken in. `attempt`: the latest that was started."""

    question: SlackQuestion
    to: ReplyTo
    asked_at: datetime
    attempt: int = 0

    def encode(self, conversations: Sequence[str]) -> str:
        """Return it as JSON. `conversations`: it is forgotten with any of them."""
        return json.dumps(
            {
                **asdict(self.question),
                "conversations": [*conversations],
                "to": self.to.encode(),
                "asked": self.asked_at.isoformat(),
                "attempt": self.attempt,
            }
        )


@dataclass(frozen=True, slots=True)
class SlackAsking:
    """Rules
    - A question is posted as a message, so that other members see what is answered. Where the bot may not write, or on
      request, the answer is private. Admission control decides before anything is posted.
    - A question is stored before it is acknowledged, and until it is taken in. If Slack limits the post, fails, or does
      not say who asks, that is retried; after a crash by the next process. Each attempt is claimed by one process, and
      all but the first search for the message before they post it: its metadata names the question.
    - A channel that was chosen in a window counts only if the person can read it at that moment.
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
    handled: RecentKeys

    @property
    def names(self) -> SlackNames:
        return SlackNames(self.people, self.places)

    async def _member(self, channel: str, user: str) -> Member:
        """Return the asker as a member of this channel. Raises MemberUnknown and StoreError."""
        return await self.places.member_in(channel, await self.people.member(user))

    async def ask(self, body: JsonObject) -> None:
        """Handle the command `/ask`. Raises CogencyError when the question could not be stored."""
        to, event = of_command(body), api.text(body, "trigger_id") or self.clock.now().isoformat()
        words, private = inbound.split_privacy(api.text(body, "text"))
        depth, question = inbound.split_depth(words)
        if not private:
            question, private = inbound.split_privacy(question)
        mistyped = "" if private or inbound.is_direct(to.channel) else inbound.mistyped_private(question)
        if mistyped:
            await self._send(to, platforms_texts.NEARLY_PRIVATE.format(word=formatting.literal(mistyped)))
        elif question.casefold() in ("help", "help?"):
            await self._send(to, slash_commands.help_text(self.me.prefix, self.me.name))
        elif question.casefold() in ("", "deep:", "fast:"):
            await self._send(to, platforms_texts.ASK_USAGE)
        else:
            await self._store_and_ask(SlackQuestion(event, await self.names.read(question), private, depth), to)

    async def ask_privately(self, message: SlackMessage, words: str) -> None:
        """Submit a question that a message asks privately. Raises CogencyError."""
        to = of_message(message)
        depth, question_text = inbound.split_depth(words)
        if not question_text:
            await self._send(to, platforms_texts.ASK_USAGE)
            return
        member = await self._member(message.channel, message.user)
        question = SlackQuestion(
            f"{message.channel}:{message.ts}", await self.names.read(question_text), private=True, depth=depth
        )
        files = tuple(replace(file, author=file.author or member.person.name) for file in message.files)
        quoted = await self.names.quotes(message.content)
        await self.host.messages.submit(replace(self._private(question, member, to), files=files, quoted=quoted))

    async def open_anywhere(self, body: JsonObject) -> None:
        """Open the window of the shortcut "Ask", which belongs to no channel."""
        await self._open(body, anywhere_view())

    async def submit_anywhere(self, body: JsonObject) -> None:
        """Handle the submitted window of "Ask". Raises CogencyError when the question could not be stored."""
        view = api.fields(body, "view")
        sent = read_anywhere_view(view)
        if sent.question:
            user = api.text(body, "user", "id")
            question = SlackQuestion(api.text(view, "id"), sent.question, sent.private, sent.depth)
            await self._store_and_ask(question, ReplyTo(await self._readable(user, sent.channel), user))

    async def open_about(self, body: JsonObject) -> None:
        """Open the window of the shortcut "Ask about this message"."""
        message = api.fields(body, "message")
        user, content = api.text(message, "user"), content_of(message)
        names = await self.names.of(content.whole, users=(user,) if user else ())
        author, about = author_of(message, names, self.me), readable(content.whole, names)
        to, files = of_click(body), (*api.items(message, "files"), *content.files)
        by_bot = inbound.is_ours(message, self.me) or content.may_hold_ours
        page = PageAsked(api.text(message, "ts"), by_bot=by_bot)
        await self._open(body, ask_view(author, about, to, files, page))

    async def submit_about(self, body: JsonObject) -> None:
        """Handle the submitted window of "Ask about this message". Raises CogencyError when it could not be stored."""
        sent = read_ask_view(api.fields(body, "view"))
        user = api.text(body, "user", "id")
        if sent is None or sent.to.user != user:
            return
        member = await self._member(sent.to.channel, user)
        question = SlackQuestion(api.text(body, "view", "id"), sent.question, private=True, depth=Depth.ADAPT)
        about = Quoted(
            ("the message that the question is about"), sent.author, sent.about, (sent.page.ts,), sent.page.by_bot
        )
        quoted = (about,) if sent.about else ()
        incoming = self._private(question, member, sent.to)
        await self.host.messages.submit(replace(incoming, quoted=quoted, files=sent.files))

    async def ask_by_entry(self, entry: MessageEntry, body: JsonObject) -> None:
        """Ask the question of an entry of a message's menu. Raises CogencyError when it could not be stored."""
        to, message = of_click(body), api.fields(body, "message")
        ts, root = api.text(message, "ts"), api.text(message, "thread_ts")
        link = inbound.permalink(self.me, to.channel, ts, root) or f"<#{to.channel}>"
        event = api.text(body, "trigger_id") or f"{entry.id}:{self.clock.now().isoformat()}"
        question = SlackQuestion(event, entry.thread.question.format(link=link), private=True, depth=Depth.ADAPT)
        await self.host.messages.submit(self._private(question, await self._member(to.channel, to.user), to))

    async def _send(self, to: ReplyTo, markdown: str) -> None:
        await Ephemeral(self.api, to).send(slash_commands.named(markdown, self.me.prefix))

    async def _open(self, body: JsonObject, view: JsonObject) -> None:
        await self.api.call(Method.OPEN_VIEW, trigger_id=api.text(body, "trigger_id"), view=dict(view))

    async def resume(self) -> None:
        """Retry the questions that earlier processes could not take in. Raises StoreError."""
        for event, person in (await self.host.preferences.all_of(self._owner)).items():
            pending = _decode((await self.host.preferences.all_of(person)).get(_preference(event), ""))
            if pending is None:  # forgotten meanwhile
                await self.host.preferences.set(self._owner, event, None)
            else:
                self.underway.start(self._resume(pending))

    async def _resume(self, pending: _Pending) -> None:
        try:
            await self._retry(pending)
        except CogencyError as error:
            with suppress(SlackError):
                await self._send(pending.to, platforms_texts.failure(error))

    async def _store_and_ask(self, question: SlackQuestion, to: ReplyTo) -> None:
        """Store a question, then retry until it is taken in. Raises CogencyError."""
        if not self.handled.first(question.event):
            return
        pending = _Pending(question, to, self.clock.now())
        await self._save(pending)
        await self.host.preferences.set(self._owner, question.event, inbound.person_id(self.me, to.user))
        await self._retry(pending)

    async def _retry(self, pending: _Pending) -> None:
        backoff = Backoff(most_s=MAX_RETRY_S)
        while True:
            pending = replace(pending, attempt=pending.attempt + 1)
            try:
                if await self._load(pending) is None:  # forgotten, or taken in by another process
                    await self._delete(pending)
                    return
                await self._save(pending)
                if not await self.host.deduplication.claim_once(
                    self.me.source, f"asked:{pending.question.event}:{pending.attempt}"
                ):
                    return  # another process goes on with it
                with if_slow(partial(self._notify_waiting, pending, platforms_texts.QUESTION_WAITS)):
                    await self._ask(pending)
            except PASSING as error:
                if self.clock.now() - pending.asked_at > MAX_AGE:
                    await self._delete(pending)
                    raise
                if pending.attempt == NOTIFY_ATTEMPT or error.retry_after_s > PATIENCE_S:
                    self._notify_waiting(pending, platforms_texts.QUESTION_WAITS)
                await self.clock.sleep(max(backoff.failed(), error.retry_after_s))
            except CogencyError:
                await self._delete(pending)
                raise
            else:
                await self._delete(pending)
                return

    def _notify_waiting(self, pending: _Pending, why: str) -> None:
        """Notify the person once, in the background, that their question waits."""
        if not self.handled.first(f"waits:{pending.question.event}"):
            return

        async def send() -> None:
            with suppress(SlackError):
                await self._send(pending.to, why)

        self.underway.start(send())

    async def _ask(self, pending: _Pending) -> None:
        """Make one attempt. In direct messages, also for a question without a channel, it is posted even if private: no
        other member reads there.
        """
        question, to = pending.question, pending.to
        member = await self._member(to.channel, to.user)
        is_direct = not to.channel or inbound.is_direct(to.channel)
        unposted = self._private(question, member, replace(to, channel=to.channel or to.user))
        if pending.attempt == 1:
            await self.host.admission.admit_posting(unposted)
        if question.private and not is_direct:
            await self.host.messages.submit(unposted)
            return
        found = await self._find(pending) if pending.attempt > 1 else None
        root = found or await self._post(pending, member)
        if isinstance(root, SlackRefused):
            is_absent = root.code in _NOT_THERE
            if not is_absent:
                log.warning("a question could not be posted, so its answer is private: %s", root)
            await self.host.messages.submit(unposted)
            if not is_direct:
                remedy = platforms_texts.INVITE_ME.format(bot=self.me.name) if is_absent else root.remedy
                with suppress(SlackError):  # best effort
                    await self._send(to, platforms_texts.ONLY_YOU.format(remedy=remedy))
        else:
            await self._submit_or_delete(await self._public(question, member, root), found=found is not None)

    async def _find(self, pending: _Pending) -> ReplyTo | None:
        """Return where an earlier attempt has posted the question; None if not found. Raises SlackError."""
        to = pending.to
        if not to.channel:
            return None  # it is in direct messages, whose id only the answer to the post holds
        try:
            history = await self.api.call(
                Method.HISTORY,
                channel=to.channel,
                oldest=f"{pending.asked_at.timestamp() - LOOK_BACK_S:.6f}",
                limit=200,
                include_all_metadata=True,
            )
        except SlackRefused:
            return None
        for message in api.items(history, "messages"):
            key = api.text(message, "metadata", "event_payload", "key")
            # Metadata is no secret: another app may copy a message with it.
            if key == pending.question.event and inbound.is_ours(message, self.me):
                return ReplyTo(to.channel, to.user, api.text(message, "ts"), after=api.text(message, "ts"))
        return None

    async def _post(self, pending: _Pending, member: Member) -> ReplyTo | SlackRefused:
        """Post the question. Return where it is answered, or why the bot may not write there. Raises SlackError."""
        to, queue = pending.to, self.budgets.posts(pending.to.channel or pending.to.user)
        if (wait_s := await queue.book(self.clock.monotonic())) > PATIENCE_S:
            self._notify_waiting(pending, platforms_texts.QUESTION_QUEUED.format(seconds=wait_s))
        await self.clock.sleep(wait_s)
        message_text = f"**{formatting.literal(member.person.name)}** asks:\n{quoted(pending.question.text)}"
        metadata: Json = {"event_type": EVENT_TYPE, "event_payload": {"key": pending.question.event}}
        try:
            posted = await self.api.call(
                Method.POST, channel=to.channel or to.user, markdown_text=message_text, metadata=metadata
            )
        except SlackLimited as limited:
            await queue.hold(self.clock.monotonic(), limited.retry_after_s)
            raise
        except SlackRefused as refused:
            return refused
        ts = api.text(posted, "ts")
        return ReplyTo(to.channel or api.text(posted, "channel"), to.user, ts, after=ts)

    async def _submit_or_delete(self, incoming: Incoming, *, found: bool) -> None:
        """Submit a question, and delete its message if it will not be answered below it. Raises CogencyError."""
        try:
            taken = await self.host.messages.submit(incoming)
        except StoreUnavailable:
            raise  # the next attempt finds the message
        except CogencyError:
            taken = False
            await self.api.call(Method.DELETE, channel=incoming.channel, ts=incoming.message_id)
            raise
        if not (taken or found):
            await self.api.call(Method.DELETE, channel=incoming.channel, ts=incoming.message_id)

    # A question is stored in the preferences of its asker, so that it is forgotten with their other content.

    @property
    def _owner(self) -> str:
        """The owner of the preferences that list the pending questions."""
        return f"asked:{self.me.source}"

    async def _save(self, pending: _Pending) -> None:
        person = inbound.person_id(self.me, pending.to.user)
        channel = pending.to.channel or pending.to.user
        conversations = [
            inbound.channel_conversation(self.me, channel),
            inbound.private_conversation(self.me, channel, pending.to.user),
        ]
        await self.host.preferences.set(person, _preference(pending.question.event), pending.encode(conversations))

    async def _load(self, pending: _Pending) -> _Pending | None:
        person = inbound.person_id(self.me, pending.to.user)
        return _decode((await self.host.preferences.all_of(person)).get(_preference(pending.question.event), ""))

    async def _delete(self, pending: _Pending) -> None:
        person = inbound.person_id(self.me, pending.to.user)
        await self.host.preferences.set(person, _preference(pending.question.event), None)
        await self.host.preferences.set(self._owner, pending.question.event, None)

    async def _readable(self, user: str, channel: str) -> str:
        """Return the channel if this person can read it now; "" for direct messages. Raises Refused, or SlackError."""
        if not channel or inbound.is_direct(channel):
            return ""
        await self.may_read(user, channel)
        return channel

    async def may_read(self, user: str, channel: str) -> None:
        """Raise Refused if this person cannot read the channel now, or SlackError if that is not known."""
        member = await self.people.member(user)
        place = await self.places.asked_in(channel, member)
        if not isinstance(place.audience, GroupAudience):
            return
        group = place.audience.place
        can_read = (await self.membership.readable(member.person.id, [group])).get(group)
        if can_read is None:
            raise SlackDown(platforms_texts.READING_UNKNOWN)
        if not can_read:
            raise Refused(platforms_texts.NOT_ASKED_THERE)

    async def _public(self, question: SlackQuestion, member: Member, to: ReplyTo) -> Incoming:
        direct = inbound.is_direct(to.channel)
        return Incoming(
            source=self.me.source,
            event_id=f"posted:{question.event}",
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
            kind=TurnKind.POSTED,
        )

    def _private(self, question: SlackQuestion, member: Member, to: ReplyTo) -> Incoming:
        return Incoming(
            source=self.me.source,
            event_id=f"private:{question.event}",
            channel=to.channel,
            message_id=inbound.private_message_id(question.event),
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


def _preference(event: str) -> str:
    return f"{UNASKED}{event}"


def _decode(stored: str) -> _Pending | None:
    try:
        fields: Json = json.loads(stored)
        question = SlackQuestion(
            api.text(fields, "event"),
            api.text(fields, "text"),
            api.flag(fields, "private"),
            Depth(api.text(fields, "depth")),
        )
        asked_at = datetime.fromisoformat(api.text(fields, "asked"))
        return _Pending(question, _place(api.text(fields, "to")), asked_at, api.number(fields, "attempt"))
    except ValueError:
        return None


def _place(stored: str) -> ReplyTo:
    """Decode a reply's place as `decode_reply_to`, also for a question without a channel."""
    to: Json = json.loads(stored)
    return decode_reply_to(stored) if api.text(to, "channel") else ReplyTo("", api.text(to, "user"))
