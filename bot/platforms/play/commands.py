"""Commands, their panels and windows, and the buttons below replies, as the page of `cogency play` uses them.

What a button does stands with its message, and never comes from the page: that names the button alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, assert_never

from agent.admission_terms import Authority
from agent.errors import CogencyError, Refused
from agent.memory.forgetting_plans import PAUSED
from agent.ports import Asker, Clock
from agent.records import Answered, Incoming, Person, ReplyVerdict
from agent.schedules import asked_in
from agent.turn_setup import asker_of
from bot import message_intake
from bot.access.acl import Requester
from bot.commands import talking, tools
from bot.commands.declaration import (
    Command,
    CommandCall,
    CommandMeant,
    CommandScope,
    FieldKind,
    Filled,
    Panel,
    PanelAction,
    PanelForm,
    PanelPart,
    Stoppable,
    command_meant,
    command_named,
    nearest,
    nearly_meant,
)
from bot.commands.discovery import COMMANDS as DECLARED
from bot.commands.discovery import form_named
from bot.commands.remind import CHANGES
from bot.commands.remind import COMMAND as SCHEDULES
from bot.host import Forgetter, Host, PolicyAsker, Viewer
from bot.memory.learning import PAUSE
from bot.platforms.play.inbound import (
    BOT,
    CHANNELS,
    PEOPLE,
    TEAM,
    Body,
    PlayAddress,
    PlayChannel,
    PlayPerson,
    PressButton,
    PressOffer,
    budget_ids,
    conversation_of,
    known_as,
    read_message,
)
from bot.platforms.play.surface import MessageLog, PlayMessage
from bot.reply_surface import SCHEDULING, ReplyAction
from bot.texts import command_texts, memory_texts, reply_texts
from bot.tools.mcp_questions import MAX_FIELDS

LOOKS: Final = 20
LOOK_S: Final = 0.1
VERDICTS: Final = {ReplyAction.GOOD: ReplyVerdict.GOOD, ReplyAction.BAD: ReplyVerdict.BAD}


async def show_settings(call: CommandCall) -> Panel:
    """Which model answers, and whether the bot learns from its person."""
    caller, (word, _, name) = _play_caller(call), call.words.partition(" ")
    if call.pressed and word == "model":
        await talking.show_model(replace(call, words=name))
    elif call.pressed and word in ("pause", "resume"):
        await call.host.memory(await caller.viewer(), word)
    paused = (await caller.host.preferences.of(caller.person.id)).get(PAUSE) == PAUSED
    learning = command_texts.LEARNS_NOTHING if paused else command_texts.LEARNS_FROM_YOU
    change = command_texts.LEARN_AGAIN if paused else command_texts.STOP_LEARNING
    learns = PanelPart(
        command_texts.LEARNING_NOW.format(learning=learning), (PanelAction(change, "resume" if paused else "pause"),)
    )
    menu = await call.host.models.menu(await caller.requester())
    return Panel("**Settings**", parts=(talking.model_part(menu, "model"), learns))


# The page's own.
SETTINGS: Final = Command(
    name="settings", summary=command_texts.PLAY_SETTINGS_SUMMARY, run=show_settings, open_to_all=True, bare=False
)
COMMANDS: Final = tuple(sorted((*DECLARED, SETTINGS), key=lambda one: one.name))


@dataclass(frozen=True, slots=True)
class PlayHost:
    """What everything here needs. `zone`: the machine's, which everybody here is in; `address`: of the page."""

    host: Host
    log: MessageLog
    clock: Clock
    zone: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class PlayCaller:
    """Implements `Caller`. `thread`: the message that the thread began with in which they are, "" outside of one."""

    play: PlayHost
    one: PlayPerson
    where: PlayChannel
    thread: str = ""

    @property
    def host(self) -> Host:
        return self.play.host

    @property
    def person(self) -> Person:
        return Person(known_as(self.one.id), self.one.name, self.play.zone)

    @property
    def channel(self) -> str:
        return self.where.id

    @property
    def entry_chars(self) -> int:
        return 200

    @property
    def deaf(self) -> str:
        return ""

    @property
    def window_fields(self) -> int:
        return MAX_FIELDS

    async def requester(self) -> Requester:
        return Requester(self.person.id, self.channel, team=TEAM)

    async def policy_asker(self) -> PolicyAsker:
        return PolicyAsker(self.person, self.one.authority, self.where.place)

    async def viewer(self) -> Viewer:
        """Only they read what commands answer."""
        manages = self.one.authority >= Authority.MANAGER
        return Viewer(self.person, CHANNELS[f"dm-{self.one.id}"].place, self.channel, manages)

    async def tool_asker(self) -> Asker:
        return Asker(self.person, self.where.place, await self._conversation(), self.one.authority)

    async def forgetter(self) -> Forgetter:
        is_thread = self.where.direct or self.thread
        thread = frozenset({await self._conversation()}) if is_thread else frozenset[str]()
        return Forgetter(self.person.id, thread, self.play.zone)

    async def ask_zone(self, words: str) -> None:
        """It is the machine's."""

    async def keep_zone(self, zone: str) -> str:  # noqa: ARG002 -- as above
        return command_texts.ZONE_OF_MACHINE

    async def stoppable(self) -> Stoppable:
        if self.where.direct or self.thread:
            return Stoppable([await self._conversation()])
        return Stoppable((), command_texts.STOP_IN_THREAD.format(name="Cogency"))

    async def begin_conversation(self) -> str:
        if not self.where.direct:
            return command_texts.EACH_BEGINS
        name = self.play.clock.now().isoformat()
        await self.host.direct_messages.begin(known_as(self.where.id), name)
        return command_texts.NEW_CONVERSATION

    async def announce(self, markdown: str) -> None:
        self.play.log.add(self.where.id, BOT, text=markdown)

    async def with_names(self, markdown: str) -> str:
        for one in PEOPLE.values():
            markdown = markdown.replace(known_as(one.id), one.name)
        return markdown

    def help(self) -> str:
        said = {f"/{one.name}": one.summary for one in offered_in(self.where) if one.run is not None}
        return f"{command_texts.help_text(said)}\n\n{command_texts.HOW_ON_PLAY}"

    async def _conversation(self) -> str:
        if self.where.direct:
            return await self.host.direct_messages.current(known_as(self.where.id))
        return conversation_of(self.where, self.thread)


def _play_caller(call: CommandCall) -> PlayCaller:
    if not isinstance(call.caller, PlayCaller):
        raise TypeError("a command of this page was used elsewhere")
    return call.caller


def offered_in(channel: PlayChannel) -> Sequence[Command]:
    """The commands that can be used there."""
    elsewhere = CommandScope.SERVERS if channel.direct else CommandScope.DIRECT
    return tuple(one for one in COMMANDS if one.scope is not elsewhere)


def read_order(said: str, now: datetime) -> CommandMeant | str | None:
    """What a whole message orders, without the mention; a sentence for what it nearly does; None for a question."""
    if said.startswith("/"):
        name, _, rest = said[1:].partition(" ")
        command = command_named(name.strip(" .!?"), COMMANDS)
        if command is None:
            near = nearest(name, rest, COMMANDS)
            return command_texts.MISTYPED.format(name=name, near=near, bot="Cogency") if near else None
        if command.run is None:
            return None
        return CommandMeant(command, budget_ids(rest.strip()) if command.mentions else rest.strip())
    if (meant := command_meant(said, COMMANDS, now, budget_ids)) is not None:
        return meant if meant.command.run is not None else None
    near = nearly_meant(said, COMMANDS, now)
    return command_texts.NEARLY.format(near=near) if near else None


# Panels, as they stand with their messages.


def panel_of(panel: Panel, command: str) -> dict[str, Any]:
    """What is kept of a panel: its buttons in one list, of which its parts name those below them by number."""
    named = command_named(command, COMMANDS)
    labels = {one.name: one.summary for one in named.arguments} if named is not None else {}
    buttons = list[Body]()

    def add(one: PanelAction) -> int:
        does = one.form.name if one.form is not None else command
        buttons.append(
            {
                "label": one.label,
                "danger": one.danger,
                "confirm": one.confirm,
                "opens": one.form is not None,
                "does": does,
                "words": one.words,
            }
        )
        return len(buttons) - 1

    def menu(part: PanelPart) -> Body | None:
        if part.select is None:
            return None
        button = add(PanelAction(part.select.placeholder, part.select.words))
        options: list[Any] = [list(one) for one in part.select.options.items()]
        return {"button": button, "options": options, "chosen": part.select.chosen}

    above = PanelPart("", panel.actions)
    parts: list[Any] = [
        {"text": part.text, "buttons": [add(one) for one in part.actions], "menu": menu(part)}
        for part in (above, *panel.parts)
    ]
    boxes: list[Any] = [[name, labels.get(name, name), on] for name, on in panel.boxes.items()]
    return {"command": command, "parts": parts, "buttons": buttons, "boxes": boxes}


@dataclass(frozen=True, slots=True)
class Button:
    """What one does: the command, or the form, that is told these words."""

    does: str
    words: str
    opens: bool


def button_of(message: PlayMessage, number: int) -> Button:
    """Raises Refused for one that is there no more."""
    buttons: Any = message.panel.get("buttons", [])
    if not 0 <= number < len(buttons):
        raise Refused(command_texts.COMMAND_CHANGED)
    return Button(buttons[number]["does"], buttons[number]["words"], buttons[number]["opens"])


class PlayAnswer:
    """The one message in which a command answers its caller alone."""

    def __init__(self, caller: PlayCaller, command: Command, asked: str = "", message: str = "") -> None:
        """`message`: that of the panel in which something was pressed."""
        self._caller = caller
        self._command = command
        self._asked = asked
        self._message = message

    async def show(self, panel: Panel) -> None:
        below = panel_of(panel, self._command.name) if panel.actions or panel.parts else {}
        files = ((panel.file.name, panel.file.content),) if panel.file is not None else ()
        what = {"text": panel.text, "panel": below, "files": files}
        if self._message and self._caller.play.log.change(self._message, **what) is not None:
            return
        self._message = tell(self._caller, asked=self._asked, **what).id


def tell(caller: PlayCaller, **what: Any) -> PlayMessage:  # noqa: ANN401 -- fields of the message
    """Say something to them alone."""
    return caller.play.log.add(caller.where.id, BOT, thread=caller.thread, only=caller.one.id, **what)


def refuse(caller: PlayCaller, error: CogencyError) -> None:
    if not (isinstance(error, Refused) and error.told):
        tell(caller, text=reply_texts.failure(error))


async def carry_out(caller: PlayCaller, meant: CommandMeant, asked: str) -> None:
    """A command that was written. Raises CogencyError."""
    if not meant.command.open_to_all:
        await caller.host.admission.admit_order(await caller.requester(), caller.one.authority, caller.play.zone)
    await _answer(PlayAnswer(caller, meant.command, asked), meant.command, _call(caller, meant.words))


async def _answer(answer: PlayAnswer, command: Command, call: CommandCall) -> None:
    run = command.run
    panel = await run(replace(call, show=answer.show)) if run is not None else Panel(command_texts.COMMAND_CHANGED)
    await answer.show(panel)


def _call(
    caller: PlayCaller, words: str, options: Mapping[str, str] | None = None, *, pressed: bool = False
) -> CommandCall:
    return CommandCall(words=words, caller=caller, host=caller.host, options=options or {}, pressed=pressed)


async def press(caller: PlayCaller, message: PlayMessage, made: PressButton) -> Body | None:
    """A button or a menu of a panel, or its window that was sent. What the page shows then: a window to be filled in,
    or what is wrong with what was; None for nothing. Raises CogencyError.
    """
    button = button_of(message, made.button)
    if button.opens:
        return await _window(caller, message, button, made.filled)
    command = command_named(button.does, COMMANDS)
    if command is None:
        raise Refused(command_texts.COMMAND_CHANGED)
    words = " ".join(filter(None, [button.words, *made.values]))
    flags = {one.name for one in command.arguments} & made.ticked
    call = _call(caller, words, dict.fromkeys(sorted(flags), "yes"), pressed=True)
    await _answer(PlayAnswer(caller, command, message=message.id), command, call)
    return None


async def _window(
    caller: PlayCaller, message: PlayMessage, button: Button, filled: Mapping[str, str] | None
) -> Body | None:
    found = form_named(button.does)
    if found is None:
        raise Refused(command_texts.COMMAND_CHANGED)
    command, form = found
    call = _call(caller, button.words, pressed=True)
    form = form if form.made is None else await form.made(call)
    if filled is None:
        before: Filled = await form.prefill(call) if form.prefill is not None else {}
        return {"window": _window_of(form, before)}
    given = {one.name: filled.get(one.name, "").strip() for one in form.fields}
    if mistakes := form.mistakes(given):
        return {"mistakes": dict(mistakes)}
    said = _call(caller, form.spelled(button.words, given), form.ticked(given))
    await _answer(PlayAnswer(caller, command, message=message.id), command, said)
    return None


def _window_of(form: PanelForm, before: Filled) -> Body:
    fields: list[Any] = []
    for one in form.fields:
        kind, choices = one.kind, dict(one.choices)
        match kind:
            case FieldKind.ELSEWHERE:  # a command is used in a channel, so no other has to be named
                continue
            case FieldKind.PERSON:
                kind, choices = FieldKind.PICK, {known_as(each.id): each.name for each in PEOPLE.values()}
            case FieldKind.CHANNEL:
                named = {each.id: f"#{each.name}" for each in CHANNELS.values() if not each.direct}
                kind, choices = FieldKind.PICK, named
            case _:
                pass
        told: Body = {
            "name": one.name,
            "label": one.label,
            "kind": kind.name,
            "hint": one.hint,
            "optional": one.optional,
            "max": one.max_chars,
            "choices": [list(choice) for choice in choices.items()],
            "value": before.get(one.name, ""),
        }
        fields.append(told)
    return {"title": form.title, "submit": form.submit, "fields": fields}


async def show_waiting(play: PlayHost, asked: Incoming, turn: int) -> None:
    """What a turn waits for, to its asker alone. Raises CogencyError."""
    address = PlayAddress.decode(asked.reply_to)
    caller = PlayCaller(play, PEOPLE[address.person], CHANNELS[address.channel], address.thread)
    panel = await tools.waiting(play.host, asker_of(asked), caller.window_fields, turn)
    if panel is not None:
        await PlayAnswer(caller, tools.COMMAND).show(panel)


# The buttons below a reply.


async def press_offer(caller: PlayCaller, page: PlayMessage, made: PressOffer) -> None:
    """Everybody who reads a reply may stop it, have it go on, and judge it; the rest is its asker's. To go on and to
    answer again are questions in the presser's name, once for each reply. Raises CogencyError.
    """
    host, person = caller.host, caller.person.id
    match made.offer:
        case ReplyAction.STOP:
            await host.admission.admit_order(await caller.requester(), caller.one.authority)
            if not await host.turns.stop_conversation(page.conversation, alone=True):
                _take_away(caller, page, {made.offer})
                raise Refused(reply_texts.NOTHING_RUNNING)
        case ReplyAction.CONTINUE:
            await _ask(caller, page, f"continue:{page.id}", reply_texts.GO_ON)
            _take_away(caller, page, {made.offer})
        case ReplyAction.REGENERATE:
            reply = await _known(caller, page)
            once = message_intake.repeat_question(reply, person)
            await _ask(caller, page, once, reply.question, reply)
            _take_away(caller, page, {made.offer})
        case ReplyAction.GOOD | ReplyAction.BAD:
            await _known(caller, page)
            kept = await host.feedback.judge(page.turn, person, VERDICTS[made.offer])
            tell(caller, text=reply_texts.NOTED if kept else reply_texts.NO_SUCH_REPLY)
        case ReplyAction.DELETE:
            await _known(caller, page)
            if not await host.feedback.delete(page.turn, person):
                raise Refused(reply_texts.NO_SUCH_REPLY)
        case ReplyAction.DECIDE | ReplyAction.ANSWER:
            call = _call(caller, tools.show_words(page.turn))
            await _answer(PlayAnswer(caller, tools.COMMAND), tools.COMMAND, call)
        case ReplyAction.UNDO:
            await _known(caller, page)
            tell(caller, text=await host.take_back(page.turn, person))
            _take_away(caller, page, {made.offer}, memory_texts.undone(page.text))
        case ReplyAction.CANCEL:
            tell(caller, text=await host.schedules.take_back(await _known(caller, page), person))
            _take_away(caller, page, SCHEDULING, memory_texts.unscheduled(page.text))
        case ReplyAction.CHANGE:
            words = await host.schedules.change_words(await _known(caller, page), person)
            shown = _call(caller, f"show {words.removeprefix(CHANGES)}" if words.startswith(CHANGES) else words)
            await _answer(PlayAnswer(caller, SCHEDULES), SCHEDULES, shown)
        case _:
            assert_never(made.offer)


def _take_away(
    caller: PlayCaller, page: PlayMessage, offers: "frozenset[ReplyAction] | set[ReplyAction]", text: str | None = None
) -> None:
    """These buttons, which are of no use any more."""
    left = tuple(one for one in page.offers if one not in offers)
    caller.play.log.change(page.id, offers=left, text=page.text if text is None else text)


async def _known(caller: PlayCaller, page: PlayMessage) -> Answered:
    """The reply that a page is of. Raises Refused for one that is forgotten.

    Its buttons are there a moment before it is stored: whoever is as quick waits for that.
    """
    for _ in range(LOOKS):
        reply = await caller.host.feedback.of(page.turn)
        if reply is not None and page.id in reply.pages:
            return reply
        await caller.play.clock.sleep(LOOK_S)
    raise Refused(reply_texts.NO_SUCH_REPLY)


async def _ask(caller: PlayCaller, page: PlayMessage, once: str, text: str, reply: Answered | None = None) -> None:
    """A question of the presser, answered where the page stands. `once` names it for ever."""
    asked = read_message(
        caller.one,
        caller.where,
        once,
        text,
        caller.play.clock.now(),
        caller.play.zone,
        thread=page.thread,
        conversation=asked_in(page.conversation),
    )
    if reply is not None:
        asked = message_intake.check_readers(asked, reply)
    if not await caller.host.submit(asked):
        raise Refused(reply_texts.ASKED_ALREADY)
