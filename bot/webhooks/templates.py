"""Templates of hooks: Jinja, cut down to what reads fields, chooses and repeats. Pure.

A template is the operator's, but what it reads is whatever somebody put into a payload. So it runs in Jinja's sandbox
without functions, methods, macros, other files, arithmetic on texts, or filters but those here, and

- its time is bounded: a payload is cut before (`trimmed`), loops go over lists and objects alone, and each item of a
  loop, each field that is read and each filter takes one of MAX_STEPS;
- its output is bounded, while it is written;
- what a payload holds is shown as it is: no Markdown, no line break, no mention of it takes effect.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from jinja2 import ChainableUndefined, Template, TemplateError, TemplateSyntaxError, Undefined, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from agent.messages import Json
from bot.chat.texts.formatting import literal
from bot.webhooks import texts

MAX_TEMPLATE: Final = 8_000
MAX_OUTPUT: Final = 6_000  # Characters of a message: more than two pages is not read
MAX_STEPS: Final = 20_000
# What is left of a payload for its template.
MAX_TEXT: Final = 2_000
MAX_ITEMS: Final = 100
MAX_VALUES: Final = 20_000
MAX_DEPTH: Final = 20
ELLIPSIS: Final = "…"

_NODES: Final = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Const, nodes.If,
    nodes.For, nodes.Filter, nodes.Test, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.CondExpr,
    nodes.Concat, nodes.Assign, nodes.Tuple, nodes.List, nodes.Slice, nodes.Keyword,
)  # fmt: skip
_LOOPED: Final = "_looped"  # No name that a template can write: filters begin with a letter here
_TESTS: Final = ("defined", "undefined", "none", "string", "number", "mapping", "sequence", "true", "false")


class TemplateFailed(Exception):
    """A template is invalid, or could not be filled in. The text is the end of a sentence."""


class Shown(str):
    """Markdown of ours: shown as it is written."""

    __slots__ = ()


def trimmed(payload: Json) -> Any:  # noqa: ANN401 -- the payload as a template reads it
    """Return the payload with long texts, lists and objects cut, and without what is nested too deep."""
    left = MAX_VALUES

    def cut(value: Json, depth: int) -> Any:  # noqa: ANN401 -- as above
        nonlocal left
        left -= 1
        if left < 0 or depth > MAX_DEPTH:
            return None
        match value:
            case str():
                return _encodable(value if len(value) <= MAX_TEXT else value[: MAX_TEXT - 1] + ELLIPSIS)
            case list():
                return [cut(item, depth + 1) for item in value[:MAX_ITEMS]]
            case dict():
                names = list(value)[:MAX_ITEMS]
                return {_encodable(name[:MAX_TEXT]): cut(value[name], depth + 1) for name in names}
            case _:
                return value

    return cut(payload, 0)


def _encodable(text: str) -> str:
    """Return the text without halves of characters, which JSON can hold and nothing else can store."""
    return text.encode("utf-8", "replace").decode()


def _default(value: object, other: object = "") -> object:
    """The value; `other` for a missing, null or empty one."""
    return other if isinstance(value, Undefined) or value is None or value == "" else value


def _text(value: object) -> str:
    match value:
        case Undefined() | None:
            return ""
        case bool():
            return "true" if value else "false"
        case str():
            return str(value)[:MAX_TEXT]
        case list() | dict() | tuple():
            dumped = json.dumps(value, ensure_ascii=False, default=str)
            return dumped[:MAX_TEXT]
        case _:
            return str(value)[:MAX_TEXT]


def _of_text(change: Callable[[str], str]) -> Callable[[object], str]:
    return lambda value: change(_text(value))[:MAX_TEXT]


def _join(values: object, between: object = ", ") -> str:
    return _text(between)[:100].join(map(_text, _items_of(values)))[:MAX_TEXT]


def _items_of(values: object) -> Sequence[object]:
    match values:
        case list() | tuple():
            return cast("Sequence[object]", values)
        case dict():
            return list(cast("dict[object, object]", values))
        case _:
            return ()


def _pairs(value: object) -> list[tuple[object, object]]:
    return list(cast("dict[object, object]", value).items()) if isinstance(value, dict) else []


def _length(value: object) -> int:
    return len(value) if isinstance(value, (str, list, tuple, dict)) else 0  # pyright: ignore[reportUnknownArgumentType] -- of anything


def _cut(value: object, chars: object = 200) -> str:
    if not isinstance(chars, int):
        raise TemplateError(texts.TEMPLATE_CHARS)
    text = _text(value)
    return text if len(text) <= chars else text[: max(0, chars - 1)] + ELLIPSIS


def _replace(value: object, old: object, new: object = "") -> str:
    return _text(value).replace(_text(old), _text(new))[:MAX_TEXT] if _text(old) else _text(value)


def _first(value: object) -> object:
    return next(iter(_items_of(value)), None)


def _url(value: object) -> Shown | str:
    """An address on the web as a link, if it is one; anything else as it is written."""
    text = _text(value)
    is_address = text.startswith(("https://", "http://")) and not any(
        char.isspace() or char in "<>()[]\\`|\"'" or not char.isprintable() for char in text
    )
    return Shown(text) if is_address else text


def _code(value: object) -> Shown:
    """On one line, in the font of code."""
    return Shown("`" + " ".join(_text(value).replace("`", "'").split()) + "`") if _text(value).strip() else Shown("")


FILTERS: Final[dict[str, Callable[..., object]]] = {
    "default": _default,
    "join": _join,
    "items": _pairs,
    "length": _length,
    "upper": _of_text(str.upper),
    "lower": _of_text(str.lower),
    "capitalize": _of_text(str.capitalize),
    "trim": _of_text(str.strip),
    "truncate": _cut,
    "replace": _replace,
    "first": _first,
    "url": _url,
    "code": _code,
}


def _finalize(value: object) -> str:
    return str(value) if isinstance(value, Shown) else literal(_text(value))


class _Sandbox(ImmutableSandboxedEnvironment):
    """Counts what one rendering does."""

    left = MAX_STEPS

    def _step(self, steps: int = 1) -> None:
        self.left -= steps
        if self.left < 0:
            raise TemplateError(texts.TEMPLATE_TOO_LONG)

    def getattr(self, obj: Any, attribute: str) -> Any:  # noqa: ANN401 -- Jinja's
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:  # noqa: ANN401 -- Jinja's
        """Return a field of an object or an item of a list, and never an attribute of a value."""
        self._step()
        match obj:
            case dict() if isinstance(argument, str):
                found = cast("dict[str, object]", obj).get(argument, self)
                return self.undefined(obj=obj, name=argument) if found is self else found
            case list() | tuple() if isinstance(argument, (int, slice)) and not isinstance(argument, bool):
                return self._item(obj, cast("Any", argument))
            case Undefined():
                return obj
            case _:
                return self.undefined(obj=obj, name=str(argument))

    def _item(self, items: Any, at: Any) -> Any:  # noqa: ANN401 -- as above
        try:
            return items[at]
        except (IndexError, ValueError):
            return self.undefined(obj=items, name=str(at))

    def counted(self, function: Callable[..., object]) -> Callable[..., object]:
        def run(*args: Any, **kwargs: Any) -> object:  # noqa: ANN401 -- of any filter
            self._step()
            return function(*args, **kwargs)

        return run

    def looped(self, values: object) -> object:
        """Return what a loop goes over, and count its items."""
        if isinstance(values, (str, int, float)):
            raise TemplateError(texts.TEMPLATE_LOOPS_TEXT)
        self._step(_length(values))
        return () if values is None else values


@dataclass(frozen=True, slots=True)
class HookTemplate:
    """A compiled template."""

    source: str
    _sandbox: _Sandbox
    _render: Callable[[Mapping[str, object]], Iterator[str]]

    def render(self, fields: Mapping[str, object]) -> str:
        """Fill in the fields. Raises TemplateFailed."""
        self._sandbox.left = MAX_STEPS
        pieces, chars = list[str](), 0
        try:
            for piece in self._render(fields):
                pieces.append(piece)
                chars += len(piece)
                if chars > MAX_OUTPUT:
                    break
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            raise TemplateFailed(" ".join(str(error).split())[:300] or type(error).__name__) from None
        text = "".join(pieces).strip()
        return text if len(text) <= MAX_OUTPUT else f"{text[: MAX_OUTPUT - 1]}{ELLIPSIS}"


def compiled(source: str) -> HookTemplate:
    """Compile a template. Raises TemplateFailed."""
    if len(source) > MAX_TEMPLATE:
        raise TemplateFailed(texts.TEMPLATE_LONG.format(most=MAX_TEMPLATE))
    sandbox = _Sandbox(
        undefined=ChainableUndefined, finalize=_finalize, autoescape=False, trim_blocks=True, lstrip_blocks=True,
        cache_size=0, optimized=False,
    )  # fmt: skip
    filters: Any = {name: sandbox.counted(function) for name, function in FILTERS.items()}
    sandbox.filters = filters | {_LOOPED: sandbox.looped}
    sandbox.tests = {name: sandbox.tests[name] for name in _TESTS}
    sandbox.globals.clear()
    try:
        tree = sandbox.parse(source)
        _check(tree)
        for loop in tree.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, _LOOPED, [], [], None, None, lineno=loop.lineno)
        template = Template.from_code(sandbox, sandbox.compile(tree), {})
    except TemplateSyntaxError as error:
        raise TemplateFailed(f"line {error.lineno}: {' '.join(str(error.message).split())}") from None
    except (TemplateError, RecursionError, SyntaxError, ValueError, OverflowError, MemoryError) as error:
        raise TemplateFailed(" ".join(str(error).split())[:300] or type(error).__name__) from None
    return HookTemplate(source, sandbox, template.generate)


def _check(node: nodes.Node) -> None:
    """Refuse what a template may not hold. Raises TemplateSyntaxError."""
    if not isinstance(node, _NODES):
        what = texts.TEMPLATE_WORDS.get(type(node).__name__, type(node).__name__.lower())
        raise TemplateSyntaxError(texts.TEMPLATE_FORBIDDEN.format(what=what), node.lineno)
    if isinstance(node, nodes.For) and node.recursive:
        raise TemplateSyntaxError(texts.TEMPLATE_FORBIDDEN.format(what=texts.TEMPLATE_RECURSION), node.lineno)
    if isinstance(node, nodes.Filter) and node.name not in FILTERS:
        known = ", ".join(sorted(FILTERS))
        raise TemplateSyntaxError(texts.TEMPLATE_FILTER.format(name=node.name, known=known), node.lineno)
    if isinstance(node, nodes.Test) and node.name not in _TESTS:
        raise TemplateSyntaxError(texts.TEMPLATE_TEST.format(name=node.name, known=", ".join(_TESTS)), node.lineno)
    for child in node.iter_child_nodes():
        _check(child)
