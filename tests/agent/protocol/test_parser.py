"""The parser gives the same events for every cut, lets text through at once, and nothing else."""

import sys
import tracemalloc
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.events import (
    CallsArrived,
    CallsRejected,
    ProtocolEvent,
    ReplyEnded,
    SummaryArrived,
    TextArrived,
    ThoughtArrived,
    Violation,
    ViolationFound,
    WorkspaceArrived,
)
from agent.messages import ToolCall
from agent.protocol.grammar import ParserLimits
from agent.protocol.parser import Parser
from agent.state import Workspace
from tests.agent.protocol.deviations import CALL, DEVIATIONS, EXECUTE, TOOL_NAMES, WORKSPACE
from tests.examples import examples, is_thorough, one_in

LIMITS = ParserLimits()
SMALL = ParserLimits(block=60, tag=30, gap=8, head=40, indent=4, fence=12, depth=4, number=6, calls=2)

BOAT = ToolCall("recall", {"query": "boat"})
FOUND = WorkspaceArrived(Workspace("Find it", "It was said", "Search", ""))
EMPTY = '{"objective": "a", "understanding": "b", "approach": "c", "discoveries": "d"}'


def joined(events: Iterable[ProtocolEvent]) -> list[ProtocolEvent]:
    """Adjacent texts as one, and adjacent thoughts."""
    merged: list[ProtocolEvent] = []
    for event in events:
        match merged[-1:], event:
            case ([TextArrived(before)], TextArrived(text)):
                merged[-1] = TextArrived(before + text)
            case ([ThoughtArrived(before)], ThoughtArrived(text)):
                merged[-1] = ThoughtArrived(before + text)
            case _:
                merged.append(event)
    return merged


def read(*pieces: str, limits: ParserLimits = LIMITS) -> list[ProtocolEvent]:
    parser = Parser(limits, TOOL_NAMES)
    events = [event for piece in pieces for event in parser.feed(piece)]
    return joined([*events, *parser.close()])


def meant(*pieces: str) -> list[ProtocolEvent]:
    """Without what is only counted."""
    return [event for event in read(*pieces) if not isinstance(event, ViolationFound)]


def found(*pieces: str) -> list[Violation]:
    return [event.kind for event in read(*pieces) if isinstance(event, ViolationFound)]


def text(*pieces: str) -> str:
    return "".join(event.text for event in read(*pieces) if isinstance(event, TextArrived))


EXAMPLES: dict[str, tuple[str, list[ProtocolEvent]]] = {
    "a plain answer": ("It is blue.\n", [TextArrived("It is blue.\n")]),
    "thoughts, then the answer": (
        "<think>Hm, 3 < 4.</think>\nIt is blue.",
        [ThoughtArrived("Hm, 3 < 4."), TextArrived("It is blue.")],
    ),
    "a whole step": (
        f"<think>Hm.</think>\n{WORKSPACE}\n{EXECUTE}",
        [ThoughtArrived("Hm."), FOUND, CallsArrived((BOAT,))],
    ),
    "blocks right behind each other": (
        f"<think>Hm.</think> {WORKSPACE}{EXECUTE}",
        [ThoughtArrived("Hm."), FOUND, CallsArrived((BOAT,))],
    ),
    "text before the calls": (
        f"Let me look.\n\n{WORKSPACE}\n{EXECUTE}\nand this is discarded <think>",
        [TextArrived("Let me look.\n\n"), FOUND, CallsArrived((BOAT,))],
    ),
    "several calls": (
        '<execute>[{"name": "recall", "args": {"query": "boat"}}, {"name": "remember", "args": {}}]</execute>',
        [CallsArrived((BOAT, ToolCall("remember", {})))],
    ),
    "a summary behind the answer": (
        'It is blue.\n<summary>{"goal": "Boat", "progress": "", "mood": "good"}</summary>\n',
        [TextArrived("It is blue.\n"), ReplyEnded(), SummaryArrived({"goal": "Boat"})],
    ),
    "a workspace before the answer": (f"{WORKSPACE}\n\n\nIt is blue.", [FOUND, TextArrived("It is blue.")]),
    "a block between two paragraphs": (
        "One.\n\n<think>Hm.</think>\n\nTwo.",
        [TextArrived("One.\n\n"), ThoughtArrived("Hm."), TextArrived("\nTwo.")],
    ),
    "talk about tags": (
        "`<execute>` begins a call, <think> a thought, </think> ends it; HTML has <summary> and <b>.",
        [TextArrived("`<execute>` begins a call, <think> a thought, </think> ends it; HTML has <summary> and <b>.")],
    ),
    "HTML's summary": (
        "<details>\n<summary>\nMore\n</summary>\n</details>",
        [TextArrived("<details>\n<summary>\nMore\n</summary>\n</details>")],
    ),
    "execute without JSON": ("<execute> is a tag.", [TextArrived("<execute> is a tag.")]),
    "tags in a fence": (
        f"So:\n```\n<think>\n{EXECUTE}\n~~~\n````\n<think>Hm.</think>\n",
        [TextArrived(f"So:\n```\n<think>\n{EXECUTE}\n~~~\n````\n"), ThoughtArrived("Hm.")],
    ),
    "an example of calls in a fence": (
        f"So:\n```\n{EXECUTE}\n```\nThat is all.",
        [TextArrived(f"So:\n```\n{EXECUTE}\n```\nThat is all.")],
    ),
    "an example with an invented tool": (
        '```\n<execute>[{"name": "example", "args": {}}]\n</execute>\n```',
        [TextArrived('```\n<execute>[{"name": "example", "args": {}}]\n</execute>\n```')],
    ),
    "an example of calls in a line": (
        f"You write <execute>{CALL}</execute> and wait.",
        [TextArrived(f"You write <execute>{CALL}</execute> and wait.")],
    ),
    "calls in inline code": (
        f"Write `<execute>{CALL}</execute>`\n",
        [TextArrived(f"Write `<execute>{CALL}</execute>`\n")],
    ),
    "JSON that is no call": (
        '{"name": "Ann", "age": 3}\n[link](x)\n[{"a": 1}]',
        [TextArrived('{"name": "Ann", "age": 3}\n[link](x)\n[{"a": 1}]')],
    ),
    "a closing tag inside JSON": (
        f'<workspace>{{"objective": "</workspace>", {EMPTY[18:]}</workspace>\nYes.',
        [WorkspaceArrived(Workspace("</workspace>", "b", "c", "d")), TextArrived("Yes.")],
    ),
    "calls refused by the model": (
        f'<workspace>{EMPTY[:-1]}, "secure": false}}</workspace>\n{EXECUTE}',
        [WorkspaceArrived(Workspace("a", "b", "c", "d"), secure=False), CallsArrived((BOAT,))],
    ),
    "Windows line breaks": (
        f"One.\r\n{WORKSPACE}\r\n<execute>\r\n{CALL}\r\n</execute>\r\n",
        [TextArrived("One.\r\n"), FOUND, CallsArrived((BOAT,))],
    ),
    "a pair of surrogates": ("\ud83d\ude00 \ud83d \x00!", [TextArrived("\U0001f600 \ufffd !")]),
}  # fmt: skip


@pytest.mark.parametrize(("stream", "events"), EXAMPLES.values(), ids=EXAMPLES.keys())
class TestEachExample:
    def test_read_whole(self, stream: str, events: list[ProtocolEvent]) -> None:
        assert read(stream) == events

    def test_read_one_character_at_a_time(self, stream: str, events: list[ProtocolEvent]) -> None:
        assert read(*stream) == events

    def test_cut_in_two_at_every_place(self, stream: str, events: list[ProtocolEvent]) -> None:
        for cut in range(len(stream)):
            assert read(stream[:cut], stream[cut:]) == events, cut

    def test_grown_by_one_piece_at_every_place(self, stream: str, events: list[ProtocolEvent]) -> None:
        for cut in range(0, len(stream), 7):
            assert read(stream[:cut], *stream[cut : cut + 5], stream[cut + 5 :]) == events, cut


@pytest.mark.slow
def test_no_cut_changes_how_a_deviation_is_read() -> None:
    """`make test` cuts at every third place, of each deviation at others."""
    step = 1 if is_thorough() else 3
    for number, deviation in enumerate(DEVIATIONS):
        stream = deviation.stream[:600]
        whole = read(stream)
        for cut in range(1 + number % step, len(stream), step):
            assert read(stream[:cut], stream[cut:]) == whole, (deviation.name, cut)


FRAGMENTS = (
    *"\n \t<>/{}[]\",:`~-\\x\ufeff\u200b\x00\ud83d\ude00\x85\x0b\x0c\u2028\u017f\u0131\u0130",
    *("<re\u017fults>", "<th\u0131nk>", "- ```\n", "1. ```sh\n", "> ```\n", "> ", "    "),
    *("<think>", "</think>", "<workspace>", "</workspace>", "<execute>", "</execute>", "<results>", "</results>"),
    *("<summary>", "</summary>", "<tool_call>", "<EXECUTE id='1'>", "</ execute >", "<execute/>", "<exec", "</", "<b>"),
    *("```", "```json\n", "```\n", "~~~\n", "\n\n", "\r\n", "  ", "words", "a < b", "日本", "\U0001f600"),
    *(CALL, CALL[:20], "[{'name': 'recall', 'args': {'query': 'it'},}]", '[{"name": "other", "args": {}}]'),
    *("<|im_start|>", "assistant", "<|im_end|>", "<|channel|>", "analysis", "final", " to=functions.recall"),
    *("<|message|>", "<|call|>", "<|start|>", "<|", "[TOOL_CALLS]", "recall", "[ARGS]", "<｜tool▁call▁begin｜>"),
    *("<｜tool▁sep｜>", "<tool▁", "<invoke"),
    *("<｜tool▁call▁end｜>", '<invoke name="recall">', '<parameter name="query">', "</parameter>", "</invoke>"),
    *("<function_calls>", "<function=recall>", 'recall("boat")', "objective: Find it\n", "Notes"),
    *('{"name": "recall"}', '{"name', '{"goal": "g"}', EMPTY, '{"objective": "', '"secure": false', "\\u00", "1e9"),
)  # fmt: skip
STREAMS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=16).map("".join)


@pytest.mark.slow
@settings(max_examples=examples(300, always=True), deadline=None)
@given(STREAMS, st.data(), st.sampled_from([LIMITS, SMALL]))
def test_no_cut_changes_how_a_random_stream_is_read(stream: str, data: st.DataObject, limits: ParserLimits) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole = read(stream, limits=limits)
    assert read(*stream, limits=limits) == whole
    assert read(*pieces, limits=limits) == whole


def strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, item in value.items():  # pyright: ignore[reportUnknownVariableType] -- any event's field
                yield from strings(key)  # pyright: ignore[reportUnknownArgumentType] -- any event's field
                yield from strings(item)  # pyright: ignore[reportUnknownArgumentType] -- any event's field
        case list() | tuple():
            for item in value:  # pyright: ignore[reportUnknownVariableType] -- any event's field
                yield from strings(item)  # pyright: ignore[reportUnknownArgumentType] -- any event's field
        case _:
            for name in getattr(value, "__slots__", ()):
                yield from strings(getattr(value, name))


@settings(max_examples=examples(200, always=True), deadline=None)
@given(STREAMS)
def test_no_event_holds_what_a_database_refuses(stream: str) -> None:
    for event in read(stream):
        for string in strings(event):
            string.encode()
            assert "\0" not in string


@settings(max_examples=examples(200, always=True), deadline=None)
@given(STREAMS)
def test_little_text_is_held_back(stream: str) -> None:
    """A trial of calls out of place aside, which is why this parser knows no tool."""
    parser, waiting = Parser(tool_names=frozenset()), 0
    bound = LIMITS.indent + LIMITS.fence + LIMITS.tag + LIMITS.gap + LIMITS.head
    for character in stream:
        events = parser.feed(character)
        waiting = 0 if events else waiting + 1
        if parser._mode.name in ("BLOCK", "TRIAL"):  # pyright: ignore[reportPrivateUsage] -- only the parser knows its place
            waiting = 0
        assert waiting <= bound


@pytest.mark.parametrize(
    "words",
    ["b", "a < b", "<b>", "<execution", "</p>", "a\nb", "``x", "- [link](y)", "{x}", '{"a": 1', "~tilde", "  indented"],
)
def test_text_arrives_at_once(words: str) -> None:
    parser = Parser(tool_names=TOOL_NAMES)
    events = [event for character in words for event in parser.feed(character)]
    assert joined(events) == [TextArrived(words)]


@pytest.mark.parametrize(
    "prefix", ["<", "<t", "</exec", "<execute", "<execute>\n ", "  ", "\ufeff<", "```py", "<summary>"]
)
def test_what_may_become_a_tag_is_held_back_until_it_does_not(prefix: str) -> None:
    parser = Parser(tool_names=TOOL_NAMES)
    assert parser.feed(prefix) == []
    assert joined([*parser.feed("!"), *parser.feed("\n."), *parser.close()]) == [TextArrived(f"{prefix}!\n.")]


def test_the_stream_halts_with_the_calls() -> None:
    parser = Parser(tool_names=TOOL_NAMES)
    assert parser.feed(f"<execute>{CALL}") == [CallsArrived((BOAT,))]
    assert parser.halted
    assert parser.feed("\n</execute>\nmore") == []
    assert parser.close() == []


def test_closing_twice_says_nothing_twice() -> None:
    parser = Parser()
    assert parser.feed("a\n  ") == [TextArrived("a\n")]
    assert parser.close() == [TextArrived("  ")]
    assert parser.close() == []


def test_every_name_is_a_tool_when_none_is_known() -> None:
    parser = Parser()
    events = [*parser.feed('Look: <execute>[{"name": "any"}]</execute>'), *parser.close()]
    assert events[-1] == CallsArrived((ToolCall("any", {}),))


@pytest.mark.parametrize(
    "block", ["<think>", "<workspace>{", '<workspace>{"a": 1} x', "<summary>{", "<results>", "<results>["]
)
def test_an_unclosed_private_block_never_becomes_visible(block: str) -> None:
    assert text(f"Yes.\n{block}secret\n\nsecret\n```\nsecret") == "Yes.\n"


@pytest.mark.parametrize(
    "block", ["<think>", "<workspace>{", "<summary>{", "<results>", "<execute>[", "Look: <execute>[{'name': 'recall',"]
)
def test_an_unclosed_block_is_counted(block: str) -> None:
    assert Violation.BLOCK_UNCLOSED in found(block)


@pytest.mark.slow
@pytest.mark.parametrize("block", ["<think>", '<workspace>{"a": "', "<workspace>{", '<summary>{"a": "', "<results>"])
def test_a_private_block_that_is_too_long_stays_invisible_to_its_end(block: str) -> None:
    name = block[1:].partition(">")[0]
    stream = f'{block}{"secret " * 40_000}"}}</{name}>\nYes.'
    assert text(stream) == text(*stream[::-1][::-1]) == "Yes."
    assert Violation.BLOCK_TOO_LONG in found(stream)


def test_calls_that_are_too_long_are_rejected_at_the_limit() -> None:
    parser = Parser()
    (violation, rejected) = parser.feed('<execute>[{"name": "recall", "args": {"query": "' + "x" * 262_144)
    assert violation == ViolationFound(Violation.BLOCK_TOO_LONG, "execute")
    assert isinstance(rejected, CallsRejected)
    assert parser.halted


def test_a_workspace_that_cannot_be_read_still_refuses_the_calls() -> None:
    assert meant("<workspace>{objective: what, 'secure': false}</workspace>") == [
        WorkspaceArrived(Workspace(), secure=False, missing=frozenset(Workspace.__slots__))
    ]


def test_a_workspace_with_missing_fields_counts_and_is_counted() -> None:
    stream = '<workspace>{"objective": "a", "approach": 3}</workspace>'
    missing = frozenset({"understanding", "approach", "discoveries"})
    assert meant(stream) == [WorkspaceArrived(Workspace("a"), missing=missing)]
    assert found(stream) == [Violation.WORKSPACE_INVALID]


@pytest.mark.parametrize("body", ["{}", '{"mood": "good"}', '{"goal": ""}', "{goal}", '{"goal": 3}'])
def test_a_summary_without_a_known_text_is_counted_only(body: str) -> None:
    assert meant(f"Yes.\n<summary>{body}</summary>") == [TextArrived("Yes.\n"), ReplyEnded()]
    assert found(f"<summary>{body}</summary>") == [Violation.SUMMARY_INVALID]


def test_calls_in_thoughts_do_not_run_if_the_thoughts_are_closed() -> None:
    assert meant(f"<think>I could write\n{EXECUTE}\nbut no.</think>It is blue.")[1:] == [TextArrived("It is blue.")]


def test_calls_of_unknown_tools_in_unclosed_thoughts_do_not_run() -> None:
    assert meant('<think>I could write\n<execute>[{"name": "example"}]\n</execute>') == []


@pytest.mark.parametrize("name", ["re\u017fults", "\u017fummary", "th\u0131nk", "work\u017fpace", "TH\u0130NK"])
def test_a_letter_that_only_folds_to_one_of_ours_makes_no_tag(name: str) -> None:
    assert read(f"<{name}>") == [TextArrived(f"<{name}>")]


@pytest.mark.parametrize("pieces", [("\x85", "a"), (" " * 70, "a"), ("\u2028", "a")])
@pytest.mark.parametrize("rest", ["\n</think>\n\nb", f"\n\n```\n{WORKSPACE}\n```\nanswer"])
def test_what_is_visible_does_not_depend_on_the_cut(pieces: tuple[str, ...], rest: str) -> None:
    assert read(*pieces, rest) == read("".join(pieces) + rest)


def test_a_known_call_out_of_place_is_counted() -> None:
    assert found(f"Look: {EXECUTE}") == [Violation.TAG_MISPLACED]
    assert found(f"```\n{EXECUTE}\n```") == [Violation.CALLS_FENCED]


def work(*parts: Sequence[str]) -> list[int]:
    """Function calls until the end of each part, while their pieces are read: a measure of time that no other process
    disturbs.
    """
    count = 0

    def note(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal count
        count += 1

    parser, counts = Parser(tool_names=TOOL_NAMES), list[int]()
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        for part in parts:
            for piece in part:
                parser.feed(piece)
            counts.append(count)
    finally:
        sys.setprofile(before)
    return counts


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "Some words.\n",
        "<",
        "<execute>[",
        "x <execute>[{",
        f"x <execute>{CALL}</execute> y ",
        "```\n<execute>",
        f"```\n{EXECUTE}\n```\nx\n",
        "<think>a < b</think>\n",
        f"{WORKSPACE}\n",
        '<workspace>{"a": ',
        "   \n",
        "`` ~ [ {",
    ],
)
def test_work_grows_with_the_length_of_the_stream(unit: str) -> None:
    stream = unit * min(1_500, 20_000 // len(unit))
    pieces = [stream[start : start + 4] for start in range(0, len(stream), 4)]
    middle = len(pieces) // 2
    half, whole = work(pieces[:middle], pieces[middle:])
    assert whole <= 2.2 * half + 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("begin", "unit"),
    one_in(
        3,
        [
            "",
            "<think>",
            '<workspace>{"a": "',
            "<workspace>{,",
            "<results>",
            'Look: <workspace>{"objective": "',
            "```\n",
        ],
        ["word ", "\n", " ", "<", "`", "\\\\", "</thin"],
    ),
)
def test_memory_is_bounded(begin: str, unit: str) -> None:
    limits, piece, length = ParserLimits(block=2_000), unit * 100, 40_000
    Parser(limits, TOOL_NAMES).feed(begin + piece)  # compiles what is compiled once
    parser = Parser(limits, TOOL_NAMES)
    parser.feed(begin)
    tracemalloc.start()
    try:
        for _ in range(length // len(piece)):
            parser.feed(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.8 * length, "it holds the stream"
