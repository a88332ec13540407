"""Questions of an MCP server to a person during a call (elicitation), as forms. Pure.

Rules
  A server's text is not trusted: it is limited in length, and shown literally and as the server's. A form that cannot
  be filled in, or that asks for a secret by name, is declined without being shown; secrets belong on a web page of the
  server, by address.
  The values are checked against the server's schema, and all mistakes are shown at once.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from enum import Enum, auto
from typing import Final, assert_never
from unicodedata import name as unicode_name
from unicodedata import normalize
from urllib.parse import urlsplit

from agent.messages import UNSEEN, Elicitation, Json, JsonObject, confusable_skeleton, normalisable
from agent.tool_policy import visible
from bot.chat.texts.formatting import as_code, literal, shortened
from bot.tools import texts as tool_texts

MAX_FIELDS: Final = 25  # Five windows of five fields; a longer form should be a web page of the server
MAX_CHOICES: Final = 100  # More choices need a search, which a web page can offer
MAX_MENU: Final = 25  # The maximum of a menu in Discord. With more choices, the person types the name.
# Of a question with all its fields: a message of Slack has to hold it together with the values.
MAX_SHOWN: Final = 8_000
# Of a question, an address, and the value of a field: two of them, with our own text, fit the smallest panel.
MAX_TEXT_CHARS: Final = 1_500
MAX_LABEL_CHARS: Final = 60
# Of the description of a field: a whole form, with its labels, fits a panel.
MAX_ABOUT_CHARS: Final = 200
MAX_GIVEN_CHARS: Final = 80  # Of the value shown beside a field
MAX_NAME_CHARS: Final = 200
MAX_NUMBER_CHARS: Final = 30

# In the name or the title of a field: the specification forbids servers to ask for secrets by form.
_SECRET: Final = re.compile(
    r"(?:^|[^a-z])(?:pass ?(?:word|phrase|code|wort)|pass ?wd|pwd|(?:one time|verification) (?:code|password)|otp|totp"
    r"|(?:seed|recovery) phrase|secret|(?:api|access|private|secret) ?key|cvv|cvc|ssn|"
    r"(?:access|auth|api|bearer|refresh) ?token|credit ?card|card ?number|pin ?(?:code|number)|social ?security)"
    r"(?:$|[^a-z])"
)
# Of which those are made. In the name of a field, a letter of another alphabet stands for whatever makes one of them.
_SECRET_WORDS: Final = (
    *(
        "password",
        "passphrase",
        "passcode",
        "passwort",
        "passwd",
        "pwd",
        "pass",
        "word",
        "phrase",
        "code",
        "wort",
        "wd",
    ),
    *("one", "time", "verification", "otp", "totp", "seed", "recovery", "secret", "api", "access", "private", "key"),
    *("cvv", "cvc", "ssn", "auth", "bearer", "refresh", "token", "credit", "card", "number", "pin", "social"),
    "security",
)
_WORD: Final = re.compile(r"(?:[^\W\d_]|[^\x00-\u2fff])+")  # Letters, and signs with a letter in them ("🅿")
_CODE_POINT: Final = re.compile(r"⟨U\+[0-9A-F]{1,6}⟩")  # By which a label shows an unseen character
_JOINTS: Final = re.compile(r"[_\-.]+")
_EMAIL: Final = re.compile(r"[^@\s]{1,64}@[^@\s.]+(?:\.[^@\s.]+)+")
_INTEGER: Final = re.compile(r"[+-]?\d{1,18}", re.ASCII)


class QuestionRefused(Exception):
    """The question is not shown. `args[0]` says why, for the log."""


class ValueKind(Enum):
    TEXT = auto()
    NUMBER = auto()
    INTEGER = auto()
    YES_NO = auto()
    ONE_OF = auto()
    SOME_OF = auto()


@dataclass(frozen=True, slots=True)
class QuestionField:
    """A field of a form. `choices`: the values with their titles. `least` and `most`: bounds of the number of
    characters, of the number itself, or of the number of choices. `default`: in the form of a filled-in value.
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
        """Whether the choices are few enough for a menu."""
        return 0 < len(self.choices) <= MAX_MENU


YES_NO: Final = (("yes", tool_texts.YES), ("no", tool_texts.NO))


def checked_question(source: str, text: str, schema: Json, address: str | None = None) -> Elicitation:
    """Return a server's question, limited in size, so that it may be shown and stored. Raises QuestionRefused."""
    shown = visible(text[: MAX_TEXT_CHARS + 2].replace("\r\n", "\n"))
    shown = shown if len(shown) <= MAX_TEXT_CHARS else f"{shown[: MAX_TEXT_CHARS - 1]}…"
    if address is not None:
        return Elicitation(source, shown, {}, checked_address(address))
    question = Elicitation(source, shown, _checked_schema(schema))
    for field in fields_of(question.schema):
        if _SECRET.search(_normalize_name(field.name)) or _SECRET.search(_normalize_name(field.label)):
            raise QuestionRefused(tool_texts.NOT_BY_FORM)
    if len(question_text(question, "", {})) > MAX_SHOWN:
        raise QuestionRefused(tool_texts.TOO_LONG_TO_SHOW)
    return question


def checked_address(address: str) -> str:
    """Return an address that leads where a person who reads it expects. Raises QuestionRefused."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise QuestionRefused(tool_texts.BAD_ADDRESS) from None
    # Letters of other scripts, blanks and backslashes show another host than the one that is opened, as does a name
    # before "@".
    plain = address.isascii() and address.isprintable() and " " not in address and "\\" not in address
    safe = parts.scheme == "https" or (parts.scheme == "http" and host in {"localhost", "127.0.0.1", "::1"})
    if not (plain and safe and host and port != 0 and "@" not in parts.netloc and len(address) <= MAX_TEXT_CHARS):
        raise QuestionRefused(tool_texts.BAD_ADDRESS)
    return address


def host_of(address: str) -> str:
    return urlsplit(address).hostname or ""


def _normalize_name(name: str) -> str:
    """Return a name as words of lower case, without unseen characters. Letters that only look wider or bolder become
    plain ones, and those that look like others the letters of a secret's name, if they make one.
    """
    plain = normalize("NFKC", normalisable(UNSEEN.sub("", _CODE_POINT.sub("", name))))
    humps = "".join(
        f" {char}" if char.isupper() and before.islower() else char
        for before, char in zip(f" {plain}", plain, strict=False)
    )
    words = _JOINTS.sub(" ", humps).casefold()
    return words if words.isascii() else _WORD.sub(lambda word: _plain_word(word[0]), words)


def _plain_word(word: str) -> str:
    """Return a word in ASCII if it looks so, or may be read as a word of a secret: letters of two alphabets in one word
    are there to look like something.
    """
    bare = confusable_skeleton(word)
    # Letters of alphabets without cases look like none of these.
    mixed = [char if char.isascii() else "" for char in bare if char.isascii() or char.islower() or char.isupper()]
    if len(mixed) == len(bare) and 2 * len([*filter(None, mixed)]) >= len(bare):
        for known in _SECRET_WORDS:
            if len(known) == len(mixed) and all(char in ("", same) for char, same in zip(mixed, known, strict=True)):
                return known
    return "".join(char if char.isascii() else _named_letter(char) for char in bare)


def _named_letter(char: str) -> str:
    """Return the ASCII letter that Unicode's name of a character ends with ("LATIN LETTER SMALL CAPITAL P"), or it."""
    last = unicode_name(char, "").rpartition(" ")[2]
    return last.lower() if len(last) == 1 and last.isascii() else char


def _checked_schema(schema: Json) -> JsonObject:
    """Return the used parts of a schema: an object of up to MAX_FIELDS properties, of limited size."""
    properties = schema.get("properties") if isinstance(schema, dict) and schema.get("type") == "object" else None
    if not isinstance(schema, dict) or not isinstance(properties, dict):
        raise QuestionRefused(tool_texts.NO_FORM)
    if len(properties) > MAX_FIELDS:
        raise QuestionRefused(tool_texts.TOO_MANY_FIELDS.format(most=MAX_FIELDS))
    required = schema.get("required") or []
    checked: JsonObject = {"type": "object", "properties": properties, "required": required}
    try:
        if len(json.dumps(checked)) > 4 * MAX_FIELDS * MAX_TEXT_CHARS:
            raise QuestionRefused(tool_texts.NO_FORM)
    except (RecursionError, TypeError, ValueError):
        raise QuestionRefused(tool_texts.NO_FORM) from None
    return checked


def fields_of(schema: JsonObject) -> tuple[QuestionField, ...]:
    """Return the fields of the schema of a checked question. Raises QuestionRefused for an invalid field."""
    properties, required = schema["properties"], schema["required"]
    if not isinstance(properties, dict) or not isinstance(required, list):
        raise QuestionRefused(tool_texts.NO_FORM)
    return tuple(_field(name, content, required=name in required) for name, content in properties.items())


def _field(name: str, schema: Json, *, required: bool) -> QuestionField:
    if not isinstance(schema, dict) or not name.strip() or len(name) > MAX_NAME_CHARS:
        raise QuestionRefused(tool_texts.NO_FORM)
    label = _line(schema.get("title"), MAX_LABEL_CHARS) or _line(name, MAX_LABEL_CHARS)
    about = _line(schema.get("description"), MAX_ABOUT_CHARS)
    default = schema.get("default")
    field = QuestionField(name, label, ValueKind.TEXT, about, required)
    match schema:
        case {"type": "string"} if (choices := _choices(schema)) is not None:
            defaults = [default] if isinstance(default, str) else []
            return _with_default(replace(field, kind=ValueKind.ONE_OF, choices=choices), defaults)
        case {"type": "string"}:
            least, most = _bound(schema, "minLength"), _bound(schema, "maxLength")
            # An answer of that length cannot be typed into a window, so the form could never be sent.
            if least is not None and least > MAX_TEXT_CHARS:
                raise QuestionRefused(tool_texts.NO_FORM)
            text = default if isinstance(default, str) and len(default) <= MAX_TEXT_CHARS else ""
            return replace(field, form=str(schema.get("format") or ""), least=least, most=most, default=text)
        case {"type": "number" | "integer" as kind}:
            is_number = isinstance(default, int | float) and not isinstance(default, bool)
            return replace(
                field,
                kind=ValueKind.INTEGER if kind == "integer" else ValueKind.NUMBER,
                least=_bound(schema, "minimum"),
                most=_bound(schema, "maximum"),
                default=json.dumps(default)[:MAX_NUMBER_CHARS] if is_number else "",
            )
        case {"type": "boolean"}:
            # A menu sends the number of a choice: "0" is "yes".
            choice = ("1", "0")[default] if isinstance(default, bool) else ""
            return replace(field, kind=ValueKind.YES_NO, choices=YES_NO, default=choice)
        case {"type": "array", "items": dict(items)} if (choices := _choices(items)) is not None:
            least, most = _bound(schema, "minItems"), _bound(schema, "maxItems")
            field = replace(field, kind=ValueKind.SOME_OF, choices=choices, least=least, most=most)
            return _with_default(field, default if isinstance(default, list) else [])
        case _:
            raise QuestionRefused(tool_texts.NO_FORM)


def _with_default(field: QuestionField, values: Sequence[Json]) -> QuestionField:
    """Set the default of a field with choices: indexes in a menu, else titles."""
    chosen = [(str(index), title) for index, (value, title) in enumerate(field.choices) if value in values]
    if field.is_menu:
        return replace(field, default=" ".join(index for index, _ in chosen))
    return replace(field, default=", ".join(title for _, title in chosen))


def _choices(schema: Mapping[str, Json]) -> tuple[tuple[str, str], ...] | None:
    """Return the values that may be chosen, with their titles; None if the schema has no choices."""
    # The protocol has had three forms of choices: `enumNames`, `oneOf` with titles, and `anyOf` for several.
    titled = schema.get("oneOf", schema.get("anyOf"))
    match schema:
        case {"enum": list(values)}:
            names = schema.get("enumNames")
            titles = names if isinstance(names, list) and len(names) == len(values) else values
        case _ if isinstance(titled, list):
            pairs = [(option.get("const"), option.get("title")) for option in titled if isinstance(option, dict)]
            values, titles = [value for value, _ in pairs], [title or value for value, title in pairs]
        case _:
            return None
    are_names = all(isinstance(value, str) and len(value) <= MAX_NAME_CHARS for value in values)
    if not 0 < len(values) <= MAX_CHOICES or not are_names:
        raise QuestionRefused(tool_texts.NO_FORM)
    numbered = enumerate(zip(values, titles, strict=True), 1)
    return tuple((str(value), _line(title, MAX_LABEL_CHARS) or f"({number})") for number, (value, title) in numbered)


def _bound(schema: Mapping[str, Json], name: str) -> float | None:
    """Return a bound; None if it is not a number, or has more digits than can be filled in."""
    value = schema.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if abs(value) < 10**MAX_NUMBER_CHARS else None


def _line(text: Json, chars: int) -> str:
    return shortened(visible(text[: 4 * chars]), chars) if isinstance(text, str) else ""


# The values of a form. What a person fills in is text; of a menu it is the indexes of the choices, from 0.


def values_of(fields: Sequence[QuestionField], filled: Mapping[str, str]) -> tuple[JsonObject, Mapping[int, str]]:
    """Return the values by name; and for each invalid field, by index, what is wrong. `filled`: the texts by index."""
    values, wrong = dict[str, Json](), dict[int, str]()
    for index, field in enumerate(fields):
        text = filled.get(str(index), "").strip()
        if not text:
            if field.required:
                wrong[index] = tool_texts.FIELD_REQUIRED
            continue
        try:
            values[field.name] = _value(field, text)
        except _InvalidValueError as error:
            wrong[index] = str(error)
    return values, wrong


class _InvalidValueError(Exception):
    """What is wrong with a value, in a sentence."""


def _value(field: QuestionField, text: str) -> Json:
    match field.kind:
        case ValueKind.TEXT:
            return _text(field, text)
        case ValueKind.NUMBER | ValueKind.INTEGER:
            return _number(field, text)
        case ValueKind.YES_NO:
            return _choice(field, text) == "yes"
        case ValueKind.ONE_OF:
            return _choice(field, text)
        case ValueKind.SOME_OF:
            # A menu sends numbers with blanks between them; in a text field people write names and commas.
            names = text.split() if field.is_menu else [name for name in text.split(",") if name.strip()]
            chosen: list[Json] = [*dict.fromkeys(_choice(field, name) for name in names)]
            if field.least is not None and len(chosen) < field.least:
                raise _InvalidValueError(tool_texts.TOO_FEW_CHOSEN.format(least=f"{field.least:g}"))
            if field.most is not None and len(chosen) > field.most:
                raise _InvalidValueError(tool_texts.TOO_MANY_CHOSEN.format(most=f"{field.most:g}"))
            return chosen
        case _:
            assert_never(field.kind)


def _choice(field: QuestionField, text: str) -> str:
    """Return the value that is chosen by its index in a menu, else by its title or value."""
    if field.is_menu:
        matches = [value for index, (value, _) in enumerate(field.choices) if text == str(index)]
    else:
        name = " ".join(text.split()).casefold()
        matches = [value for value, title in field.choices if name in (title.casefold(), value.casefold())]
    if not matches:
        raise _InvalidValueError(tool_texts.NOT_A_CHOICE)
    return matches[0]


def _text(field: QuestionField, text: str) -> str:
    most = MAX_TEXT_CHARS if field.most is None else min(field.most, MAX_TEXT_CHARS)
    if len(text) > most:
        raise _InvalidValueError(tool_texts.TEXT_TOO_LONG.format(most=_amount(most, tool_texts.CHARACTERS)))
    if field.least is not None and len(text) < field.least:
        raise _InvalidValueError(tool_texts.TEXT_TOO_SHORT.format(least=_amount(field.least, tool_texts.CHARACTERS)))
    if (example := tool_texts.FORMS.get(field.form)) is not None and not _has_form(field.form, text):
        raise _InvalidValueError(example)
    return text


def _has_form(form: str, text: str) -> bool:
    try:
        match form:
            case "email":
                return _EMAIL.fullmatch(text) is not None
            case "uri":
                parts = urlsplit(text)
                return bool(parts.scheme and (parts.netloc or parts.path)) and " " not in text
            case "date":
                return len(text) == len("2026-01-31") and bool(date.fromisoformat(text))
            case "date-time":
                return "T" in text.upper() and datetime.fromisoformat(text).tzinfo is not None
            case _:
                return True
    except ValueError:
        return False


def _number(field: QuestionField, text: str) -> Json:
    try:
        value = Decimal(text) if len(text) <= MAX_NUMBER_CHARS else Decimal("nan")
    except InvalidOperation:
        value = Decimal("nan")
    if field.kind is ValueKind.INTEGER and _INTEGER.fullmatch(text) is None:
        raise _InvalidValueError(tool_texts.NOT_AN_INTEGER)
    if not value.is_finite() or abs(value.adjusted()) > MAX_NUMBER_CHARS:
        raise _InvalidValueError(tool_texts.NOT_A_NUMBER)
    if field.least is not None and value < Decimal(field.least):
        raise _InvalidValueError(tool_texts.NUMBER_TOO_SMALL.format(least=f"{field.least:g}"))
    if field.most is not None and value > Decimal(field.most):
        raise _InvalidValueError(tool_texts.NUMBER_TOO_LARGE.format(most=f"{field.most:g}"))
    return int(value) if field.kind is ValueKind.INTEGER else float(value)


def shown_value(field: QuestionField, text: str) -> str:
    """Return a filled-in text as its person reads it: of a menu, the titles."""
    titles = {str(index): title for index, (_, title) in enumerate(field.choices)} if field.is_menu else {}
    return ", ".join(titles.get(index, index) for index in text.split()) if titles else visible(text)


def _amount(value: float, unit: tuple[str, str]) -> str:
    """A number with its unit, in singular or plural."""
    return f"{value:g}{unit[value != 1]}"


def limits_of(field: QuestionField) -> str:
    """Describe the kind and the bounds of a field; "" if there are none."""
    unit = {ValueKind.TEXT: tool_texts.CHARACTERS, ValueKind.SOME_OF: tool_texts.CHOICES}.get(field.kind, ("", ""))
    bounds = [
        tool_texts.AT_LEAST.format(least=_amount(field.least, unit)) if field.least else "",
        tool_texts.AT_MOST.format(most=_amount(field.most, unit)) if field.most is not None else "",
    ]
    kind = tool_texts.KINDS.get(field.kind.name, "") or tool_texts.FORM_NAMES.get(field.form, "")
    return ", ".join(filter(None, [kind, *bounds]))


def question_text(asked: Elicitation, question: str, filled: Mapping[str, str]) -> str:
    """Return the whole question, for its asker alone: which server asks, its full text, and the values filled in.
    `question`: the asker's own question, for which the turn runs.
    """
    head = tool_texts.ASKS_YOU.format(source=asked.source, question=literal(shortened(question, MAX_ABOUT_CHARS)))
    parts = [head, as_code(asked.text or tool_texts.NO_WORDS)]
    if asked.address:
        host = host_of(asked.address)
        parts += [tool_texts.OPENS.format(host=host), as_code(asked.address), tool_texts.OPEN_WITH_CARE]
        if "xn--" in host:
            parts.append(tool_texts.STRANGE_HOST)
        return "\n".join(parts)
    lines = [_field_line(field, filled.get(str(index), "")) for index, field in enumerate(fields_of(asked.schema))]
    warning = tool_texts.NO_SECRETS.format(source=asked.source)
    return "\n".join([*parts, *lines, "", warning] if lines else [*parts, warning])


def _field_line(field: QuestionField, text: str) -> str:
    optional = "" if field.required else tool_texts.OPTIONAL
    limits = f"({limits})" if (limits := limits_of(field)) else ""
    about = " ".join(filter(None, [literal(field.about), limits, optional]))
    names = "" if field.is_menu else ", ".join(title for _, title in field.choices)
    about = f"{about} {tool_texts.ONE_OF} {literal(names)}".lstrip() if names else about
    line = f"- **{literal(field.label)}**" + (f" {about}" if about else "")
    return f"{line}: {literal(shortened(shown_value(field, text), MAX_GIVEN_CHARS))}" if text else line
