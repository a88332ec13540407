"""What a check of a model found: stored, read again, and shown with what was not tried."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Json
from agent.providers.catalog import ToolsForm
from agent.spending import Money
from bot.models import texts as models_texts
from bot.models.abilities import Ability, Seen, Verdict
from bot.models.checked import PREFIX, ModelCheck, as_json, from_json, page, read_checks, rows, says, store_check
from bot.models.forms import OWNER
from tests.fakes.clock import NOON
from tests.fakes.store import store_in_memory

PAGE = Path(__file__).parents[3] / "docs" / "models.md"
CHECK = ModelCheck(
    "llamacpp:coder-1.5b",
    "http://localhost:8080/v1",
    NOON,
    "1.2.3",
    20,
    chooses=True,
    passed={ToolsForm.TEXT: 16},
    seen={
        Ability.STREAMING: Seen(Verdict.NO, {"pieces": 1, "first_ms": 3_412, "last_ms": 3_412}),
        Ability.PICTURES: Seen(Verdict.FAILED, why="The server returned a server error (500)."),
        Ability.CACHING: Seen(Verdict.NO, {"cached": 0, "prompt": 1_300}),
    },
    calls=26,
    tokens=31_000,
    cost=Money(70_000_000),
)


def test_the_page_has_a_line_for_everything_and_says_what_was_not_tried() -> None:
    assert page(CHECK) == (
        "llamacpp:coder-1.5b at http://localhost:8080/v1, checked on 2026-01-05 with Cogency 1.2.3:\n\n  Tool calls as "
        "text  yes        It passed 16 of 20 probes.\n  Native tool calls   not tried  This was not tested.\n  "
        "Streaming           no         The answer arrived all at once after 3.4 s (1 piece), so people see nothing "
        "until it is complete.\n  Pictures            failed     The question was not answered: The server returned a "
        "server error (500).\n  Effort              not tried  This was not tested.\n  Caching             no         "
        "None of the 1,300 prompt tokens came from the cache.\n  Context window      not tried  This was not "
        "tested.\n\nThis check used: 26 calls, 31,000 tokens, $0.0700."
    )


def test_the_page_on_models_shows_a_check_as_it_was_printed() -> None:
    seen = {
        Ability.STREAMING: Seen(Verdict.YES, {"pieces": 1_200, "first_ms": 223, "last_ms": 86_872}),
        Ability.PICTURES: Seen(Verdict.NO, {"refused": 1}),
        Ability.EFFORT: Seen(Verdict.UNKNOWN, {"low": 0, "high": 0}),
        Ability.CACHING: Seen(Verdict.YES, {"cached": 1_594, "prompt": 1_608}),
        Ability.CONTEXT: Seen(Verdict.YES, {"tokens": 8_192}),
    }
    measured = ModelCheck(
        "llamacpp:smollm2-135m-instruct",
        "http://localhost:8080/v1",
        datetime(2026, 11, 30, tzinfo=UTC),
        "0.1.0",
        20,
        chooses=True,
        passed={ToolsForm.TEXT: 4, ToolsForm.NATIVE: 7},
        seen=seen,
        calls=46,
        tokens=39_587,
    )
    (block,) = re.findall(r"^```text\n(.*?)\n```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert page(measured) == block


def test_a_service_with_one_form_of_tools_has_one_line_for_it() -> None:
    names = [row.name for row in rows(replace(CHECK, chooses=False))]
    assert names[:2] == ["Tool calls", "Streaming"]
    assert rows(replace(CHECK, passed={ToolsForm.TEXT: 11}))[0].verdict is Verdict.NO


async def test_the_newest_check_of_a_model_replaces_the_one_before() -> None:
    preferences = store_in_memory().preferences
    other = replace(CHECK, address="http://localhost:9090/v1", time=NOON + timedelta(hours=1), cost=None)
    for check in (CHECK, other, replace(CHECK, calls=27)):
        await store_check(preferences, check)
    found = await read_checks(preferences)
    assert [(check.address, check.calls) for check in found] == [(other.address, 26), (CHECK.address, 27)]
    assert page(found[0]) == page(other)


@pytest.mark.parametrize(
    "value",
    [
        *("", "no JSON", "[]", "{}", '{"model": "m"}', '{"model": "m", "time": "yesterday"}'),
        '{"model": "m", "time": "2026-01-05T12:00:00"}',
    ],
)
async def test_an_entry_that_cannot_be_read_counts_as_none(value: str) -> None:
    preferences = store_in_memory().preferences
    await preferences.set(OWNER, f"{PREFIX}http://localhost m", value)
    await store_check(preferences, CHECK)
    assert [check.model for check in await read_checks(preferences)] == [CHECK.model]


SEEN = st.sampled_from(sorted(models_texts.SEEN, key=str))
COUNTS = st.integers(0, 10_000_000)


@given(SEEN, COUNTS, COUNTS, COUNTS)
def test_each_thing_that_can_be_seen_has_a_sentence_and_survives_the_database(
    case: tuple[Ability, Verdict, bool], first: int, second: int, third: int
) -> None:
    ability, verdict, has_numbers = case
    names = {
        Ability.STREAMING: ("pieces", "first_ms", "last_ms"),
        Ability.PICTURES: ("refused",),
        Ability.EFFORT: ("low", "high"),
        Ability.CACHING: ("cached", "prompt"),
        Ability.CONTEXT: ("tokens",),
    }[ability]
    seen = Seen(verdict, dict(zip(names, (first, second, third), strict=False)) if has_numbers else {})
    check = replace(CHECK, seen={ability: seen})
    again = from_json(json.loads(json.dumps(as_json(check))))
    assert again is not None
    assert again.ability(ability) == seen
    assert says(ability, seen) in page(again)
    assert "{" not in says(ability, seen)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8), lambda inner: st.lists(inner, max_size=3)
)


@given(st.dictionaries(st.sampled_from([*as_json(CHECK), "x"]), JSON_VALUES), st.sampled_from([*Ability]), JSON_VALUES)
def test_whatever_is_stored_is_shown_or_counts_as_none(fields: dict[str, Json], ability: Ability, odd: Json) -> None:
    abilities: dict[str, Json] = {ability.value: odd, "streaming": {"verdict": odd, "pieces": odd}}
    read = from_json({**as_json(CHECK), "abilities": abilities, **fields})
    assert read is None or page(read)
