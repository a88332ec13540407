"""Reads calls that are written in any form but ours: text out of a model's vendor's form in, calls out. Pure.

Theory of operation. The text is walked from left to right. Markers (special tokens, tags of XML) and fences are
skipped, the names of tools are remembered, and the first arguments behind a name belong to it. JSON before any name
holds whole calls. What is neither is skipped: ids, "json", "commentary". A name without readable arguments, or text
without a call, is unreadable.

    marker* name marker* {…}                        JSON, perhaps with bare keys or other quotes
    marker* name(key="value", …)                    Python, read and never run
    <name attribute>, <parameter name="key">value   XML; <arg_key>key</arg_key><arg_value>value</arg_value>
    marker* [{"name": …, "arguments": {…}}, …]      whole calls
"""

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agent.messages import Json, is_too_deep
from agent.protocol.grammar import ParserLimits, bare_name
from agent.protocol.json_scanner import JsonScanner, Status
from agent.protocol.json_text import JsonReader, Unreadable, undoubled

BARS: Final = "|｜‖❘∣￨"
MAX_CODE_CHARS: Final = 20_000  # Python's parser is asked to read no more

NAME_KEYS: Final = ("name", "tool", "tool_name", "function", "recipient_name", "action")

# Quotation marks that are tokens of their own: Gemma's.
_QUOTES: Final = re.compile(r"<\|[\"']\|>|<escape>|</escape>")
# All forms in one, because templates mix them: tokens between bars, tags with or without attributes, capitals in
# brackets, fences.
_MARKER: Final = re.compile(
    rf"</?[{BARS}][^<>\n]{{0,160}}>|</?[^\W\d][\w.:▁-]{{0,63}}[{BARS}]?(?:[\s=][^<>\n]{{0,160}}|/)?>|\[/?[A-Z_]{{3,32}}\]|```\w*"
)
_JSON_LIST: Final = re.compile(r"\[\s*[\[{]")
_PARAMETER: Final = re.compile(r"parameter|\barg\b|param\b")
_WORD: Final = re.compile(r"[^\W_](?:[\w.-]{0,126}\w)?")
_AFTER_NAME: Final = re.compile(r"""["'”]?(?:\s*\.call)?\s*(?=\()""")
_OBJECT_ALONE: Final = re.compile(r"\(\s{0,8}\{")
_ID: Final = re.compile(r"[:#]\d{1,6}\b|\[CALL_ID\]\w{1,64}")
# A tag with a name in an attribute, or behind "=": <invoke name="recall">, <function=recall>,
# <｜DSML｜parameter name="query">.
_ELEMENT: Final = re.compile(
    rf"<[{BARS}]?(?:\w{{1,24}}[{BARS}:]){{0,2}}(?P<tag>[\w.-]{{1,64}})"
    r"(?:\s+(?:name|key)\s*=\s*[\"']?(?P<name>[\w.-]{1,128})[\"']?|=[\"']?(?P<value>[\w.-]{1,128})[\"']?)?(?P<rest>[^<>\n]{0,400})>"
)
_ATTRIBUTES: Final = re.compile(r"""([\w.-]{1,64})\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')""")
# GLM's form. The value is read up to its own closing tag, possessively: it may hold any other tag, and a long one must
# not be tried again.
_KEYS: Final = re.compile(
    r"<(?:\w{1,24}[:_])?arg_key>(?P<key>[^<]{1,200})</(?:\w{1,24}[:_])?arg_key>\s{0,16}"
    r"<(?:\w{1,24}[:_])?arg_value>(?P<value>[^<]*+(?:<(?!/(?:\w{1,24}[:_])?arg_value>)[^<]*+)*+)(?:</(?:\w{1,24}[:_])?arg_value>)?"
)
# Words between a name and its arguments, which are neither.
_LABELS: Final = frozenset(
    {"json", "code", "function", "functions", "commentary", "call", "args", "arguments", "result"}
)
# Elements around all parameters of a call.
_AROUND: Final = frozenset({"parameters", "arguments", "args", "params", "input"})
_LITERALS: Final = re.compile(r"[\[{].*+|true|false|null|-?\d{1,18}", re.DOTALL)


def read_foreign_calls(text: str, is_tool: Callable[[str], bool], limits: ParserLimits) -> list[Json]:
    """Return the calls in `text`, each as in the list of `<execute>`. Raises Unreadable."""
    reader = _Reader(_QUOTES.sub('"', text), is_tool, limits)
    calls = reader.calls()
    if not calls:
        raise Unreadable("it holds no call of a tool with its arguments")
    return calls


def read_code_call(text: str, limits: ParserLimits) -> dict[str, Json] | None:
    """Return the arguments of a call in Python from its first parenthesis on, `(query="boat")`; None if they are none.

    Only literals are read; nothing is run.
    """
    if len(text) > MAX_CODE_CHARS or is_too_deep(text.replace("(", "[").replace(")", "]"), 60):
        return None
    try:
        tree = ast.parse(f"f{text}", mode="eval")
        call = tree.body
        if not isinstance(call, ast.Call) or call.args or any(keyword.arg is None for keyword in call.keywords):
            return None
        args = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
        value = JsonReader(limits).read(json.dumps(args))[0]
        return value if isinstance(value, dict) else None
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return None


# Three quotes before one: outside of a string, they open one that holds single quotes.
_SIGNS: Final = re.compile(r"""\\|"{3}|'{3}|["'()\[\]{}]""")


def closing_parenthesis(text: str, start: int, limit: int) -> int | None:
    """Return the position after the parenthesis that closes the one at `start`; None if it does not come."""
    depth, quote, position, end = 0, "", start, min(len(text), start + limit)
    while (found := _SIGNS.search(text, position, end)) is not None:
        signs, position = found[0], found.end()
        if quote:
            if signs == "\\":
                position += 1
            elif signs.startswith(quote):
                # Of three, the first ends a string with single quotes, and the others are an empty one.
                quote, position = "", found.start() + len(quote)
        elif signs[0] in "\"'":
            quote = signs
        elif signs in "([{":
            depth += 1
        elif signs in ")]}":
            depth -= 1
            if not depth:
                return position
    return None


@dataclass(slots=True)
class _Reader:
    text: str
    is_tool: Callable[[str], bool]
    limits: ParserLimits
    position: int = 0

    def calls(self) -> list[Json]:
        found: list[Json] = []
        text = self.text
        while self.position < len(text) and len(found) <= self.limits.calls:
            char = text[self.position]
            # "[TOOL_CALLS]" begins as a list does, and some models write it.
            if char in "{[" and not _MARKER.match(text, self.position):
                found += self._whole_calls()
            elif (
                char in "<[`" and (element := _ELEMENT.match(text, self.position)) and (name := self._name_of(element))
            ):
                found += self._calls_or_args(name, self._elements(element))
            elif char in "<[`" and (marker := _MARKER.match(text, self.position)):
                self.position = marker.end()
            elif word := _WORD.match(text, self.position):
                # Templates append ".call" to a name; a tool may also be called so itself, so the name is tried as it is
                # first.
                self.position = word.end()
                if self.is_tool(name := bare_name(word[0])) or self.is_tool(
                    name := bare_name(word[0].removesuffix(".call"))
                ):
                    found += self._calls_or_args(name, self._arguments(name))
            else:
                self.position += 1
        return found

    def _calls_or_args(self, name: str, value: Json) -> list[Json]:
        """Return one call. Behind the name of a tool stand its arguments, or the whole call once more."""
        if isinstance(value, dict) and any(self._bare(value.get(key)) == name for key in NAME_KEYS) and len(value) > 1:
            return [{key: self._bare(one) if key in NAME_KEYS else one for key, one in value.items()}]
        return [{"name": name, "args": value}]

    def _name_of(self, element: re.Match[str]) -> str:
        """Return the name of the tool that an element calls, or ""."""
        names = map(bare_name, filter(None, (element["name"], element["value"], element["tag"])))
        return next((name for name in names if self.is_tool(name)), "")

    def _arguments(self, name: str) -> Json:
        """Read the arguments behind the name of a tool."""
        text = self.text
        # `name(key=value)` is code; `name({…})` only wraps an object, which the loop below finds.
        if (call := _AFTER_NAME.match(text, self.position)) and not _OBJECT_ALONE.match(text, call.end()):
            end = closing_parenthesis(text, call.end(), MAX_CODE_CHARS)
            args = read_code_call(text[call.end() : end], self.limits) if end else None
            if args is None:
                raise Unreadable(f"the arguments of {name} are not written as key=value")
            self.position = end or len(text)
            return dict(args)
        unread = ""
        while self.position < len(text):
            char = text[self.position]
            if char == "{":
                return self._value()
            if char == "<" and _KEYS.match(text, self.position):
                return self._keys()
            if (char == "<" and (marker := _MARKER.match(text, self.position)) and not _is_parameter(marker[0])) or (
                marker := (char in "[`" and _MARKER.match(text, self.position)) or _ID.match(text, self.position)
            ):
                self.position = marker.end()
            elif char == "<" and _ELEMENT.match(text, self.position):
                return self._parameters(text[self.position :], to_end=True)
            elif word := _WORD.match(text, self.position):
                # The next call begins: this one has no arguments.
                if self.is_tool(bare_name(word[0])):
                    break
                # A word like "arguments" introduces the object; any other one is only an error if no object follows.
                unread = unread or ("" if word[0].lower() in _LABELS else word[0])
                self.position = word.end()
            else:
                self.position += 1
        if unread:
            raise Unreadable(f"what stands behind {name} is no object of arguments")
        return {}

    def _keys(self) -> Json:
        found: dict[str, Json] = {}
        while pair := _KEYS.match(self.text, self.position):
            found[pair["key"].strip()] = self._plain(pair["value"].strip())
            self.position = pair.end()
            while self.position < len(self.text) and self.text[self.position].isspace():
                self.position += 1
        return found

    def _elements(self, element: re.Match[str]) -> Json:
        """Read the arguments of an element that is a call, and skip it."""
        text, tag = self.text, element["tag"]
        rest = element["rest"].strip()
        if rest.endswith("/"):
            self.position = element.end()
            return {key: double or single for key, double, single in _ATTRIBUTES.findall(rest)}
        end = _closing(tag).search(text, element.end())
        body = text[element.end() : end.start() if end else len(text)]
        self.position = end.end() if end else len(text)
        if not body.strip():
            if (begin := rest.find("{")) >= 0:
                inner = _Reader(rest[begin:], self.is_tool, self.limits)
                return inner._value()
            return {key: double or single for key, double, single in _ATTRIBUTES.findall(rest)}
        inside = body.lstrip()
        if inside.startswith(("{", "```")):
            inner = _Reader(inside, self.is_tool, self.limits)
            inner.position = inside.index("{") if "{" in inside else len(inside)
            return inner._value()
        return self._parameters(body)

    def _parameters(self, body: str, *, to_end: bool = False) -> dict[str, Json]:
        """Read elements as parameters: by a name attribute, behind "=", or by their tags."""
        found: dict[str, Json] = {}
        position = 0
        if to_end:
            self.position = len(self.text)
        if _KEYS.match(body.lstrip()):
            inner = _Reader(body.lstrip(), self.is_tool, self.limits)
            value = inner._keys()
            return value if isinstance(value, dict) else {}
        while parameter := _ELEMENT.search(body, position):
            key = parameter["name"] or parameter["value"] or parameter["tag"]
            # The own closing tag, not the next one: a value may hold elements.
            end = _closing(parameter["tag"]).search(body, parameter.end())
            value = body[parameter.end() : end.start() if end else len(body)].strip()
            # Without its closing tag a parameter ends at any other one, such as that of the whole call.
            if end is None and (cut := value.find("</")) >= 0:
                value = value[:cut].strip()
            found[key] = value if 'string="true"' in parameter["rest"] else self._plain(value)
            if end is None:
                break
            position = end.end()
        # An element around all parameters is no parameter itself.
        if found.keys() <= _AROUND and len(found) == 1 and isinstance(inner := next(iter(found.values())), str):
            return self._parameters(inner) if inner.startswith("<") else found
        if not found and body.strip():
            raise Unreadable("its arguments stand in no element")
        return found

    def _plain(self, text: str) -> Json:
        """Read a value that looks like JSON as JSON; any other value is the text itself."""
        if _LITERALS.fullmatch(text) is None:
            return text
        try:
            return JsonReader(self.limits).read(text)[0]
        except Unreadable:
            return text

    def _value(self) -> Json:
        """Read one value of JSON from the position on."""
        start = self.position
        scanner = JsonScanner(max_depth=self.limits.depth, max_number=self.limits.number, several=False)
        end = scanner.feed(self.text, start)
        if scanner.status is Status.DONE:
            self.position = end
            body = self.text[start:end]
        else:
            close = closing_parenthesis(self.text, start, len(self.text))
            # If the brackets do not balance, a marker may follow the last one.
            body = self.text[start : close or max(self.text.rfind("}"), self.text.rfind("]"), start) + 1]
            self.position = close or len(self.text)
        return self._read(body)

    def _read(self, body: str) -> Json:
        reader = JsonReader(self.limits)
        try:
            return reader.read(body)[0]
        except Unreadable as error:
            for attempt in (body, *undoubled(body)):
                try:
                    return reader.read_mended(attempt, whole=True)[0]
                except Unreadable:
                    continue
            raise error from None

    def _whole_calls(self) -> list[Json]:
        """Read JSON that holds whole calls; a list in Python's form ("[recall(…)]") is left to the names in it."""
        start = self.position
        if self.text[start] == "[" and not _JSON_LIST.match(self.text, start, start + 64):
            self.position += 1
            return []
        value = self._value()
        items = value if isinstance(value, list) else [value]
        calls: list[Json] = []
        for item in items:
            if isinstance(item, dict) and len(item) == 1 and self.is_tool(key := next(iter(item))):
                calls.append({"name": key, "args": item[key]})
            elif isinstance(item, dict):
                calls.append({key: self._bare(value) if key in NAME_KEYS else value for key, value in item.items()})
        return calls

    def _bare(self, value: Json) -> Json:
        """Return the name of a tool without its namespace."""
        return name if isinstance(value, str) and self.is_tool(name := bare_name(value)) else value


def _is_parameter(marker: str) -> bool:
    return _PARAMETER.search(marker) is not None and not marker.startswith("</")


def _closing(tag: str) -> re.Pattern[str]:
    return re.compile(rf"</[^<>\n]{{0,40}}?(?<![\w.-]){re.escape(tag)}[{BARS}\s]*>|</(?=>)")
