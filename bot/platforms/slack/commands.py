"""Commands in Slack: slash commands, words behind a mention, shortcuts, and forms.

Rules. Only the person who used a command sees its answer, and only they can use its buttons. Commands obey the same
lists and rates as questions, except those that are open to all. A form is answered where its button was: in a message,
or in the Home tab. A private channel that was chosen in a form counts only if the person can read it at that moment.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from types import MappingProxyType
from typing import Final

from agent.admission_terms import Authority
from agent.errors import CogencyError, Refused
from agent.memory.audience import GroupAudience, Place
from agent.messages import Json, JsonObject
from agent.ports import Asker, Clock, Membership
from agent.records import Attachment, Person
from bot.access.acl import Requester
from bot.access.admission import NoticeThrottle
from bot.caches import RecentKeys
from bot.commands import memory, remind, tools
from bot.commands.declaration import (
    Command,
    CommandCall,
    Filled,
    Panel,
    PanelFile,
    PanelForm,
    PanelPart,
    ShowPanel,
    Stoppable,
)
from bot.host import Forgetter, Host, PolicyAsker, Viewer
from bot.platforms.slack import inbound
from bot.platforms.slack.api import Method, MethodRates, SlackApi, SlackError, SlackRefused, fields, text
from bot.platforms.slack.asking import SlackAsking
from bot.platforms.slack.home import Home
from bot.platforms.slack.inbound import ReplyTo, SlackBot, SlackMessage
from bot.platforms.slack.members import Member, People, SlackMemberUnknown
from bot.platforms.slack.message_pages import Ephemeral
from bot.platforms.slack.panels import (
    ENTRY_CHARS,
    WINDOW_FIELDS,
    FormSent,
    ShownTo,
    panel_blocks,
    press_of,
    read_form_view,
    view_of,
)
from bot.platforms.slack.places import Places, person_place, team_place
from bot.platforms.slack.pressing import ReplyPresses
from bot.platforms.slack.slash_commands import help_text, named
from bot.platforms.slack.sockets import USER_TASKS, BackgroundTasks
from bot.platforms.slack.surroundings import SlackNames
from bot.texts import command_texts, formatting, memory_texts, reply_texts

ACTIVE_WINDOW: Final = timedelta(hours=1)  # Questions that wait or are being answered are at most this old

MAX_RECENT: Final = 1_000  # Conversations of the workspace among which a channel's are searched

MAX_OWN: Final = 50  # Conversations of one channel whose participants are read


@dataclass(frozen=True, slots=True)
class Direct:
    """Finds the conversations that a command means, where Slack does not name a thread.

    Rules
    - Each thread in direct messages is one conversation. A message outside of threads begins a thread, in which it is
      answered.
    - Outside of threads, "stop" means all active conversations of the direct messages. So does the command; in a
      channel, it means the active conversations with this person alone.
    - Older versions stored a whole direct channel as one conversation. It keeps its id, and is recalled, stopped and
      forgotten like any other: outside of threads, it is the thread that is meant.
    """

    host: Host
    me: SlackBot
    clock: Clock

    async def active(self, channel: str) -> tuple[str, ...]:
        """Return the conversations of a channel that may have a running or waiting turn, the latest first."""
        since = self.clock.now() - ACTIVE_WINDOW
        seen = await self.host.conversations.last_seen(self.me.source, since=since, limit=MAX_RECENT)
        return tuple(item.conversation for item in seen if item.channel == channel)

    async def active_with(self, channel: str, person: str) -> list[str]:
        """Return the active conversations of a channel in which only this person takes part."""
        conversations, alone = (await self.active(channel))[:MAX_OWN], frozenset({person})
        return [
            conversation
            for conversation in conversations
            if await self.host.conversations.participants(conversation) == alone
        ]

    async def thread_of(self, message: SlackMessage) -> tuple[str, ...]:
        """Return the conversations that "this thread" means in a message."""
        if message.direct and not message.in_thread:
            return await self.outside_threads(message.channel)
        return (inbound.conversation(self.me, message),)

    async def thread_at(self, channel: str, ts: str, root: str) -> tuple[str, ...]:
        """Return the conversations that "this thread" means at a selected message; `root` is "" outside of threads."""
        thread = inbound.thread_conversation(self.me, channel, root or ts)
        if root or await self.host.conversations.participants(thread) is not None:
            return (thread,)
        return await self.outside_threads(channel) or (thread,)

    async def outside_threads(self, channel: str) -> tuple[str, ...]:
        """Return the conversations that "this thread" means outside of threads; () for none."""
        whole = inbound.channel_conversation(self.me, channel)
        known = inbound.is_direct(channel) and await self.host.conversations.participants(whole) is not None
        return (whole,) if known else ()


PREFILL_S: Final = 1.5  # Half of the time within which Slack lets a window be opened after a click

# How long the end of the process waits for running commands: usually enough to show the receipt of a deletion.
CLOSE_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class PersonalCommands:
    host: Host
    api: SlackApi
    me: SlackBot
    people: People
    places: Places
    membership: Membership
    budgets: MethodRates
    clock: Clock
    home: Home
    underway: BackgroundTasks = field(default_factory=lambda: BackgroundTasks(CLOSE_S, USER_TASKS))
    handled: RecentKeys = field(default_factory=RecentKeys)  # Events of questions by command and window, to dedupe them

    @property
    def direct(self) -> Direct:
        return Direct(self.host, self.me, self.clock)

    @property
    def asking(self) -> SlackAsking:
        return SlackAsking(
            self.host,
            self.api,
            self.me,
            self.people,
            self.places,
            self.membership,
            self.budgets,
            self.clock,
            self.underway,
            self.handled,
        )

    @property
    def replies(self) -> ReplyPresses:
        return ReplyPresses(
            self.host,
            self.api,
            self.me,
            self.people,
            self.places,
            self.asking.may_read,
            self.clock,
            self._show_waiting,
            self._change,
        )

    async def _show_waiting(self, to: ReplyTo, turn: int) -> None:
        await self.run(tools.COMMAND, to, tools.show_words(turn))

    async def _change(self, body: JsonObject, to: ReplyTo, words: str) -> None:
        """Open the window that changes one schedule of a reply; list them to choose from if there are several."""
        if not words.startswith(remind.CHANGES):
            await self.run(remind.COMMAND, to, words)
            return
        call = CommandCall(words=words, caller=self._caller(to), host=self.host, pressed=True)
        await self._open(remind.CHANGE, call, replace(to, response_url=""), body)

    async def _open(
        self, form: PanelForm, call: CommandCall, to: ReplyTo, body: JsonObject, thread: Collection[str] = ()
    ) -> None:
        built_form = await _build_form(form, call)
        view = view_of(built_form, to, call.words, thread, await _prefill(built_form, call))
        await self.api.call(Method.OPEN_VIEW, trigger_id=text(body, "trigger_id"), view=dict(view))

    async def admit(self, body: JsonObject) -> None:
        """Admit a command or a shortcut. Raises Refused, or MemberUnknown."""
        to = inbound.of_click(body) if fields(body, "user") else inbound.of_command(body)
        member = await self.places.member_in(to.channel, await self.people.member(to.user))
        who = Requester(member.person.id, to.channel, member.groups, self.me.team)
        await self.host.admission.admit_order(who, member.authority, member.person.time_zone)

    async def slash(self, command: Command, body: JsonObject) -> None:
        """Carry out a slash command. Slack does not say in which thread it was typed."""
        if not command.open_to_all:
            await self.admit(body)
        to, words = inbound.of_command(body), text(body, "text")
        words = inbound.budget_ids(words, self.me) if command.mentions else words
        thread = await self.direct.outside_threads(to.channel) if command.name == "forget" else ()
        await self.run(command, to, words, thread)

    async def run(
        self,
        command: Command,
        to: ReplyTo,
        words: str,
        thread: Collection[str] = (),
        attached: tuple[Sequence[Attachment], str] = ((), ""),
    ) -> None:
        """Carry a command out, and show its panel. `thread`: the conversations that "this thread" means.

        `attached`: the files of its message, and the link to that message. Raises CogencyError.
        """
        if not command.mentions:
            words = await SlackNames(self.people, self.places).read(words)
        show = partial(self._send_panel, to, command, thread)
        show_progress = _show_progress(show, limit=1)  # each is a new message: Slack replaces only what was clicked
        await show(await self._panel(command, self._caller(to, thread), words, show=show_progress, attached=attached))

    async def handle_press(self, body: JsonObject, action: JsonObject) -> None:
        """Handle a click on a button of a panel, or a choice in its menu. Raises CogencyError."""
        press, to = press_of(body, action), inbound.of_click(body)
        if press is None or press.at.user != to.user:
            await Ephemeral(self.api, to).send(reply_texts.NOT_YOURS)
            return
        to = replace(to, channel=press.at.channel or to.channel)
        caller = self._caller(to, press.at.thread)
        if press.form is None:
            show = partial(self._replace, to, press.command, press.words, press.at.thread)
            show_progress = _show_progress(show)
            words, ticked = press.words, press.options
            await show(await self._panel(press.command, caller, words, ticked, pressed=True, show=show_progress))
        else:
            call = CommandCall(words=press.words, caller=caller, host=self.host, pressed=True)
            await self._open(press.form, call, to, body, press.at.thread)

    async def read_form(self, body: JsonObject) -> FormSent | None:
        """Return what was submitted in a form's window; None if another person submitted it. Raises CogencyError."""
        view = fields(body, "view")
        sent = read_form_view(view, self.me)
        if sent is None or sent.to.user != text(body, "user", "id"):
            return None
        if sent.form.build is None:
            return sent
        caller = self._caller(sent.to, sent.thread)
        call = CommandCall(words=sent.words, caller=caller, host=self.host, pressed=True)
        return read_form_view(view, self.me, await _build_form(sent.form, call))

    async def submit_form(self, sent: FormSent) -> None:
        """Run the command of a submitted form without mistakes. Raises CogencyError."""
        caller = replace(self._caller(sent.to, sent.thread), in_form=True, elsewhere=sent.elsewhere)
        words = sent.form.spelled(sent.words, sent.filled)
        show, ticked = partial(self._replace, sent.to, sent.command, words, sent.thread), sent.form.ticked(sent.filled)
        await show(await self._panel(sent.command, caller, words, ticked, show=_show_progress(show)))

    async def _panel(
        self,
        command: Command,
        caller: "SlackCaller",
        words: str,
        options: Mapping[str, str] = MappingProxyType({}),
        *,
        show: ShowPanel,
        pressed: bool = False,
        attached: tuple[Sequence[Attachment], str] = ((), ""),
    ) -> Panel:
        """Run a command and return its panel. A file cannot be ephemeral: it goes to the person's direct messages."""
        if command.run is None:
            return Panel(help_text(self.me.prefix, self.me.name))
        call = CommandCall(
            words=words.strip(),
            caller=caller,
            host=self.host,
            options=options,
            files=attached[0],
            link=attached[1],
            pressed=pressed,
            show=show,
        )
        panel = await command.run(call)
        if panel.file is None:
            return panel
        return Panel(
            command_texts.EXPORT_SENT
            if await self._send_file(caller.to.user, panel.text, panel.file)
            else command_texts.EXPORT_NOT_SENT
        )

    async def _send_panel(self, to: ReplyTo, command: Command, thread: Collection[str], panel: Panel) -> None:
        below = panel_blocks(panel, command, ShownTo(to.user, to.channel, thread))
        await Ephemeral(self.api, to).send(named(panel.text, self.me.prefix), *below)

    async def _replace(self, to: ReplyTo, command: Command, words: str, thread: Collection[str], panel: Panel) -> None:
        """Show the panel in place of the clicked one: in its message, or in the Home tab."""
        if to.home:
            await self.home.show_answer(to, command, panel, words)
        else:
            below = panel_blocks(panel, command, ShownTo(to.user, to.channel, thread))
            await Ephemeral(self.api, to).replace(named(panel.text, self.me.prefix), *below)

    async def _send_file(self, user: str, message_text: str, file: PanelFile) -> bool:
        """Post a file in the person's direct messages. Return False if Slack refused; raises any other SlackError."""
        data = file.content.encode()
        try:
            place = await self.api.call(Method.UPLOAD_URL, filename=file.name, length=len(data))
            await self.api.upload(text(place, "upload_url"), data)
            posted = await self.api.call(Method.POST, channel=user, text=message_text)
            uploaded: Json = {"id": text(place, "file_id"), "title": file.name}
            await self.api.call(
                Method.COMPLETE_UPLOAD,
                files=[uploaded],
                channel_id=text(posted, "channel"),
                thread_ts=text(posted, "ts"),
            )
        except SlackRefused:
            return False
        return True

    def _caller(self, to: ReplyTo, thread: Collection[str] = ()) -> "SlackCaller":
        lookups = self.people, self.places, self.membership, self.direct
        return SlackCaller(self.me, self.api, *lookups, to, frozenset(thread))

    async def memory_shortcut(self, body: JsonObject) -> None:
        await self.run(memory.COMMAND, inbound.of_click(body), "")

    async def forget_shortcut(self, body: JsonObject) -> None:
        to = inbound.of_click(body)
        message = fields(body, "message")
        thread = await self.direct.thread_at(to.channel, text(message, "ts"), text(message, "thread_ts"))
        await self.run(memory.FORGET_COMMAND, to, "thread", thread)

    async def report_failure(self, body: JsonObject, error: CogencyError) -> None:
        """Show an error to the user who sent `body`: a click, a command or a window."""
        to = inbound.of_window(fields(body, "view")) or (
            inbound.of_click(body) if fields(body, "user") else inbound.of_command(body)
        )
        if to.home:
            await self.home.show_failure(to, body, error)
        else:
            await self.send_error(to, error)

    async def send_error(self, to: ReplyTo, error: CogencyError) -> None:
        await self._send(to, reply_texts.failure(error))

    async def suggest_command(self, to: ReplyTo, name: str, near: str) -> None:
        """Say that there is no command `name`, or (for "") no such order, and suggest `near`."""
        await self._send(
            to,
            (command_texts.MISTYPED if name else command_texts.NEARLY).format(name=name, near=near, bot=self.me.name),
        )

    async def _send(self, to: ReplyTo, markdown: str) -> None:
        await Ephemeral(self.api, to).send(named(markdown, self.me.prefix))


def _show_progress(show: ShowPanel, limit: int | None = None) -> ShowPanel:
    """Wrap `show` for panels before the answer: up to `limit` of them, and without raising SlackError."""
    count = 0

    async def run(panel: Panel) -> None:
        nonlocal count
        if limit is not None and count >= limit:
            return
        count += 1
        with suppress(SlackError):
            await show(panel)

    return run


async def _build_form(form: PanelForm, call: CommandCall) -> PanelForm:
    """Return the form as it is for the arguments of its button. Raises CogencyError, also after PREFILL_S."""
    if form.build is None:
        return form
    try:
        async with asyncio.timeout(PREFILL_S):
            return await form.build(call)
    except TimeoutError:
        raise Refused(command_texts.WINDOW_TRY_AGAIN) from None


async def _prefill(form: PanelForm, call: CommandCall) -> Filled:
    """Return the form's initial values; none if they take longer than PREFILL_S. Raises CogencyError."""
    if form.prefill is None:
        return {}
    try:
        async with asyncio.timeout(PREFILL_S):
            return await form.prefill(call)
    except TimeoutError:
        return {}


@dataclass(frozen=True, slots=True)
class SlackCaller:
    """Implements `Caller`. `thread`: the conversations that "this thread" means.

    `in_form`: the person submits a form. `elsewhere`: the channel that they chose in it; "" for none.
    """

    me: SlackBot
    api: SlackApi
    people: People
    places: Places
    membership: Membership
    direct: Direct
    to: ReplyTo
    thread: frozenset[str] = frozenset()
    in_form: bool = False
    elsewhere: str = ""

    @property
    def person(self) -> Person:
        return Person(inbound.person_id(self.me, self.to.user), "")

    @property
    def channel(self) -> str:
        return self.to.channel

    async def requester(self) -> Requester:
        member = await self.people.member(self.to.user)
        return Requester(member.person.id, self.to.channel, member.groups, self.me.team)

    async def viewer(self) -> Viewer:
        member = await self.people.member(self.to.user)
        manages = member.authority >= Authority.MANAGER
        return Viewer(member.person, person_place(self.me, member), self.to.channel, manages)

    async def forgetter(self) -> Forgetter:
        person = (await self.people.member(self.to.user)).person
        return Forgetter(person.id, self.thread, person.time_zone)

    async def ask_zone(self, words: str) -> PanelPart | None:  # noqa: ARG002 -- Slack's own settings hold it
        time_zone = (await self.people.member(self.to.user)).person.time_zone
        return None if time_zone else PanelPart(command_texts.ZONE_OF_SLACK)

    async def keep_zone(self, zone: str) -> str:  # noqa: ARG002 -- as above
        return command_texts.ZONE_OF_SLACK

    @property
    def entry_chars(self) -> int:
        return ENTRY_CHARS

    async def policy_asker(self) -> PolicyAsker:
        """In a member's direct messages and Home tab, policies are about the whole workspace."""
        member = await self._member()
        return PolicyAsker(member.person, member.authority, await self._place(member))

    async def _member(self) -> Member:
        return await self.places.member_in(self.to.channel, await self.people.member(self.to.user))

    async def _place(self, member: Member) -> Place:
        """Return the place that policies are about. Raises Refused if a form names a channel that they cannot read."""
        channel = self.elsewhere or ("" if self.to.home or inbound.is_direct(self.to.channel) else self.to.channel)
        if not channel and member.full:
            return team_place(self.me)
        place = await self.places.asked_in(channel or self.to.channel, member)
        if self.in_form and isinstance(place.audience, GroupAudience):
            group = place.audience.place
            if not (await self.membership.readable(member.person.id, [group])).get(group, False):
                raise Refused(command_texts.NOT_CHANGED_THERE)
        return place

    async def tool_asker(self) -> Asker:
        member, to = await self._member(), self.to
        is_direct = to.home or inbound.is_direct(to.channel)
        place = person_place(self.me, member) if is_direct else await self.places.asked_in(to.channel, member)
        return Asker(member.person, place, to.channel, member.authority)

    @property
    def not_receiving(self) -> str:
        return ""

    @property
    def window_fields(self) -> int:
        return WINDOW_FIELDS

    async def stoppable(self) -> Stoppable:
        """Slack does not say in which thread a command was typed."""
        conversations = await self.direct.active_with(self.to.channel, self.person.id)
        return Stoppable(conversations, command_texts.STOP_IN_THREAD.format(name=self.me.name))

    async def begin_conversation(self) -> str:
        return command_texts.EACH_BEGINS

    async def announce(self, markdown: str) -> None:
        announcement = named(markdown, self.me.prefix)
        try:
            await self.api.call(Method.POST, channel=self.to.channel, markdown_text=announcement)
        except SlackRefused as error:
            raise Refused(memory_texts.NOT_SAID_THERE) from error

    async def with_names(self, markdown: str) -> str:
        return await SlackNames(self.people, self.places).in_budget(markdown)

    def help(self) -> str:
        return help_text(self.me.prefix, self.me.name)


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AnswerCommands:
    """The word "stop", and notices to the authors of messages that are refused or delayed.

    Rules. "stop" is never a question. Any member who can write in a thread can stop its answer. Notices are ephemeral.
    """

    host: Host
    api: SlackApi
    me: SlackBot
    clock: Clock
    throttle: NoticeThrottle

    @property
    def direct(self) -> Direct:
        return Direct(self.host, self.me, self.clock)

    async def stop_by_message(self, message: SlackMessage) -> bool:
        """Stop what the message means. Return whether any turn was stopped. Raises CogencyError."""
        outside_threads = message.direct and not message.in_thread
        meant = await self.direct.active(message.channel) if outside_threads else await self.direct.thread_of(message)
        return any([await self.host.turns.stop_conversation(conversation) for conversation in meant])

    async def notify_hushed(self, message: SlackMessage) -> None:
        await self._send(inbound.of_message(message), memory_texts.HUSHED)

    async def notify_nothing_runs(self, message: SlackMessage) -> None:
        await self._send(inbound.of_message(message), reply_texts.NOTHING_RUNNING)

    async def notify_refused(self, refusal: Refused, message: SlackMessage) -> None:
        """Show the author why their message was refused, once: a mention arrives as two events, which two processes may
        receive. Nothing is shown if the refusal was already. Raises StoreError.
        """

        async def tell() -> None:
            log.info("a message was refused: %s", refusal)
            try:
                await self._send(inbound.of_message(message), formatting.literal(str(refusal)))
            except SlackError as error:
                log.warning("nor could that be said: %s", error)

        if not refusal.was_shown:
            await self.host.claims.run_once(self.me.source, f"refused:{message.channel}:{message.ts}", tell)

    async def notify_waiting(self, body: JsonObject, why: CogencyError) -> None:
        """Tell the author of a question that it cannot be taken in yet, unless they read so just now."""
        message = inbound.read_event(body, self.me)
        if message is None or not (message.direct or message.mentioned):
            return
        sentence = reply_texts.SLACK_KEPT_WAITING if isinstance(why, SlackMemberUnknown) else reply_texts.KEPT_WAITING
        if self.throttle.was_shown(message.user, sentence):
            return
        try:
            await self._send(inbound.of_message(message), sentence)
        except SlackError as error:
            log.warning("that a message has to wait could not be said: %s", error)

    async def _send(self, to: ReplyTo, markdown: str) -> None:
        await Ephemeral(self.api, to).send(named(markdown, self.me.prefix))
