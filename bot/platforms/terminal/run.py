"""The chat: reads what a person writes, does what it means, until they leave.

Above: `bot.app`. Below: `ChatBot`, which answers, and `Window`, which shows, both as Protocols; `inbound`, `wording`.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import datetime
from io import TextIOWrapper
from pathlib import Path
from typing import assert_never

from agent.errors import CogencyError
from agent.records import Thread
from bot import wording
from bot.exits import Exit
from bot.memory.view import as_list
from bot.memory.words import Export, read
from bot.platforms.terminal import inbound
from bot.platforms.terminal.chatbot import ChatBot, Left
from bot.platforms.terminal.surface import TerminalSurface
from bot.platforms.terminal.window import Display, PlainDisplay, Window
from bot.spending_text import account_text
from bot.surface import Surface

AGREE = "Write `yes` to forget; anything else keeps everything."
EXPORT_CHARS = 50_000
"""Of an export that is shown: some thirty screens."""
EXPORT_TO_FILE = "That is too much for a screen: write `/memory export` and the name of a new file."
AGREE_WIDER = "Write `yes` to forget, or `all` to forget those, too; anything else keeps everything."
KEPT = "Kept everything."


def open_window() -> Window:
    """A window on this process's terminal, or on its pipes when input or output is not a terminal.

    The libraries of a terminal are imported only for one: a pipe should answer at once.
    """
    if sys.stdin.isatty() and sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 -- see above

        from bot.platforms.terminal.tty import TerminalWindow  # noqa: PLC0415 -- see above

        console = Console(highlight=False)
        if not console.is_dumb_terminal:
            return TerminalWindow(console)
    from bot.platforms.terminal.pipe import PipeWindow, lines_from  # noqa: PLC0415 -- see above

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    return PipeWindow(lines_from(sys.stdin.fileno()), sys.stdout, sys.stderr)


async def chat(bot: ChatBot, window: Window, now: Callable[[], datetime]) -> Exit:
    """Chat until the person leaves. `now` gives the time in the person's time zone, for dates in lists."""
    with suppress(BrokenPipeError):  # whoever read the answers has seen enough
        await _Chat(bot, window, now).run()
    return Exit.OK


def saved(name: str, content: str) -> str:
    """Write a new file for its person alone; the sentence that says so, or why not."""
    try:
        path = Path(name).expanduser()
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(content, encoding="utf-8")
    except FileExistsError:
        return f"{wording.literal(name)} exists already, so nothing was written."
    except (OSError, RuntimeError, ValueError):
        return f"{wording.literal(name)} could not be written: name a file in a folder that exists."
    return f"Written to {wording.literal(name)}."


class _Chat:
    """One sitting: the current conversation, and the list of threads that numbers refer to."""

    def __init__(self, bot: ChatBot, window: Window, now: Callable[[], datetime]) -> None:
        self._bot = bot
        self._window = window
        self._now = now
        self._conversation = bot.new_conversation()
        self._listed: list[Thread] | None = None
        self._instead: str | None = None
        """A command that the person wrote where they were asked something: what is done next."""
        self._displays: list[Display] = []

    async def run(self) -> None:
        self._window.greet(self._bot.greeting())
        await self._answered(self._bot.unfinished(self._go_on))
        self._window.recall(await self._bot.past_questions())
        while (line := await self._read()) is not None:
            command = inbound.parse(line)
            if isinstance(command, inbound.Quit):
                return
            try:
                await self._do(command)
                await self._answered(self._bot.unfinished(self._go_on))
            except CogencyError as error:
                self._window.say(wording.literal(str(error)))

    async def _read(self) -> str | None:
        line, self._instead = self._instead, None
        return await self._window.read() if line is None else line

    async def _do(self, command: inbound.Command) -> None:
        match command:
            case inbound.Ask(text, depth):
                await self._answered(self._bot.ask(text, self._conversation, self._open(), depth))
            case inbound.Stop():
                self._window.say(wording.NOTHING_RUNNING)
            case inbound.NewThread():
                self._conversation = self._bot.new_conversation()
                self._window.say("A new thread.")
            case inbound.ListThreads():
                self._listed = await self._bot.threads()
                self._window.say(wording.threads_text(self._listed, self._now(), self._conversation))
            case inbound.OpenThread(number):
                await self._open_thread(number)
            case inbound.Memory(words):
                await self._memory(words)
            case inbound.Forget(words):
                await self._forget(words)
            case inbound.ShowUsage():
                self._window.say(account_text(await self._bot.usage()))
            case inbound.Budget(words):
                self._window.say(await self._bot.budget(words))
            case inbound.Policy(words):
                self._window.say(await self._bot.policy(words))
            case inbound.ShowModel():
                self._window.say(await self._bot.model(None))
            case inbound.UseModel(name):
                self._window.say(await self._bot.model(name))
            case inbound.ShowHelp():
                self._window.say(wording.help_text(inbound.COMMANDS))
            case inbound.Unclear(sentence):
                self._window.say(sentence)
            case inbound.Nothing() | inbound.Quit():
                pass
            case _:
                assert_never(command)

    async def _answered(self, answering: Coroutine[object, object, None]) -> None:
        """Wait for a reply, which Ctrl-C stops; then close its display."""
        task = asyncio.ensure_future(answering)
        stopped = False

        def stop() -> None:
            nonlocal stopped
            # Once: a second cancellation would interrupt the bot while it records the first.
            stopped = stopped or task.cancel()

        try:
            with self._window.answering(stop):
                await task
        except asyncio.CancelledError:
            if not stopped:
                raise
        finally:
            self._close()

    def _open(self) -> Surface:
        """A place for one reply. While one grows, others are held back: a screen has one end."""
        display = PlainDisplay(self._window.say) if self._displays else self._window.open_display()
        self._displays.append(display)
        return TerminalSurface(display)

    def _close(self) -> None:
        displays, self._displays = self._displays, []
        for display in displays:
            display.close()

    def _go_on(self, left: Left) -> Surface:
        """A place for a reply that was interrupted, below what it answers. The one before it has ended."""
        self._close()
        self._listed = [*left.threads]
        self._window.say(wording.going_on(left.question, left.conversation, left.threads))
        return self._open()

    async def _open_thread(self, number: int) -> None:
        threads = await self._bot.threads() if self._listed is None else self._listed
        if number > len(threads):
            self._window.say(f"There is no thread {number}; `/threads` lists them.")
            return
        thread = threads[number - 1]
        self._conversation = thread.conversation
        self._window.say(wording.thread_opened(thread))

    async def _memory(self, words: str) -> None:
        answer = await self._bot.memory(words)
        request = read(words)
        path = request.path if isinstance(request, Export) else ""
        if answer.file is None:
            self._window.say(as_list(answer))
        elif path:
            self._window.say(saved(path, answer.file))
        elif len(answer.file) > EXPORT_CHARS:
            self._window.say(EXPORT_TO_FILE)
        else:
            self._window.say(f"```json\n{answer.file}\n```")

    async def _forget(self, words: str) -> None:
        if not words:
            words = await self._window.answer(wording.forget_which())
            if inbound.is_command(words):
                self._instead = words
                return
        if not words.strip():
            self._window.say(wording.forget_declined())
            return
        answer = await self._bot.ask_to_forget(words, self._conversation)
        while answer.token:
            below = "\n\n" if "\n" in answer.text else " "
            said = await self._window.answer(f"{answer.text}{below}{AGREE_WIDER if answer.wider else AGREE}")
            if inbound.is_command(said):
                self._window.say(KEPT)
                self._instead = said
                return
            agreed = {"yes": answer.token, "all": answer.wider}.get(said.strip().lower(), "")
            if not agreed:
                self._window.say(wording.forget_declined())
                return
            answer = await self._bot.forget(agreed, self._conversation)
            self._conversation = self._bot.new_conversation()
            self._listed = None
            self._window.recall(await self._bot.past_questions())
        self._window.say(answer.text)
