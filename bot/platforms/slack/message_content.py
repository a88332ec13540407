"""What a person sees of a message in Slack: its words, blocks, attachments, and the messages that it forwards. Pure.

Rules
- The result is in Slack's own markup, like a message's `text`: `markup.readable` turns it into words and names.
- A message of a user is its `text`, or its rich text if the text does not show all that the user quoted; a table is
  added. Users write no other blocks: those are others' words (`Enclosed`). Of a message of an app, Slack shows the
  blocks, and the text only where there are none.
- A forwarded message holds another person's words, and never counts as its sender's (`Enclosed`).
- Previews of links (unfurls) are not read: Slack makes them with the rights of whoever posted the link, and the reader
  of an answer may have none. Links to messages are read by `surroundings`, which asks who may read them.
- What cannot be read is named in one line. Any field may be missing or of another type.
- Time is linear in the size of the message; the depth and the length of what is read are limited.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from agent.memory.attribution import label, mention, mentions
from agent.messages import JsonObject
from bot.chat.message_parts import (
    CARD,
    EMAIL,
    FORWARDED,
    MAX_CHARS,
    MAX_DEPTH,
    TOO_DEEP,
    TOO_LONG,
    UNREADABLE,
    UNREADABLE_PART,
    Enclosed,
    MessageContent,
    bounded,
)
from bot.platforms.slack.api import Value, at, fields, first_text, flag, items, number, text

MAX_NESTED: Final = 10  # Messages in one forwarded message: Slack sends one
MAX_CELLS: Final = 2_000  # Of one table: Slack allows 100 rows of 20 cells

_MENTION: Final = re.compile(r"&lt;([@#!][^&<>\n]{1,99})&gt;")
_EMOJI_NAME: Final = re.compile(r"(?P<name>:[^\s:]{1,100}:)(?::skin-tone-[2-6]:)?")
_FENCE: Final = "```"
_NO_FENCE: Final = "` ` `"  # In a block of code, which it would end
# Elements that show the name of something.
_REFERENCES: Final = (
    *("attachment_mention", "canvas", "canvas_message_unfurl", "canvas_user_mention", "citation", "file"),
    *("list_record", "message_mention", "salesforce_data_field", "tag", "work_object_mention", "workflow_mention"),
)
_NO_PREVIEW: Final = "[no preview available]"  # Slack's fallback of an attachment that has blocks
# Fields that Slack sets in an attachment that it made from a link.
_UNFURLED: Final = ("from_url", "original_url", "app_unfurl_url")


Content: TypeAlias = MessageContent[JsonObject]
Shown: TypeAlias = tuple[JsonObject, Content]  # A message, and what a person sees of it


def content_of(message: JsonObject, depth: int = 0) -> Content:
    """Return what a person sees of a message, as events, histories and actions hold it.

    `depth`: of the nesting in which another message holds it.
    """
    if depth > MAX_DEPTH:
        return Content(TOO_DEEP)
    by_app = bool(text(message, "bot_id"))
    own, enclosed, files = [_words(message, depth, by_app=by_app)], list[Enclosed](), list[JsonObject]()
    if _is_of_user(message) and (words := bounded(_blocks(_of_apps(message), depth))):
        enclosed.append(Enclosed(CARD, "", words))
    room = MAX_CHARS
    for attachment in items(message, "attachments"):
        words = ""
        if room < 0:
            own.append(TOO_LONG)
            break
        if _is_shared(attachment):
            original = _shared(attachment, depth + 1)
            words = original.whole
            enclosed.append(_forwarded(attachment, original))
            files += original.files
        elif not _is_unfurled(attachment):
            words = bounded(_attachment(attachment, depth + 1))
            files += items(attachment, "files")
            if by_app or _is_pasted(attachment):
                own.append(words)
            elif words:
                enclosed.append(Enclosed(CARD, "", words))
        room -= len(words)
    enclosed += map(_email, (file for file in items(message, "files")[:MAX_NESTED] if _is_email(file)))
    return Content(bounded(own), tuple(enclosed), tuple(files))


def _is_email(file: JsonObject) -> bool:
    return "email" in (text(file, "mode"), text(file, "filetype"))


def _email(file: JsonObject) -> Enclosed:
    """Return an email that was sent to a channel's address, which Slack shows as a file with a preview."""
    sender = next((first_text(one, "original", "name", "address") for one in items(file, "from")), "")
    words = first_text(file, "plain_text", "preview_plain_text", "preview")
    shown = bounded((_plain(first_text(file, "subject", "title")), _plain(words)))
    return Enclosed(EMAIL, _plain(sender), shown or UNREADABLE_PART.format(kind="email"))


def _words(message: JsonObject, depth: int, *, by_app: bool) -> str:
    """Return the text and the blocks of a message, without what one repeats of the other."""
    typed, blocks = text(message, "text"), items(message, "blocks")
    if _is_of_user(message):
        blocks = [block for block in blocks if text(block, "type") in _OF_USERS]
    if not by_app and typed:  # Slack itself writes the text of a user's message from its rich text
        rich = [block for block in blocks if text(block, "type") == "rich_text"]
        typed = _with_emoji(typed, rich) if _says_whose_words(typed, rich) else bounded(_blocks(rich, depth))
        return bounded((typed, *_blocks((block for block in blocks if block not in rich), depth)))
    shown = bounded(_blocks(blocks, depth))
    return shown if _has_words(shown) else bounded((typed, shown))


_OF_USERS: Final = frozenset({"rich_text", "table"})  # The blocks that users write


def _is_of_user(message: JsonObject) -> bool:
    """Return whether a user wrote the message; of a forwarded one that is not known."""
    return bool(text(message, "user")) and not text(message, "bot_id")


def _of_apps(message: JsonObject) -> Iterator[JsonObject]:
    """Yield the blocks of a user's message that an app put there, such as the preview of a video."""
    yield from (block for block in items(message, "blocks") if text(block, "type") not in _OF_USERS)


def _says_whose_words(typed: str, rich: Sequence[JsonObject]) -> bool:
    """Return whether the text of a user's message shows what of it others chose, as its rich text does: it marks no
    lists within quotations, names of things like any words, and no fence within a block of code.
    """
    elements = [element for block in rich for element in items(block, "elements")]
    if any(map(_is_quoted, elements)):
        return False
    blocks = sum(text(element, "type") == "rich_text_preformatted" for element in elements)
    if rich and typed.count(_FENCE) > 2 * blocks:
        return False
    return not any(map(_is_named_by_others, _inner(elements, 0)))


def _with_emoji(typed: str, rich: Sequence[JsonObject]) -> str:
    """Return the text with standard emoji in place of their names: other names were chosen by whoever added them."""
    elements = _inner((element for block in rich for element in items(block, "elements")), 0)
    shown = {f":{text(element, 'name')}:": _emoji(element) for element in elements if text(element, "type") == "emoji"}
    return _EMOJI_NAME.sub(lambda found: shown.get(found["name"], found[0]), typed) if shown else typed


def _inner(elements: Iterable[JsonObject], depth: int) -> Iterator[JsonObject]:
    for element in elements:
        yield element
        if depth < MAX_DEPTH:
            yield from _inner(items(element, "elements"), depth + 1)


def _is_named_by_others(element: JsonObject) -> bool:
    """Return whether it shows the name of a thing, or of an emoji that members added."""
    kind = text(element, "type")
    return kind in _REFERENCES or (kind == "emoji" and mentions(_emoji(element)))


def _is_quoted(element: JsonObject) -> bool:
    """Return whether it is a quotation, or a list or code within one, which has a border."""
    return text(element, "type") == "rich_text_quote" or number(element, "border") > 0


def _forwarded(attachment: JsonObject, original: Content) -> Enclosed:
    author = first_text(attachment, "author_name", "author_subname")
    # One line: what follows a name must not look like the program's own.
    author = _plain(" ".join(author.split())) if author else _token("@", text(attachment, "author_id"))
    ts = text(attachment, "ts")
    return Enclosed(FORWARDED, author, original.whole or UNREADABLE, (ts,) if ts else ())


def _shared(attachment: JsonObject, depth: int) -> Content:
    """Return a forwarded message: the attachment itself is like a message, and may hold the blocks of the original."""
    if depth > MAX_DEPTH:
        return Content(TOO_DEEP)
    files = items(attachment, "files")
    itself = content_of({**attachment, "bot_id": ""}, depth + 1)
    nested = [
        content_of(fields(part, "message"), depth + 1) for part in items(attachment, "message_blocks")[:MAX_NESTED]
    ]
    typed = _letters(itself.text)
    words = [
        itself.whole,
        *(inner.whole for inner in nested if _letters(inner.whole) not in typed),
        *_legacy(attachment, depth, is_alone=False),
    ]
    words.append("" if any(map(_has_words, words)) else _fallback(attachment))
    names = (f"(attached file {_plain(first_text(file, 'name', 'title') or 'file')})" for file in files)
    nested_files = (file for inner in (itself, *nested) for file in inner.files)
    return Content(bounded((*words, *names)), files=(*files, *nested_files))


def _letters(words: str) -> str:
    """Return the letters and digits alone: a text and its blocks differ in their marks."""
    return "".join(filter(str.isalnum, words))


def _is_shared(attachment: JsonObject) -> bool:
    return flag(attachment, "is_share") or (bool(items(attachment, "message_blocks")) and not _is_unfurled(attachment))


def _is_unfurled(attachment: JsonObject) -> bool:
    """Whether Slack or an app made the attachment from a link in the text."""
    return (
        flag(attachment, "is_msg_unfurl")
        or flag(attachment, "is_app_unfurl")
        or bool(first_text(attachment, *_UNFURLED))
    )


# All that the attachment of a pasted table has. Any other field names a source, or comes from an app.
_PASTED: Final = frozenset({"id", "blocks", "fallback", "color", "mrkdwn_in"})


def _is_pasted(attachment: JsonObject) -> bool:
    """Whether it holds only blocks, as the table that a person pastes into a message."""
    is_bare = all(name in _PASTED or not value for name, value in attachment.items())
    return is_bare and bool(items(attachment, "blocks")) and text(attachment, "fallback") in ("", _NO_PREVIEW)


# Attachments: the older form of what apps post, in which alerts still arrive.


def _attachment(attachment: JsonObject, depth: int) -> Iterator[str]:
    """Yield the lines of an attachment; of one with blocks Slack shows these alone, beside its frame."""
    if depth > MAX_DEPTH:
        yield TOO_DEEP
        return
    blocks = bounded(_blocks(items(attachment, "blocks"), depth))
    words = bounded((*_legacy(attachment, depth, is_alone=not blocks), blocks))
    yield from (words, "" if _has_words(words) else _fallback(attachment))


def _fallback(attachment: JsonObject) -> str:
    """Return the text for devices that show no attachments."""
    fallback = text(attachment, "fallback")
    return "" if fallback == _NO_PREVIEW else fallback


def _has_words(shown: str) -> bool:
    """Whether it is more than names of pictures and buttons, and of what cannot be read."""
    return any(line and not line.startswith("(") for line in shown.splitlines())


def _legacy(attachment: JsonObject, depth: int, *, is_alone: bool) -> Iterator[str]:
    """Yield the fields of an attachment as Slack orders them. `is_alone`: also its author, text and footer."""
    yield text(attachment, "pretext")
    if is_alone:
        yield first_text(attachment, "author_name", "service_name")
    if title := text(attachment, "title"):
        yield _link(text(attachment, "title_link"), title)
    if is_alone:
        yield text(attachment, "text")
    for field in items(attachment, "fields"):
        yield ": ".join(filter(None, (text(field, "title"), _plain_value(at(field, "value")))))
    if text(attachment, "image_url") or text(attachment, "thumb_url"):
        yield _picture("")
    yield " ".join(words for action in items(attachment, "actions") for words in _button(action, depth) if words)
    if is_alone:
        yield text(attachment, "footer")


def _plain_value(value: Value) -> str:
    """Return the value of a field, which some apps send as a number."""
    return value if isinstance(value, str) else "" if value is None or isinstance(value, dict | list) else str(value)


# Blocks and their elements. Each type that Slack documents has an entry; a test compares them with Slack's own SDK.

Read: TypeAlias = Callable[[JsonObject, int], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Part:
    """`read` yields the lines of a block, or the pieces of an element. `shows`: what that is, for the documentation."""

    read: Read
    shows: str


def _blocks(blocks: Iterable[JsonObject], depth: int) -> Iterator[str]:
    for block in blocks:
        yield from _part(BLOCKS, block, depth)


def _elements(elements: Iterable[JsonObject], depth: int) -> Iterator[str]:
    for element in elements:
        yield from _part(ELEMENTS, element, depth)


def _part(known: Mapping[str, Part], value: JsonObject, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH:
        yield TOO_DEEP
        return
    kind = text(value, "type")
    if (part := known.get(kind)) is None:
        yield UNREADABLE_PART.format(kind=_plain(kind[:80]) or "it has no type")
    else:
        yield from part.read(value, depth + 1)


def _plain(words: str) -> str:
    """Return plain text in Slack's markup."""
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _object(value: Value) -> str:
    """Return a text object, or a plain text in place of one."""
    if isinstance(value, str):
        return _plain(value)
    words = text(value, "text")
    return words if text(value, "type") == "mrkdwn" else _plain(words)


def _link(url: str, words: str) -> str:
    target = _plain(url.replace("&amp;", "&")).replace("|", "%7C").replace("\n", "")
    return f"<{target}|{words.replace('|', '¦').replace('<', '‹').replace('>', '›')}>" if target else words


def _picture(about: str) -> str:
    return f"(picture: {about})" if about else "(picture)"


def _nothing(value: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield from ()


def _section(block: JsonObject, depth: int) -> Iterator[str]:
    yield _object(at(block, "text"))
    yield from map(_object, items(block, "fields"))
    if accessory := fields(block, "accessory"):
        yield " ".join(_elements([accessory], depth))


def _only_object(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _object(element)


def _only_text(block: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _object(at(block, "text"))


def _markdown(block: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _MENTION.sub(r"<\1>", _plain(text(block, "text")))


def _image(block: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _picture(_object(at(block, "title")) or _plain(text(block, "alt_text")))


def _actions(block: JsonObject, depth: int) -> Iterator[str]:
    yield _controls(items(block, "elements"), depth)


def _controls(elements: Sequence[JsonObject], depth: int) -> str:
    return " ".join(filter(None, _elements(elements, depth)))


def _context(block: JsonObject, depth: int) -> Iterator[str]:
    yield " ".join(filter(None, _elements(items(block, "elements"), depth)))


def _input(block: JsonObject, depth: int) -> Iterator[str]:
    label = _object(at(block, "label"))
    yield " ".join(filter(None, (label, *_elements([fields(block, "element")], depth))))


def _file(block: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    name = first_text(fields(block, "file"), "title", "name")
    yield f"(file: {_plain(name)})" if name else "(a remote file that I cannot read)"


def _call(block: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    call = fields(block, "call", "v1")
    yield f"(call: {_link(text(call, 'join_url'), _plain(text(call, 'name')) or 'join')})"


def _video(block: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    title = _object(at(block, "title")) or _plain(text(block, "alt_text"))
    yield f"(video: {_link(first_text(block, 'title_url', 'video_url'), title)})"
    yield _object(at(block, "description"))
    yield ", ".join(filter(None, (_plain(text(block, "author_name")), _plain(text(block, "provider_name")))))


def _table(block: JsonObject, depth: int) -> Iterator[str]:
    rows, cells = at(block, "rows"), 0
    for index, row in enumerate(rows if isinstance(rows, list) else ()):
        found = row if isinstance(row, list) else items(row, "cells")
        cells += len(found)
        if cells > MAX_CELLS:
            yield "(the table has more rows, which I did not read)"
            return
        yield f"| {' | '.join(_cell(cell, depth) for cell in found)} |"
        if not index:
            yield f"| {' | '.join('---' for _ in found)} |"


def _data_table(block: JsonObject, depth: int) -> Iterator[str]:
    yield _object(at(block, "caption"))
    yield from _table(block, depth)


def _chart(block: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    """Yield the numbers of a chart: one line for each slice, or for each series."""
    chart = fields(block, "chart")
    labels = (text(chart, "axis_config", "x_label"), text(chart, "axis_config", "y_label"))
    axes = f" ({_plain(' / '.join(filter(None, labels)))})" if any(labels) else ""
    yield f"(chart: {_object(at(block, 'title'))}{axes})"
    for segment in items(chart, "segments"):
        yield _plain(_point(segment))
    for series in items(chart, "series"):
        yield _plain(f"{text(series, 'name')}: {', '.join(map(_point, items(series, 'data')[:MAX_CELLS]))}")


def _point(point: JsonObject) -> str:
    return f"{text(point, 'label')} {_plain_value(at(point, 'value'))}"


def _cell(cell: Value, depth: int) -> str:
    if text(cell, "type") == "rich_text" and isinstance(cell, dict):
        words = " ".join(_part(BLOCKS, cell, depth))
    elif element := fields(cell, "element"):
        words = _controls([element], depth)
    else:
        words = _object(cell) or _plain_value(at(cell, "value"))
    return " ".join(words.replace("|", "¦" if "<" not in words else "|").split())


def _task_card(block: JsonObject, depth: int) -> Iterator[str]:
    status = _plain(text(block, "status").replace("_", " "))
    yield " ".join(filter(None, (_object(at(block, "title")), f"({status})" if status else "")))
    for name in ("details", "output"):
        value = at(block, name)
        yield from _part(BLOCKS, value, depth) if isinstance(value, dict) else (_object(value),)
    yield from _elements(items(block, "sources"), depth)


def _plan(block: JsonObject, depth: int) -> Iterator[str]:
    yield _object(at(block, "title"))
    yield from _blocks(({"type": "task_card", **task} for task in items(block, "tasks")), depth)


def _alert(block: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    level = text(block, "level")
    level = _plain(level) if level not in ("", "default") else ""
    yield ": ".join(filter(None, (level, _object(at(block, "text")))))


def _card(block: JsonObject, depth: int) -> Iterator[str]:
    for name in ("title", "subtitle", "body"):
        yield _object(at(block, name))
    for name in ("hero_image", "icon"):
        if picture := fields(block, name):
            yield from _elements([{**picture, "type": "image"}], depth)
    yield _controls(items(block, "actions"), depth)


def _container(block: JsonObject, depth: int) -> Iterator[str]:
    rich = fields(block, "rich_text_title")
    yield from _part(BLOCKS, rich, depth) if rich else (_object(at(block, "title")),)
    yield _object(at(block, "subtitle"))
    yield from _blocks(items(block, "child_blocks"), depth)


def _carousel(block: JsonObject, depth: int) -> Iterator[str]:
    yield from _blocks(({"type": "card", **card} for card in items(block, "elements")), depth)


def _auth_provider(block: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    names = ("name", "description", "connected_identity", "connected_context")
    yield ", ".join(filter(None, (_object(at(block, name)) for name in names)))


def _rich_text(block: JsonObject, depth: int) -> Iterator[str]:
    for element in items(block, "elements"):
        lines = _elements([element], depth)
        if text(element, "type") != "rich_text_preformatted":
            lines = (line.replace(_FENCE, _NO_FENCE) for line in lines)
        yield from _quoted(lines) if _is_quoted(element) else lines


def _rich_section(element: JsonObject, depth: int) -> Iterator[str]:
    yield "".join(_elements(items(element, "elements"), depth)).strip("\n")


def _rich_list(element: JsonObject, depth: int) -> Iterator[str]:
    indent, ordered = "    " * min(number(element, "indent"), MAX_DEPTH), text(element, "style") == "ordered"
    for index, item in enumerate(items(element, "elements"), start=number(element, "offset") + 1):
        mark = f"{index}." if ordered else "•"
        yield f"{indent}{mark} {' '.join(_part(ELEMENTS, item, depth))}"


def _rich_quote(element: JsonObject, depth: int) -> Iterator[str]:
    yield "".join(_elements(items(element, "elements"), depth))


def _quoted(lines: Iterable[str]) -> Iterator[str]:
    yield "\n".join(f"&gt; {line}" for words in lines for line in words.splitlines())


def _rich_preformatted(element: JsonObject, depth: int) -> Iterator[str]:
    words = "".join(_elements(items(element, "elements"), depth)).replace(_FENCE, _NO_FENCE)
    yield f"{_FENCE}\n{words}\n{_FENCE}"


# As Slack writes them into a message's text.
_STYLES: Final = {"code": "`", "strike": "~", "italic": "_", "bold": "*"}


def _rich_words(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _styled(element, _plain(text(element, "text")))


def _styled(element: JsonObject, words: str) -> str:
    style, core = fields(element, "style"), words.strip()
    marks = "".join(mark for name, mark in _STYLES.items() if flag(style, name))
    return words.replace(core, f"{marks[::-1]}{core}{marks}", 1) if core and marks else words


def _rich_channel(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _token("#", text(element, "channel_id"))


def _rich_user(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _token("@", text(element, "user_id"))


def _rich_emoji(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _emoji(element)


def _emoji(element: JsonObject) -> str:
    """Return a standard emoji itself, and one that members added by its name."""
    try:
        shown = "".join(chr(int(code, 16)) for code in text(element, "unicode").split("-"))
        return shown.encode().decode()
    except (ValueError, OverflowError):  # it has none, or half a character
        return label(f":{_plain(text(element, 'name'))}:")


def _rich_link(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    url = text(element, "url")
    yield _styled(element, _link(url, _plain(text(element, "text")) or _plain(url)))


def _rich_reference(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    """Yield what an element refers to: an object in Slack or in an app, by its name, which is not the writer's, and
    its address.
    """
    name = _plain(first_text(element, "text", "title", "label", "name", "fallback"))
    words = mention(name, "#") if name else ""
    user = _token("@", text(element, "user_id"))
    kind = _plain(text(element, "type").replace("_", " "))
    yield _link(text(element, "url"), words or user or kind) if text(element, "url") else words or user or f"({kind})"


def _rich_team(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield f"@{_plain(text(element, 'team_id'))}"


def _rich_group(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    group = text(element, "usergroup_id")
    yield _token("!subteam^", f"{group}|@{group}" if group.isalnum() else "")


def _rich_date(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _plain(text(element, "fallback")) or _date(number(element, "timestamp"))


def _rich_broadcast(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _token("!", text(element, "range"))


def _rich_color(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _plain(text(element, "value"))


def _token(sign: str, name: str) -> str:
    return f"<{sign}{name}>" if name and not set(name) & set("<>\n") else ""


def _date(seconds: int) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, OSError, ValueError):
        return str(seconds)


def _button(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    label, url = _object(at(element, "text")), text(element, "url")
    yield (_link(url, label) if url else f"(button: {label})") if label else ""


def _menu(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    """Yield what is chosen in a menu or a field, or else what it asks for."""
    chosen = [fields(element, "initial_option"), *items(element, "initial_options")]
    names = [_object(at(option, "text")) for option in chosen if option]
    set_value = first_text(element, "initial_value", "initial_date", "initial_time")
    words = ", ".join(filter(None, names)) or _plain(set_value) or _object(at(element, "placeholder"))
    yield f"(field: {words})" if words else ""


def _choices(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    """Yield all options of boxes, which Slack shows beside each other; those that are ticked are marked."""
    ticked = [fields(element, "initial_option"), *items(element, "initial_options")]
    values = {text(option, "value") for option in ticked if option}
    for option in items(element, "options"):
        yield f"[{'x' if text(option, 'value') in values else ' '}] {_object(at(option, 'text'))}"


def _url_source(element: JsonObject, depth: int) -> Iterator[str]:  # noqa: ARG001 -- the form of a reader
    yield _link(text(element, "url"), _plain(text(element, "text")) or _plain(text(element, "url")))


_ITS_TEXT: Final = "its text"
_MENU: Final = Part(_menu, "the chosen value, or the placeholder")
_UNSEEN: Final = Part(_nothing, "nothing, because it has no text")

BLOCKS: Final[Mapping[str, Part]] = {
    "section": Part(_section, "its text, fields, and accessory"),
    "divider": _UNSEEN,
    "image": Part(_image, "its title or description, but not the picture itself"),
    "actions": Part(_actions, "its buttons, menus, and other elements"),
    "context": Part(_context, "its text, and the descriptions of its pictures"),
    "context_actions": Part(_nothing, "nothing, because it contains only feedback and icon buttons"),
    "input": Part(_input, "its label and value"),
    "file": Part(_file, "its name, but not the content of a remote file"),
    "call": Part(_call, "its name and link"),
    "header": Part(_only_text, _ITS_TEXT),
    "markdown": Part(_markdown, _ITS_TEXT),
    "video": Part(_video, "its title, description, and link, but not the video itself"),
    "rich_text": Part(_rich_text, "its text, with all elements"),
    "table": Part(_table, "its rows"),
    "data_table": Part(_data_table, "its caption and rows"),
    "data_visualization": Part(_chart, "its title and numbers"),
    "task_card": Part(_task_card, "its title, status, details, output, and sources"),
    "plan": Part(_plan, "its title and tasks"),
    "alert": Part(_alert, "its level and text"),
    "card": Part(_card, "its title, subtitle, body, and links"),
    "container": Part(_container, "its title, subtitle, and blocks"),
    "carousel": Part(_carousel, "its cards"),
    "auth_provider": Part(_auth_provider, "its name, description, and account"),
}

ELEMENTS: Final[Mapping[str, Part]] = {
    **{kind: Part(_only_object, _ITS_TEXT) for kind in ("mrkdwn", "plain_text", "raw_text", "raw_number")},
    "rich_text_section": Part(_rich_section, _ITS_TEXT),
    "rich_text_list": Part(_rich_list, "its items"),
    "rich_text_quote": Part(_rich_quote, _ITS_TEXT),
    "rich_text_preformatted": Part(_rich_preformatted, _ITS_TEXT),
    "text": Part(_rich_words, _ITS_TEXT),
    "channel": Part(_rich_channel, "the channel's name, if it is public"),
    "user": Part(_rich_user, "the user's name"),
    "emoji": Part(_rich_emoji, "the emoji, or the name of a custom emoji"),
    "link": Part(_rich_link, "its text and address"),
    "team": Part(_rich_team, "the workspace's ID"),
    "usergroup": Part(_rich_group, "the user group's ID"),
    "date": Part(_rich_date, "the date"),
    "broadcast": Part(_rich_broadcast, "whether it is `@here`, `@channel`, or `@everyone`"),
    "color": Part(_rich_color, "the color's code"),
    **dict.fromkeys(_REFERENCES, Part(_rich_reference, "its text and address, but not the item that it refers to")),
    "button": Part(_button, "its label and link"),
    "workflow_button": Part(_button, "its label"),
    "image": Part(_image, "its description, but not the picture itself"),
    "url": Part(_url_source, "its text and address"),
    "overflow": Part(_nothing, "nothing, because its entries are hidden until someone opens it"),
    "feedback_buttons": Part(_nothing, "nothing, because it only collects feedback"),
    "icon_button": _UNSEEN,
    "checkboxes": Part(_choices, "its options, and which ones are selected"),
    "radio_buttons": Part(_choices, "its options, and which one is selected"),
    **dict.fromkeys(
        (
            *("static_select", "multi_static_select", "external_select", "multi_external_select", "users_select"),
            *("multi_users_select", "conversations_select", "multi_conversations_select", "channels_select"),
            *("multi_channels_select", "datepicker", "timepicker", "datetimepicker", "plain_text_input"),
            *("email_text_input", "url_text_input", "number_input", "rich_text_input", "file_input"),
        ),
        _MENU,
    ),
}
