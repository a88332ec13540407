"""The chat, whose prompt stands before the store is open, and before what answers is loaded: that is half of a start,
and nobody needs it before they have written something.
"""

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime

from agent.machine import place_of
from agent.patterns import compile_all
from agent.records import Person
from bot.app.from_settings import open_models
from bot.exits import Exit
from bot.models.choice import ModelSwitch
from bot.platforms.terminal import inbound
from bot.platforms.terminal.run import chat
from bot.platforms.terminal.surface import ChatBot, PipeWindow, Window, greeting
from bot.settings import Settings
from bot.texts import reply_texts


async def chat_at_once(
    settings: Settings, person: Person, window: Window, now: Callable[[], datetime], tools_wait_s: float
) -> Exit:
    """Chat until the person leaves. Of a pipe no line is read before the store is open.

    Raises SettingsError and StoreError.
    """
    async with open_models(settings) as models:
        if isinstance(window, PipeWindow):
            async with _loaded()(settings, person, models, tools_wait_s=tools_wait_s) as bot:
                return await chat(bot, window, now)
        said = greeting(models.sentence, place_of(settings.database_url))
        return await chat_once_open(said, _opening(settings, person, models, tools_wait_s), window, now)


async def chat_once_open(
    greeting: str,
    opening: "AbstractAsyncContextManager[asyncio.Future[ChatBot]]",
    window: Window,
    now: Callable[[], datetime],
) -> Exit:
    """`chat` at a terminal, with a bot that is opened while the prompt stands: what is written first waits for it.

    Raises what opening it raises, at once.
    """
    window.greet(greeting)
    typing = asyncio.ensure_future(window.read())
    try:
        await asyncio.sleep(0)  # the prompt is drawn, before anything else takes its time
        async with opening as opened:
            await asyncio.wait({typing, opened}, return_when=asyncio.FIRST_COMPLETED)
            if typing.done() and _leaves(typing.result(), now):
                return Exit.OK
            if not await _waited_for(opened, window):
                return Exit.INTERRUPTED
            bot = opened.result()
            if not typing.done() and await bot.left():
                if window.set_aside():
                    await _cancelled(typing)
                await asyncio.wait({typing})
            return await chat(bot, window, now, typing)
    finally:
        await _cancelled(typing)


async def _waited_for(opened: "asyncio.Future[ChatBot]", window: Window) -> bool:
    """Wait where the person waits, too; False: they do not want to any more."""
    if opened.done():
        return True
    interrupted = asyncio.Event()
    stopping = asyncio.ensure_future(interrupted.wait())
    display = window.open_display()
    display.status(reply_texts.OPENING)
    try:
        with window.answering(interrupted.set):
            await asyncio.wait({opened, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        display.close()
    return opened.done()


def _leaves(line: str | None, now: Callable[[], datetime]) -> bool:
    return line is None or isinstance(inbound.parse(line, now()), inbound.Quit)


async def _cancelled(task: "asyncio.Task[str | None]") -> None:
    task.cancel()
    await asyncio.wait({task})


@asynccontextmanager
async def _opening(
    settings: Settings, person: Person, models: ModelSwitch, tools_wait_s: float
) -> AsyncGenerator["asyncio.Future[ChatBot]"]:
    """A bot that is opened in a task of its own, which then closes it. What opening raises, the future raises."""
    opened: asyncio.Future[ChatBot] = asyncio.get_running_loop().create_future()
    ended = asyncio.Event()

    async def opening() -> None:
        try:
            open_terminal = await asyncio.to_thread(_loaded)
            async with open_terminal(settings, person, models, tools_wait_s=tools_wait_s) as bot:
                opened.set_result(bot)
                await asyncio.to_thread(compile_all)
                await ended.wait()
        except Exception as error:
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


def _loaded() -> Callable[..., AbstractAsyncContextManager[ChatBot]]:
    """In a thread, so that who writes meanwhile sees what they write."""
    gc.disable()  # see `bot.cli`
    from bot.app.platforms import open_terminal  # noqa: PLC0415 -- see the module's docstring

    gc.freeze()
    gc.enable()
    return open_terminal
