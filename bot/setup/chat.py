"""The chat at a terminal. The prompt appears before the store is open and the bot's modules are loaded: that takes half
of a start, and is not needed before the person has written something.

Rule: this module imports what shows the prompt, and finds the model that the greeting names. What acts on typed lines
knows all commands, and so all features: it is imported in functions, once `_load` has loaded it.
"""

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from agent.incoming import Person
from agent.machine import place_of
from agent.patterns import compile_all
from bot.app.from_settings import open_models
from bot.app.settings import Settings
from bot.chat.exit_codes import Exit
from bot.models.switch import ModelSwitch
from bot.platforms import texts as platforms_texts
from bot.platforms.terminal.pipe import PipeWindow
from bot.platforms.terminal.window import Window
from bot.setup import texts as setup_texts

if TYPE_CHECKING:
    from bot.platforms.terminal.chat_bot import ChatBot


async def chat_at_once(
    settings: Settings, person: Person, window: Window, now: Callable[[], datetime], tools_wait_s: float
) -> Exit:
    """Chat until the person leaves. With a pipe, no line is read before the store is open.

    Raises SettingsError and StoreError.
    """
    async with open_models(settings) as models:
        if isinstance(window, PipeWindow):
            async with _load()(settings, person, models, tools_wait_s=tools_wait_s) as bot:
                return await _chat(bot, window, now)
        text = platforms_texts.greeting(models.sentence, place_of(settings.storage.url))
        return await chat_once_open(text, _opening(settings, person, models, tools_wait_s), window, now)


async def chat_once_open(
    greeting: str,
    opening: "AbstractAsyncContextManager[asyncio.Future[ChatBot]]",
    window: Window,
    now: Callable[[], datetime],
) -> Exit:
    """`chat` at a terminal, with a bot that opens while the prompt is shown: the first line waits for it.

    Raises at once what opening the bot raises.
    """
    window.greet(greeting)
    typing = asyncio.ensure_future(window.read())
    try:
        await asyncio.sleep(0)  # draw the prompt before loading starts
        async with opening as opened:
            await asyncio.wait({typing, opened}, return_when=asyncio.FIRST_COMPLETED)
            if typing.done() and await asyncio.to_thread(_leaves, typing.result(), now):
                return Exit.OK
            if not await _wait_for(opened, window):
                return Exit.INTERRUPTED
            bot = opened.result()
            if not typing.done() and await bot.has_pending():
                if window.set_aside():
                    await _cancel(typing)
                await asyncio.wait({typing})
            return await _chat(bot, window, now, typing)
    finally:
        await _cancel(typing)


async def _chat(
    bot: "ChatBot", window: Window, now: Callable[[], datetime], typing: "asyncio.Task[str | None] | None" = None
) -> Exit:
    from bot.platforms.terminal.run import chat  # noqa: PLC0415 -- see the module's docstring

    return await chat(bot, window, now, typing)


async def _wait_for(opened: "asyncio.Future[ChatBot]", window: Window) -> bool:
    """Wait until the bot is open, with an indicator; return False if the person interrupted it."""
    if opened.done():
        return True
    interrupted = asyncio.Event()
    stopping = asyncio.ensure_future(interrupted.wait())
    display = window.open_display()
    display.status(setup_texts.OPENING)
    try:
        with window.answering(interrupted.set):
            await asyncio.wait({opened, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        display.close()
    return opened.done()


def _leaves(line: str | None, now: Callable[[], datetime]) -> bool:
    """Called in a thread: it waits there until what reads lines is loaded."""
    from bot.platforms.terminal import inbound  # noqa: PLC0415 -- see the module's docstring

    return line is None or isinstance(inbound.parse(line, now()), inbound.Quit)


async def _cancel(task: "asyncio.Task[str | None]") -> None:
    task.cancel()
    await asyncio.wait({task})


@asynccontextmanager
async def _opening(
    settings: Settings, person: Person, models: ModelSwitch, tools_wait_s: float
) -> AsyncGenerator["asyncio.Future[ChatBot]"]:
    """Open the bot in a task, which also closes it. The yielded future gets the bot, or the error of opening it."""
    opened: asyncio.Future[ChatBot] = asyncio.get_running_loop().create_future()
    ended = asyncio.Event()

    async def opening() -> None:
        try:
            open_terminal = await asyncio.to_thread(_load)
            async with open_terminal(settings, person, models, tools_wait_s=tools_wait_s) as bot:
                opened.set_result(bot)
                await asyncio.to_thread(compile_all)
                await ended.wait()
        except Exception as error:  # the caller that waits for the bot raises it
            if opened.done():
                raise
            opened.set_exception(error)

    task = asyncio.create_task(opening())
    try:
        yield opened
    finally:
        ended.set()
        if not opened.done():
            task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()


def _load() -> Callable[..., AbstractAsyncContextManager["ChatBot"]]:
    """Load the bot's modules; called in a thread, so that the prompt echoes what the person types meanwhile."""
    gc.disable()  # see `bot.setup.cli`
    from bot.app.platforms import open_terminal  # noqa: PLC0415 -- see the module's docstring

    gc.freeze()
    gc.enable()
    return open_terminal
