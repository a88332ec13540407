"""The requests to the Web API that Slack's own SDK allows, against which the fake validates each request.

The signatures of `slack_sdk.web.client.WebClient` name the arguments of every method, and which are required; its
models of blocks and views know the limits of each, and drop unknown fields.
"""

import inspect
import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, cast

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block
from slack_sdk.models.views import View
from slack_sdk.web.client import WebClient

# Methods whose token is in a header; the SDK's signature has it as an argument.
SENT_BY_CALL: Final = frozenset({"apps.connections.open"})

_SEARCH: Final = (
    "action_token channel_types content_types context_channel_id include_bots include_deleted_users before after "
    "include_context_messages cursor limit sort sort_dir include_message_blocks highlight term_clauses modifiers "
    "include_archived_channels disable_semantic_search"
)
# Methods that the SDK lacks: the arguments that Slack documents, and the required ones.
NEWER: Final = {"assistant.search.context": (_SEARCH, "query")}

# The argument that the SDK's client adds to every call once it knows its workspace, as Bolt's does; Slack ignores it
# elsewhere.
SENT_BY_CLIENT: Final = frozenset({"team_id"})

_BLOCK, _VIEW = cast("Any", Block), cast("Any", View)  # Their types are partial


def problems(method: str, given: Mapping[str, Any]) -> list[str]:
    """Return the errors in a request; empty if the SDK could have made it."""
    return [f"{method}: {problem}" for problem in _problems(method, given)]


def _problems(method: str, given: Mapping[str, Any]) -> Iterator[str]:
    named = getattr(WebClient, method.replace(".", "_"), None)
    if named is None and method not in NEWER:
        yield "the SDK has no such method"
        return
    known, needed = _arguments(method)
    yield from (f"the argument {name!r} is unknown" for name in sorted(given.keys() - known - SENT_BY_CLIENT))
    if method not in SENT_BY_CALL:
        yield from (f"the argument {name!r} is missing" for name in sorted(needed - given.keys()))
    if "blocks" in given:
        for number, block in enumerate(_read(given["blocks"]) or []):
            yield from _block(block, f"blocks[{number}]")
    if "view" in given:
        view = _read(given["view"])
        for number, block in enumerate(view.get("blocks") or []):
            yield from _block(block, f"view.blocks[{number}]")
        try:
            _VIEW(**view).to_dict()
        except (SlackObjectFormationError, TypeError) as error:
            yield f"view: {error}"


# Blocks that Slack documents, and the SDK has no model of yet. Their fields are in `slack_blocks`.
_DOCUMENTED_ONLY = {"data_table", "data_visualization"}


def _block(block: Any, where: str) -> Iterator[str]:
    """Check that the SDK's model accepts a block, and returns it with every field."""
    if block.get("type") in _DOCUMENTED_ONLY:
        return
    try:
        parsed = _BLOCK.parse(block)
        again = None if parsed is None else parsed.to_dict()
    except (SlackObjectFormationError, TypeError, AttributeError) as error:
        yield f"{where}: {error}"
        return
    if again is None:
        yield f"{where}: the SDK knows no block {block.get('type')!r}"
    else:
        yield from _lost(block, again, where)


def _lost(sent: Any, known: Any, where: str) -> Iterator[str]:
    """Return the fields that the model dropped."""
    if isinstance(sent, dict) and isinstance(known, dict):
        returned = cast("dict[str, Any]", known)
        for name, value in cast("dict[str, Any]", sent).items():
            if name in returned:
                yield from _lost(value, returned[name], f"{where}.{name}")
            elif value is not None:
                yield f"{where}.{name} is unknown to the SDK"
    elif isinstance(sent, list) and isinstance(known, list):
        for number, (one, other) in enumerate(zip(cast("list[Any]", sent), cast("list[Any]", known), strict=False)):
            yield from _lost(one, other, f"{where}[{number}]")


@cache
def _arguments(method: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the arguments that the SDK names for a method, and the required ones."""
    if method in NEWER:
        optional, required = (frozenset(names.split()) for names in NEWER[method])
        return optional | required, required
    parameters = inspect.signature(getattr(WebClient, method.replace(".", "_"))).parameters.values()
    own = [one for one in parameters if one.name not in {"self", "kwargs"}]
    needed = frozenset(one.name for one in own if one.default is inspect.Parameter.empty)
    return frozenset(one.name for one in own), needed


def _read(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value
