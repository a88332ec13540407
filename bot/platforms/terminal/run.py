"""The chat: reads lines and acts on them until the user leaves; or one question and its answer.

`ChatBot` answers, `Window` displays. For programs, the exit code tells what failed first.
"""

import asyncio
import json
import re
import shlex
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from io import TextIOWrapper
from typing import assert_never

from agent.admission_terms import Authority
from agent.errors import CogencyError, Refused, StoreError
from agent.events import Outcome
from agent.incoming import Attachment, Person
from agent.messages import Depth, Json
from agent.ports.tools import Asker
from agent.stored_messages import Thread
from bot.chat.askers import Requester
from bot.chat.commands.declaration import AnyCommand, CommandCall, Stoppable, command_below
from bot.chat.exit_codes import Exit, exit_code
from bot.chat.output import printable_json
from bot.chat.panels import Panel, PanelFile
from bot.chat.reply.surface import ReplyAction, Surface
from bot.chat.texts import formatting
from bot.chat.texts import replies as reply_texts
from bot.forgetting import texts as forgetting_texts
from bot.forgetting.commands import FORGET_COMMAND as FORGET
from bot.knowledge.commands import LEARN_COMMAND as LEARN
from bot.platforms import texts as platforms_texts
from bot.platforms.terminal import inbound
from bot.platforms.terminal.attachments import attachment_at, learned_files, write_file
from bot.platforms.terminal.chat_bot import ChatBot, UnfinishedTurn
from bot.platforms.terminal.pipe import PlainDisplay
from bot.platforms.terminal.surface import SOURCE, InterjectedSurface, TerminalSurface
from bot.platforms.terminal.window import Display, Window
from bot.tools.answers import QuestionAnswer
from bot.tools.commands import ANSWER, DECLINE, LATER, SEND, show_words
from bot.tools.mcp.questions import MAX_FIELDS, QuestionField, ValueKind, limits_of, values_of

EXPORT_CHARS = 50_000  # Limit of an export that is displayed: some thirty screens
# First words of an answer to a question of the program; any other line is the user's next input.
ANSWERS = frozenset({"y", "yes", "n", "no", "nope", "keep", "cancel", "all", "always"})
SHOWN_MESSAGES = 6  # Three questions with their answers: enough to recall the topic, and they fit a screen
TOOL_ANSWERS = {"y": SEND, "yes": SEND, "n": DECLINE, "no": DECLINE}
TRIES = 5  # Invalid inputs for a field after which the question is postponed
PROMPT = "> "  # The prompt of a terminal without cursor control
MAX_QUESTION_CHARS = 1_000_000  # Limit of standard input: more than any model reads at once


def open_window() -> Window:
    """Return a window on this process's terminal, or on its pipes if input or output is not a terminal.

    The terminal libraries are imported only if needed: a pipe should answer at once.
    """
    prompt = ""
    if sys.stdin.isatty() and sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 -- see above

        from bot.platforms.terminal.tty import TerminalWindow  # noqa: PLC0415 -- see above

        console = Console(highlight=False)
        if not console.is_dumb_terminal:
            return TerminalWindow(console)
        prompt = PROMPT
    from bot.platforms.terminal.pipe import PipeWindow, lines_from  # noqa: PLC0415 -- see above

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    return PipeWindow(lines_from(sys.stdin.fileno()), sys.stdout, sys.stderr, prompt)


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
    await bot.finish_pending(_hidden_surface(bot))
    await chatting.ask(question, Depth.ADAPT)
    return chatting.failed


async def answer_as_json(bot: ChatBot, question: str) -> tuple[str, Exit]:
    """Ask one question; return its answer as a JSON object, and the exit code. Raises CogencyError."""
    texts: list[str] = []
    display = PlainDisplay(texts.append)
    await bot.finish_pending(_hidden_surface(bot))
    outcome = await bot.ask(question, bot.new_conversation(), TerminalSurface(display, _Declining(bot)))
    display.close()
    is_waiting = outcome is None and await bot.awaits_decision()
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


def _hidden_surface(bot: ChatBot) -> Callable[[UnfinishedTurn], Surface]:
    """Return a surface without display, for turns that an earlier process left: their answers are in their threads."""
    return lambda _: TerminalSurface(PlainDisplay(lambda _: None), _Declining(bot))


@dataclass(slots=True)
class _Declining:
    """Declines questions of tools during a call, if no person reads."""

    bot: ChatBot
    declining: set["asyncio.Task[None]"] = field(default_factory=set["asyncio.Task[None]"])

    def __call__(self, turn: int) -> None:
        task = asyncio.ensure_future(self._decline(turn))
        self.declining.add(task)
        task.add_done_callback(self.declining.discard)

    async def _decline(self, turn: int) -> None:
        questions, person = self.bot.questions, self.bot.person.id
        with suppress(StoreError):  # the question then times out
            while (question := await questions.answer(person, show_words(turn))) is not None and question.name:
                await questions.answer(person, f"{DECLINE} {question.name}")


def panel_text(panel: Panel) -> str:
    """Return a panel as text. There are no buttons: parts with actions become list items."""
    items = [f"- {part.text}" for part in panel.parts if part.text and part.actions]
    below = [part.text for part in panel.parts if part.text and not part.actions]
    return "\n\n".join(filter(None, [panel.text, "\n".join(items), *below]))


def exported(file: PanelFile) -> Panel:
    """Return the panel for a file: its content, or where it was written if the user named a path. Raises Refused."""
    if file.path:
        return Panel(write_file(file.path, file.content))
    if len(file.content) > EXPORT_CHARS:
        return Panel(platforms_texts.EXPORT_TO_FILE, refused=True)
    return Panel(f"```json\n{file.content}\n```")


def _decisions(panel: Panel) -> dict[str, str]:
    """Return the command's words by what the user types to decide on what the panel asks; {} if it asks nothing."""
    return {typed: action.words for action in panel.actions for typed in action.typed}


_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d{1,3}")


def _first_word(text: str) -> str:
    return (_WORD.findall(text[:100].casefold()) or [""])[0]


def _chosen(answer: str, menu: QuestionField) -> str:
    """Return the positions of the choices in the answer, by title or number; else the answer itself.

    A bare number is the one in the list, even if a choice has such a title.
    """
    position_of = {
        title.casefold(): str(position) for position, (_, title) in enumerate(menu.choices) if not title.isdecimal()
    }
    if menu.kind is ValueKind.YES_NO:
        position_of |= {"y": "0", "n": "1"}
    names = [" ".join(name.split()).casefold() for name in answer.split(",")]
    if all(name in position_of for name in names):
        return " ".join(position_of[name] for name in names)
    return " ".join(str(int(number) - 1) for number in _NUMBER.findall(answer)) or answer


class _Chat:
    """One session: the current conversation, and the listed threads that numbers refer to. Implements `Caller`."""

    def __init__(self, bot: ChatBot, window: Window, now: Callable[[], datetime]) -> None:
        self._bot = bot
        self._window = window
        self._now = now
        self._conversation = bot.new_conversation()
        self._listed: list[Thread] | None = None
        # A line that the user wrote instead of an answer to a question: it is handled next.
        self._next_line: str | None = None
        self._displays: list[Display] = []
        self._asked = asyncio.Event()  # Set when a tool asks the user something during a call
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
        files = (attachment_at(path, self.person.name),) if path else ()
        surface = self._open()
        display = self._displays[-1]
        waiting_panel: Panel | None = None
        deciding = command_below(self._bot.commands, ReplyAction.DECIDE).declared

        async def asking() -> None:
            nonlocal waiting_panel
            outcome = await self._bot.ask(text, self._conversation, surface, depth, files)
            if outcome is None and _decisions(panel := await self._panel(deciding, "")):
                waiting_panel = panel
                return
            if outcome is Outcome.REFUSED:
                display.fail()
            self._fail(exit_of(outcome))

        await self._wait_for_reply(asking())
        if waiting_panel is not None:
            await self._decide(deciding, waiting_panel)

    async def _decide(self, command: AnyCommand, panel: Panel) -> None:
        """Ask for a decision on each waiting call, then continue the turns."""
        while words := _decisions(panel):
            choices = platforms_texts.DECIDE if "always" in words else platforms_texts.DECIDE_ONCE
            answer = await self._window.ask(f"{panel.text}\n\n{choices}")
            decision = words.get((answer or "").strip().lower())
            if decision is None:
                self._show(Panel(platforms_texts.STILL_WAITS, refused=answer is None))
                self._next_line = answer if answer and answer.strip() and _first_word(answer) not in ANSWERS else None
                return
            panel = await self._panel(command, decision, pressed=True)
        self._show(panel)
        await self._wait_for_reply(self._bot.finish_pending(self._resumed_surface))

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
                self._window.say(platforms_texts.threads_text(self._listed, self._now(), self._conversation))
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
        if command is FORGET:
            await self._forget(words)
        elif command.run is not None:
            files = learned_files(words, self.person.name) if command is LEARN else ()
            panel = await self._panel(command, words, files=files)
            if _decisions(panel):
                await self._decide(command, panel)
            else:
                self._show(panel if panel.file is None else exported(panel.file))

    def _show(self, panel: Panel) -> None:
        """Display a panel; a refusal goes where a script reads all refusals."""
        if panel.refused:
            self._complain(panel_text(panel), Exit.FAILED)
        else:
            self._window.say(panel_text(panel))

    async def _panel(
        self, command: AnyCommand, words: str, *, pressed: bool = False, files: Sequence[Attachment] = ()
    ) -> Panel:
        call = CommandCall(words=words, caller=self, files=files, pressed=pressed, show=self._show_progress)
        return await self._bot.commands[command.name].run(call)

    async def _show_progress(self, panel: Panel) -> None:
        self._window.say(f"{panel.text} {platforms_texts.STOP_BY_KEYS}" if panel.actions else panel.text)

    # The methods of `Caller`: the terminal belongs to one user, and every place in it is theirs.

    @property
    def person(self) -> Person:
        return self._bot.person

    @property
    def channel(self) -> str:
        return SOURCE

    async def requester(self) -> Requester:
        return Requester(self.person.id, self.channel)

    async def policy_asker(self) -> Asker:
        return Asker(self.person, self._bot.place, authority=Authority.ADMIN)

    async def asker(self) -> Asker:
        return Asker(self.person, self._bot.place, self._conversation)

    async def private_asker(self) -> Asker:
        return Asker(self.person, self._bot.place, thread=frozenset({self._conversation}))

    async def ask_zone(self, words: str) -> None:
        """The time zone is the machine's."""

    async def keep_zone(self, zone: str) -> str:  # noqa: ARG002 -- the machine has a zone of its own
        return platforms_texts.ZONE_OF_MACHINE

    @property
    def entry_chars(self) -> None:
        """Entries are not shortened: there are no buttons."""

    @property
    def not_receiving(self) -> str:
        return ""

    @property
    def window_fields(self) -> int:
        """All fields: there are no modals."""
        return MAX_FIELDS

    async def stoppable(self) -> Stoppable:
        """No turn runs while a line is read."""
        return Stoppable(())

    async def begin_conversation(self) -> str:
        self._conversation = self._bot.new_conversation()
        return platforms_texts.NEW_THREAD

    async def announce(self, markdown: str) -> None:  # noqa: ARG002 -- there are no other readers
        raise Refused(reply_texts.NOT_SAID_THERE)

    async def with_names(self, markdown: str) -> str:
        return markdown

    def help(self) -> str:
        return formatting.help_text(inbound.help_text())

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
                question_asked = asyncio.ensure_future(self._asked.wait())
                with self._window.answering(stop):
                    await asyncio.wait({task, question_asked}, return_when=asyncio.FIRST_COMPLETED)
                if not (question_asked.cancel() or task.done()):
                    self._asked.clear()
                    try:
                        await self._ask_for_tools()
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

    async def _ask_for_tools(self) -> None:
        """Ask the user what a tool needs now. A script declines."""
        questions, person = self._bot.questions, self.person.id
        while (question := await questions.answer(person, "")) is not None and question.name:
            with ExitStack() as paused:
                for display in self._displays:
                    paused.enter_context(display.paused())
                words = DECLINE if self._window.is_scripted else await self._collect_answer(question)
                result = await questions.answer(person, words if " " in words else f"{words} {question.name}")
                if self._window.is_scripted:
                    self._window.complain(platforms_texts.DECLINED_UNSEEN)
                elif result is not None:
                    self._show(Panel(result.text, refused=result.refused))

    async def _collect_answer(self, question: QuestionAnswer) -> str:
        """Ask the user a tool's question, field by field; return the answer in the command's words."""
        filled = dict[str, str]()
        self._window.say(question.text)
        if question.fields:
            self._window.say(platforms_texts.FIELD_BY_FIELD)
            window = await self._bot.questions.window(self.person.id, f"{ANSWER} {question.name} 0 {question.fields}")
            for position, question_field in window.fields.items():
                value = await self._fill_in(question_field, window.filled.get(str(position), ""))
                if value is None:
                    return LATER
                filled[str(position)] = value
        answer = (await self._window.ask(platforms_texts.SEND_OR_NOT) or "").strip().casefold()
        if answer not in TOOL_ANSWERS:
            return LATER
        send = TOOL_ANSWERS[answer] == SEND and question.fields
        return f"{ANSWER} {question.name} 0 {question.fields} {json.dumps(filled)}" if send else TOOL_ANSWERS[answer]

    async def _fill_in(self, question_field: QuestionField, current: str) -> str | None:
        """Return the value of a field once it is valid; None if the user cancels, or after TRIES invalid inputs."""
        titles = [formatting.literal(title) for _, title in question_field.choices] if question_field.is_menu else []
        current = " ".join(str(int(place) + 1) for place in current.split()) if titles else current
        numbered = [f"{number}. {title}" for number, title in enumerate(titles, 1)]
        hint, several = limits_of(question_field), question_field.kind is ValueKind.SOME_OF
        label, default = formatting.literal(question_field.label), formatting.literal(current)
        prompt = platforms_texts.fill_in(
            label, hint, default, numbered, several=several, required=question_field.required
        )
        for _ in range(TRIES):
            if (answer := await self._window.ask(prompt)) is None:
                return None
            text = answer.strip() or current
            value = _chosen(text, question_field) if titles else text
            _, mistakes = values_of([question_field], {"0": value})
            if not mistakes:
                return value
            self._window.say(mistakes[0])
        return None

    def _open(self) -> Surface:
        """Return the surface of one reply. While one is being written, further ones are shown when complete."""
        display = PlainDisplay(self._window.say) if self._displays else self._window.open_display()
        self._displays.append(display)
        return TerminalSurface(display, lambda _: self._asked.set())

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
        return InterjectedSurface(display, _Declining(self._bot))

    async def _open_thread(self, number: int) -> None:
        threads = await self._bot.threads() if self._listed is None else self._listed
        if number > len(threads):
            self._complain(f"There is no thread {number}; `/threads` lists them.", Exit.FAILED)
            return
        thread = threads[number - 1]
        self._conversation = thread.conversation
        messages = await self._bot.exchanges(thread.conversation, SHOWN_MESSAGES)
        self._window.say(platforms_texts.thread_opened(thread, messages))

    async def _forget_panel(self, words: str, *, pressed: bool = False) -> Panel:
        """Run `/forget`; Ctrl-C stops its search."""

        def stop() -> None:
            self._bot.stop_forgetting()

        with self._window.answering(stop):
            return await self._panel(FORGET, words, pressed=pressed)

    def _decline(self, answer: str | None) -> None:
        """Report that nothing was forgotten: by the user's answer, or because a script ended at the question."""
        self._show(Panel(forgetting_texts.FORGET_DECLINED, refused=answer is None))

    async def _forget(self, words: str) -> None:
        if not words:
            answer = await self._window.ask(forgetting_texts.FORGET_WHICH)
            if answer is None or not answer.strip():
                self._decline(answer)
                return
            # A command is meant as one here, too: it declines the question, and runs next.
            if inbound.is_command(answer):
                self._next_line = answer
                return
            words = answer
        panel = await self._forget_panel(words)
        while agreements := [action.words for action in panel.actions if action.danger]:
            separator = "\n\n" if "\n" in panel.text else " "
            choices = platforms_texts.AGREE_WIDER if len(agreements) > 1 else platforms_texts.AGREE
            answer = await self._window.ask(f"{panel.text}{separator}{choices}")
            if answer is None:
                self._decline(answer)
                return
            if inbound.is_command(answer):
                self._window.say(platforms_texts.KEPT_EVERYTHING)
                self._next_line = answer
                return
            agreement = {"yes": agreements[0], "all": "".join(agreements[1:])}.get(answer.strip().lower(), "")
            if not agreement:
                self._decline(answer)
                self._next_line = answer if answer.strip() and _first_word(answer) not in ANSWERS else None
                return
            panel = await self._forget_panel(agreement, pressed=True)
            self._conversation = self._bot.new_conversation()
            self._listed = None
            await self._recall()
        self._show(panel)
