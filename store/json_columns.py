"""JSON columns: read, searched and rewritten without building the objects that were stored. Pure.

JSON is written with non-ASCII characters unescaped, so that the search for proof in
`store.forgetting.sql_forgetting` sees one form of each word. JSON of another version may have another structure: it
is read as far as possible.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Final

from agent.messages import Json, ModelCall
from agent.progress import decode
from agent.state import Workspace

WITHDRAWN: Final = "withdrawn"  # The key in the payload of a turn whose question was deleted


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_json(stored: str) -> Json:
    """The value of stored JSON; invalid JSON is returned as one string."""
    try:
        return json.loads(stored)
    except ValueError:
        return stored


def strings_in(stored: str) -> Iterator[str]:
    """Every string inside a JSON value, without object keys."""
    return _strings(read_json(stored))


def read_ids(stored: str) -> frozenset[int]:
    """The ids of a `context_…` column."""
    return frozenset(json.loads(stored))


def write_ids(values: Iterable[int]) -> str:
    """The inverse of `read_ids`."""
    return json_text(sorted(set(values)))


def read_pages(stored: str) -> list[str]:
    """The page ids in `pages`, or in the `reply_ref` of a running turn; [] if a surface stores another form."""
    return [page for page in _items(read_json(stored)) if isinstance(page, str)]


_WORKSPACE: Final = tuple(each.name for each in fields(Workspace))


@dataclass(frozen=True, slots=True)
class NamedInProgress:
    """What a turn's `progress` names: the messages that its tools returned (`given`), all that it quotes, draws on or
    that joined it (`sources`); of those that `joined`, the turns by message id; and its newest workspace.
    """

    given: frozenset[int]
    sources: frozenset[int]
    joined: Mapping[int, int]
    workspace: Workspace | None

    @classmethod
    def read(cls, progress: str) -> "NamedInProgress":
        """Read `steps[].results[].sources`, the same of `steps[].inner[].result`, `steps[].joined[]`, `context[]` and
        `steps[].workspace`.
        """
        stored = read_json(progress)
        steps = _items(_field(stored, "steps"))
        results = [result for step in steps for result in _items(_field(step, "results"))]
        results += [_field(inner, "result") for step in steps for inner in _items(_field(step, "inner"))]
        found = [id_ for result in results for id_ in _items(_field(result, "sources"))]
        given = frozenset(id_ for id_ in found if isinstance(id_, int))
        joined = [item for step in steps for item in _items(_field(step, "joined"))]
        named = [*(_field(item, "message") for item in joined), *_items(_field(stored, "context"))]
        pairs = [(_field(item, "message"), _field(item, "turn")) for item in joined]
        workspaces = (_field(step, "workspace") for step in reversed(steps))
        newest = next((workspace for workspace in workspaces if isinstance(workspace, dict)), None)
        return cls(
            given=given,
            sources=given | frozenset(id_ for id_ in named if isinstance(id_, int)),
            joined={message: turn for message, turn in pairs if isinstance(message, int) and isinstance(turn, int)},
            workspace=None if newest is None else Workspace(*(str(newest.get(name, "")) for name in _WORKSPACE)),
        )


def progress_calls(progress: str) -> tuple[ModelCall, ...]:
    """The model calls in a turn's `progress`; () if it cannot be read."""
    try:
        return decode(progress).calls
    except ValueError:
        return ()


def read_address(payload: str) -> str:
    """The `reply_to` of a question; "" if it has none, or has ended."""
    address = _field(read_json(payload), "reply_to")
    return address if isinstance(address, str) else ""


def is_text_only(payload: str) -> bool:
    """Whether a question came without quoted messages, images and files."""
    values = read_json(payload)
    return not any(_items(_field(values, name)) for name in ("quoted", "images", "files"))


def without_quoted(payload: str, gone: Callable[[str], bool]) -> str:
    """`payload` without the quoted entries for whose text `gone` is true; unchanged if there are none."""
    values = read_json(payload)
    entries = _items(_field(values, "quoted"))
    staying = [entry for entry in entries if not gone(str(_field(entry, "text")))]
    if not isinstance(values, dict) or len(staying) == len(entries):
        return payload
    return json_text({**values, "quoted": staying})


def quoted_pages(payload: str) -> list[str]:
    """The pages that the quoted messages would have if they were replies."""
    entries = _items(_field(read_json(payload), "quoted"))
    return [str(page) for entry in entries for page in _items(_field(entry, "pages"))]


def is_withdrawn(payload: str) -> bool:
    """Whether the question was deleted while its turn ran."""
    return _field(read_json(payload), WITHDRAWN) is True


def mark_withdrawn(payload: str) -> str:
    """The payload, marked as that of a turn whose question was deleted."""
    values = read_json(payload)
    return json_text({**(values if isinstance(values, dict) else {}), WITHDRAWN: True})


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _field(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, dict) else None


def _strings(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (text for inner in value.values() for text in _strings(inner))
        case list():
            yield from (text for inner in value for text in _strings(inner))
        case _:
            return
