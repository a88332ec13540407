"""The chat: reads lines and acts on them until the user leaves; or one question and its answer.

`ChatBot` answers, `Window` displays. For programs, the exit code tells what failed first.
"""

import asyncio
import re
import shlex
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from agent.errors import CogencyError
from agent.events import Outcome
from agent.messages import Depth, Json
from agent.stored_messages import Thread
from bot.chat.commands.declaration import AnyCommand, BoundCommand, CommandCall
from bot.chat.exit_codes import Exit, exit_code
from bot.chat.output import printable_json
from bot.chat.panels import Filled, FormField, Panel, PanelAction, PanelFile, PanelForm
from bot.chat.reply.surface import Surface
from bot.platforms import texts as platforms_texts
from bot.platforms.terminal import inbound
from bot.platforms.terminal.attachments import attachment_at, files_named, write_file
from bot.platforms.terminal.caller import DECLINE, Declining, TerminalCaller
from bot.platforms.terminal.chat_bot import ChatBot, UnfinishedTurn
from bot.platforms.terminal.panels import (
    asked_fields,
    choices_text,
    field_prompt,
    field_value,
    mistake_in,
    panel_text,
    typed_actions,
)
from bot.platforms.terminal.pipe import PlainDisplay
from bot.platforms.terminal.surface import InterjectedSurface, TerminalSurface
from bot.platforms.terminal.window import Display, Window

EXPORT_CHARS = 50_000  # Limit of an export that is displayed: some thirty screens
# First words of an answer to a question of the program; any other line is the user's next input.
ANSWERS = frozenset({"y", "yes", "n", "no", "nope", "keep", "cancel", "all", "always"})
SHOWN_MESSAGES = 6  # Three questions with their answers: enough to recall the topic, and they fit a screen
TRIES = 5  # Invalid inputs for a field after which the form is left
MAX_QUESTION_CHARS = 1_000_000  # Limit of standard input: more than any model reads at once


async def chat(
    bot: ChatBot, window: Window, now: Callable[[], datetime], typing: "asyncio.Task[str | None] | None" = None
) -> Exit:
    """Chat until the user leaves. `now` returns the time in the user's time zone, for dates in lists.

    `typing`: reads the first line, after the greeting; if it was cancelled, that line is still to be read.
    """
    chatting = _Chat(bot, window, now)
    with suppress(BrokenPipeError):  # the reader of the answers has gone
        await chatting.run(typing)
    return chatting.failed if window.is_scripted else Exit.OK


async def ask_once(bot: ChatBot, window: Window, now: Callable[[], datetime], question: str) -> Exit:
    """Ask one question, in a new thread, and display its answer. Raises CogencyError."""
    chatting = _Chat(bot, window, now)
    await bot.finish_pending(_hidden_surface(chatting.caller))
    await chatting.ask(question, Depth.ADAPT)
    return chatting.failed


async def answer_as_json(bot: ChatBot, question: str) -> tuple[str, Exit]:
    """Ask one question; return its answer as a JSON object, and the exit code. Raises CogencyError."""
    texts: list[str] = []
    display = PlainDisplay(texts.append)
    caller = TerminalCaller(bot, bot.new_conversation())
    await bot.finish_pending(_hidden_surface(caller))
    surface = TerminalSurface(display, Declining(caller), caller.written_for)
    outcome = await bot.ask(question, caller.conversation, surface)
    display.close()
    is_waiting = outcome is None and bool(typed_actions((await caller.decision())[1]))
    outcome_name = ("waiting" if is_waiting else "lost") if outcome is None else outcome.value
    answer: dict[str, Json] = {"version": 1, "outcome": outcome_name, "answer": "".join(texts), "model": bot.model_name}
    return printable_json(answer, indent=2), exit_of(outcome)


def exit_of(outcome: Outcome | None) -> Exit:
    """Return the exit code for an outcome; anything but a full answer is a failure."""
    match outcome:
        case Outcome.ANSWERED:
            return Exit.OK
        case Outcome.REFUSED | Outcome.CUT:
            return Exit.UNAVAILABLE
        case Outcome.STOPPED | Outcome.EXHAUSTED | None:
            return Exit.FAILED
        case _:
            assert_never(outcome)


def question_of(words: Sequence[str], read: Callable[[int], str]) -> str:
    """Return the question in the arguments of `cogency ask`; "-", or no argument, stands for standard input.

    `read` returns up to the given number of characters of that. Raises ValueError if there is no question, or if it is
    too long.
    """
    input_text = read(MAX_QUESTION_CHARS + 1).strip() if not words or "-" in words else ""
    text = " ".join(word for word in words if word != "-")
    if inbound.names_command(text):
        raise ValueError(platforms_texts.COMMAND_IN_CHAT.format(line=shlex.quote(text)))
    question = f"{text}\n\n{input_text}".strip()
    if not question:
        raise ValueError(platforms_texts.NO_QUESTION)
    if len(question) > MAX_QUESTION_CHARS:
        raise ValueError(platforms_texts.QUESTION_TOO_LONG.format(limit=MAX_QUESTION_CHARS))
    return question


def _hidden_surface(caller: TerminalCaller) -> Callable[[UnfinishedTurn], Surface]:
    """Return a surface without display, for turns that an earlier process left: their answers are in their threads."""
    return lambda _: TerminalSurface(PlainDisplay(lambda _: None), Declining(caller), caller.written_for)


def exported(file: PanelFile) -> Panel:
    """Return the panel for a file: its content, or where it was written if the user named a path. Raises Refused."""
    if file.path:
        return Panel(write_file(file.path, file.content))
    if len(file.content) > EXPORT_CHARS:
        return Panel(platforms_texts.EXPORT_TO_FILE, refused=True)
    return Panel(f"```json\n{file.content}\n```")


_WORD = re.compile(r"\w+")


def _first_word(text: str) -> str:
    return (_WORD.findall(text[:100].casefold()) or [""])[0]


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What the user typed where a panel asked them. `answer`: None if they cancelled, or a script has ended.

    `meant`: it is one of the answers that were offered. `action`: the button that it stands for, with the form's values
    in `filled`; None for none. `words`: the command's words, in place of a button.
    """

    answer: str | None
    meant: bool
    action: PanelAction | None = None
    filled: Filled = field(default_factory=dict[str, str])
    words: str = ""


class _Chat:
    """One session: the current conversation, and the listed threads that numbers refer to."""

    def __init__(self, bot: ChatBot, window: Window, now: Callable[[], datetime]) -> None:
        self._bot = bot
        self._window = window
        self._now = now
        self.caller = TerminalCaller(bot, bot.new_conversation())
        self._listed: list[Thread] | None = None
        # A line that the user wrote instead of an answer to a question: it is handled next.
        self._next_line: str | None = None
        # Whether the user was asked during the last reply what it waits for, and did not answer.
        self._left_open = False
        self._displays: list[Display] = []
        self._asked = asyncio.Queue[int]()  # The turns in which a tool asks the user something during a call
        self.failed = Exit.OK  # The exit code of the first failure

    async def run(self, typing: "asyncio.Task[str | None] | None" = None) -> None:
        if typing is None:
            self._window.greet(self._bot.greeting())
        if typing is None or typing.cancelled():
            await self._finish_pending()
            await self._recall()
            line = await self._read()
        else:
            await self._recall(typing)
            line = await self._first_line(typing)
            if line is not None:
                await self._finish_pending()
        while line is not None:
            meant = inbound.parse(line, self._now())
            if isinstance(meant, inbound.Quit):
                return
            try:
                await self._do(meant)
                await self._finish_pending()
            except CogencyError as error:
                self._report(error)
            line = await self._read()

    async def _first_line(self, typing: "asyncio.Task[str | None]") -> str | None:
        """Wait for the first line. No turn was left unfinished: answering starts here."""
        if typing.done():
            return typing.result()
        await self._bot.finish_pending(self._interjected_surface, due=True)
        async with self._bot.watching(self._interjected_surface):
            return await typing

    async def _finish_pending(self) -> None:
        await self._wait_for_reply(self._bot.finish_pending(self._resumed_surface, due=True))

    async def _recall(self, typing: "asyncio.Task[str | None] | None" = None) -> None:
        """Load past questions for the arrow keys; a line that was typed before is added to them."""
        past = await self._bot.past_questions()
        line = typing.result() if typing is not None and typing.done() else None
        self._window.recall(past if line is None else [*past, line])

    async def ask(self, text: str, depth: Depth, path: str = "") -> None:
        files = (attachment_at(path, self._bot.person.name),) if path else ()
        surface = self._open()
        display = self._displays[-1]
        self._left_open = False
        outcomes: list[Outcome | None] = []

        async def asking() -> None:
            outcomes.append(await self._bot.ask(text, self.caller.conversation, surface, depth, files))
            if outcomes == [Outcome.REFUSED]:
                display.fail()

        await self._wait_for_reply(asking())
        # Only now, as the user may have decided during the reply; a reply that Ctrl-C stopped has no outcome.
        waiting = await self.caller.decision() if outcomes == [None] else None
        if waiting is None or not typed_actions(waiting[1]):
            for outcome in outcomes:
                self._fail(exit_of(outcome))
        elif self._left_open:
            if self._next_line is None:
                self._show(Panel(platforms_texts.STILL_WAITS))
        elif await self._decide(*waiting):
            await self._wait_for_reply(self._bot.finish_pending(self._resumed_surface))

    async def _decide(self, command: BoundCommand, panel: Panel) -> bool:
        """Ask the user what a panel asks until it asks nothing, and show the last one. Return whether they decided.

        A line that is none of the offered answers is handled next, as what the user would rather write.
        """
        while typed_actions(panel):
            chosen = await self._choose(command, panel)
            if not chosen.meant and chosen.answer and self._is_next(chosen.answer):
                self._next_line = chosen.answer
            if panel.takes_words and self._next_line is not None:
                return False  # nothing was at stake
            if chosen.action is None and not chosen.words:
                self._show(Panel(platforms_texts.STILL_WAITS, refused=chosen.answer is None))
                return False
            has_messages = bool(await self._bot.exchanges(self.caller.conversation, 1))
            panel = await self._press(command, chosen)
            if not chosen.meant:
                self._show(replace(panel, refused=panel.refused or chosen.answer is None))
                return False
            await self._follow_changes(had_messages=has_messages)
        self._show(panel)
        return True

    def _is_next(self, line: str) -> bool:
        """Return whether a line in place of an answer is the user's next input, and not a mistyped answer."""
        return inbound.is_command(line) or bool(line.strip() and _first_word(line) not in ANSWERS)

    async def _choose(self, command: BoundCommand, panel: Panel) -> _Chosen:
        """Ask the user what the panel asks, its form first; what they type stands for one of its buttons."""
        actions, filled = typed_actions(panel), dict[str, str]()
        opening = next((action for action in actions.values() if action.form is not None), None)
        if opening is None:
            question = panel_text(panel) if panel.takes_words else f"{panel_text(panel)}\n\n{choices_text(panel)}"
            answer = await self._window.ask(question)
        else:
            self._window.say(f"{panel_text(panel)}\n\n{platforms_texts.FIELD_BY_FIELD}")
            values = await self._fill_in_form(command, opening)
            filled = values or filled
            answer = None if values is None else await self._window.ask(choices_text(panel))
        typed = (answer or "").strip().casefold()
        if typed and typed in actions:
            return _Chosen(answer, meant=True, action=actions[typed], filled=filled)
        if typed and panel.takes_words and not inbound.is_command(answer or ""):
            return _Chosen(answer, meant=True, words=f"{panel.words_before} {(answer or '').strip()}".lstrip())
        return _Chosen(answer, meant=False, action=actions.get(""))

    async def _press(self, command: BoundCommand, chosen: _Chosen) -> Panel:
        """Run the command with the words of the chosen button, and those of its form."""
        action = chosen.action
        if action is None:
            return await self._run(command, chosen.words)
        if action.form is None:
            return await self._run(command, action.words, pressed=True)
        form = await command.build_form(action.form, self._call(action.words, pressed=True))
        words, ticked = form.spelled(action.words, chosen.filled), form.options(chosen.filled)
        return await self._run(command, words, options=ticked)

    async def _fill_in_form(self, command: BoundCommand, action: PanelAction) -> Filled | None:
        """Return the values of the button's form, asked field by field; None if the user cancels."""
        call = self._call(action.words, pressed=True)
        if action.form is None:
            return {}
        form = await command.build_form(action.form, call)
        current = await command.prefill(form, call)
        filled = {form_field.name: "" for form_field in form.fields}
        for form_field in asked_fields(form):
            value = await self._fill_in(form, form_field, current.get(form_field.name, ""), filled)
            if value is None:
                return None
            filled[form_field.name] = value
        return filled

    async def _fill_in(self, form: PanelForm, form_field: FormField, current: str, filled: Filled) -> str | None:
        """Return the value of a field once it is valid; None if the user cancels, or after TRIES invalid inputs."""
        prompt = field_prompt(form_field, current)
        for _ in range(TRIES):
            if (answer := await self._window.ask(prompt)) is None:
                return None
            value = field_value(form_field, answer, current)
            if value is None:
                mistake = platforms_texts.FILL_NO_CHOICE
            else:
                mistake = mistake_in(form, form_field, {**filled, form_field.name: value})
            if value is not None and not mistake:
                return value
            self._window.say(mistake)
        return None

    async def _follow_changes(self, *, had_messages: bool) -> None:
        """A command may have erased questions, listed threads, and the current conversation, which is then left."""
        self._listed = None
        await self._recall()
        if had_messages and not await self._bot.exchanges(self.caller.conversation, 1):
            self.caller.conversation = self._bot.new_conversation()

    def _report(self, error: CogencyError) -> None:
        self._fail(exit_code(error))
        self._window.report(" ".join(str(error).split()))

    def _complain(self, markdown: str, code: Exit) -> None:
        self._fail(code)
        self._window.complain(markdown)

    def _fail(self, code: Exit) -> None:
        self.failed = self.failed or code

    async def _read(self) -> str | None:
        line, self._next_line = self._next_line, None
        if line is not None or self._window.is_scripted:
            return await self._window.read() if line is None else line
        async with self._bot.watching(self._interjected_surface):
            return await self._window.read()

    async def _do(self, line: inbound.Line) -> None:
        match line:
            case inbound.Ask(text, depth, path):
                await self.ask(text, depth, path)
            case inbound.ListThreads():
                self._listed = await self._bot.threads()
                self._window.say(platforms_texts.threads_text(self._listed, self._now(), self.caller.conversation))
            case inbound.OpenThread(number):
                await self._open_thread(number)
            case inbound.CommandLine(command, words):
                await self._carry_out(command, words)
            case inbound.UnclearLine(sentence):
                self._complain(sentence, Exit.USAGE)
            case inbound.Nothing() | inbound.Quit():
                pass
            case _:
                assert_never(line)

    async def _carry_out(self, command: AnyCommand, words: str) -> None:
        if command.run is None:
            return
        bound = self._bot.commands[command.name]
        panel = await self._run(bound, words)
        if typed_actions(panel):
            await self._decide(bound, panel)
        else:
            self._show(panel if panel.file is None else exported(panel.file))

    def _show(self, panel: Panel) -> None:
        """Display a panel; a refusal goes where a script reads all refusals."""
        if panel.refused:
            self._complain(panel_text(panel), Exit.FAILED)
        else:
            self._window.say(panel_text(panel))

    def _call(self, words: str, *, pressed: bool = False) -> CommandCall:
        return CommandCall(words=words, caller=self.caller, pressed=pressed, show=self._show_progress)

    async def _run(
        self, command: BoundCommand, words: str, *, pressed: bool = False, options: Mapping[str, str] | None = None
    ) -> Panel:
        """Run a command; Ctrl-C presses the button that stops it, if it has one."""
        stopping = set[asyncio.Task[None]]()
        button = command.declared.stop

        async def press(stop: PanelAction) -> None:
            with suppress(CogencyError):  # the run goes on, and its answer says so
                await command.run(self._call(stop.words, pressed=True))

        def stop() -> None:
            if button is not None:
                stopping.add(asyncio.ensure_future(press(button)))

        named = () if pressed else files_named(command.declared, words, self._bot.person.name, self._now())
        call = replace(self._call(words, pressed=pressed), options=options or {}, files=named)
        with nullcontext() if button is None else self._window.answering(stop):
            panel = await command.run(call)
        if stopping:
            await asyncio.wait(stopping)
        return panel

    async def _show_progress(self, panel: Panel) -> None:
        self._window.say(f"{panel.text} {platforms_texts.STOP_BY_KEYS}" if panel.actions else panel.text)

    async def _wait_for_reply(self, answering: Coroutine[object, object, None]) -> None:
        """Wait for a reply, which Ctrl-C stops; then close its display."""
        task = asyncio.ensure_future(answering)
        stopped = False

        def stop() -> None:
            nonlocal stopped
            # Cancel once: a second cancellation would interrupt the bot while it records the first.
            stopped = stopped or task.cancel()

        try:
            while not task.done():
                question_asked = asyncio.ensure_future(self._asked.get())
                with self._window.answering(stop):
                    await asyncio.wait({task, question_asked}, return_when=asyncio.FIRST_COMPLETED)
                if not (question_asked.cancel() or task.done()):
                    try:
                        await self._answer_tools(question_asked.result())
                    except CogencyError as error:  # the reply continues, and reports how its call ended
                        self._report(error)
            await task
        except asyncio.CancelledError:
            if not stopped:
                task.cancel()
                await asyncio.wait({task})
                raise
        finally:
            self._close()

    async def _answer_tools(self, turn: int) -> None:
        """Ask the user what tools ask in this turn now. A script declines.

        What they type goes to the tool alone, so of all that is no answer only a command is handled, after the reply.
        """
        command, panel = await self.caller.question_of(turn)
        while actions := typed_actions(panel):
            with ExitStack() as paused:
                for display in self._displays:
                    paused.enter_context(display.paused())
                if self._window.is_scripted:
                    chosen = _Chosen(None, meant=True, action=actions.get(DECLINE))
                else:
                    chosen = await self._choose(command, panel)
                if chosen.action is None and not chosen.words:
                    self._left_open = not self._window.is_scripted
                    if inbound.is_command(chosen.answer or ""):
                        self._next_line = chosen.answer
                    return
                panel = await self._press(command, chosen)
                if self._window.is_scripted:
                    self._window.complain(platforms_texts.DECLINED_UNSEEN)
                elif not typed_actions(panel):
                    self._show(panel)
            if not typed_actions(panel):
                command, panel = await self.caller.question_of(turn)

    def _open(self) -> Surface:
        """Return the surface of one reply. While one is being written, further ones are shown when complete."""
        display = PlainDisplay(self._window.say) if self._displays else self._window.open_display()
        self._displays.append(display)
        return TerminalSurface(display, self._asked.put_nowait, self.caller.written_for)

    def _close(self) -> None:
        displays, self._displays = self._displays, []
        for display in displays:
            display.close()

    def _resumed_surface(self, turn: UnfinishedTurn) -> Surface:
        """Return the surface of an interrupted or due turn, after its question. The reply before it has ended."""
        self._close()
        if turn.scheduled:
            self._window.say(platforms_texts.AT_IT if turn.works else platforms_texts.IT_IS_TIME)
            return self._open()
        self._listed = [*turn.threads]
        self._window.say(platforms_texts.going_on(turn.question, turn.conversation, turn.threads))
        return self._open()

    def _interjected_surface(self, _: UnfinishedTurn) -> Surface:
        """Return the surface of a due turn, while the user writes."""
        display = PlainDisplay(lambda text: self._window.interject(f"{platforms_texts.IT_IS_TIME}\n\n{text}"))
        return InterjectedSurface(display, Declining(self.caller), self.caller.written_for)

    async def _open_thread(self, number: int) -> None:
        threads = await self._bot.threads() if self._listed is None else self._listed
        if number > len(threads):
            self._complain(f"There is no thread {number}. To see your threads, use `/threads`.", Exit.FAILED)
            return
        thread = threads[number - 1]
        self.caller.conversation = thread.conversation
        messages = await self._bot.exchanges(thread.conversation, SHOWN_MESSAGES)
        self._window.say(platforms_texts.thread_opened(thread, messages))
