"""What a server of MCP asks a person in the middle of a call (elicitation), as fields to fill in. Pure.

Rules
  A server writes what it likes: its words are bounded, and shown as they are and as its own. What nobody could fill in,
  or what asks for a secret by name, is declined unseen; secrets belong on a page of the server's own, by address.
  What was filled in is checked as the server's schema says, and every mistake is told at once.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum, auto
from typing import Final, assert_never
from unicodedata import normalize
from urllib.parse import urlsplit

from agent.messages import Elicitation, Json, JsonObject, normalisable
from agent.tool_policy import visible
from bot.texts import tool_texts
from bot.texts.formatting import as_code, literal, shortened

MAX_FIELDS: Final = 25  # Five windows of five fields; a longer form is a page of the server's own
MAX_CHOICES: Final = 100  # More are not chosen from, but searched; a page can do that
MAX_MENU: Final = 25  # As many as a menu of Discord holds. Of more, the name is written.
# Of a question, with all its fields: what is filled in has to stand beside it in a message of Slack.
MAX_SHOWN: Final = 8_000
# Of a question, an address, and what is typed into a field: two of them, and what we say, fit the smallest panel.
MAX_TEXT_CHARS: Final = 1_500
MAX_LABEL_CHARS: Final = 60
# Of what is said about a field. With the labels a whole form stays below what a panel shows.
MAX_ABOUT_CHARS: Final = 200
MAX_GIVEN_CHARS: Final = 80  # Of what is filled into a field, beside it
MAX_NAME_CHARS: Final = 200
MAX_NUMBER_CHARS: Final = 30

# In the name or the title of a field: the specification forbids servers to ask for such by form.
_SECRET: Final = re.compile(
    r"(?:^|[^a-z])(?:pass ?(?:word|phrase|code|wort)|secret|(?:api|access|private|secret) ?key|cvv|cvc|ssn|"
    r"(?:access|auth|api|bearer|refresh) ?token|credit ?card|card ?number|pin ?(?:code|number)|social ?security)"
    r"(?:$|[^a-z])"
)
_HUMP: Final = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\-.]+")
_EMAIL: Final = re.compile(r"[^@\s]{1,64}@[^@\s.]+(?:\.[^@\s.]+)+")
_INTEGER: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)


class QuestionRefused(Exception):
    """It is not shown to anybody: `args[0]` says why, for the server and the log."""


class ValueKind(Enum):
    TEXT = auto()
    NUMBER = auto()
    INTEGER = auto()
    YES_NO = auto()
    ONE_OF = auto()
    SOME_OF = auto()


@dataclass(frozen=True, slots=True)
class QuestionField:
    """A field. `choices`: the values and what they are called. `least` and `most`: of characters, of the number, or of
    choices. `default`: as it would be filled in.
    """

    name: str
    label: str
    kind: ValueKind
    about: str = ""
    required: bool = False
    form: str = ""
    """Of a text: "email", "uri", "date" or "date-time"."""
    least: float | None = None
    most: float | None = None
    choices: tuple[tuple[str, str], ...] = ()
    default: str = ""

    @property
    def is_menu(self) -> bool:
        """Whether one of few choices is picked."""
        return 0 < len(self.choices) <= MAX_MENU


YES_NO: Final = (("yes", tool_texts.YES), ("no", tool_texts.NO))


def checked_question(source: str, text: str, schema: Json, address: str | None = None) -> Elicitation:
    """What a server asks, bounded, as it may be shown and kept. Raises QuestionRefused."""
    words = visible(text[: MAX_TEXT_CHARS + 2].replace("\r\n", "\n"))
    words = words if len(words) <= MAX_TEXT_CHARS else f"{words[: MAX_TEXT_CHARS - 1]}…"
    if address is not None:
        return Elicitation(source, words, {}, checked_address(address))
    asked = Elicitation(source, words, _kept(schema))
    for one in fields_of(asked.schema):
        if _SECRET.search(_spaced(one.name)) or _SECRET.search(_spaced(one.label)):
            raise QuestionRefused(tool_texts.NOT_BY_FORM)
    if len(question_text(asked, "", {})) > MAX_SHOWN:
        raise QuestionRefused(tool_texts.TOO_LONG_TO_SHOW)
    return asked


def checked_address(address: str) -> str:
    """An address that a person may be shown as it is, which leads where it seems to. Raises QuestionRefused."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise QuestionRefused(tool_texts.BAD_ADDRESS) from None
    plain = address.isascii() and address.isprintable() and " " not in address and "\\" not in address
    safe = parts.scheme == "https" or (parts.scheme == "http" and host in {"localhost", "127.0.0.1", "::1"})
    if not (plain and safe and host and port != 0 and "@" not in parts.netloc and len(address) <= MAX_TEXT_CHARS):
        raise QuestionRefused(tool_texts.BAD_ADDRESS)
    return address


def host_of(address: str) -> str:
    return urlsplit(address).hostname or ""


def _spaced(name: str) -> str:
    """As it is read: letters that only look wider or bolder are the same."""
    return _HUMP.sub(" ", normalize("NFKC", normalisable(name))).casefold()


def _kept(schema: Json) -> JsonObject:
    """Of a schema what may be kept: an object of so many properties, of a size that fields cannot exceed."""
    properties = schema.get("properties") if isinstance(schema, dict) and schema.get("type") == "object" else None
    if not isinstance(schema, dict) or not isinstance(properties, dict):
        raise QuestionRefused(tool_texts.NO_FORM)
    if len(properties) > MAX_FIELDS:
        raise QuestionRefused(tool_texts.TOO_MANY_FIELDS.format(most=MAX_FIELDS))
    required = schema.get("required") or []
    kept: JsonObject = {"type": "object", "properties": properties, "required": required}
    try:
        if len(json.dumps(kept)) > 4 * MAX_FIELDS * MAX_TEXT_CHARS:
            raise QuestionRefused(tool_texts.NO_FORM)
    except (RecursionError, TypeError, ValueError):
        raise QuestionRefused(tool_texts.NO_FORM) from None
    return kept


def fields_of(schema: JsonObject) -> tuple[QuestionField, ...]:
    """The fields of a schema that was `_kept`. Raises QuestionRefused for what is none."""
    properties, required = schema["properties"], schema["required"]
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise QuestionRefused(tool_texts.NO_FORM)
    return tuple(_field(name, one, required=name in required) for name, one in properties.items())


def _field(name: str, schema: Json, *, required: bool) -> QuestionField:
    if not isinstance(schema, dict) or not name.strip() or len(name) > MAX_NAME_CHARS:
        raise QuestionRefused(tool_texts.NO_FORM)
    label = _line(schema.get("title"), MAX_LABEL_CHARS) or _line(name, MAX_LABEL_CHARS)
    about = _line(schema.get("description"), MAX_ABOUT_CHARS)
    default = schema.get("default")
    made = QuestionField(name, label, ValueKind.TEXT, about, required)
    match schema:
        case {"type": "string"} if (choices := _choices(schema)) is not None:
            of_default = [default] if isinstance(default, str) else []
            return _with_choices(replace(made, kind=ValueKind.ONE_OF, choices=choices), of_default)
        case {"type": "string"}:
            least, most = _bound(schema, "minLength"), _bound(schema, "maxLength")
            if least is not None and least > MAX_TEXT_CHARS:
                raise QuestionRefused(tool_texts.NO_FORM)
            text = default if isinstance(default, str) and len(default) <= MAX_TEXT_CHARS else ""
            return replace(made, form=str(schema.get("format") or ""), least=least, most=most, default=text)
        case {"type": "number" | "integer" as name_of_kind}:
            is_number = isinstance(default, int | float) and not isinstance(default, bool)
            return replace(
                made,
                kind=ValueKind.INTEGER if name_of_kind == "integer" else ValueKind.NUMBER,
                least=_bound(schema, "minimum"),
                most=_bound(schema, "maximum"),
                default=json.dumps(default)[:MAX_NUMBER_CHARS] if is_number else "",
            )
        case {"type": "boolean"}:
            known = ("1", "0")[default] if isinstance(default, bool) else ""
            return replace(made, kind=ValueKind.YES_NO, choices=YES_NO, default=known)
        case {"type": "array", "items": dict(items)} if (choices := _choices(items)) is not None:
            least, most = _bound(schema, "minItems"), _bound(schema, "maxItems")
            some = replace(made, kind=ValueKind.SOME_OF, choices=choices, least=least, most=most)
            return _with_choices(some, default if isinstance(default, list) else [])
        case _:
            raise QuestionRefused(tool_texts.NO_FORM)


def _with_choices(one: QuestionField, default: Sequence[Json]) -> QuestionField:
    """What stands there at first: places in a menu, or else names."""
    found = [(str(at), title) for at, (value, title) in enumerate(one.choices) if value in default]
    places, names = " ".join(place for place, _ in found), ", ".join(title for _, title in found)
    return replace(one, default=places if one.is_menu else names)


def _choices(schema: Mapping[str, Json]) -> tuple[tuple[str, str], ...] | None:
    """The values that may be chosen, with their titles; None where anything may be written."""
    titled = schema.get("oneOf", schema.get("anyOf"))
    match schema:
        case {"enum": list(values)}:
            names = schema.get("enumNames")
            titles = names if isinstance(names, list) and len(names) == len(values) else values
        case _ if isinstance(titled, list):
            pairs = [(one.get("const"), one.get("title")) for one in titled if isinstance(one, dict)]
            values, titles = [value for value, _ in pairs], [title or value for value, title in pairs]
        case _:
            return None
    if not 0 < len(values) <= MAX_CHOICES or not all(
        isinstance(one, str) and len(one) <= MAX_NAME_CHARS for one in values
    ):
        raise QuestionRefused(tool_texts.NO_FORM)
    shown = zip(values, titles, strict=True)
    return tuple(
        (str(value), _line(title, MAX_LABEL_CHARS) or f"({number})") for number, (value, title) in enumerate(shown, 1)
    )


def _bound(schema: Mapping[str, Json], name: str) -> float | None:
    """A bound in digits that somebody could type; a larger one bounds nothing, and neither does what is no number."""
    value = schema.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if abs(value) < 10**MAX_NUMBER_CHARS else None


def _line(text: Json, chars: int) -> str:
    return shortened(visible(text[: 4 * chars]), chars) if isinstance(text, str) else ""


# What was filled in, and the values that it stands for. What is filled in is text: of choices their places, from 0.


def values_of(fields: Sequence[QuestionField], filled: Mapping[str, str]) -> tuple[JsonObject, Mapping[int, str]]:
    """The values, and a sentence for each field, by its place, in which something is wrong. `filled`: by place."""
    values, wrong = dict[str, Json](), dict[int, str]()
    for at, one in enumerate(fields):
        given = filled.get(str(at), "").strip()
        if not given:
            if one.required:
                wrong[at] = tool_texts.FIELD_REQUIRED
            continue
        try:
            values[one.name] = _value(one, given)
        except _Wrong as mistake:
            wrong[at] = str(mistake)
    return values, wrong


class _Wrong(Exception):
    """What is wrong with it, in a sentence."""


def _value(one: QuestionField, given: str) -> Json:
    match one.kind:
        case ValueKind.TEXT:
            return _text(one, given)
        case ValueKind.NUMBER | ValueKind.INTEGER:
            return _number(one, given)
        case ValueKind.YES_NO:
            return _picked(one, given) == "yes"
        case ValueKind.ONE_OF:
            return _picked(one, given)
        case ValueKind.SOME_OF:
            names = given.split() if one.is_menu else [name for name in given.split(",") if name.strip()]
            picked: list[Json] = [*dict.fromkeys(_picked(one, name) for name in names)]
            if one.least is not None and len(picked) < one.least:
                raise _Wrong(tool_texts.TOO_FEW_CHOSEN.format(least=f"{one.least:g}"))
            if one.most is not None and len(picked) > one.most:
                raise _Wrong(tool_texts.TOO_MANY_CHOSEN.format(most=f"{one.most:g}"))
            return picked
        case _:
            assert_never(one.kind)


def _picked(one: QuestionField, given: str) -> str:
    if not one.is_menu:
        name = " ".join(given.split()).casefold()
        found = [value for value, title in one.choices if name in (title.casefold(), value.casefold())]
    else:
        places = {str(at): value for at, (value, _) in enumerate(one.choices)}
        found = [places[given]] if given in places else []
    if not found:
        raise _Wrong(tool_texts.NOT_A_CHOICE)
    return found[0]


def _text(one: QuestionField, given: str) -> str:
    most = MAX_TEXT_CHARS if one.most is None else min(one.most, MAX_TEXT_CHARS)
    if len(given) > most:
        raise _Wrong(tool_texts.TEXT_TOO_LONG.format(most=f"{most:g}"))
    if one.least is not None and len(given) < one.least:
        raise _Wrong(tool_texts.TEXT_TOO_SHORT.format(least=f"{one.least:g}"))
    if (example := tool_texts.FORMS.get(one.form)) is not None and not _has_form(one.form, given):
        raise _Wrong(example)
    return given


def _has_form(form: str, given: str) -> bool:
    try:
        match form:
            case "email":
                return _EMAIL.fullmatch(given) is not None
            case "uri":
                parts = urlsplit(given)
                return bool(parts.scheme and (parts.netloc or parts.path)) and " " not in given
            case "date":
                return len(given) == len("2026-01-31") and bool(date.fromisoformat(given))
            case "date-time":
                return "T" in given.upper() and datetime.fromisoformat(given).tzinfo is not None
            case _:
                return True
    except ValueError:
        return False


def _number(one: QuestionField, given: str) -> Json:
    try:
        value = Decimal(given) if len(given) <= MAX_NUMBER_CHARS else Decimal("nan")
    except InvalidOperation:
        value = Decimal("nan")
    if one.kind is ValueKind.INTEGER and _INTEGER.fullmatch(given) is None:
        raise _Wrong(tool_texts.NOT_AN_INTEGER)
    if not value.is_finite() or abs(value.adjusted()) > MAX_NUMBER_CHARS:
        raise _Wrong(tool_texts.NOT_A_NUMBER)
    if one.least is not None and value < Decimal(one.least):
        raise _Wrong(tool_texts.NUMBER_TOO_SMALL.format(least=f"{one.least:g}"))
    if one.most is not None and value > Decimal(one.most):
        raise _Wrong(tool_texts.NUMBER_TOO_LARGE.format(most=f"{one.most:g}"))
    return int(value) if one.kind is ValueKind.INTEGER else float(value)


def shown_value(one: QuestionField, given: str) -> str:
    """What was filled in, as its person reads it."""
    titles = {str(at): title for at, (_, title) in enumerate(one.choices)} if one.is_menu else {}
    return ", ".join(titles.get(place, place) for place in given.split()) if titles else visible(given)


def limits_of(one: QuestionField) -> str:
    """What may be filled in, in words; "" for anything."""
    unit = {ValueKind.TEXT: tool_texts.CHARACTERS, ValueKind.SOME_OF: tool_texts.CHOICES}.get(one.kind, "")
    bounds = [
        tool_texts.AT_LEAST.format(least=f"{one.least:g}{unit}") if one.least else "",
        tool_texts.AT_MOST.format(most=f"{one.most:g}{unit}") if one.most is not None else "",
    ]
    kind = tool_texts.KINDS.get(one.kind.name, "") or tool_texts.FORM_NAMES.get(one.form, "")
    return ", ".join(filter(None, [kind, *bounds]))


def question_text(asked: Elicitation, question: str, filled: Mapping[str, str]) -> str:
    """The whole question, as its asker alone reads it: who asks, every word of it, what is filled in."""
    head = tool_texts.ASKS_YOU.format(source=asked.source, question=literal(shortened(question, MAX_ABOUT_CHARS)))
    parts = [head, as_code(asked.text or tool_texts.NO_WORDS)]
    if asked.address:
        host = host_of(asked.address)
        parts += [tool_texts.OPENS.format(host=host), as_code(asked.address), tool_texts.OPEN_WITH_CARE]
        if "xn--" in host:
            parts.append(tool_texts.STRANGE_HOST)
        return "\n".join(parts)
    lines = [_field_line(at, one, filled) for at, one in enumerate(fields_of(asked.schema))]
    warning = tool_texts.NO_SECRETS.format(source=asked.source)
    return "\n".join([*parts, *lines, "", warning] if lines else [*parts, warning])


def _field_line(at: int, one: QuestionField, filled: Mapping[str, str]) -> str:
    given = filled.get(str(at), "")
    need = "" if one.required else tool_texts.OPTIONAL
    about = " ".join(filter(None, [literal(one.about), f"({limits})" if (limits := limits_of(one)) else "", need]))
    names = "" if one.is_menu else ", ".join(title for _, title in one.choices)
    about = f"{about} {tool_texts.ONE_OF} {literal(names)}".lstrip() if names else about
    line = f"- **{literal(one.label)}**" + (f" {about}" if about else "")
    return f"{line}: {literal(shortened(shown_value(one, given), MAX_GIVEN_CHARS))}" if given else line
