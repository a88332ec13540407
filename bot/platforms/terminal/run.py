"""The chat: reads what a person writes, does what it means, until they leave; or one question, and its answer.

`ChatBot` answers, `Window` shows. Where a program reads, the exit code tells of what failed first.
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
from agent.messages import Depth, Json
from agent.ports import Asker
from agent.records import Attachment, Person, Thread
from bot.access.acl import Requester
from bot.commands.channel import LEARN_COMMAND as LEARN
from bot.commands.declaration import Command, CommandCall, Panel, PanelFile, Run, Stoppable
from bot.commands.memory import FORGET_COMMAND as FORGET
from bot.commands.memory import forget
from bot.commands.tools import ALLOW, ALWAYS, ANSWER, DECLINE, LATER, REFUSE, SEND, show_words
from bot.commands.tools import COMMAND as TOOLS
from bot.commands.tools import show as show_tools
from bot.exits import Exit, exit_code, printable_json
from bot.host import Forgetter, PolicyAsker, QuestionAnswer, Viewer
from bot.memory.view import ExportMemory, read_memory_request
from bot.platforms.terminal import inbound
from bot.platforms.terminal.attachments import attachment_at, learned_files, saved
from bot.platforms.terminal.surface import (
    SOURCE,
    ChatBot,
    Display,
    InterjectedSurface,
    Left,
    PlainDisplay,
    TerminalSurface,
    Window,
)
from bot.reply_surface import Surface
from bot.texts import command_texts, formatting, memory_texts, reply_texts, tool_texts
from bot.tools.mcp_questions import MAX_FIELDS, QuestionField, ValueKind, limits_of, values_of

EXPORT_CHARS = 50_000  # Of an export that is shown: some thirty screens
# What begins an answer to a question of the program's; anything else is the person's next question.
ANSWERS = frozenset({"y", "yes", "n", "no", "nope", "keep", "cancel", "all", "always"})
SHOWN_MESSAGES = 6  # Three questions with their answers: enough to remember what it was about, and it fits a screen
DECISIONS = {"y": ALLOW, "yes": ALLOW, "always": ALWAYS, "n": REFUSE, "no": REFUSE}
SAID_TO_TOOLS = {"y": SEND, "yes": SEND, "n": DECLINE, "no": DECLINE}
TRIES = 5  # At a field in which something is wrong; then the question is put off
PROMPT = "> "  # Where a person writes at a terminal that shows plain text alone
MAX_QUESTION_CHARS = 1_000_000  # Of standard input: more than any model reads at once


def open_window() -> Window:
    """A window on this process's terminal, or on its pipes when input or output is not a terminal.

    The libraries of a terminal are imported only for one: a pipe should answer at once.
    """
    prompt = ""
    if sys.stdin.isatty() and sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 -- see above

        from bot.platforms.terminal.tty import TerminalWindow  # noqa: PLC0415 -- see above

        console = Console(highlight=False)
        if not console.is_dumb_terminal:
            return TerminalWindow(console)
        prompt = PROMPT
    from bot.platforms.terminal.surface import PipeWindow, lines_from  # noqa: PLC0415 -- see above

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    return PipeWindow(lines_from(sys.stdin.fileno()), sys.stdout, sys.stderr, prompt)


async def chat(
    bot: ChatBot, window: Window, now: Callable[[], datetime], typing: "asyncio.Task[str | None] | None" = None
) -> Exit:
    """Chat until the person leaves. `now` gives the time in the person's time zone, for dates in lists.

    `typing`: they are greeted, and this reads their first line, or has read it; cancelled, it is still to be read.
    """
    chatting = _Chat(bot, window, now)
    with suppress(BrokenPipeError):  # whoever read the answers has seen enough
        await chatting.run(typing)
    return chatting.failed if window.is_scripted else Exit.OK


async def ask_once(bot: ChatBot, window: Window, now: Callable[[], datetime], question: str) -> Exit:
    """Ask one question, in a thread of its own, and show its answer. Raises CogencyError."""
    chatting = _Chat(bot, window, now)
    await bot.unfinished(_unseen(bot))
    await chatting.ask(question, Depth.ADAPT)
    return chatting.failed


async def answer_as_json(bot: ChatBot, question: str) -> tuple[str, Exit]:
    """The same as one JSON object for programs, and the exit code. Raises CogencyError."""
    said: list[str] = []
    display = PlainDisplay(said.append)
    await bot.unfinished(_unseen(bot))
    outcome = await bot.ask(question, bot.new_conversation(), TerminalSurface(display, _Declining(bot)))
    display.close()
    waits = outcome is None and (await bot.tools(Asker(bot.person, bot.place), "")).call
    ended = ("waiting" if waits else "lost") if outcome is None else outcome.value
    answer: dict[str, Json] = {"version": 1, "outcome": ended, "answer": "".join(said), "model": bot.model_name}
    return printable_json(answer, indent=2), exit_of(outcome)


def exit_of(outcome: Outcome | None) -> Exit:
    """How a program is told that there is no answer, or not all of it."""
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
    """The question that the words of `cogency ask` make; "-", and no word at all, stand for standard input.

    `read` gives at most so many characters of that. Raises ValueError if there is no question, or too long a one.
    """
    given = read(MAX_QUESTION_CHARS + 1).strip() if not words or "-" in words else ""
    text = " ".join(word for word in words if word != "-")
    if inbound.names_command(text):
        raise ValueError(reply_texts.COMMAND_IN_CHAT.format(line=shlex.quote(text)))
    question = f"{text}\n\n{given}".strip()
    if not question:
        raise ValueError(reply_texts.NO_QUESTION)
    if len(question) > MAX_QUESTION_CHARS:
        raise ValueError(reply_texts.QUESTION_TOO_LONG.format(limit=MAX_QUESTION_CHARS))
    return question


def _unseen(bot: ChatBot) -> Callable[[Left], Surface]:
    """The answer to what an earlier process left stands in its thread."""
    return lambda _: TerminalSurface(PlainDisplay(lambda _: None), _Declining(bot))


@dataclass(slots=True)
class _Declining:
    """What a tool asks in the middle of a call is declined where no person sits before it."""

    bot: ChatBot
    declining: set["asyncio.Task[None]"] = field(default_factory=set["asyncio.Task[None]"])

    def __call__(self, turn: int) -> None:
        task = asyncio.ensure_future(self._decline(turn))
        self.declining.add(task)
        task.add_done_callback(self.declining.discard)

    async def _decline(self, turn: int) -> None:
        questions, person = self.bot.questions, self.bot.person.id
        with suppress(StoreError):  # then its time runs out
            while (asked := await questions.answer(person, show_words(turn))) is not None and asked.name:
                await questions.answer(person, f"{DECLINE} {asked.name}")


def panel_text(panel: Panel) -> str:
    """A panel as text: there are no buttons, so what may be decided about a part is written."""
    items = [f"- {part.text}" for part in panel.parts if part.text and part.actions]
    below = [part.text for part in panel.parts if part.text and not part.actions]
    return "\n\n".join(filter(None, [panel.text, "\n".join(items), *below]))


def exported(file: PanelFile, words: str) -> Panel:
    """What is shown of a file, or where it was written: behind "export" its name may stand. Raises Refused."""
    request = read_memory_request(words)
    if isinstance(request, ExportMemory) and request.path:
        return Panel(saved(request.path, file.content))
    if len(file.content) > EXPORT_CHARS:
        return Panel(reply_texts.EXPORT_TO_FILE, refused=True)
    return Panel(f"```json\n{file.content}\n```")


def _decisions(panel: Panel) -> dict[str, str]:
    """What may be said about a call that waits, and the words of the command for it."""
    words = {one.words.partition(" ")[0]: one.words for one in panel.actions}
    return words if ALLOW in words else {}


_WORD = re.compile(r"\w+")
_PLACE = re.compile(r"\d{1,3}")


def _first_word(said: str) -> str:
    return (_WORD.findall(said[:100].casefold()) or [""])[0]


def _chosen(said: str, menu: QuestionField) -> str:
    """The places of the choices that are named, as they are called or by number; else what was said.

    A bare number is that of the list, also where a choice is called by another one.
    """
    called = {title.casefold(): str(at) for at, (_, title) in enumerate(menu.choices) if not title.isdecimal()}
    if menu.kind is ValueKind.YES_NO:
        called |= {"y": "0", "n": "1"}
    names = [" ".join(name.split()).casefold() for name in said.split(",")]
    if all(name in called for name in names):
        return " ".join(called[name] for name in names)
    return " ".join(str(int(number) - 1) for number in _PLACE.findall(said)) or said


class _Chat:
    """One sitting: the current conversation, and the list of threads that numbers refer to. Implements `Caller`."""

    def __init__(self, bot: ChatBot, window: Window, now: Callable[[], datetime]) -> None:
        self._bot = bot
        self._window = window
        self._now = now
        self._conversation = bot.new_conversation()
        self._listed: list[Thread] | None = None
        # A command that the person wrote where they were asked something: what is done next.
        self._instead: str | None = None
        self._displays: list[Display] = []
        self._asked = asyncio.Event()  # A tool asks something, in the middle of a call
        self.failed = Exit.OK  # How the first thing ended that did not end well

    async def run(self, typing: "asyncio.Task[str | None] | None" = None) -> None:
        if typing is None:
            self._window.greet(self._bot.greeting())
        if typing is None or typing.cancelled():
            await self._finish_what_is_left()
            await self._recall()
            line = await self._read()
        else:
            await self._recall(typing)
            line = await self._typed(typing)
            if line is not None:
                await self._finish_what_is_left()
        while line is not None:
            meant = inbound.parse(line, self._now())
            if isinstance(meant, inbound.Quit):
                return
            try:
                await self._do(meant)
                await self._finish_what_is_left()
            except CogencyError as error:
                self._report(error)
            line = await self._read()

    async def _typed(self, typing: "asyncio.Task[str | None]") -> str | None:
        """Nothing is left: answering begins."""
        if typing.done():
            return typing.result()
        await self._bot.unfinished(self._interject, due=True)
        async with self._bot.watching(self._interject):
            return await typing

    async def _finish_what_is_left(self) -> None:
        await self._answered(self._bot.unfinished(self._go_on, due=True))

    async def _recall(self, typing: "asyncio.Task[str | None] | None" = None) -> None:
        """A line that was written before this is no question of the past yet."""
        past = await self._bot.past_questions()
        line = typing.result() if typing is not None and typing.done() else None
        self._window.recall(past if line is None else [*past, line])

    async def ask(self, text: str, depth: Depth, path: str = "") -> None:
        files = (attachment_at(path, self.person.name),) if path else ()
        surface = self._open()
        display = self._displays[-1]
        waits: Panel | None = None

        async def asking() -> None:
            nonlocal waits
            outcome = await self._bot.ask(text, self._conversation, surface, depth, files)
            if outcome is None and _decisions(panel := await self._panel(show_tools, "")):
                waits = panel
                return
            if outcome is Outcome.REFUSED:
                display.fail()
            self._fail(exit_of(outcome))

        await self._answered(asking())
        if waits is not None:
            await self._decide(waits)

    async def _decide(self, panel: Panel) -> None:
        """Ask about one call after the other that waits for the person's word, and go on with what waited."""
        while words := _decisions(panel):
            ways = tool_texts.DECIDE if ALWAYS in words else tool_texts.DECIDE_ONCE
            said = await self._window.answer(f"{panel.text}\n\n{ways}")
            meant = words.get(DECISIONS.get((said or "").strip().lower(), ""))
            if meant is None:
                self._show(Panel(tool_texts.STILL_WAITS, refused=said is None))
                self._instead = said if said and said.strip() and _first_word(said) not in ANSWERS else None
                return
            panel = await self._panel(show_tools, meant, pressed=True)
        self._show(panel)
        await self._answered(self._bot.unfinished(self._go_on))

    def _report(self, error: CogencyError) -> None:
        self._fail(exit_code(error))
        self._window.report(" ".join(str(error).split()))

    def _complain(self, markdown: str, code: Exit) -> None:
        self._fail(code)
        self._window.complain(markdown)

    def _fail(self, code: Exit) -> None:
        self.failed = self.failed or code

    async def _read(self) -> str | None:
        line, self._instead = self._instead, None
        if line is not None or self._window.is_scripted:
            return await self._window.read() if line is None else line
        async with self._bot.watching(self._interject):
            return await self._window.read()

    async def _do(self, line: inbound.Line) -> None:
        match line:
            case inbound.Ask(text, depth, path):
                await self.ask(text, depth, path)
            case inbound.ListThreads():
                self._listed = await self._bot.threads()
                self._window.say(reply_texts.threads_text(self._listed, self._now(), self._conversation))
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

    async def _carry_out(self, command: Command, words: str) -> None:
        if command is FORGET:
            await self._forget(words)
        elif command is TOOLS:
            await self._decide(await self._panel(show_tools, words))
        elif command.run is not None:
            files = learned_files(words, self.person.name) if command is LEARN else ()
            panel = await self._panel(command.run, words, files=files)
            self._show(panel if panel.file is None else exported(panel.file, words))

    def _show(self, panel: Panel) -> None:
        """Where it says no, a script reads that where it reads every other refusal."""
        if panel.refused:
            self._complain(panel_text(panel), Exit.FAILED)
        else:
            self._window.say(panel_text(panel))

    async def _panel(self, run: Run, words: str, *, pressed: bool = False, files: Sequence[Attachment] = ()) -> Panel:
        call = CommandCall(words=words, caller=self, host=self._bot, files=files, pressed=pressed, show=self._meanwhile)
        return await run(call)

    async def _meanwhile(self, panel: Panel) -> None:
        self._window.say(f"{panel.text} {memory_texts.STOP_BY_KEYS}" if panel.actions else panel.text)

    # As the `Caller` of a command: the terminal belongs to one person, and every place in it is theirs.

    @property
    def person(self) -> Person:
        return self._bot.person

    @property
    def channel(self) -> str:
        return SOURCE

    async def requester(self) -> Requester:
        return Requester(self.person.id, self.channel)

    async def policy_asker(self) -> PolicyAsker:
        return PolicyAsker(self.person, Authority.ADMIN, self._bot.place)

    async def tool_asker(self) -> Asker:
        return Asker(self.person, self._bot.place, self._conversation)

    async def viewer(self) -> Viewer:
        return Viewer(self.person, self._bot.place)

    async def forgetter(self) -> Forgetter:
        return Forgetter(self.person.id, frozenset({self._conversation}), self.person.time_zone)

    async def ask_zone(self, words: str) -> None:
        """It is the machine's."""

    async def keep_zone(self, zone: str) -> str:  # noqa: ARG002 -- as above
        return command_texts.ZONE_OF_MACHINE

    @property
    def entry_chars(self) -> None:
        """There are no buttons."""

    @property
    def deaf(self) -> str:
        return ""

    @property
    def window_fields(self) -> int:
        """There are no windows."""
        return MAX_FIELDS

    async def stoppable(self) -> Stoppable:
        """Nothing runs while a line is read."""
        return Stoppable(())

    async def begin_conversation(self) -> str:
        self._conversation = self._bot.new_conversation()
        return reply_texts.NEW_THREAD

    async def announce(self, markdown: str) -> None:  # noqa: ARG002 -- nobody else reads it
        raise Refused(memory_texts.NOT_SAID_THERE)

    async def with_names(self, markdown: str) -> str:
        return markdown

    def help(self) -> str:
        return command_texts.help_text(inbound.help_text())

    async def _answered(self, answering: Coroutine[object, object, None]) -> None:
        """Wait for a reply, which Ctrl-C stops; then close its display."""
        task = asyncio.ensure_future(answering)
        stopped = False

        def stop() -> None:
            nonlocal stopped
            # Once: a second cancellation would interrupt the bot while it records the first.
            stopped = stopped or task.cancel()

        try:
            while not task.done():
                asked = asyncio.ensure_future(self._asked.wait())
                with self._window.answering(stop):
                    await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
                if not (asked.cancel() or task.done()):
                    self._asked.clear()
                    try:
                        await self._ask_for_tools()
                    except CogencyError as error:  # the reply goes on, and tells how its call ended
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
        """Ask for what a tool needs of the person, here and now. A script declines."""
        questions, person = self._bot.questions, self.person.id
        while (asked := await questions.answer(person, "")) is not None and asked.name:
            with ExitStack() as paused:
                for display in self._displays:
                    paused.enter_context(display.paused())
                words = DECLINE if self._window.is_scripted else await self._said_to(asked)
                told = await questions.answer(person, words if " " in words else f"{words} {asked.name}")
                if self._window.is_scripted:
                    self._window.complain(command_texts.DECLINED_UNSEEN)
                elif told is not None:
                    self._show(Panel(told.text, refused=told.refused))

    async def _said_to(self, asked: QuestionAnswer) -> str:
        """What the person says to a question, in the words of the command; they are asked field by field."""
        filled = dict[str, str]()
        self._window.say(asked.text)
        if asked.fields:
            self._window.say(command_texts.FIELD_BY_FIELD)
            window = await self._bot.questions.window(self.person.id, f"{ANSWER} {asked.name} 0 {asked.fields}")
            for place, one in window.fields.items():
                given = await self._filled_in(one, window.filled.get(str(place), ""))
                if given is None:
                    return LATER
                filled[str(place)] = given
        said = (await self._window.answer(command_texts.SEND_OR_NOT) or "").strip().casefold()
        if said not in SAID_TO_TOOLS:
            return LATER
        send = SAID_TO_TOOLS[said] == SEND and asked.fields
        return f"{ANSWER} {asked.name} 0 {asked.fields} {json.dumps(filled)}" if send else SAID_TO_TOOLS[said]

    async def _filled_in(self, one: QuestionField, before: str) -> str | None:
        """What is filled into a field, once nothing is wrong with it; None if they break off."""
        titles = [formatting.literal(title) for _, title in one.choices] if one.is_menu else []
        before = " ".join(str(int(place) + 1) for place in before.split()) if titles else before
        numbered = [f"{number}. {title}" for number, title in enumerate(titles, 1)]
        hint, several = limits_of(one), one.kind is ValueKind.SOME_OF
        label, enter = formatting.literal(one.label), formatting.literal(before)
        ask = command_texts.fill_in(label, hint, enter, numbered, several=several, required=one.required)
        for _ in range(TRIES):
            if (said := await self._window.answer(ask)) is None:
                return None
            given = said.strip() or before
            filled = _chosen(given, one) if titles else given
            _, wrong = values_of([one], {"0": filled})
            if not wrong:
                return filled
            self._window.say(wrong[0])
        return None

    def _open(self) -> Surface:
        """A place for one reply. While one grows, others are held back: a screen has one end."""
        display = PlainDisplay(self._window.say) if self._displays else self._window.open_display()
        self._displays.append(display)
        return TerminalSurface(display, lambda _: self._asked.set())

    def _close(self) -> None:
        displays, self._displays = self._displays, []
        for display in displays:
            display.close()

    def _go_on(self, left: Left) -> Surface:
        """A place for a reply that was interrupted, below what it answers. The one before it has ended."""
        self._close()
        if left.scheduled:
            self._window.say(reply_texts.AT_IT if left.works else reply_texts.IT_IS_TIME)
            return self._open()
        self._listed = [*left.threads]
        self._window.say(reply_texts.going_on(left.question, left.conversation, left.threads))
        return self._open()

    def _interject(self, _: Left) -> Surface:
        """A place for what it is time for, while they write."""
        display = PlainDisplay(lambda text: self._window.interject(f"{reply_texts.IT_IS_TIME}\n\n{text}"))
        return InterjectedSurface(display, _Declining(self._bot))

    async def _open_thread(self, number: int) -> None:
        threads = await self._bot.threads() if self._listed is None else self._listed
        if number > len(threads):
            self._complain(f"There is no thread {number}; `/threads` lists them.", Exit.FAILED)
            return
        thread = threads[number - 1]
        self._conversation = thread.conversation
        said = await self._bot.exchanges(thread.conversation, SHOWN_MESSAGES)
        self._window.say(reply_texts.thread_opened(thread, said))

    async def _forget_panel(self, words: str, *, pressed: bool = False) -> Panel:
        """Ctrl-C stops what is looked for."""

        def stop() -> None:
            self._bot.forgetting.stop(self.person.id)

        with self._window.answering(stop):
            return await self._panel(forget, words, pressed=pressed)

    def _decline(self, said: str | None) -> None:
        """Nothing was forgotten: by what they said, or because a script ended where it was asked."""
        self._show(Panel(memory_texts.FORGET_DECLINED, refused=said is None))

    async def _forget(self, words: str) -> None:
        if not words:
            said = await self._window.answer(memory_texts.FORGET_WHICH)
            if said is None or not said.strip():
                self._decline(said)
                return
            if inbound.is_command(said):
                self._instead = said
                return
            words = said
        panel = await self._forget_panel(words)
        while agreeing := [one.words for one in panel.actions if one.danger]:
            below = "\n\n" if "\n" in panel.text else " "
            ways = reply_texts.AGREE_WIDER if len(agreeing) > 1 else reply_texts.AGREE
            said = await self._window.answer(f"{panel.text}{below}{ways}")
            if said is None:
                self._decline(said)
                return
            if inbound.is_command(said):
                self._window.say(reply_texts.KEPT_EVERYTHING)
                self._instead = said
                return
            agreed = {"yes": agreeing[0], "all": "".join(agreeing[1:])}.get(said.strip().lower(), "")
            if not agreed:
                self._decline(said)
                self._instead = said if said.strip() and _first_word(said) not in ANSWERS else None
                return
            panel = await self._forget_panel(agreed, pressed=True)
            self._conversation = self._bot.new_conversation()
            self._listed = None
            await self._recall()
        self._show(panel)
