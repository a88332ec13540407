"""Texts of people, files, tools and models are read in time that is linear in their length.

Readers of text are found by walking the packages, so that new expressions and functions are tested, too.
"""

import ast
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from benchmarks import hostile
from benchmarks.hostile import Reading
from benchmarks.hostile_pieces import expression_pieces
from tests.examples import is_thorough
from tests.patience import cpu_s

RE_CALLS = frozenset({"compile", "search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn"})
SHORT = 12_000  # Enough to detect growth
# Where an expression can be compiled only when it is needed, and from what.
AT_RUN_TIME = {
    "agent.memory.alignment": "a name in a statement, escaped",
    "agent.memory.attributes": "a word or a name in a statement, escaped",
    "agent.memory.comparison": "a word or a name in a statement, escaped",
    "agent.memory.distinct": "a word or a name in a statement, escaped",
    "agent.patterns": "what stands as a constant with `compile_later`",
    "agent.protocol.echoes": "the word in the marks of the section, escaped",
    "agent.protocol.foreign_calls": "the name of a marker, escaped",
    "agent.tool_policy": "a value of a call, escaped",
    "bot.acts.service": "the host of an address, escaped",
    "bot.chat.attachments.read_again": "the name of a file, escaped",
    "bot.chat.logs": "the secrets of the settings",
    "bot.evals.checking": "the expression of an exam, in bounded time",
    "bot.evals.exam_file": "the expression of an exam, compiled only to check it",
    "bot.feedback.orders": "one blank or colon, without repetition",
    "bot.platforms.slack.interactions": "ids of our own buttons, given to Bolt",
    "bot.platforms.discord.attachments": "the address of an API of one's own",
}


def _steep(readings: Iterable[Reading]) -> list[str]:
    return [f"{reading.name}: {found}" for reading in readings if (found := hostile.growing(reading))]


def _in(*rooms: str) -> Callable[[Reading], bool]:
    return lambda reading: reading.name.startswith(rooms)


@pytest.mark.parametrize("room", ["agent.", "bot.", "store."])
def test_every_compiled_expression_reads_hostile_text_in_linear_time(room: str) -> None:
    found = [*filter(_in(room), hostile.patterns())]
    assert found
    # What it is made of makes an expression slow: the texts of all kinds besides are for where there is time.
    assert _steep(replace(one, common=is_thorough() or not one.pieces) for one in found) == []


@pytest.mark.parametrize("room", ["agent.", "bot.", "store."])
def test_every_function_of_a_text_reads_hostile_text_in_linear_time(room: str) -> None:
    found = [*filter(_in(room), hostile.functions())]
    assert found
    assert _steep(found) == []


@pytest.mark.parametrize("kind", ["slack", "discord", "forget", "question", "thread", "facts", "marking", "context"])
def test_every_stage_of_a_question_reads_hostile_text_in_linear_time(kind: str) -> None:
    assert _steep(filter(_in(f"{kind}:"), hostile.stages())) == []


@pytest.mark.parametrize("kind", ["files", "model", "reply", "forgetting", "log"])
def test_every_stage_of_an_answer_reads_hostile_text_in_linear_time(kind: str) -> None:
    assert _steep(filter(_in(f"{kind}:"), hostile.stages())) == []


def test_expressions_are_constants_so_that_the_walk_finds_them() -> None:
    hidden = [
        f"{module.__name__}:{node.lineno}"
        for module, source in hostile.sources()
        if module.__name__ not in AT_RUN_TIME and re.search(r"\b(?:re|regex)\.|compile_later", source)
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and _is_re(node.func)
    ]
    assert hidden == []


def _is_re(called: ast.expr) -> bool:
    return (isinstance(called, ast.Name) and called.id == "compile_later") or (
        isinstance(called, ast.Attribute)
        and called.attr in RE_CALLS
        and isinstance(called.value, ast.Name)
        and called.value.id in {"re", "regex"}
    )


def test_the_walk_finds_expressions_wherever_they_are_kept() -> None:
    names = {reading.name for reading in hostile.patterns()}
    for where in (
        "agent.memory.statements._SENTENCE by finditer",
        "agent.memory.attribution.KINDS[0][1] by search",
        "agent.memory.periods._PATTERNS[0] by search",
        "bot.chat.intake._STOP by fullmatch",
        "bot.chat.reply.markdown._SPAN by finditer",
    ):
        assert where in names


def test_what_is_tried_with_less_is_there() -> None:
    names = [f"{module.__name__}." for module in hostile.modules()]
    assert [one for one in hostile.SHORTER if not any(name.startswith(one) for name in names)] == []


def test_what_grows_with_the_square_is_found() -> None:
    blanks = re.compile(r"\s*x")
    spaces = Reading("search behind blanks", blanks.search, chars=SHORT)
    assert "characters take" in hostile.growing(spaces)
    words = Reading(
        "each with each", lambda text: [one == other for one in text.split() for other in text[:400]], chars=SHORT
    )
    assert hostile.growing(words) == ""


@pytest.mark.slow
def test_a_literal_that_begins_the_expression_anew_with_each_piece_is_tried() -> None:
    token = re.compile(r"\bcat[A-Za-z0-9_-]{8,}\.")
    pieces = tuple(expression_pieces(token, SHORT))
    assert ("", "cat-") in pieces
    assert hostile.growing(Reading("token", token.search, pieces, 4 * SHORT, common=False))


def test_a_text_that_one_part_of_an_expression_repeats_is_tried() -> None:
    money = re.compile(r"\b\d[\d,.]*\s?usd\b")
    begun = time.process_time()
    assert hostile.growing(Reading("money", money.search, (("", "1."),), SHORT))
    assert time.process_time() - begun < cpu_s(60)
