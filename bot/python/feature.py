"""Running Python code, as a feature of the chat bot: the tools `python` and `chart`, their sandbox, and `/code`."""

import logging
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

from agent.errors import SettingsError
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.python import texts
from bot.python.commands import COMMAND, CodeService
from bot.python.settings import PythonSettings
from bot.settings.installation import command_for

if TYPE_CHECKING:
    from agent.ports.saved_files import SavedFiles
    from bot.chat.attachments.read_again import AttachedMessages
    from bot.chat.attachments.reading import AttachmentReader
    from bot.python.metered import RunBudget
    from bot.python.sandbox import Sandbox

log = logging.getLogger(__name__)


def feature(
    core: Core,
    settings: PythonSettings,
    messages: "AttachedMessages",
    reader: "AttachmentReader",
    saved: "SavedFiles",
    budget: "RunBudget",
) -> Feature:
    """Switched off, it only shows the code of earlier answers. Raises SettingsError if its library is missing."""
    commands = [COMMAND.bound(CodeService(core.store.replies))]
    if not settings.runs_code:
        return Feature(name="python", commands=commands)
    from bot.python.chart_tool import ChartTool  # noqa: PLC0415 -- only who runs code loads it
    from bot.python.conversation_files import ConversationFiles  # noqa: PLC0415 -- only who runs code loads it
    from bot.python.engine import RunLimits  # noqa: PLC0415 -- only who runs code loads it
    from bot.python.metered import MeteredEngine  # noqa: PLC0415 -- only who runs code loads it
    from bot.python.notes import CodeNote  # noqa: PLC0415 -- only who runs code loads it
    from bot.python.tool import PythonTool  # noqa: PLC0415 -- only who runs code loads it

    sandbox, limits = open_sandbox(), RunLimits()
    files = ConversationFiles(messages, reader, core.platforms.files_now, saved)
    log.info("python: code runs in a sandbox")
    engine = MeteredEngine(sandbox, budget, core.clock.monotonic)
    tools = [PythonTool(engine, files, limits), ChartTool(engine)]
    return Feature(name="python", commands=commands, tools=tools, notes=[CodeNote()], serving=sandbox.serving)


def open_sandbox(find: Callable[[str], object] = find_spec) -> "Sandbox":
    """`find`: returns None for a package that is not installed. Raises SettingsError if the sandbox's is missing."""
    from bot.python.compiled_ahead import FOLDER, copy_compiled  # noqa: PLC0415 -- only who runs code loads it
    from bot.python.sandbox import PACKAGE, Sandbox  # noqa: PLC0415 -- only who runs code loads it

    if find(PACKAGE) is None:
        raise SettingsError(texts.MISSING.format(command=command_for("python")))
    cache = user_cache_path("cogency", appauthor=False) / "python"
    return Sandbox(cache, prepare=partial(copy_compiled, Path(sys.prefix) / FOLDER, cache))
