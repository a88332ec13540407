"""Texts that make careless code slow, and everything of the product that reads text, found by walking its packages.

Theory of operation. Slow texts are repetitions: of an expression's own parts (found in its parse tree, with the text
that must precede them), and of openings in the languages that people and models write. A final character makes the
match fail. All texts are tried short, and the slowest of them longer; what is fast even then needs no more tests.

    patterns()   each compiled expression at module level, in classes, containers, values and default arguments, with
                 the ways in which the code calls it
    functions()  each function that takes one text and nothing else, apart from those that open files and databases
    stages()     the stages of a turn that take more than the text
"""

import dataclasses
import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import product
from pathlib import Path
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any, Final, TypeAlias, cast

import regex

from agent.context import ContextParts, Persona, build_context
from agent.events import TextArrived
from agent.incoming import Incoming, Person
from agent.memory.audience import PersonAudience, Place, TeamAudience
from agent.memory.facts import Fact, assumed_in, reading_scopes
from agent.memory.layers import ContextReader, Environment, IdentityRole, Layers, memory_context
from agent.memory.marking import Superseded, mark, superseded, withhold
from agent.memory.past_threads import PastMessage
from agent.memory.periods import periods_in
from agent.memory.profile import Utterance
from agent.memory.supersession import contradicts
from agent.memory.synthesizer import list_in, stated_facts
from agent.messages import Json, fit_newest
from agent.patterns import WAITING, LazyPattern
from agent.ports.tools import Asker
from agent.protocol.blocks import read_forgotten_calls
from agent.protocol.foreign_calls import read_foreign_calls
from agent.protocol.grammar import ParserLimits
from agent.protocol.json_text import JsonReader
from agent.protocol.parser import Parser
from agent.protocol.render import joined, quote
from agent.tools.recall import CHARS as MOST_READ
from agent.tools.recall import query_about, reading_cost
from benchmarks.hostile_pieces import Pattern, expression_pieces
from bot.chat.attachments.kinds import cut_text
from bot.chat.attachments.kinds import found as kind_of
from bot.chat.attachments.text_encoding import decode
from bot.chat.logs import redactor
from bot.chat.reply.attached_files import attached_files
from bot.chat.reply.pages import Draft, Frames
from bot.chat.reply.split import pages
from bot.chat.reply.surface import Limits
from bot.forgetting.requests import is_request, read_forget_request
from bot.platforms.discord import markup as discord
from bot.platforms.discord.slash_commands import command_in
from bot.platforms.slack import markup as slack
from bot.platforms.slack.inbound import SlackBot, SlackMessage
from bot.platforms.slack.inbound import budget_ids as slack_budget_ids
from bot.platforms.slack.intake import read_order, says_stop, without_ask
from bot.platforms.slack.message_content import content_of
from store.forgetting.sql_forgetting import pieces as erased_pieces
from store.search.text import keywords, quotes
from store.search.word_matching import Fts5

PACKAGES: Final = ("agent", "bot", "store")
CHARS: Final = 40_000  # The maximum length of a message in Slack
LIMIT_MS: Final = 50.0  # Processor time for one of them: not noticeable in other users' answers
# For an eighth of the length. If time grows with the square, the whole length takes 64 times as much, which a server
# survives.
QUICK_MS: Final = 1.0
SIEVED: Final = 24  # The number of texts, the slowest at a quarter of that, that are tried at an eighth of the length
SLOWEST: Final = 8  # Texts of each kind that are tried longer: too steep ones are among the slowest already
STEEP: Final = 9.0  # For four times the length: between 4 (linear) and 16 (quadratic)
# For four times the length, at a quarter of it. A text that is too steep at full length (a linear part and a quadratic
# one of at least 5/7 of it) takes 5.8 times as long there; texts below this factor need no try at full length.
EVEN: Final = 5.0
# The number of slowest texts that are always tried at full length: some code is slow only from a certain length on.
ALWAYS_LONG: Final = 2
PAGE_CHARS: Final = 4_400  # A page and its lookahead (`bot.chat.reply.split`)
# Modules that never get 40,000 characters, with their maximum.
SHORTER: Final = {
    "bot.chat.reply.split.": PAGE_CHARS,  # a page at a time
    "bot.chat.reply.markdown.": PAGE_CHARS,
    "bot.chat.reply.attached_files.": PAGE_CHARS,
    "bot.chat.reply.link_addresses.": PAGE_CHARS,
    "bot.platforms.terminal.": PAGE_CHARS,  # a person's own program
    "bot.platforms.slack.markup.": PAGE_CHARS,  # a page at a time, or one of the bot's own sentences
    "bot.platforms.slack.home.": PAGE_CHARS,
    "bot.platforms.slack.panels.": PAGE_CHARS,
    "bot.platforms.slack.question_views.": PAGE_CHARS,
    "bot.platforms.slack.block_kit.": PAGE_CHARS,
    "bot.platforms.slack.reply_buttons.": PAGE_CHARS,
    "bot.platforms.slack.retraction.": PAGE_CHARS,
    "agent.memory.past_threads.": PAGE_CHARS,  # sentences, after the limits of recollecting
}

Text: TypeAlias = Callable[[str], object]
Recipe: TypeAlias = Callable[[int], str]  # Makes a text of a number of characters

# Functions here take the name of a file or database to open.
_OPENS: Final = frozenset({"store.engine", "store.databases.sqlite", "store.databases.postgresql", "bot.chat.messages"})
_METHODS: Final = ("search", "match", "fullmatch", "findall", "finditer", "split", "sub")
# In a source text: searching it takes a hundredth of the time of parsing it.
_CALLED: Final = re.compile(rf"(?<![\w.])(\w+)\.({'|'.join(_METHODS)})\b")
_ENDS: Final = ("", "\x00", "x", "\n!")
# Characters that open, separate, count or combine, in plain text, Markdown, the platforms' formats and our protocol.
PIECES: Final = (
    *"1aA. \n\t([{<`*_~$|#>-=/%:,;'\"\\@!&",
    *("1.", "1,", "1.1.1.1, ", "a ", "A ", "a.", "a@", "a-", "1 ", "$1", "stop ", "- ", "> ", "|a", "a|", "\r\n", "!["),
    *("<a ", "</", "<@", "`a", "``` \n", "```\n", "- - ", "1. ", "**a", "* a", "https://a", "&amp;", '{"a":', '"\\'),
    *("<execute>", "<workspace>\n", "<results>[", "[superseded: ", "the the ", "what if ", "from 2020 to "),
    *("[[", "[a](", "*a _a ", "~~a ", "\\*", '{"a":[', "<|im_start|>", "<invoke name=", "a\u0301", "a. ", "a! "),
    *("\u200b", "\u00a0", "e\u0301", "\u0301", "中", "あ", "、", "中。", "한", "😀", "\U0001f469\u200d", "\u202e"),
    *("\u0300\u0316", "\u0300ﾞ", "\ud800", "ﷺ", "I said that it is now $1. "),
)  # fmt: skip


def hostile_texts(pieces: Iterable[str] = PIECES) -> Iterator[Recipe]:
    """Yield each piece repeated, with and without a final character that makes a match fail."""
    for piece, end in product(pieces, ("", "x")):
        yield partial(_repeated, "", piece, end)
    yield lambda chars: "".join("`" * length + "a" for length in range(1, int((2 * chars) ** 0.5)))
    yield lambda chars: "\n".join("[" * length for length in range(1, int((2 * chars) ** 0.5)))
    yield partial(_repeated, "stop", " ", "x")
    yield partial(_repeated, "<", " ", "x")


def _repeated(before: str, piece: str, end: str, chars: int) -> str:
    room = max(chars - len(before) - len(end), 0)
    return before + (piece * (room // len(piece) + 1))[:room] + end


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a text. `chars`: the longest text that it gets."""

    name: str
    run: Text
    pieces: tuple[tuple[str, str], ...] = ()
    """The pieces to try besides PIECES: a prefix and a repeated text."""
    chars: int = CHARS
    common: bool = True
    """Whether it is tried with PIECES at all."""

    def texts(self) -> Iterator[Recipe]:
        if self.common:
            yield from hostile_texts()
        for (before, piece), end in product(self.pieces, _ENDS):
            yield partial(_repeated, before, piece, end)


@dataclass(frozen=True, slots=True)
class Tried:
    """A text that was among the slowest of its length. `quarter_ms`: the time of a quarter of that length."""

    ms: float
    quarter_ms: float
    text: str
    recipe: Recipe


def slowest(reading: Reading, chars: int) -> list[Tried]:
    """Return the slowest texts of `chars` characters, without fast ones."""
    sieved = _ranked(reading, reading.texts(), chars // 4)[:SIEVED]
    short = {recipe: ms for ms, _, recipe in sieved}
    found = _ranked(reading, (recipe for _, _, recipe in sieved), chars)[:SLOWEST]
    return [Tried(ms, short[recipe], text, recipe) for ms, text, recipe in found if ms >= QUICK_MS]


def _ranked(reading: Reading, recipes: Iterable[Recipe], chars: int) -> list[tuple[float, str, Recipe]]:
    tried = ((text, recipe) for recipe in recipes if (text := recipe(chars)))
    return sorted(((best_ms(reading.run, text, 1), text, recipe) for text, recipe in tried), key=_cost, reverse=True)


def _cost(tried: tuple[float, str, Recipe]) -> float:
    return tried[0]


def worst_ms(reading: Reading) -> tuple[float, str]:
    """Return the longest time that a text takes at full length, and that text; 0 if all are fast."""
    texts = (tried.recipe(reading.chars) for tried in slowest(reading, reading.chars // 8))
    return max(((best_ms(reading.run, text, 3), text) for text in texts), default=(0.0, ""))


def growing(reading: Reading) -> str:
    """Return a text for which time grows faster than its length; "" if there is none. The test is a ratio, so that the
    load of the machine does not matter.
    """
    few, many = reading.chars // 8, reading.chars // 2
    for place, tried in enumerate(slowest(reading, few)):
        if place >= ALWAYS_LONG and _is_even(reading, tried):
            continue
        before, long = tried.ms, tried.recipe(many)
        for tries in (1, 3, 9):
            if tries > 1:
                before = best_ms(reading.run, tried.text, tries)
            after = best_ms(reading.run, long, tries)
            if after <= STEEP * before or before < QUICK_MS:  # it seemed slow because the machine was busy
                break
        else:
            return f"{long[:60]!r}: {few} characters take {before:.1f} ms, {many} take {after:.1f} ms"
    return ""


def _is_even(reading: Reading, tried: Tried) -> bool:
    """Whether time is linear up to this length, at which a quadratic part would show already."""
    if tried.ms > EVEN * tried.quarter_ms:
        return False
    return tried.ms <= EVEN * best_ms(reading.run, tried.recipe(len(tried.text) // 4), 2)


def best_ms(run: Text, text: str, times: int) -> float:
    """Return the processor time of one call, the best of several; a very slow call is not repeated."""
    best = float("inf")
    for _ in range(times):
        start = time.process_time()
        _called(run, text)
        best = min(best, 1_000 * (time.process_time() - start))
        if best > 20 * LIMIT_MS:
            break
    return best


def _called(run: Text, text: str) -> None:
    try:
        result = run(text)
        if isinstance(result, Generator):
            for _ in cast("Iterable[object]", result):
                pass
    except Exception:  # noqa: BLE001, S110 -- a function may refuse a text, with any error that its caller expects
        pass


# All readers of text in the product


@cache
def modules() -> Sequence[ModuleType]:
    return list(_modules())


def _modules() -> Iterator[ModuleType]:
    for name in PACKAGES:
        package = importlib.import_module(name)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not found.name.startswith("store.migrations.") and not found.name.endswith(
                ("__main__", "reader_process")
            ):
                yield importlib.import_module(found.name)


def _chars_for(where: str) -> int:
    return next((chars for module, chars in SHORTER.items() if where.startswith(module)), CHARS)


def functions() -> list[Reading]:
    """Yield every function whose only required argument is a text."""
    found: list[Reading] = []
    for module in modules():
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__ == module.__name__ and _takes_text(value):
                where = f"{module.__name__}.{name}"
                found.append(Reading(where, value, chars=_chars_for(where)))
    return found


def _takes_text(function: FunctionType) -> bool:
    if function.__module__ in _OPENS or inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return False
    kinds = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    needed = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty and parameter.kind not in kinds
    ]
    return len(needed) == 1 and needed[0].annotation is str and needed[0].kind is not inspect.Parameter.KEYWORD_ONLY


@cache
def patterns() -> Sequence[Reading]:
    """Yield every compiled expression of the product, with each method that the code calls on it."""
    found: dict[tuple[str, int, type], tuple[str, Pattern]] = {}
    for module in modules():
        for name, value in vars(module).items():
            if not name.startswith("__") and value is not WAITING:  # they are found in their own module
                for where, pattern in _patterns_in(value, f"{module.__name__}.{name}", set()):
                    found.setdefault((pattern.pattern, pattern.flags, type(pattern)), (where, pattern))
    called = _called_ways()
    return [
        Reading(
            f"{where} by {way}",
            _way(pattern, way),
            tuple(dict.fromkeys(expression_pieces(pattern, CHARS // 100))),
            _chars_for(where),
        )
        for where, pattern in found.values()
        for way in sorted(_ways_of(where, called)) or ["search"]
    ]


def _patterns_in(value: object, where: str, seen: set[int]) -> Iterator[tuple[str, Pattern]]:
    if isinstance(value, LazyPattern):
        yield where, value.compiled()
        return
    if isinstance(value, re.Pattern | regex.Pattern):
        yield where, cast("Pattern", value)
        return
    if id(value) in seen or isinstance(value, str | bytes | int | float | ModuleType):
        return
    seen.add(id(value))
    for name, part in _parts(value):
        yield from _patterns_in(part, f"{where}{name}", seen)


def _parts(value: object) -> Iterable[tuple[str, object]]:
    if isinstance(value, tuple | list | set | frozenset):
        return [(f"[{at}]", part) for at, part in enumerate(cast("Collection[object]", value))]
    if isinstance(value, dict | MappingProxyType):
        items = cast("Mapping[object, object]", value).items()
        return [(f"[{key!r}]", part) for key, part in items] + [("[]", key) for key, _ in items]
    if isinstance(value, type):
        return [(f".{name}", part) for name, part in vars(value).items()] if _ours(value.__module__) else ()
    if isinstance(value, FunctionType):
        if not _ours(value.__module__):
            return ()
        usual = [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
        closed = [cell.cell_contents for cell in value.__closure__ or () if _is_set(cell)]
        return [("()", part) for part in (*usual, *closed)]
    if isinstance(value, classmethod | staticmethod):
        return [("", cast("Any", value).__func__)]
    if isinstance(value, property):
        return [("", value.fget)]
    if dataclasses.is_dataclass(value):
        return [(f".{field.name}", getattr(value, field.name, None)) for field in dataclasses.fields(value)]
    return ()


def _is_set(cell: Any) -> bool:  # noqa: ANN401 -- its type has no name in `types` that may be built
    try:
        cell.cell_contents  # noqa: B018 -- asked for its error
    except ValueError:
        return False
    return True


def _ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


@cache
def sources() -> Sequence[tuple[ModuleType, str]]:
    return [(module, Path(module.__file__ or "").read_text(encoding="utf-8")) for module in modules()]


def _called_ways() -> dict[tuple[str, str], set[str]]:
    """By module and name, the methods that the module calls on an expression."""
    ways: dict[tuple[str, str], set[str]] = {}
    for module, source in sources():
        for name, method in _CALLED.findall(source):
            ways.setdefault((module.__name__, name), set()).add(method)
    return ways


def _ways_of(where: str, called: Mapping[tuple[str, str], set[str]]) -> set[str]:
    module, _, name = where.rpartition(".")
    if name.startswith("_"):
        return called.get((module, name), set())
    return {way for (_, one), ways in called.items() if one == name for way in ways}


def _way(pattern: Pattern, way: str) -> Text:
    if way == "sub":
        return lambda text: pattern.sub("", text)
    if way == "finditer":
        return lambda text: [None for _ in pattern.finditer(text)]
    return getattr(pattern, way)


# The stages of a turn that take more than a text

# What opens calls in the forms of vendors, and what is repeated in them: calls that are begun again and again, strings,
# and what ends them or does not.
_OPEN: Final = ("", "recall(", 'recall(query="', 'recall(query="""', "<|python_tag|>", "```tool_code\n", "[TOOL_CALLS]")
_REPEATED: Final = (
    *(
        "recall(",
        "print(recall(",
        "recall(a=",
        '"""',
        "'''",
        '\\"',
        "(",
        ")",
        "recall{",
        "<tool_call>",
        "[recall(",
        "#\n",
    ),
    *('recall(query="""', 'recall(query="a")\n', "<function=recall>", "recall\n{", "<|tool_call>call:recall{query:"),
)
_NOW: Final = datetime(2027, 3, 3, 12, tzinfo=UTC)
_ANYONE: Final = Asker(Person("a", ""), Place(PersonAudience("a")))
_ME: Final = SlackBot("T1", "U1", "B1")
_LIMITS: Final = ParserLimits()
_FACT: Final = Fact(
    "1", "", "The budget is $1.", "user", _NOW, "team:T1", "slack:T1:U2", is_valid=False, superseded_by="2"
)
_FACTS: Final = [
    fact
    for number in range(0, 80, 2)
    for fact in (
        replace(
            _FACT, id=f"{number}", value=f"The budget of {number} a A is ${number}.", superseded_by=f"{number + 1}"
        ),
        replace(_FACT, id=f"{number + 1}", value="The budget is 2.", is_valid=True, superseded_by=None),
    )
]
_PERSON: Final = Person("slack:T1:U2", "Ann")


def _blocks(text: str) -> list[Json]:
    """Return blocks of a message of Slack, each with a word of the text."""
    return [{"type": "section", "text": {"type": "mrkdwn", "text": word}} for word in text.split(" ")]


def _forward(text: str) -> Json:
    """Return the attachment of Slack that forwards the text."""
    return {"is_share": True, "text": text, "message_blocks": [{"message": {"text": text, "blocks": _blocks(text)}}]}


def _heard(text: str) -> SlackMessage:
    return SlackMessage("E1", "C1", "1.1", "", "U2", text, direct=True, mentioned=False, outside=False)


def _incoming(text: str) -> Incoming:
    place = Place(TeamAudience("T1"))
    return Incoming("discord", "e", "c", "m", "c", _PERSON, place, text, _NOW)


def _asked(text: str) -> object:
    parts = ContextParts(
        persona=Persona("You are a bot.", "Answer."),
        tool_schemas="",
        person=_PERSON,
        place=Place(TeamAudience("T1")),
        now=_NOW,
        question=text,
        word="w4",
    )
    return build_context(parts)


def _streamed(text: str) -> object:
    parser = Parser(_LIMITS, frozenset({"recall"}))
    events = [event for at in range(0, len(text), 64) for event in parser.feed(text[at : at + 64])]
    return [*events, *parser.close()]


def _called_in_code(text: str) -> object:
    return read_foreign_calls(text, lambda name: name == "recall", _LIMITS)


def _stale() -> Sequence[Superseded]:
    """Return new facts for each call, as they remember earlier texts."""
    return superseded(["the budget is $1 and 1.1 a the A"], ["the budget is 2"])


def _composed(text: str) -> object:
    """For a person with facts, some of them superseded: a whole thread and a question at once."""
    layers = Layers(IdentityRole("Ann"), Environment(_NOW), facts=_FACTS, earlier=_thread(text))
    return memory_context(layers, ContextReader(frozenset({"team:T1"}), text))


def _thread(text: str) -> list[PastMessage]:
    pieces = [text[at : at + 500] for at in range(0, len(text), 500)]
    return [
        PastMessage(piece, _NOW) for piece in fit_newest(((piece, reading_cost(piece)) for piece in pieces), MOST_READ)
    ]


_FIRST_PAGE: Final = Limits(page_chars=4_000, edit_interval_s=1.0, announce_final=False)


def stages() -> list[Reading]:
    """Return the stages from an event to the reply, in order."""
    return [
        Reading("slack: order", lambda text: read_order(_heard(text), _ME)),
        Reading("slack: stop", lambda text: says_stop(_heard(text), _ME)),
        Reading("slack: blocks", lambda text: content_of({"bot_id": "B1", "blocks": _blocks(text)}).whole),
        Reading("slack: forwards", lambda text: content_of({"attachments": [_forward(text)] * 3}).whole),
        Reading("slack: mentions", lambda text: slack.without_mention(text, "U1")),
        Reading("slack: many mentions", lambda text: slack.without_mention("<@U1> " * (len(text) // 6), "U1")),
        Reading("slack: ask", lambda text: without_ask(text, _ME)),
        Reading("slack: readable", lambda text: slack.readable(text, {})),
        Reading("slack: budget", lambda text: slack_budget_ids(text, _ME)),
        Reading("discord: command", lambda text: command_in(_incoming(text), direct=True)),
        Reading("discord: slash", lambda text: command_in(_incoming(f"/{text}"), direct=True)),
        Reading("discord: readable", lambda text: discord.readable(text, discord.DiscordNames())),
        Reading("discord: mentions", lambda text: discord.without_mention(text, frozenset({1}))),
        Reading("forget: wish", lambda text: read_forget_request(f"about {text}", _ANYONE, _NOW)),
        Reading("forget: period", lambda text: read_forget_request(text, _ANYONE, _NOW)),
        Reading("forget: request", lambda text: is_request(text, _NOW)),
        Reading("question: query", lambda text: query_about(text, _PERSON, frozenset(), "c", _NOW)),
        Reading("question: periods", lambda text: periods_in(text, _NOW, "UTC")),
        Reading("question: scopes", lambda text: reading_scopes(assumed_in([text] * 3, text), text, "c", "t")),
        Reading(
            "question: search",
            lambda text: Fts5().query(keywords(query_about(text, _PERSON, frozenset(), "c", _NOW).text), " OR "),
        ),
        Reading("thread: composed", _composed, (), MOST_READ),
        Reading("facts: contradict", lambda text: contradicts(text, text)),
        Reading("marking: marked", lambda text: mark(text, _stale())),
        Reading("marking: withheld", lambda text: withhold(text, _stale())),
        Reading("marking: superseded", lambda text: superseded([text[:2_000]], [text])),
        Reading("context: whole", _asked),
        Reading("context: quoted", lambda text: quote(text, "a file")),
        Reading("files: decoded", lambda text: decode(text.encode(errors="replace"))),
        Reading("files: kind", lambda text: kind_of(text.encode(errors="replace"))),
        Reading("files: cut", lambda text: cut_text(text, 100)),
        Reading("model: stream", _streamed, tuple(product(_OPEN, _REPEATED))),
        Reading("model: block", lambda text: _streamed(f"<execute>[{text}")),
        Reading("model: workspace", lambda text: _streamed(f"<workspace>{text}")),
        Reading("model: calls in code", _called_in_code, tuple(product(_OPEN, _REPEATED))),
        Reading("model: thoughts", lambda text: read_forgotten_calls(text, _LIMITS, lambda name: name == "recall")),
        Reading("model: JSON", lambda text: JsonReader(_LIMITS).read(text)),
        Reading("model: mended JSON", lambda text: JsonReader(_LIMITS).read_mended(text, whole=True)),
        Reading("model: list", lambda text: list_in(text, "facts")),
        Reading("model: facts", lambda text: stated_facts([{"key": "k", "value": text}], [Utterance(1, text, _NOW)])),
        Reading("reply: parts", lambda text: joined([text, text])),
        Reading("reply: page", lambda text: pages(text, 4_000), (), PAGE_CHARS),
        Reading("reply: growing page", _growing, (), PAGE_CHARS),
        Reading("reply: files", lambda text: attached_files(text, pages=11, limits=Limits(4_000, 1))),
        Reading("forgetting: quotes", lambda text: quotes(text, text[:1_000])),
        Reading("forgetting: pieces", lambda text: erased_pieces([text])),
        Reading("log: redacted", redactor(["s3cret-value", "another-value"])),
    ]


def _growing(text: str) -> object:
    draft = Draft()
    draft.record_event(TextArrived(text))
    return Frames(_FIRST_PAGE, 1).frames(draft)
