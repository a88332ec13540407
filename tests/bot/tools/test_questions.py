"""Answering the questions of tools, with any text of servers and people, on a store in memory."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.messages import Elicited, Json, JsonObject
from bot.tools import texts as tool_texts
from bot.tools.mcp.questions import MAX_FIELDS, MAX_NUMBER_CHARS, MAX_TEXT_CHARS, QuestionRefused, checked_question
from bot.tools.questions import ANSWER_TIME, QuestionService
from tests.contracts.steps import claimed
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import START, said
from tests.fakes.store import store_in_memory

FITS_SLACK = 12_000
LINK = "[Cogency: sign in](https://evil.example) <!channel>"


@asynccontextmanager
async def asking(
    schema: Json, text: str = "Which?"
) -> AsyncGenerator[tuple[QuestionService, "asyncio.Task[Elicited]"]]:
    """A question that waits for ann."""
    store, shown = store_in_memory(), asyncio.Event()
    service = QuestionService(store.open_questions, FakeClock(START + timedelta(seconds=1), auto=False))
    await store.ledger.accept(said("book it"))
    claim = await claimed(store)

    async def show() -> None:
        shown.set()

    waiting = asyncio.ensure_future(service.ask(claim, "1.1", checked_question("web", text, schema), show))
    try:
        await shown.wait()
        yield service, waiting
    finally:
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting


def form(**fields: Json) -> Json:
    return {"type": "object", "properties": fields}


NUMBERS = st.sampled_from([10**400, -(10**400), float("nan"), float("inf"), -float("inf"), 1e300, 0, -1, 2.5])
BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "default")


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(BOUNDS), NUMBERS), st.text("0123456789.,- e", max_size=9))
def test_no_number_of_a_server_breaks_what_its_person_is_shown(numbers: dict[str, Json], filled: str) -> None:
    of_some: JsonObject = {"items": {"type": "string", "enum": ["a", "b"]}}
    kinds: list[JsonObject] = [{"type": one} for one in ("integer", "number", "string")]
    kinds.append({"type": "array", **of_some})

    async def run() -> None:
        async with asking(form(**{f"f{at}": {**kind, **numbers} for at, kind in enumerate(kinds)})) as (service, _):
            shown = await service.answer("ann", "")
            assert shown is not None
            await service.window("ann", f"answer {shown.name} 0 25")
            words = json.dumps({str(at): filled for at in range(len(kinds))})
            assert (await service.answer("ann", f"answer {shown.name} 0 25 {words}")) is not None

    with suppress(QuestionRefused):
        asyncio.run(run())


async def test_a_label_is_no_link_and_no_mention_also_where_something_is_wrong_with_its_field() -> None:
    async with asking(form(a={"type": "integer", "title": LINK})) as (service, _):
        shown = await service.answer("ann", "")
        assert shown is not None
        wrong = await service.answer("ann", f'answer {shown.name} 0 1 {{"0": "no number"}}')
        assert wrong is not None
    for text in (shown.text, wrong.text):
        assert r"\[Cogency: sign in\](" in text
        assert "<!channel>" not in text.replace(r"\<!channel\>", "")
        assert "[Cogency" not in text.replace(r"\[Cogency", "")


@pytest.mark.parametrize(
    "words",
    [
        "answer {name} 0 1",
        "answer {name} 0 1 [",
        "answer {name} ٣ 1 {{}}",
        "answer {name} 7 1 {{}}",
        "answer {name} 0 1 {long}",
        'answer {name} 0 1 {{"0": "\\ud800"}}',
        'answer {name} 0 1 {{"1": "0", "{digits}": "0"}}',
        "answer {digits}.1-1 0 1 {{}}",
        "send {digits}.1-1",
        "decline ١.1-1",
        "waiting {digits}",
    ],
)
async def test_words_that_no_button_says_do_no_harm(words: str) -> None:
    choice: Json = {"type": "string", "enum": ["oak", "elm"]}
    said_so = words.format(name="1.1-1", digits="9" * 5_000, long='{"0":' * 9_000)
    async with asking(form(wood=choice, wax={"type": "boolean"})) as (service, waiting):
        await service.answer("ann", said_so)
        shown = await service.answer("ann", "")
        assert shown is not None
        assert shown.name == "1.1-1"
        assert not waiting.done()


async def test_of_many_mistakes_a_few_are_told_at_once() -> None:
    number: Json = {"type": "integer", "title": "*" * 60}
    async with asking(form(**{f"f{at}": number for at in range(MAX_FIELDS)})) as (service, _):
        filled = json.dumps({str(at): "x" * MAX_NUMBER_CHARS for at in range(MAX_FIELDS)})
        shown = await service.answer("ann", f"answer 1.1-1 0 25 {filled}")
        assert shown is not None
        assert 0 < shown.text.count(tool_texts.NOT_AN_INTEGER) <= 5
        assert len(shown.text) < FITS_SLACK


async def test_its_person_is_told_how_long_it_waits_and_how_to_see_it_again() -> None:
    """An ephemeral message is gone when the person reloads the platform, so they must be able to show it again."""
    async with asking(form(a={"type": "string"})) as (service, _):
        shown = await service.answer("ann", "")
        assert shown is not None
        assert "nine minutes" in shown.text
        assert "`/tools`" in shown.text
    assert timedelta(minutes=9) == ANSWER_TIME


async def test_the_button_of_a_question_shows_it_alone_and_says_when_nothing_waits() -> None:
    async with asking(form(a={"type": "string"})) as (service, _):
        shown, other = await service.answer("ann", "question 1"), await service.answer("ann", "question 2")
        assert shown is not None
        assert shown.name == "1.1-1"
        assert other is not None
        assert (other.text, other.name) == (tool_texts.NOTHING_ASKED, "")


async def test_nobody_else_is_told_that_there_is_a_question() -> None:
    async with asking(form(a={"type": "string"}), "Which swordfish?") as (service, waiting):
        for words in ("", "waiting 1"):
            assert await service.answer("bob", words) is None
        for words in ("send 1.1-1", "decline 1.1-1", "later 1.1-1", 'answer 1.1-1 0 1 {"0": "x"}'):
            told = await service.answer("bob", words)
            assert told is not None
            assert told.text == tool_texts.NOT_ANSWERED["NOT_THEIRS"]
            assert not told.name
        assert not waiting.done()


@pytest.mark.slow
async def test_a_form_of_any_size_is_shown_whole_beside_what_was_filled_in_or_to_nobody() -> None:
    hostile: Json = {"type": "string", "title": "*_" * 60, "description": "[<" * 200, "minLength": 2}
    kind: Json = {"type": "string", "title": "A field of usual length, no more", "description": "What it is. " * 9}
    with pytest.raises(QuestionRefused):
        checked_question("web", "*" * 9_000, form(**{f"f{at}": hostile for at in range(MAX_FIELDS)}))
    async with asking(form(**{f"f{at}": kind for at in range(MAX_FIELDS)}), "*" * MAX_TEXT_CHARS) as (service, waiting):
        for first in range(0, MAX_FIELDS, 5):
            filled = json.dumps({str(at): "*" * MAX_TEXT_CHARS for at in range(first, first + 5)})
            shown = await service.answer("ann", f"answer 1.1-1 {first} 5 {filled}")
            assert shown is not None
            assert len(shown.text) < FITS_SLACK
        sent = await service.answer("ann", "send 1.1-1")
        assert sent is not None
        assert not sent.refused
        assert len(sent.text) < FITS_SLACK
        assert (await waiting).values["f24"] == "*" * MAX_TEXT_CHARS
