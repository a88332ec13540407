"""Slack's rules for views: its Block Kit as a closed schema, as far as the product uses it.

It follows the reference of each block and element: every field that is not listed here is an error, and so is every
value beyond a limit.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from tests.fakes.slack_things import Object

Check: TypeAlias = Callable[[Any, str], Iterator[str]]

VIEW_BYTES = 250_000
TABLE_CHARS = 20_000


def problems(view: Object) -> list[str]:
    """Return Slack's errors for a view of this type, each with its position; [] if it is valid."""
    found = [*_by_type(_VIEWS)(view, "view")]
    if len(json.dumps(view)) > VIEW_BYTES:
        found.append("view: view_too_large")
    names = [block["block_id"] for block in view.get("blocks", []) if "block_id" in block]
    if len(names) != len(set(names)):
        found.append("view: a block_id stands there twice")
    return found


def message_problems(blocks: list[Object]) -> list[str]:
    """Return the same for the blocks of a message."""
    found = [*_many(0, 50, _by_type(_MESSAGE_BLOCKS))(blocks, "blocks")]
    tables, charts = (_of_type(blocks, kind) for kind in ("data_table", "data_visualization"))
    if sum(len(_cell_text(cell)) for table in tables for row in _rows(table) for cell in row) > TABLE_CHARS:
        found.append(f"blocks: more than {TABLE_CHARS} characters in the cells of all tables")
    if len(charts) > 2:
        found.append("blocks: more than 2 charts")
    return found


def shown_text(blocks: list[Object]) -> str:
    """Return what people read in the blocks that show a reply's words, as Markdown; "" for none."""
    shown = ""
    for block in blocks:
        if block["type"] == "data_table":
            shown += f"\n\n{_markdown_table(block)}\n"
        elif block["type"] == "markdown":
            shown += f"\n{block['text']}"
    return shown.strip("\n") if _of_type(blocks, "data_table") else shown.removeprefix("\n")


def _markdown_table(table: Object) -> str:
    head, *rows = [" | ".join(_cell_text(cell).strip() for cell in row) for row in _rows(table)]
    rule = " | ".join("---" for _ in _rows(table)[0])
    return "\n".join(f"| {line} |" for line in (head, rule, *rows))


def _of_type(blocks: list[Object], kind: str) -> list[Object]:
    return [block for block in map(_fields, blocks) if block.get("type") == kind]


def _rows(table: Object) -> list[list[Object]]:
    return [[*map(_fields, _list(row))] for row in _list(table.get("rows"))]


def _cell_text(cell: Object) -> str:
    sections = map(_fields, _list(cell.get("elements")))
    parts = [_fields(part) for section in sections for part in _list(section.get("elements"))]
    return str(cell.get("text") or "".join(str(part.get("text", "")) for part in parts))


def _fields(value: Any) -> Object:
    """Return {} for anything but an object."""
    return cast("Object", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    """Return [] for anything but a list."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def _text(minimum: int, maximum: int) -> Check:
    def check(value: Any, at: str) -> Iterator[str]:
        if not isinstance(value, str) or not minimum <= len(value) <= maximum:
            yield f"{at}: {minimum} to {maximum} characters, not {str(value)[:40]!r}"

    return check


def _exactly(*allowed: object) -> Check:
    def check(value: Any, at: str) -> Iterator[str]:
        if value not in allowed:
            yield f"{at}: one of {allowed}, not {value!r}"

    return check


def _many(minimum: int, maximum: int, each: Check) -> Check:
    def check(value: Any, at: str) -> Iterator[str]:
        held = _list(value)
        if not minimum <= len(held) <= maximum:
            yield f"{at}: a list of {minimum} to {maximum}"
        for number, item in enumerate(held):
            yield from each(item, f"{at}[{number}]")

    return check


def _elements(each: Check) -> Check:
    """Check the elements of an actions block: each action_id is unique."""
    many = _many(1, 25, each)

    def check(value: Any, at: str) -> Iterator[str]:
        yield from many(value, at)
        names = [_fields(element).get("action_id") for element in _list(value)]
        if len(names) != len(set(names)):
            yield f"{at}: an action_id stands there twice: {names}"

    return check


def _object(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    known = {**required, **(optional or {})}

    def check(value: Any, at: str) -> Iterator[str]:
        held = _fields(value)
        yield from (f"{at}: {name} is missing" for name in required if name not in held)
        yield from (f"{at}: {name} is not known" for name in held if name not in known)
        for name in held.keys() & known:
            yield from known[name](held[name], f"{at}.{name}")

    return check


def _by_type(kinds: Mapping[str, Check]) -> Check:
    def check(value: Any, at: str) -> Iterator[str]:
        kind = str(_fields(value).get("type"))
        if kind not in kinds:
            yield f"{at}: type {kind!r} does not stand here"
            return
        rest = {name: held for name, held in _fields(value).items() if name != "type"}
        yield from kinds[kind](rest, f"{at}<{kind}>")

    return check


def _plain(maximum: int) -> Check:
    return _by_type({"plain_text": _object({"text": _text(1, maximum)}, {"emoji": _exactly(True, False)})})


_mrkdwn = _object({"text": _text(1, 3_000)}, {"verbatim": _exactly(True, False)})
_either = _by_type({"mrkdwn": _mrkdwn, "plain_text": _object({"text": _text(1, 3_000)})})
_field = _by_type({"mrkdwn": _mrkdwn, "plain_text": _object({"text": _text(1, 2_000)})})
_ids = {"block_id": _text(1, 255)}
_action = {"action_id": _text(1, 255)}
_option = _object({"text": _plain(75), "value": _text(1, 150)}, {"description": _plain(75)})
_confirm = _object(
    {"title": _plain(100), "text": _plain(300), "confirm": _plain(30), "deny": _plain(30)},
    {"style": _exactly("primary", "danger")},
)
_button = _object(
    {"text": _plain(75), **_action},
    {"value": _text(1, 2_000), "style": _exactly("primary", "danger"), "confirm": _confirm, "url": _text(1, 3_000)},
)
_placeholder = {"placeholder": _plain(150)}
_select = _object({"options": _many(1, 100, _option), **_action}, {"initial_option": _option, **_placeholder})
_selects = _object(
    {"options": _many(1, 100, _option), **_action}, {"initial_options": _many(1, 100, _option), **_placeholder}
)
_radio = _object({"options": _many(1, 10, _option), **_action}, {"initial_option": _option})
_boxes = _object({"options": _many(1, 10, _option), **_action}, {"initial_options": _many(1, 10, _option)})
_users = _object(_action, _placeholder)
_filter = _object({"include": _many(1, 4, _exactly("public", "private", "mpim", "im"))})
_conversations = _object(
    _action, {"filter": _filter, "default_to_current_conversation": _exactly(True, False), **_placeholder}
)
_line = _object(
    _action,
    {
        "initial_value": _text(1, 3_000),
        "multiline": _exactly(True, False),
        "max_length": _exactly(*range(1, 3_001)),
        **_placeholder,
    },
)
_choices = {
    "static_select": _select,
    "multi_static_select": _selects,
    "radio_buttons": _radio,
    "checkboxes": _boxes,
    "users_select": _users,
    "conversations_select": _conversations,
}
_input = _object(
    {"label": _plain(2_000), "element": _by_type({**_choices, "plain_text_input": _line})},
    {"hint": _plain(2_000), "optional": _exactly(True, False), **_ids},
)
# Those that a view may hold: `markdown` is for messages, and images with text are unreadable in dark mode.
_blocks = {
    "header": _object({"text": _plain(150)}, _ids),
    "section": _object({"text": _either}, _ids),
    "context": _object({"elements": _many(1, 10, _either)}, _ids),
    "divider": _object({}, _ids),
    "actions": _object({"elements": _elements(_by_type({**_choices, "button": _button}))}, _ids),
    "input": _input,
}
_judgement = _object({"text": _plain(75), "value": _text(1, 2_000)}, {"accessibility_label": _text(1, 75)})
_feedback = _object({"positive_button": _judgement, "negative_button": _judgement, **_action})
_icon = _object(
    {"icon": _exactly("trash"), "text": _plain(75), **_action},
    {
        "value": _text(1, 2_000),
        "accessibility_label": _text(1, 75),
        "visible_to_user_ids": _many(1, 10, _text(1, 20)),
        "confirm": _confirm,
    },
)
_small = {"feedback_buttons": _feedback, "icon_button": _icon}
_italic = {"style": _object({}, dict.fromkeys(("bold", "italic", "strike", "code"), _exactly(True, False)))}
_rich = {
    "text": _object({"text": _text(1, 12_000)}, _italic),
    "link": _object({"url": _text(1, 3_000)}, {"text": _text(1, 3_000), **_italic}),
}
_section = _object({"elements": _many(0, 1_000, _by_type(_rich))})


def _number(value: Any, at: str) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        yield f"{at}: a number, not {value!r}"


def _covers(value: Any, at: str) -> Iterator[str]:
    """Each series has one point for each category."""
    chart = _fields(value)
    categories = _list(_fields(chart.get("axis_config")).get("categories"))
    for series in map(_fields, _list(chart.get("series"))):
        labels = [_fields(point).get("label") for point in _list(series.get("data"))]
        if sorted(map(str, labels)) != sorted({*map(str, categories)}):
            yield f"{at}: {series.get('name')!r} has {labels} for {categories}"


def _chart(value: Any, at: str) -> Iterator[str]:
    label = _text(1, 20)
    point = _object({"label": label, "value": _number})
    series = _object({"name": label, "data": _many(1, 20, point)})
    most = 12  # series, or segments
    axes = _object({"categories": _many(1, 20, label)}, {"x_label": _text(1, 50), "y_label": _text(1, 50)})
    drawn = _object({"series": _many(1, most, series), "axis_config": axes})
    kinds = dict.fromkeys(("bar", "line", "area"), drawn)
    yield from _by_type({"pie": _object({"segments": _many(1, most, point)}), **kinds})(value, at)
    yield from _covers(value, at)


_raw_number = _object({"value": _number}, {"text": _text(1, TABLE_CHARS)})
_head = {"raw_text": _object({"text": _text(1, TABLE_CHARS)}), "raw_number": _raw_number}
_rich_text = _object({"elements": _many(0, 1_000, _by_type({"rich_text_section": _section}))}, _ids)


def _table_rows(value: Any, at: str) -> Iterator[str]:
    """Up to 200 rows below a head, all of the same length; the head has no formatted cells."""
    rows = [_list(row) for row in _list(value)]
    yield from _many(2, 201, _many(1, 20, _by_type({**_head, "rich_text": _rich_text})))(value, at)
    yield from _many(1, 20, _by_type(_head))(rows[0] if rows else [], f"{at}[0]")
    if len({*map(len, rows)}) > 1:
        yield f"{at}: rows of {sorted({*map(len, rows)})} cells"


_MESSAGE_BLOCKS = {
    "rich_text": _rich_text,
    **{kind: block for kind, block in _blocks.items() if kind != "input"},
    "markdown": _object({"text": _text(1, 12_000)}, _ids),
    "section": _object({}, {"text": _either, "fields": _many(1, 10, _field), **_ids}),
    "image": _object({"image_url": _text(1, 3_000), "alt_text": _text(1, 2_000)}, {"title": _plain(2_000), **_ids}),
    "context_actions": _object({"elements": _many(1, 5, _by_type(_small))}, _ids),
    "data_table": _object(
        {"caption": _text(1, 3_000), "rows": _table_rows},
        {"page_size": _exactly(*range(1, 101)), "row_header_column_index": _exactly(*range(20)), **_ids},
    ),
    "data_visualization": _object({"title": _text(1, 50), "chart": _chart}, _ids),
}
_common = {"callback_id": _text(1, 255), "private_metadata": _text(0, 3_000), "external_id": _text(1, 255)}
_VIEWS = {
    "home": _object({"blocks": _many(1, 100, _by_type(_blocks))}, _common),
    "modal": _object(
        {"title": _plain(24), "blocks": _many(1, 100, _by_type(_blocks))},
        {**_common, "submit": _plain(24), "close": _plain(24)},
    ),
}
