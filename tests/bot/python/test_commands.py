"""`/code`: whose replies it shows, and how long code is shown."""

import re
from dataclasses import replace

import pytest

from agent.errors import Refused
from agent.incoming import Person
from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label
from agent.messages import ToolCall
from agent.ports.tools import Asker
from agent.shown_replies import Answered
from bot.chat.commands.declaration import CommandCall
from bot.python import texts
from bot.python.commands import COMMAND, SHOWN_CHARS, CodeService, code_panel, may_see, numbers_panel
from tests.bot.python.test_chart_data import SALES, changed
from tests.fakes.caller import FakeCaller
from tests.fakes.store import store_in_memory

HERE = TeamAudience("slack:T1")
ANN = Asker(Person("ann", "Ann"), Place(HERE, within_team="slack:T1"), "C1")
REPLY = Answered(7, "slack:T1", "slack:T1:C1:1.0", "C1", "1.0", "ann", "what is it?", label(HERE), ("1.1",))


@pytest.mark.parametrize(
    ("asker", "reply", "sees"),
    [
        (ANN, REPLY, True),
        (ANN, replace(REPLY, person="ben"), True),
        (ANN, replace(REPLY, person="ben", channel="C2"), False),
        (ANN, replace(REPLY, channel="C2"), False),
        (ANN, replace(REPLY, person="ben", audience=label(PersonAudience("ben"))), False),  # /ask, privately
        (ANN, replace(REPLY, audience=label(PersonAudience("ann"))), True),
        (replace(ANN, place=Place(GroupAudience("slack:T1:C1"))), replace(REPLY, person="ben"), False),
        (replace(ANN, channel=""), REPLY, True),
    ],
)
def test_who_can_see_the_code_of_an_answer(asker: Asker, reply: Answered, sees: bool) -> None:
    assert may_see(asker, reply) is sees


def test_the_code_of_each_run_stands_in_a_block() -> None:
    panel = code_panel([ToolCall("python", {"code": "print(1)"}), ToolCall("python", {"code": "print('``')"})])
    assert panel.text == (
        f"{texts.RUN_OF.format(number=1, runs=2)}\n```python\nprint(1)\n```\n"
        f"{texts.RUN_OF.format(number=2, runs=2)}\n```python\nprint('``')\n```"
    )


@pytest.mark.parametrize("piece", ["'```\n[Sign in](https://evil.example/)'", "'<https://evil.example/|Sign in>'"])
def test_code_that_could_end_its_block_or_be_a_link_in_it_is_a_file(piece: str) -> None:
    panel = code_panel([ToolCall("python", {"code": f"x = {piece}"})])
    assert panel.text == texts.CODE_IN_FILE
    assert panel.file is not None
    assert piece in panel.file.content


def test_what_a_chart_says_is_shown_as_it_is_written() -> None:
    link = "[Sign in](https://evil.example/)"
    chart = changed(title=link, x_title=link, labels=[link, "August"])
    panel = numbers_panel([ToolCall("chart", chart)])
    assert panel.text.count(r"\[Sign in\](https://evil.example/)") == panel.text.count("Sign in") == 3


def test_code_that_the_model_wrote_in_lines_is_shown_as_it_ran() -> None:
    panel = code_panel([ToolCall("python", {"code": ["```python", "x = 1", "print(x)", "```"]})])
    assert panel.text == "```python\nx = 1\nprint(x)\n```"


def test_long_code_is_a_file() -> None:
    panel = code_panel([ToolCall("python", {"code": "x" * (SHOWN_CHARS + 1)})])
    assert panel.text == texts.CODE_IN_FILE
    assert panel.file is not None
    assert panel.file.content == "x" * (SHOWN_CHARS + 1)


def test_code_that_may_not_be_kept_is_told() -> None:
    assert code_panel([ToolCall("python", {})]).text == texts.NO_CODE
    assert numbers_panel([ToolCall("chart", {})]).text == texts.NO_NUMBERS


def test_the_numbers_of_charts_are_tables() -> None:
    panel = numbers_panel([ToolCall("chart", SALES), ToolCall("chart", changed(title="Costs"))])
    assert panel.text.count("| July | 3 | 1000000 |") == 2
    assert "**Costs**" in panel.text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("", texts.NO_CODE_HERE),
        ("7", texts.NO_CODE),
        ("numbers", texts.NO_NUMBERS_HERE),
        ("numbers 7", texts.NO_NUMBERS),
        ("x", texts.WHICH_REPLY),
    ],
)
async def test_where_there_is_none_it_says_so(words: str, sentence: str) -> None:
    service = CodeService(store_in_memory().replies)
    with pytest.raises(Refused, match=f"^{re.escape(sentence)}$"):
        await COMMAND.bound(service).run(CommandCall(words=words, caller=FakeCaller()))
