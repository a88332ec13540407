"""The offline default: a model made of rules, to try all features before a real model is chosen.

`rehearse` is pure, and writes the delimiter protocol as a real model does, so the real loop runs real tools: "remember
that …" calls `remember`, "what did I say about …?" calls `recall`, and so does any other question if the place has
documents; "remind me in 20 minutes to …" calls `schedule`, and "show me a chart" draws a small table with `chart`. Each
answer says that it is a rehearsal and how to choose a real model. Text of a person or a tool never opens a block: in
JSON each `<` is escaped, in answers tags are written with ‹.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, TypeAlias, assert_never, cast

from agent import texts
from agent.appended_messages import ANSWER_ARRIVED
from agent.asking import ASK_USER
from agent.errors import ADVICE
from agent.memory.attribution import FILES_NOTE
from agent.messages import Json, JsonObject, Message, ResultStatus, Role, is_too_deep
from agent.patterns import compile_later
from agent.ports.model import CallOptions, Capabilities, ProviderEvent, ResponseEnded, StopReason, TokensArrived
from agent.protocol.render import CONTINUED, WRITES_ALONE, neutralise
from agent.tools.read_channel import FOLD, NAME
from agent.tools.recall import KNOWN_HEAD, WITH_DOCUMENTS

INIT = "cogency init"
NOTICE = f"*(I am the offline rehearsal model: `{INIT}` sets up a real one.)*"

PACE_S = 0.012  # Between two pieces: about a thousand characters a second, fast but visibly growing
PIECE_CHARS = 12  # So small that a tag often arrives in two pieces, as from real models
ARGUMENT_CHARS = 2_000  # The limit of the person's text in one tool call
QUERY_CHARS = 200  # A search for many words finds less, not more
QUESTION_CHARS = 500  # A question about the past is short; a longer text is not read as one
ECHO_CHARS = 300  # The limit of the person's text that an answer repeats
READ_CHARS = 2_000  # Of an earlier message, to find its subject
MAX_HERE = 3  # Earlier messages of this thread that an answer repeats
NOTES = 3  # For one part of a conversation, from messages evenly spread over it
PASSAGES = 2  # Of documents that an answer quotes: those that share most words with the question
PASSAGE_CHARS = 1_000
QUOTE_CHARS = 3_000  # The limit of a tool's result that an answer quotes


SCHEDULE: Final = "schedule"
CHART: Final = "chart"
BOATS: Final[JsonObject] = {
    "kind": "bars",
    "title": "Boats in the harbor",
    "labels": ["May", "June", "July", "August"],
    "series": {"Sailing boats": [12, 19, 31, 28], "Ferries": [4, 4, 6, 6]},
    "y_title": "Boats a day",
}
BOATS_TABLE: Final = """
| Month | Sailing boats | Ferries |
| --- | ---: | ---: |
| May | 12 | 4 |
| June | 19 | 4 |
| July | 31 | 6 |
| August | 28 | 6 |
""".strip()
NO_CHART: Final = (
    "To get this table as a chart, set `COGENCY_PYTHON=on`. Then run `cogency doctor`, which shows how to add the "
    "extra `python`."
)
INSTEAD_OF = "(instead of: "  # Before the superseded facts in the result of `remember`


@dataclass(frozen=True, slots=True)
class Remember:
    text: str


@dataclass(frozen=True, slots=True)
class Recall:
    """Search for `query`. If nothing is found, `question` is answered without a search; "": the answer says so."""

    query: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class RepeatLast:
    """Repeat the last message of the person in this conversation."""


@dataclass(frozen=True, slots=True)
class Use:
    """Call any tool with these arguments."""

    name: str
    args: JsonObject


@dataclass(frozen=True, slots=True)
class ShowCode:
    pass


@dataclass(frozen=True, slots=True)
class ShowChart:
    """Draw the table that comes with the rehearsal."""


@dataclass(frozen=True, slots=True)
class Talk:
    pass


Intent: TypeAlias = Remember | Recall | RepeatLast | Use | ShowCode | ShowChart | Talk

_POLITE = r"""^(?:[^\n:]{1,60}:\s+)?(?:@\S+[,:]?\s+)?
    (?:(?:hey|hi|hello|ok|okay|and|so|but|also|now|please|kindly|well)\b[\s,!]*)*"""
_COULD_YOU = r"(?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?"
_REMEMBER = rf"""{_POLITE}{_COULD_YOU}
    (?:remember|(?:take\s+a\s+)?note|memori[sz]e|keep\s+in\s+mind|(?:don['’]?t|never)\s+forget)
    (?:\s*:\s*|\s+(?:that\b[\s:,]*)?)
    (?P<text>(?!when\b)\S.*)"""
_SAID = rf"""{_POLITE}(?:what|when|where|did|have|has)\b.*?\b(?:i|we)\b.*?
    \b(?:say|said|tell|told|writ(?:e|ten)|wrote|mention(?:ed)?|talk(?:ed)?|ask(?:ed)?|discuss(?:ed)?)
    (?:\s+(?:to\s+)?you)?(?:\s+(?:something|anything))?(?:\s+(?:about|of|on|regarding))?
    \s+(?P<query>\S.*)"""
_KNOWN = rf"""{_POLITE}(?:what|which)\b.*?\byou\s+(?:still\s+)?(?:know|remember|recall|have)\s+(?:about|of|on)
    \s+(?P<query>\S.*)"""
_KNOW = rf"""{_POLITE}(?:do|can|did)\s+you\s+(?:still\s+)?(?:remember|recall|know)
    (?:\s+(?:anything|something))?(?:\s+(?:what|when|where|that)\s+(?:i|we)\s+\w+)?(?:\s+(?:about|of))?
    \s+(?P<query>\S.*)"""
_WHEN = rf"{_POLITE}remember\s+when\s+(?:i|we)\s+(?P<query>\S.*)"
_FIND = rf"""{_POLITE}{_COULD_YOU}(?:recall|look\s+up|find|search(?:\s+(?:my\s+(?:past\s+)?threads\s+)?for)?)
    (?:\s+what\s+(?:i|we)\s+\w+\s+about)?\s+(?P<query>\S.*)"""
_DID = rf"""{_POLITE}(?:what|which|who|whom|where|when|why|how)\b[^.?!]*?\b(?:did|have|had|was|were)\s+(?:i|we)\b
    \s+(?P<query>\S.*)"""
_MINE = rf"{_POLITE}(?:what|which|who|where|when|how)\b.*?\b(?:my|our)\s+(?P<query>\S.*)\?"

_ASKS = rf"""{_POLITE}(?:what|which|who|whom|where|when|why|how|may|must|can|could|should|is|are|does|do)\b
    (?P<query>(?:(?!\byou\b).)+)\?\s*$"""

_LAST = rf"""{_POLITE}what\s+(?:
    (?:did|have|had)\s+(?:i|we)\s+(?:just\s+)?(?:say|said|tell|told|writ(?:e|ten)|mention(?:ed)?|ask(?:ed)?)
      (?:\s+(?:to\s+)?you)?(?:\s+(?:just|now|last|before|earlier|a\s+(?:second|moment|minute)\s+ago))*
    |(?:was|were)\s+(?:my|our)\s+(?:last|previous)\s+(?:messages?|questions?|sentences?|words?)
    )[\s?!.]*$"""

_FLAGS = re.IGNORECASE | re.DOTALL | re.VERBOSE
_REMEMBERS = compile_later(_REMEMBER, _FLAGS)
_RECALLS = tuple(compile_later(pattern, _FLAGS) for pattern in (_SAID, _KNOWN, _KNOW, _WHEN, _FIND, _DID, _MINE))
_ASKED = compile_later(_ASKS, _FLAGS)
_USES = compile_later(rf"{_POLITE}use\s+(?P<name>[\w.-]{{1,100}})\s+(?P<args>\{{.*\}})\s*$", _FLAGS)
_REPEATS = compile_later(_LAST, _FLAGS)
_KNOWN_PASSAGE = compile_later(r"\[D\d+\] ([^\n]*):\n(>.*)", re.DOTALL)
_MESSAGE = compile_later(r"^(?!>).*(?:\n>.*)*", re.MULTILINE)
# Just enough to show reminders in the demo: other times are a real model's work.
_REMINDS = compile_later(
    rf"""{_POLITE}{_COULD_YOU}remind\s+me\s+(?:in\s+(?P<many>\d{{1,3}}|an?)\s+(?P<unit>minute|hour|day)s?
    |tomorrow\s+at\s+(?P<hour>[01]?\d|2[0-3])(?::(?P<minute>[0-5]\d))?)\s+(?:to|of|that|about)\s+(?P<what>\S.*)""",
    _FLAGS,
)
_NOW = compile_later(r"^ENVIRONMENT: \w{3} (\d{4}-\d\d-\d\d \d\d:\d\d)", re.MULTILINE)
_CHARTS = compile_later(
    rf"{_POLITE}{_COULD_YOU}(?:show|draw|make|plot)\s+(?:me\s+)?(?:(?:an?|the|some)\s+)?(?:\w+\s+)?charts?[\s.!?]*$",
    _FLAGS,
)
_CODE = compile_later(r"\b(?:code|snippet|function|script|program|python|javascript|sql)\b", re.IGNORECASE)
_LEADING = compile_later(r"^(?:(?:about|my|our|your|the|a|an|this|that|these|those|his|her|their)\s+)+", re.IGNORECASE)
# What a question says about the asking and not about its subject would be searched for as words.
_TRAILING = compile_later(
    r"(?<![\s?!.,;:\"'“”])(?:[\s?!.,;:\"'“”]|\b(?:again|before|earlier|yesterday|please|last\s+(?:time|week|month|year)))+$",
    re.IGNORECASE,
)
_NAMED = compile_later(r"^[^\n:]{1,100}: ?")  # The author, where several people write
_CATCHES_UP = compile_later(r"\b(?:catch\s+(?:me|us)\s+up|summari[sz]e|sum\s+up)\b", re.IGNORECASE)
_CHANNEL = compile_later(r"https?://\S+|<#\w+(?:\|[^>]*)?>|#[\w-]+|\bthread\b", re.IGNORECASE)
_SINCE = compile_later(r"\bsince\s+([\w :-]{2,30})", re.IGNORECASE)
_SAID_IN_CHANNEL = compile_later(r"^> \[(\d+)\] [^,\n]*, ([^\n]*):\n> > ([^\n]*)", re.MULTILINE)
_FENCE = compile_later(r"`{3,}|~{3,}")
_WORD = compile_later(r"\w+")
_ENDING = compile_later(r"(?<=\w{3})(?:ed|ing|es|e|s)$")
# A message with only these words contains nothing to search for.
_SMALL_TALK = frozenset(
    re.findall(
        r"\w+",
        "hello hi hey hiya howdy greetings there good morning afternoon evening night day bye goodbye thanks thank you "
        "thx cheers ok okay yes no please welcome how are doing well fine test testing hallo servus moin danke bitte "
        "hola gracias bonjour salut merci ciao",
    )
)
_FILLING = frozenset(re.findall(r"\w+", "the and for are was our your about what this that with from have has had"))
_NOTHING = compile_later(r"\W*(?:nothing|no|none|not found)\b", re.IGNORECASE)
_UNPRINTABLE = compile_later(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")


def rehearse(messages: Sequence[Message]) -> str:
    """Answer as a real model does: one text in the delimiter protocol, with up to one tool call."""
    # A summary is asked for in a prompt of its own, without a question in it.
    if messages and messages[0].text == FOLD:
        return _notes(messages[-1].text)
    question, results = _read(messages)
    intent = _intent(question)
    # An intent needs its tool: what a bot does not offer here, its rehearsal does not call either.
    if isinstance(intent, Talk | Recall) and f"\n{NAME}(" in messages[0].text:
        intent = _catch_up_call(question) or intent
    if isinstance(intent, Talk) and any(f"\n{SCHEDULE}(" in message.text for message in messages):
        intent = _reminder_call(question, messages) or intent
    if isinstance(intent, Talk) and WITH_DOCUMENTS in messages[0].text:
        intent = _document_search(question) or intent
    if results is not None:
        return _after_results(intent, results, _messages_about(messages, intent))
    match intent:
        case Remember(text):
            return _call("remember", {"text": text}, f"The person asked me to remember: {text}")
        case Recall(query):
            return _call("recall", {"query": query}, f"The person asks about: {query}")
        case Use(name, args):
            return _call(name, args, f"The person asked me to use {name}")
        case RepeatLast():
            messages_here = _messages_about(messages, intent)
            return _answer(
                _format_here(messages_here) if messages_here else "You have said nothing else in this thread yet."
            )
        case ShowCode():
            return _answer(_code(question))
        case ShowChart():
            if f"\n{CHART}(" in messages[0].text:
                return _call(CHART, BOATS, "The person asked for a chart")
            return _answer(f"{BOATS_TABLE}\n\n{NO_CHART}")
        case Talk():
            return _answer(_explanation(question))
        case _:
            assert_never(intent)


def _read(messages: Sequence[Message]) -> tuple[str, str | None]:
    """Return the question, and the text of the last results if this turn called a tool already, else None."""
    question, results = _last(messages)
    system = next((message.text for message in reversed(messages) if message.text.startswith("[system ")), WRITES_ALONE)
    if WRITES_ALONE not in system:
        question = _NAMED.sub("", question).replace(f"\n{CONTINUED} ", "\n")
    for note in (texts.LONG_WORK, texts.SCHEDULED_QUESTION):
        question = question.removesuffix(note).rstrip()
    return question, results


def _last(messages: Sequence[Message]) -> tuple[str, str | None]:
    last_results = max((i for i in range(len(messages)) if _is_results(messages, i)), default=None)
    if last_results is None or any(message.role is Role.ASSISTANT for message in messages[last_results:]):
        return next((m.text for m in reversed(messages) if m.role is Role.USER), ""), None
    first_results = last_results
    while _is_results(messages, first_results - 2):
        first_results -= 2
    return (messages[first_results - 2].text if first_results >= 2 else ""), messages[last_results].text


def _messages_about(messages: Sequence[Message], intent: Intent) -> list[str]:
    """Return the newest messages of this conversation that a question about the past is about.

    `recall` leaves them out, because the model sees them. The last message is repeated even if it is a question or a
    greeting.
    """
    section = max((i for i in range(len(messages)) if messages[i].text.startswith("[system ")), default=0)
    candidates = (message.text[:READ_CHARS] for message in reversed(messages[:section]) if message.role is Role.USER)
    if isinstance(intent, RepeatLast):
        matching = (text for text in candidates if not isinstance(_intent(text), RepeatLast))
    elif words := _content_words(intent.query) if isinstance(intent, Recall) else frozenset[str]():
        matching = (
            text for text in candidates if words <= _content_words(text) and not _is_question_or_small_talk(text)
        )
    else:
        return []
    return list(islice(matching, MAX_HERE))[::-1]


def _content_words(text: str) -> frozenset[str]:
    """Return the content words of a text, without the endings of plurals and verbs."""
    words = _WORD.findall(text.casefold())
    return frozenset(
        _ENDING.sub("", word) for word in words if (len(word) > 2 or not word.isascii()) and word not in _FILLING
    )


def _is_question_or_small_talk(text: str) -> bool:
    words = _WORD.findall(text[:READ_CHARS].casefold())
    return isinstance(_intent(text), Recall | RepeatLast) or (bool(words) and set(words) <= _SMALL_TALK)


def _is_results(messages: Sequence[Message], i: int) -> bool:
    """Return whether message `i` holds results: they follow a step with a call, which a person's message does not."""
    return (
        i > 0
        and messages[i].role is Role.USER
        and messages[i].text.lstrip().startswith("<results>")
        and messages[i - 1].role is Role.ASSISTANT
        and "<execute>" in messages[i - 1].text
    )


def _intent(question: str) -> Intent:
    text = _UNPRINTABLE.sub(" ", question).strip()
    if match := _REMEMBERS.match(text):
        return Remember(match["text"].strip()[:ARGUMENT_CHARS])
    if _REPEATS.match(text[:QUESTION_CHARS]):
        return RepeatLast()
    called = text.rpartition(FILES_NOTE)[0] or text  # without the names of its files
    if (match := _USES.match(called[:ARGUMENT_CHARS])) and (args := _arguments(match["args"])) is not None:
        return Use(match["name"], args)
    if _CHARTS.match(text[:QUESTION_CHARS]):
        return ShowChart()
    for pattern in _RECALLS:
        if (match := pattern.match(text[:QUESTION_CHARS])) and (query := _topic(match["query"])):
            return Recall(query)
    return ShowCode() if _CODE.search(text) else Talk()


def _arguments(written: str) -> JsonObject | None:
    if is_too_deep(written):
        return None
    try:
        args: Json = json.loads(written)
    except ValueError:
        return None
    return args if isinstance(args, dict) else None


def _topic(words: str) -> str:
    return _TRAILING.sub("", _LEADING.sub("", words.strip())[:QUERY_CHARS])


def _call(name: str, args: JsonObject, understanding: str) -> str:
    workspace = {
        "objective": "Answer the person",
        "understanding": understanding[:ECHO_CHARS],
        "approach": f"Call {name}, then answer from its result",
        "discoveries": "",
    }
    calls = [{"name": name, "args": dict(args)}]
    return f"<workspace>{_json(workspace)}</workspace>\n<execute>{_json(calls)}\n</execute>"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _after_results(intent: Intent, results: str, messages_here: Sequence[str] = ()) -> str:
    status, content = _result(results)
    if status != ResultStatus.SUCCESS:
        return _answer(f"That did not work:\n\n{_quote(content.partition(ADVICE)[0])}")
    match intent:
        case Remember(text):
            superseded = content.partition(INSTEAD_OF)[2].removesuffix(")")
            replacement = f"\n\nInstead of:\n\n{_quote(superseded)}" if superseded else ""
            return _answer(f"I will remember that:\n\n{_quote(text)}{replacement}") + _summary(
                "Remembered what the person asked for."
            )
        case Recall(query, question):
            passages, threads = _passages(content, query)
            hits = _hits(threads, query)
            shown = _format_here(messages_here) if messages_here else ""
            if passages:
                shown = "\n\n".join(filter(None, [shown, f"Documents say about “{_line(query)}”:\n\n{passages}"]))
            # A question that only might be about the past gets the usual answer rather than "I found nothing".
            if (not hits or _NOTHING.match(hits)) and question and not shown:
                return _answer(_explanation(question))
            if not hits or _NOTHING.match(hits):
                return _answer(shown or f"I found nothing about “{_line(query)}” in this thread or in your past ones.")
            answer_found = f"This is what I found about “{_line(query)}”:\n\n{_quote(hits)}"
            answer = f"{shown}\n\nIn past threads:\n\n{_quote(hits)}" if shown else answer_found
            return _answer(answer) + _summary("Looked up an earlier conversation.")
        case ShowChart():
            return _answer(f"Here is a sample table and its chart:\n\n{BOATS_TABLE}")
        case Use(name) if name == ASK_USER and ANSWER_ARRIVED in results:
            answered = (line.removeprefix("> ") for line in results.partition(ANSWER_ARRIVED)[2].strip().splitlines())
            return _answer(f"You answered:\n\n{_quote(chr(10).join(answered))}")
        case RepeatLast() | Use() | ShowCode() | Talk():
            return _answer(f"The tool answered:\n\n{_quote(content)}")
        case _:
            assert_never(intent)


def _format_here(messages: Sequence[str]) -> str:
    return "This thread contains:\n\n" + "\n\n".join(map(_quote, messages))


def _result(results: str) -> tuple[str, str]:
    """Return the status and the contents of all results. Other text counts as the content of a failure."""
    body = results.strip().removeprefix("<results>").strip()
    try:
        value: object = json.JSONDecoder().raw_decode(body)[0]
    except ValueError:
        return ResultStatus.FAILURE, body
    items = cast("list[object]", value) if isinstance(value, list) else []
    entries = [cast("dict[str, object]", item) for item in items if isinstance(item, dict)]
    if not entries:
        return ResultStatus.FAILURE, body
    failed = any(entry.get("status") != ResultStatus.SUCCESS for entry in entries)
    content = "\n".join(str(entry.get("content", "")) for entry in entries)
    return (ResultStatus.FAILURE if failed else ResultStatus.SUCCESS), content


def _passages(content: str, query: str) -> tuple[str, str]:
    """Return the found passages of documents with most words of the query, and the rest of the results.

    Each passage has its document, page and link.
    """
    blocks = content.split("\n\n")
    matches = {block: match for block in blocks if (match := _KNOWN_PASSAGE.fullmatch(block))}
    query_words = _content_words(query)
    shared = {block: len(query_words & _content_words(match[2])) for block, match in matches.items()}
    best = [block for block in matches if shared[block] == max(shared.values()) > 0][:PASSAGES]
    quotes = [f"{_harmless(matches[block][1])}:\n\n{_quote(_words(block)[:PASSAGE_CHARS])}" for block in best]
    return "\n\n".join(quotes), "\n\n".join(block for block in blocks if block not in matches and block != KNOWN_HEAD)


def _hits(content: str, query: str) -> str:
    """Return the hits of recall without its heading, our own answers, similar questions and small talk.

    If any hit contains a word of the query, only such hits are returned.
    """
    heading, blank, hits = content.strip().partition("\n\n")
    has_heading = blank and heading.endswith(":") and "\n" not in heading
    blocks = (hits if has_heading else content).split("\n\n")
    if not any(block.startswith("[") for block in blocks):
        return "\n\n".join(blocks).strip()
    threads = [(head, _messages(rest)) for head, _, rest in (block.partition("\n") for block in blocks)]
    relevant = [(head, [one for one in messages if not _is_noise(one)]) for head, messages in threads]
    words = _content_words(query)
    # Recall also finds by meaning and shows whole passages; quoted as an answer, only what names the matter makes
    # sense.
    about = [(head, [one for one in messages if words & _content_words(_words(one))]) for head, messages in relevant]
    shown_threads = about if any(messages for _, messages in about) else relevant
    return "\n\n".join("\n".join([head, *messages]) for head, messages in shown_threads if messages).strip()


def _messages(thread: str) -> list[str]:
    """Return the messages of a thread: each is a line with its author, and quoted lines."""
    return _MESSAGE.findall(thread)


def _is_noise(message: str) -> bool:
    """Return whether a hit is an answer of ours, a question about the past, or small talk."""
    return message.partition("\n")[0].endswith("you answered:") or _is_question_or_small_talk(_words(message))


def _words(message: str) -> str:
    return "\n".join(line.removeprefix("> ") for line in message.splitlines()[1:])


def _summary(progress: str) -> str:
    return f"\n<summary>{_json({'progress': progress, 'next_focus': 'Whatever the person asks next.'})}</summary>"


def _answer(text: str) -> str:
    return f"{text}\n\n{NOTICE}"


def _quote(text: str) -> str:
    cut = text.strip()[:QUOTE_CHARS]
    return "\n".join(f"> {_harmless(line)}".rstrip() for line in cut.splitlines()) or "> (nothing)"


def _line(text: str) -> str:
    words = " ".join(_harmless(text[: 2 * ECHO_CHARS]).split())
    return words if len(words) <= ECHO_CHARS else f"{words[:ECHO_CHARS].rstrip()}…"


def _harmless(text: str) -> str:
    return _FENCE.sub("'''", neutralise(_UNPRINTABLE.sub(" ", text)))


def _document_search(question: str) -> Recall | None:
    """Return the search for a question that documents may answer, or None."""
    text = _UNPRINTABLE.sub(" ", question).strip()
    match = _ASKED.match(text) if len(text) <= QUESTION_CHARS else None
    query = _topic(match["query"]) if match else ""
    return Recall(query, question) if _content_words(query) else None


def _catch_up_call(question: str) -> Use | None:
    """Return the call that reads the channel or thread of a request for a summary, or None."""
    text = question[:QUESTION_CHARS]
    if not _CATCHES_UP.search(text):
        return None
    where, since = _CHANNEL.search(text), _SINCE.search(text)
    args: dict[str, Json] = {"where": where[0].rstrip(".,!?")} if where else {}
    return Use(NAME, args | ({"since": since[1].strip()} if since else {}))


def _reminder_call(question: str, messages: Sequence[Message]) -> Use | None:
    """Return the call for a request for a reminder, with the time in the person's zone, or None."""
    match = _REMINDS.match(question[:ARGUMENT_CHARS])
    now_line = next((line for message in reversed(messages) if (line := _NOW.search(message.text))), None)
    if match is None or now_line is None:
        return None
    now = datetime.fromisoformat(now_line[1])
    if match["unit"]:
        count = int(match["many"]) if match["many"].isdecimal() else 1
        at = now + timedelta(**{f"{match['unit'].lower()}s": count})
    else:
        at = (now + timedelta(days=1)).replace(hour=int(match["hour"]), minute=int(match["minute"] or 0))
    return Use(SCHEDULE, {"what": match["what"].strip(), "at": at.isoformat(timespec="minutes")})


def _notes(prompt: str) -> str:
    """Return notes for `read_channel`: the beginnings of a few messages of a conversation."""
    messages = _SAID_IN_CHANNEL.findall(prompt)
    samples = [messages[len(messages) * index // NOTES] for index in range(NOTES)] if messages else []
    return "\n".join(f"- {author}: {_line(text)} [{number}]" for number, author, text in dict.fromkeys(samples))


def _code(question: str) -> str:
    return (
        f"You asked for code:\n\n> {_line(question)}\n\n"
        "I cannot write code for you, but this is how code looks in an answer:\n\n"
        "```python\n"
        "def greet(name: str) -> str:\n"
        '    """Return a greeting for `name`."""\n'
        '    return f"Hello, {name}!"\n\n\n'
        'print(greet("world"))\n'
        "```"
    )


def _explanation(question: str) -> str:
    return (
        f"You wrote:\n\n> {_line(question) or '(nothing)'}\n\n"
        "I only understand these requests:\n\n"
        "- **remember that** my boat is blue\n"
        "- **what did I say about** my boat?\n"
        "- **show me some code**, or **a chart**\n"
        '- **use** weather {"city": "Berlin"}, for a tool of your own\n\n'
        "Tools, memory, and streaming work as with a real model."
    )


@dataclass(frozen=True, slots=True)
class RehearsalProvider:
    """Streams the answer of `rehearse`, `PIECE_CHARS` characters every `pace_s` seconds.

    It reports no usage, so its tokens are estimated. `notice`: ends its answers in place of `NOTICE`.
    """

    notice: str = NOTICE
    pace_s: float = PACE_S
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    name: str = "rehearsal"
    capabilities: Capabilities = field(default_factory=Capabilities)

    async def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: ARG002, B008 -- the port's; frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        text = rehearse(messages).replace(NOTICE, self.notice)
        for start in range(0, len(text), PIECE_CHARS):
            if start:
                await self.sleep(self.pace_s)
            yield TokensArrived(text[start : start + PIECE_CHARS])
        yield ResponseEnded(StopReason.END)

    async def aclose(self) -> None:
        """Nothing to close."""
