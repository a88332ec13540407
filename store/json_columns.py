"""Columns that hold JSON: read, searched and rewritten without the objects that were written there. Pure.

Above: `store.rows`, `store.turns`, `store.forgetting`, spending. Below: `agent.progress`.

JSON is written with its non-ASCII characters as they are, so that the search for proof in `store.forgetting.proof` sees
one form of each word. What another version wrote may have another form: it is read as far as it can be.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from agent.messages import Json, ModelCall
from agent.progress import decode

WITHDRAWN: Final = "withdrawn"
"""The mark in a payload whose question was deleted."""


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read(stored: str) -> Json:
    """The value of stored JSON; what is no JSON is one text."""
    try:
        return json.loads(stored)
    except ValueError:
        return stored


def strings(stored: str) -> Iterator[str]:
    """Every text inside a JSON value, without the names of its fields."""
    return _strings(read(stored))


def ids(stored: str) -> frozenset[int]:
    """The ids of a `context_…` column."""
    return frozenset(json.loads(stored))


def id_list(values: Iterable[int]) -> str:
    """The inverse of `ids`."""
    return json_text(sorted(set(values)))


def pages(stored: str) -> list[str]:
    """The page ids in `pages`, or in the `reply_ref` of a turn that still runs; [] if a surface keeps another form."""
    return [page for page in _items(read(stored)) if isinstance(page, str)]


def sources(progress: str) -> frozenset[int]:
    """The ids of the messages in a turn's `progress`: `steps[].results[].sources`, `steps[].joined[].message`, and
    `context[]`.
    """
    kept = read(progress)
    steps = _items(_field(kept, "steps"))
    joined = [_field(one, "message") for step in steps for one in _items(_field(step, "joined"))]
    drawn = _items(_field(kept, "context"))
    return given(progress) | frozenset(id_ for id_ in (*joined, *drawn) if isinstance(id_, int))


def given(progress: str) -> frozenset[int]:
    """The ids of the messages that a turn's tools have brought into it: `steps[].results[].sources`."""
    steps = _items(_field(read(progress), "steps"))
    results = [result for step in steps for result in _items(_field(step, "results"))]
    found = [id_ for result in results for id_ in _items(_field(result, "sources"))]
    return frozenset(id_ for id_ in found if isinstance(id_, int))


def joined(progress: str) -> dict[int, int]:
    """The turns of the messages that joined, by the ids of these: `steps[].joined[]`."""
    found = [one for step in _items(_field(read(progress), "steps")) for one in _items(_field(step, "joined"))]
    pairs = [(_field(one, "message"), _field(one, "turn")) for one in found]
    return {message: turn for message, turn in pairs if isinstance(message, int) and isinstance(turn, int)}


def calls(progress: str) -> tuple[ModelCall, ...]:
    """The model calls in a turn's `progress`; () if it cannot be read."""
    try:
        return decode(progress).calls
    except ValueError:
        return ()


def words_alone(payload: str) -> bool:
    """Whether a message brought nothing along."""
    kept = read(payload)
    return not any(_items(_field(kept, name)) for name in ("quoted", "images", "files"))


def without_quoted(payload: str, gone: Callable[[str], bool]) -> str:
    """`payload` without the quoted entries whose text is `gone`; as it was if there are none."""
    kept = read(payload)
    entries = _items(_field(kept, "quoted"))
    staying = [entry for entry in entries if not gone(str(_field(entry, "text")))]
    if not isinstance(kept, dict) or len(staying) == len(entries):
        return payload
    return json_text({**kept, "quoted": staying})


def withdrawn(payload: str) -> bool:
    """Whether the question was deleted while its turn ran."""
    return _field(read(payload), WITHDRAWN) is True


def withdraw(payload: str) -> str:
    """The payload of a turn whose question was just deleted."""
    kept = read(payload)
    return json_text({**(kept if isinstance(kept, dict) else {}), WITHDRAWN: True})


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _field(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def _strings(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (held for inner in value.values() for held in _strings(inner))
        case list():
            yield from (held for inner in value for held in _strings(inner))
        case _:
            return
