"""Commands, their panels and forms, and the buttons below replies, on the page of `cogency play`.

The action of a button is stored with its message, and never taken from the page, which only sends the button's number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, assert_never

from agent.admission_terms import Authority
from agent.errors import CogencyError, Refused
from agent.incoming import Incoming, Person
from agent.ports.clock import Clock
from agent.ports.tools import Asker
from agent.schedules.long_work import asked_in
from agent.shown_replies import Answered, ReplyVerdict
from bot.chat import intake as message_intake
from bot.chat.askers import Requester
from bot.chat.commands.declaration import (
    AnyCommand,
    BoundCommand,
    Command,
    CommandCall,
    CommandMeant,
    CommandScope,
    PressedReply,
    Stoppable,
    command_below,
    command_meant,
    command_named,
    nearest,
    nearly_meant,
)
from bot.chat.commands.settings import change_setting, setting_parts
from bot.chat.host import Host
from bot.chat.panels import FieldKind, Filled, Panel, PanelAction, PanelForm, PanelPart
from bot.chat.reply.surface import PRESSED_ONCE, ReplyAction
from bot.chat.texts import formatting
from bot.chat.texts import replies as reply_texts
from bot.chat.waiting import waiting_panel
from bot.commands import WITHOUT_FORUMS as DECLARED
from bot.commands import form_named
from bot.platforms import texts as platforms_texts
from bot.platforms.play.inbound import PlayAddress, budget_ids, conversation_of, read_message
from bot.platforms.play.polls import VOTE, vote
from bot.platforms.play.requests import Body, PressButton, PressOffer
from bot.platforms.play.surface import MessageLog, PlayMessage
from bot.platforms.play.workspace import BOT, CHANNELS, PEOPLE, TEAM, PlayChannel, PlayPerson, known_as

WINDOW_FIELDS: Final = 25  # More fields are too many to fill in at once
REPLY_ATTEMPTS: Final = 20
REPLY_PAUSE_S: Final = 0.1
VERDICTS: Final = {ReplyAction.GOOD: ReplyVerdict.GOOD, ReplyAction.BAD: ReplyVerdict.BAD}


async def show_settings(host: Host, call: CommandCall) -> Panel:
    """Show which model answers, and whether the bot learns from the person."""
    caller = _play_caller(call)
    if call.pressed:
        await change_setting(host.commands, call)
    choices = await host.preferences.all_of(caller.person.id)
    return Panel("**Settings**", parts=await setting_parts(host.commands, caller, choices))


# Only the page has this command.
SETTINGS: Final = Command(
    name="settings", summary=platforms_texts.PLAY_SETTINGS_SUMMARY, run=show_settings, open_to_all=True, bare=False
)
COMMANDS: Final = tuple(sorted((*DECLARED, SETTINGS), key=lambda command: command.name))


@dataclass(frozen=True, slots=True)
class PlayHost:
    """What everything here needs. `zone`: the machine's, for all people here; `address`: the page's."""

    host: Host
    log: MessageLog
    clock: Clock
    zone: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class PlayCaller:
    """Implements `Caller`. `thread`: the id of the first message of their thread, "" outside of threads."""

    play: PlayHost
    player: PlayPerson
    where: PlayChannel
    thread: str = ""

    @property
    def host(self) -> Host:
        return self.play.host

    @property
    def person(self) -> Person:
        return Person(known_as(self.player.id), self.player.name, self.play.zone)

    @property
    def channel(self) -> str:
        return self.where.id

    @property
    def entry_chars(self) -> int:
        return 200

    @property
    def not_receiving(self) -> str:
        return ""

    @property
    def window_fields(self) -> int:
        return WINDOW_FIELDS

    async def requester(self) -> Requester:
        return Requester(self.person.id, self.channel, team=TEAM)

    async def policy_asker(self) -> Asker:
        return Asker(self.person, self.where.place, self.channel, self.player.authority)

    async def private_asker(self) -> Asker:
        is_thread = self.where.direct or self.thread
        thread = frozenset({await self._conversation()}) if is_thread else frozenset[str]()
        place, authority = CHANNELS[f"dm-{self.player.id}"].place, self.player.authority
        return Asker(self.person, place, self.channel, authority, manages=self._manages, thread=thread)

    async def asker(self) -> Asker:
        return Asker(self.person, self.where.place, self.channel, self.player.authority, manages=self._manages)

    @property
    def _manages(self) -> bool:
        return self.player.authority >= Authority.MANAGER

    async def ask_zone(self, words: str) -> None:
        """The time zone is the machine's."""

    async def keep_zone(self, zone: str) -> str:  # noqa: ARG002 -- the machine has a zone of its own
        return platforms_texts.ZONE_OF_MACHINE

    async def stoppable(self) -> Stoppable:
        if self.where.direct or self.thread:
            return Stoppable([await self._conversation()])
        return Stoppable((), platforms_texts.STOP_IN_THREAD.format(name="Cogency"))

    async def begin_conversation(self) -> str:
        if not self.where.direct:
            return platforms_texts.EACH_BEGINS
        name = self.play.clock.now().isoformat()
        await self.host.direct_messages.begin(known_as(self.where.id), name)
        return platforms_texts.NEW_CONVERSATION

    async def announce(self, markdown: str) -> None:
        self.play.log.add(self.where.id, BOT, text=markdown)

    async def with_names(self, markdown: str) -> str:
        for person in PEOPLE.values():
            markdown = markdown.replace(known_as(person.id), person.name)
        return markdown

    def help(self) -> str:
        summaries = {
            f"/{command.name}": command.summary for command in offered_in(self.where) if command.run is not None
        }
        return f"{formatting.help_text(summaries)}\n\n{platforms_texts.HOW_ON_PLAY}"

    async def _conversation(self) -> str:
        if self.where.direct:
            return await self.host.direct_messages.current(known_as(self.where.id))
        return conversation_of(self.where, self.thread)


def _play_caller(call: CommandCall) -> PlayCaller:
    if not isinstance(call.caller, PlayCaller):
        raise TypeError("a command from this page was used elsewhere")
    return call.caller


def offered_in(channel: PlayChannel) -> Sequence[AnyCommand]:
    """Return the commands that can be used there."""
    elsewhere = CommandScope.SERVERS if channel.direct else CommandScope.DIRECT
    return tuple(command for command in COMMANDS if command.scope is not elsewhere)


def read_order(text: str, now: datetime) -> CommandMeant | str | None:
    """Return the command that a whole message is, without the mention; a sentence if it nearly is one; else None."""
    if text.startswith("/"):
        name, _, rest = text[1:].partition(" ")
        command = command_named(name.strip(" .!?"), COMMANDS)
        if command is None:
            near = nearest(name, rest, COMMANDS)
            return platforms_texts.MISTYPED.format(name=name, near=near, bot="Cogency") if near else None
        if command.run is None:
            return None
        return CommandMeant(command, budget_ids(rest.strip()) if command.mentions else rest.strip())
    if (meant := command_meant(text, COMMANDS, now, budget_ids)) is not None:
        return meant if meant.command.run is not None else None
    near = nearly_meant(text, COMMANDS, now)
    return platforms_texts.NEARLY.format(near=near) if near else None


# Panels, as they are stored with their messages.


def panel_of(panel: Panel, command: str) -> dict[str, Any]:
    """Return a panel as JSON: its buttons in one list, to which its parts refer by number."""
    declared = command_named(command, COMMANDS)
    labels = {item.name: item.summary for item in declared.arguments} if declared is not None else {}
    buttons = list[Body]()

    def add(item: PanelAction) -> int:
        does = item.form.name if item.form is not None else command
        buttons.append(
            {
                "label": item.label,
                "danger": item.danger,
                "confirm": item.confirm,
                "opens": item.form is not None,
                "does": does,
                "words": item.words,
            }
        )
        return len(buttons) - 1

    def menu(part: PanelPart) -> Body | None:
        if part.select is None:
            return None
        button = add(PanelAction(part.select.placeholder, part.select.words))
        options: list[Any] = [list(item) for item in part.select.options.items()]
        return {"button": button, "options": options, "chosen": part.select.chosen}

    above = PanelPart("", panel.actions)
    parts: list[Any] = [
        {"text": part.text, "buttons": [add(item) for item in part.actions], "menu": menu(part)}
        for part in (above, *panel.parts)
    ]
    boxes: list[Any] = [[name, labels.get(name, name), on] for name, on in panel.boxes.items()]
    return {"command": command, "parts": parts, "buttons": buttons, "boxes": boxes}


@dataclass(frozen=True, slots=True)
class Button:
    """The action of a button: the command, or the form, that gets these words."""

    does: str
    words: str
    opens: bool


def button_of(message: PlayMessage, number: int) -> Button:
    """Raises Refused if the panel has no such button any more."""
    buttons: Any = message.panel.get("buttons", [])
    if not 0 <= number < len(buttons):
        raise Refused(platforms_texts.COMMAND_CHANGED)
    return Button(buttons[number]["does"], buttons[number]["words"], buttons[number]["opens"])


class PlayAnswer:
    """The ephemeral message in which a command answers."""

    def __init__(self, caller: PlayCaller, command: AnyCommand, asked: str = "", message: str = "") -> None:
        """`message`: the panel's message, if something in it was pressed."""
        self._caller = caller
        self._command = command
        self._asked = asked
        self._message = message

    async def show(self, panel: Panel) -> None:
        panel_body = panel_of(panel, self._command.name) if panel.actions or panel.parts else {}
        files = ((panel.file.name, panel.file.content),) if panel.file is not None else ()
        fields = {"text": panel.text, "panel": panel_body, "files": files}
        if self._message and self._caller.play.log.change(self._message, **fields) is not None:
            return
        self._message = send_ephemeral(self._caller, asked=self._asked, **fields).id


def send_ephemeral(caller: PlayCaller, **fields: Any) -> PlayMessage:  # noqa: ANN401 -- fields of the message
    """Show something to the caller only."""
    return caller.play.log.add(caller.where.id, BOT, thread=caller.thread, only=caller.player.id, **fields)


def refuse(caller: PlayCaller, error: CogencyError) -> None:
    if not (isinstance(error, Refused) and error.was_shown):
        send_ephemeral(caller, text=platforms_texts.failure(error))


async def carry_out(caller: PlayCaller, meant: CommandMeant, written: str) -> None:
    """Carry out a written command. Raises CogencyError."""
    if not meant.command.open_to_all:
        await caller.host.admission.admit_order(await caller.requester(), caller.player.authority, caller.play.zone)
    await _answer(caller, PlayAnswer(caller, meant.command, written), meant.command, _call(caller, meant.words))


async def _answer(caller: PlayCaller, answer: PlayAnswer, command: AnyCommand, call: CommandCall) -> None:
    await answer.show(await _bound(caller, command).run(replace(call, show=answer.show)))


def _bound(caller: PlayCaller, command: AnyCommand) -> BoundCommand:
    host = caller.host
    return SETTINGS.bound(host) if command is SETTINGS else host.commands[command.name]


def _call(
    caller: PlayCaller, words: str, options: Mapping[str, str] | None = None, *, pressed: bool = False
) -> CommandCall:
    return CommandCall(words=words, caller=caller, options=options or {}, pressed=pressed)


async def press(caller: PlayCaller, message: PlayMessage, request: PressButton) -> Body | None:
    """Handle a button or a menu of a panel, or a submitted form.

    Returns what the page shows: a form, or the mistakes in it; None for nothing. Raises CogencyError.
    """
    button = button_of(message, request.button)
    if button.does == VOTE:
        await vote(caller.host.platforms.polls, caller.play.log, message, caller.player.id, button.words)
        return None
    if button.opens:
        return await _form(caller, message, button, request.filled)
    command = command_named(button.does, COMMANDS)
    if command is None:
        raise Refused(platforms_texts.COMMAND_CHANGED)
    words = " ".join(filter(None, [button.words, *request.values]))
    flags = {argument.name for argument in command.arguments} & request.ticked
    call = _call(caller, words, dict.fromkeys(sorted(flags), "yes"), pressed=True)
    await _answer(caller, PlayAnswer(caller, command, message=message.id), command, call)
    return None


async def _form(
    caller: PlayCaller, message: PlayMessage, button: Button, filled: Mapping[str, str] | None
) -> Body | None:
    declared = form_named(button.does)
    if declared is None:
        raise Refused(platforms_texts.COMMAND_CHANGED)
    command, form = declared
    call = _call(caller, button.words, pressed=True)
    bound = _bound(caller, command)
    form = await bound.build_form(form, call)
    if filled is None:
        return {"window": _form_fields(form, await bound.prefill(form, call))}
    values = {field.name: filled.get(field.name, "").strip() for field in form.fields}
    if mistakes := form.mistakes(values):
        return {"mistakes": dict(mistakes)}
    submitted = _call(caller, form.spelled(button.words, values), form.options(values))
    await _answer(caller, PlayAnswer(caller, command, message=message.id), command, submitted)
    return None


def _form_fields(form: PanelForm, prefilled: Filled) -> Body:
    fields: list[Any] = []
    for field in form.fields:
        kind, choices = field.kind, dict(field.choices)
        match kind:
            case FieldKind.ELSEWHERE:  # a command is used in a channel, so no other has to be named
                continue
            case FieldKind.PERSON:
                kind, choices = FieldKind.PICK, {known_as(item.id): item.name for item in PEOPLE.values()}
            case FieldKind.CHANNEL:
                named = {item.id: f"#{item.name}" for item in CHANNELS.values() if not item.direct}
                kind, choices = FieldKind.PICK, named
            case _:
                pass
        body: Body = {
            "name": field.name,
            "label": field.label,
            "kind": kind.name,
            "hint": field.hint,
            "optional": field.optional,
            "max": field.max_chars,
            "choices": [list(choice) for choice in choices.items()],
            "value": prefilled.get(field.name, ""),
        }
        fields.append(body)
    return {"title": form.title, "submit": form.submit, "fields": fields}


async def show_waiting(play: PlayHost, asked: Incoming, turn: int) -> None:
    """Show the asker only what a turn waits for. Raises CogencyError."""
    address = PlayAddress.decode(asked.reply_to)
    caller = PlayCaller(play, PEOPLE[address.person], CHANNELS[address.channel], address.thread)
    waiting = await waiting_panel(play.host.commands, asked, caller.window_fields, turn)
    if waiting is not None:
        await PlayAnswer(caller, waiting.command).show(waiting.panel)


# The buttons below a reply.


async def press_offer(caller: PlayCaller, page: PlayMessage, request: PressOffer) -> None:
    """Handle a button below a reply. Raises CogencyError.

    All readers may stop, continue and rate a reply; the other actions are its asker's. "Continue" and "Regenerate" are
    questions of the presser, accepted once for each reply.
    """
    host, person = caller.host, caller.person.id
    match request.offer:
        case ReplyAction.STOP:
            await host.admission.admit_order(await caller.requester(), caller.player.authority)
            if not await host.turns.stop_conversation(page.conversation, alone=True):
                _remove_offers(caller, page, {request.offer})
                raise Refused(reply_texts.NOTHING_RUNNING)
        case ReplyAction.CONTINUE:
            await _ask(caller, page, f"continue:{page.id}", platforms_texts.GO_ON)
            _remove_offers(caller, page, {request.offer})
        case ReplyAction.REGENERATE:
            reply = await _reply_of(caller, page)
            dedupe_key = message_intake.repeat_question(reply, person)
            await _ask(caller, page, dedupe_key, reply.question, reply)
            _remove_offers(caller, page, {request.offer})
        case ReplyAction.GOOD | ReplyAction.BAD:
            reply = await _reply_of(caller, page)
            if not await host.feedback.judge(page.turn, person, VERDICTS[request.offer]):
                raise Refused(platforms_texts.NO_SUCH_REPLY)
            if request.offer is ReplyAction.BAD:
                await _use_command(caller, page, request.offer, reply)
            else:
                send_ephemeral(caller, text=platforms_texts.NOTED)
        case ReplyAction.DELETE:
            await _reply_of(caller, page)
            if not await host.feedback.delete(page.turn, person):
                raise Refused(platforms_texts.NO_SUCH_REPLY)
        case ReplyAction.DECIDE | ReplyAction.ANSWER:
            await _use_command(caller, page, request.offer, None)
        case ReplyAction.UNDO | ReplyAction.CANCEL | ReplyAction.KEEP | ReplyAction.END:
            reply = await _reply_of(caller, page)
            send_ephemeral(caller, text=await host.feedback.press_note(request.offer, reply, person))
            text = platforms_texts.AFTER_PRESS[request.offer](page.text)
            _remove_offers(caller, page, PRESSED_ONCE[request.offer], text)
        case (
            ReplyAction.CHANGE
            | ReplyAction.CODE
            | ReplyAction.NUMBERS
            | ReplyAction.WHY
            | ReplyAction.SOLVED
            | ReplyAction.HUMAN
            | ReplyAction.HAND_BACK
        ):
            await _use_command(caller, page, request.offer, await _reply_of(caller, page))
        case _:
            assert_never(request.offer)


async def _use_command(caller: PlayCaller, page: PlayMessage, offer: ReplyAction, reply: Answered | None) -> None:
    """Have the command answer to which this button leads. A form is opened from the panel that its words show."""
    command = command_below(caller.host.commands, offer)
    press = await command.presses[offer](PressedReply(page.turn, caller.person.id, reply))
    await _answer(caller, PlayAnswer(caller, command.declared), command.declared, _call(caller, press.words))


def _remove_offers(
    caller: PlayCaller, page: PlayMessage, offers: "frozenset[ReplyAction] | set[ReplyAction]", text: str | None = None
) -> None:
    """Remove buttons that have no use any more."""
    remaining = tuple(offer for offer in page.offers if offer not in offers)
    caller.play.log.change(page.id, offers=remaining, text=page.text if text is None else text)


async def _reply_of(caller: PlayCaller, page: PlayMessage) -> Answered:
    """Return the reply that the page belongs to. Raises Refused if it was forgotten.

    The buttons appear a moment before the reply is stored: wait for it.
    """
    for _ in range(REPLY_ATTEMPTS):
        reply = await caller.host.feedback.of(page.turn)
        if reply is not None and page.id in reply.pages:
            return reply
        await caller.play.clock.sleep(REPLY_PAUSE_S)
    raise Refused(platforms_texts.NO_SUCH_REPLY)


async def _ask(
    caller: PlayCaller, page: PlayMessage, dedupe_key: str, text: str, reply: Answered | None = None
) -> None:
    """Submit a question of the presser, answered where the page is. `dedupe_key` identifies it permanently."""
    question = read_message(
        caller.player,
        caller.where,
        dedupe_key,
        text,
        caller.play.clock.now(),
        caller.play.zone,
        thread=page.thread,
        conversation=asked_in(page.conversation),
    )
    if reply is not None:
        question = message_intake.check_readers(question, reply)
    if not await caller.host.messages.submit(question):
        raise Refused(platforms_texts.ASKED_ALREADY)
