"""Calls that stand in thoughts which were never closed. Pure.

Above: `agent.protocol.parser`. Below: `agent.protocol.blocks`.

A model that forgets `</think>` still means the workspace and the calls that follow its thoughts, and with a stop
sequence they are the last that it wrote. Had the tag come later, they would have been mere thoughts; so this is only
asked when the stream has ended.
"""

import re
from collections.abc import Callable

from agent.events import CallsArrived, ProtocolEvent, ThoughtArrived
from agent.protocol.blocks import Block, Opening
from agent.protocol.grammar import Kind, ParserLimits
from agent.protocol.tags import BLANKS, Tag, read_json_start, read_tag

_OPENING = re.compile(rf"^[{BLANKS}]*(?=<[{BLANKS}]*(?:workspace|execute)\b)", re.IGNORECASE | re.ASCII | re.MULTILINE)


def read_forgotten_calls(thoughts: str, limits: ParserLimits, is_tool: Callable[[str], bool]) -> list[ProtocolEvent]:
    """The thoughts, the workspace and the calls, if there are calls of tools that exist; else nothing."""
    events: list[ProtocolEvent] = []
    first, position = len(thoughts), 0
    while found := _OPENING.search(thoughts, position):
        tag = read_tag(thoughts, found.end(), limits)
        begin = read_json_start(thoughts, tag.end, tag.kind, limits) if isinstance(tag, Tag) else None
        if not isinstance(tag, Tag) or not isinstance(begin, int):
            position = found.end() + 1
            continue
        first = min(first, found.start())
        block = Block(Opening(tag.kind, begin), limits)
        position = block.feed(thoughts, begin)
        events += block.events() if block.is_over else block.end_of_stream()
        if tag.kind is Kind.EXECUTE:
            break
    match events[-1:]:
        case [CallsArrived(calls)] if all(is_tool(call.name) for call in calls):
            return [ThoughtArrived(thoughts[:first].strip()), *events]
        case _:
            return []
