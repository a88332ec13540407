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
from functools import partial
from types import MappingProxyType
from typing import Final

from agent.errors import CogencyError, Refused
from agent.incoming import Attachment
from agent.messages import Json, JsonObject
from agent.ports.clock import Clock
from agent.ports.membership import Membership
from bot.chat.askers import Requester
from bot.chat.background_tasks import BackgroundTasks
from bot.chat.caches import RecentKeys
from bot.chat.commands.declaration import AnyCommand, BoundCommand, CommandCall, CommandEntry, ShowPanel
from bot.chat.host import Host
from bot.chat.panels import Filled, Panel, PanelAction, PanelFile, PanelForm
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import inbound
from bot.platforms.slack.api import MethodRates, SlackApi, SlackError, SlackRefused, fields, text
from bot.platforms.slack.asking import SlackAsking
from bot.platforms.slack.caller import Direct, SlackCaller
from bot.platforms.slack.ephemeral import Ephemeral
from bot.platforms.slack.home import Home
from bot.platforms.slack.inbound import SlackBot
from bot.platforms.slack.members import Member, People
from bot.platforms.slack.options import Method
from bot.platforms.slack.panels import FormSent, ShownTo, panel_blocks, press_of, read_form_view, view_of
from bot.platforms.slack.places import Places
from bot.platforms.slack.pressing import ReplyPresses
from bot.platforms.slack.reply_to import ReplyTo, of_click, of_command, of_window
from bot.platforms.slack.slash_commands import help_text, named
from bot.platforms.slack.sockets import USER_TASKS
from bot.platforms.slack.surroundings import SlackNames

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
            self.check_access,
            self.clock,
            self._press_below,
        )

    async def _press_below(self, body: JsonObject, to: ReplyTo, command: AnyCommand, button: PanelAction) -> None:
        """Open the form of a button to which one below a reply led, or have the command answer its words."""
        await self._check_command(command, to)
        if button.form is None:
            await self.run(command, to, button.words)
            return
        call = CommandCall(words=button.words, caller=self._caller(to), pressed=True)
        await self._open(command, button.form, call, replace(to, response_url=""), body)

    async def _open(
        self,
        command: AnyCommand,
        form: PanelForm,
        call: CommandCall,
        to: ReplyTo,
        body: JsonObject,
        thread: Collection[str] = (),
    ) -> None:
        bound = self.host.commands[command.name]
        built_form = await _build_form(bound, form, call)
        view = view_of(built_form, to, call.words, thread, await _prefill(bound, built_form, call))
        await self.api.call(Method.OPEN_VIEW, trigger_id=text(body, "trigger_id"), view=dict(view))

    async def admit(self, body: JsonObject) -> None:
        """Admit a command or a shortcut. Raises Refused, or MemberUnknown."""
        to = of_click(body) if fields(body, "user") else of_command(body)
        who, member = await self._requester(to)
        await self.host.admission.admit_order(who, member.authority, member.person.time_zone)

    async def check_access(self, to: ReplyTo) -> None:
        """Check a press of a button. Raises Refused if its presser may not use the bot there now, or MemberUnknown."""
        who, member = await self._requester(to)
        self.host.admission.check_access(who, member.authority)

    async def _check_command(self, command: AnyCommand, to: ReplyTo) -> None:
        """As `check_access`, for a press of what this command showed."""
        if not command.open_to_all:
            await self.check_access(to)

    async def _requester(self, to: ReplyTo) -> tuple[Requester, Member]:
        member = await self.places.member_in(to.channel, await self.people.member(to.user))
        return Requester(member.person.id, to.channel, member.groups, self.me.team), member

    async def slash(self, command: AnyCommand, body: JsonObject) -> None:
        """Carry out a slash command. Slack does not say in which thread it was typed."""
        if not command.open_to_all:
            await self.admit(body)
        to, words = of_command(body), text(body, "text")
        words = inbound.budget_ids(words, self.me) if command.mentions else words
        thread = await self.direct.outside_threads(to.channel) if command.means_thread else ()
        await self.run(command, to, words, thread)

    async def run(
        self,
        command: AnyCommand,
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
        # Each is a new message: Slack replaces only what was clicked.
        show_progress = _show_progress(partial(show, passing=True), limit=1)
        await show(await self._panel(command, self._caller(to, thread), words, show=show_progress, attached=attached))

    async def handle_press(self, body: JsonObject, action: JsonObject) -> None:
        """Handle a click on a button of a panel, or a choice in its menu. Raises CogencyError."""
        press, to = press_of(body, action), of_click(body)
        if press is None or press.at.user != to.user:
            await Ephemeral(self.api, to, self.clock).send(reply_texts.NOT_YOURS)
            return
        to = replace(to, channel=press.at.channel or to.channel)
        if to.channel and not inbound.is_direct(to.channel):  # the person may have left the channel since
            await self.asking.may_read(to.user, to.channel)
        await self._check_command(press.command, to)
        caller = self._caller(to, press.at.thread)
        if press.form is None:
            show = partial(self._replace, to, press.command, press.words, press.at.thread)
            show_progress = _show_progress(partial(show, passing=True))
            words, ticked = press.words, press.options
            await show(await self._panel(press.command, caller, words, ticked, pressed=True, show=show_progress))
        else:
            call = CommandCall(words=press.words, caller=caller, pressed=True)
            await self._open(press.command, press.form, call, to, body, press.at.thread)

    async def read_form(self, body: JsonObject) -> FormSent | None:
        """Return what was submitted in a form's window; None if another person submitted it. Raises CogencyError."""
        view = fields(body, "view")
        sent = read_form_view(view, self.me)
        if sent is None or sent.to.user != text(body, "user", "id"):
            return None
        bound = self.host.commands[sent.command.name]
        if sent.form.name not in bound.builds:
            return sent
        call = CommandCall(words=sent.words, caller=self._caller(sent.to, sent.thread), pressed=True)
        return read_form_view(view, self.me, await _build_form(bound, sent.form, call))

    async def submit_form(self, sent: FormSent) -> None:
        """Run the command of a submitted form without mistakes. Raises CogencyError."""
        await self._check_command(sent.command, sent.to)
        caller = replace(self._caller(sent.to, sent.thread), in_form=True, elsewhere=sent.elsewhere)
        words = sent.form.spelled(sent.words, sent.filled)
        show, ticked = partial(self._replace, sent.to, sent.command, words, sent.thread), sent.form.options(sent.filled)
        show_progress = _show_progress(partial(show, passing=True))
        await show(await self._panel(sent.command, caller, words, ticked, show=show_progress))

    async def _panel(
        self,
        command: AnyCommand,
        caller: SlackCaller,
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
            options=options,
            files=attached[0],
            link=attached[1],
            pressed=pressed,
            show=show,
        )
        panel = await self.host.commands[command.name].run(call)
        if panel.file is None:
            return panel
        return Panel(
            platforms_texts.EXPORT_SENT
            if await self._send_file(caller.to.user, panel.text, panel.file)
            else platforms_texts.EXPORT_NOT_SENT
        )

    async def _send_panel(
        self, to: ReplyTo, command: AnyCommand, thread: Collection[str], panel: Panel, *, passing: bool = False
    ) -> None:
        """`passing`: another panel follows, so this one is not sent again."""
        below = panel_blocks(panel, command, ShownTo(to.user, to.channel, thread))
        await Ephemeral(self.api, to, None if passing else self.clock).send(named(panel.text, self.me.prefix), *below)

    async def _replace(
        self,
        to: ReplyTo,
        command: AnyCommand,
        words: str,
        thread: Collection[str],
        panel: Panel,
        *,
        passing: bool = False,
    ) -> None:
        """Show the panel in place of the clicked one: in its message, or in the Home tab. `passing`: see
        `_send_panel`.
        """
        if to.home:
            await self.home.show_answer(to, command, panel, words)
        else:
            below = panel_blocks(panel, command, ShownTo(to.user, to.channel, thread))
            await Ephemeral(self.api, to, None if passing else self.clock).replace(
                named(panel.text, self.me.prefix), *below
            )

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

    def _caller(self, to: ReplyTo, thread: Collection[str] = ()) -> SlackCaller:
        lookups = self.people, self.places, self.membership, self.direct
        return SlackCaller(self.me, self.api, *lookups, to, frozenset(thread))

    async def run_entry(self, command: AnyCommand, entry: CommandEntry, body: JsonObject) -> None:
        """Carry out a command that was chosen in the menu of a message."""
        if not command.open_to_all:
            await self.admit(body)
        to, thread = of_click(body), tuple[str, ...]()
        if command.means_thread:
            message = fields(body, "message")
            thread = await self.direct.thread_at(to.channel, text(message, "ts"), text(message, "thread_ts"))
        await self.run(command, to, entry.words, thread)

    async def report_failure(self, body: JsonObject, error: CogencyError) -> None:
        """Show an error to the user who sent `body`: a click, a command or a window."""
        to = _sent_from(body)
        if to.home:
            await self.home.show_failure(to, body, error)
        else:
            await self.send_error(to, error)

    def notify_slow(self, body: JsonObject) -> None:
        """Tell the user who sent `body`, in the background, that its outcome takes longer. In the Home tab nothing is
        told: it shows what it showed before.
        """
        to = _sent_from(body)

        async def send() -> None:
            with suppress(SlackError):
                await Ephemeral(self.api, to).send(platforms_texts.TAKES_LONGER)

        if not to.home:
            self.underway.start(send())

    async def send_error(self, to: ReplyTo, error: CogencyError) -> None:
        await self._send(to, platforms_texts.failure(error))

    async def suggest_command(self, to: ReplyTo, name: str, near: str) -> None:
        """Say that there is no command `name`, or (for "") no such order, and suggest `near`."""
        await self._send(
            to,
            (platforms_texts.MISTYPED if name else platforms_texts.NEARLY).format(
                name=name, near=near, bot=self.me.name
            ),
        )

    async def _send(self, to: ReplyTo, markdown: str) -> None:
        await Ephemeral(self.api, to, self.clock).send(named(markdown, self.me.prefix))


def _sent_from(body: JsonObject) -> ReplyTo:
    """Return where a click, a command or a window was sent from, and by whom."""
    in_window = of_window(fields(body, "view"))
    return in_window or (of_click(body) if fields(body, "user") else of_command(body))


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


async def _build_form(command: BoundCommand, form: PanelForm, call: CommandCall) -> PanelForm:
    """Return the form as it is for the arguments of its button. Raises CogencyError, also after PREFILL_S."""
    try:
        async with asyncio.timeout(PREFILL_S):
            return await command.build_form(form, call)
    except TimeoutError:
        raise Refused(platforms_texts.WINDOW_TRY_AGAIN) from None


async def _prefill(command: BoundCommand, form: PanelForm, call: CommandCall) -> Filled:
    """Return the form's initial values; none if they take longer than PREFILL_S. Raises CogencyError."""
    try:
        async with asyncio.timeout(PREFILL_S):
            return await command.prefill(form, call)
    except TimeoutError:
        return {}


log = logging.getLogger(__name__)
