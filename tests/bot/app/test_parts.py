"""The parts of the bot."""

from pathlib import Path
from pkgutil import iter_modules

import agent.toolbox
import agent.tools
from agent.toolbox.tool_search import RESERVED
from bot.app.parts import BUILT_IN
from bot.chat.attachments import read_again
from bot.handoff import ask_a_human
from bot.platforms.slack import search_slack

FOLDER = Path(agent.tools.__path__[0])
TOOLBOX = Path(agent.toolbox.__path__[0])  # what calls and finds tools has names of its own
# Tools outside of the tools' folder, because they need the file reader, Slack or people.
ELSEWHERE = (Path(read_again.__file__), Path(search_slack.__file__), Path(ask_a_human.__file__))


def test_the_names_that_no_tool_may_have_are_those_of_the_built_in_ones() -> None:
    modules = {one.name for one in iter_modules([str(FOLDER)])} - {"functions", "registry"}
    modules |= {one.stem for one in ELSEWHERE} | {"schedules", "background"}  # in one module with `schedule`
    assert modules == BUILT_IN - RESERVED, "a tool's module has its name, which goes into bot.app.parts.BUILT_IN"
    assert RESERVED < BUILT_IN
    written = "".join(
        path.read_text(encoding="utf-8") for path in (*FOLDER.glob("*.py"), *TOOLBOX.glob("*.py"), *ELSEWHERE)
    )
    assert [name for name in BUILT_IN if f'"{name}"' not in written] == []
