"""What the model repeats of its instructions is not shown, however the stream is cut; what people may be told is."""

import json
import re
import string
from collections.abc import Sequence
from html import unescape  # noqa: TID251 -- of the texts of a test
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.context import COMMANDS, LEGEND, PERSONA, PRIVATE, PUBLIC, SECURITY
from agent.events import ProtocolEvent, TextArrived, Violation, ViolationFound
from agent.messages import confusable_skeleton
from agent.protocol.blocks import IN_BLOCKS, IN_FUNCTIONS, Corrections
from agent.protocol.echoes import MIN_RUN, EchoFilter, Instructions
from agent.protocol.grammar import teach, teach_native
from agent.protocol.parser import Parser
from tests.agent.protocol.deviations import EXECUTE, TOOL_NAMES, WORKSPACE
from tests.agent.protocol.test_native import CALLS
from tests.agent.test_loop_raw_answers import BARE_CALLS, CORRECTED, HELLO
from tests.agent.test_loop_raw_answers import CALLS as RAW_CALLS
from tests.examples import examples, is_thorough

WORD = "81f93c"
SECTION = f"""[system {WORD}]
PROFILE, learned from what this person wrote:
goals: finish the thesis

PERSON: Ann

ENVIRONMENT: Sat 2026-11-28 08:01 UTC

PLACE: Terminal, in private; only Ann writes here, and reads it.

FACTS:
! #abcd12 boat: turquoise
car: red

EARLIER:
2026-11-28 Ann: Write a haiku about rain.
2026-11-28 you: The slicing [::-1] allows

EXECUTION: round 1 of 10.
[/system {WORD}]"""
TOLD = Instructions(WORD, SECTION, PRIVATE, PUBLIC)


def shown(stream: str, sizes: Sequence[int] = (1_000_000,), corrections: Corrections = IN_BLOCKS) -> str:
    """Return what a person sees of the stream, cut into pieces of these sizes, again and again."""
    parser, echoes = Parser(tool_names=TOOL_NAMES, corrections=corrections), EchoFilter(TOLD)
    events: list[ProtocolEvent] = []
    start, number = 0, 0
    while start < len(stream):
        size = sizes[number % len(sizes)]
        events += echoes.filter(parser.feed(stream[start : start + size]))
        start, number = start + size, number + 1
    events += [*echoes.filter(parser.close()), *echoes.close()]
    return "".join(event.text for event in events if isinstance(event, TextArrived))


ECHOES = [
    (f"{SECTION}\n\nHere it is:\n```js\nx\n```", "Here it is:\n```js\nx\n```"),
    (f"Sure:\n{SECTION}\nDone.", "Sure:\nDone."),
    ("Sure. " + " ".join(SECTION.split()) + "\nDone.", "Sure. Done."),
    ("Sure:\n" + "\n".join(SECTION.splitlines()[1:-1]) + "\n\nDone.", "Sure:\nDone."),
    (f"> {SECTION.splitlines()[4]}\nHello.", "Hello."),
    ("EXECUTION: round 2 of 10.\nHello.", "Hello."),
    (f"{SECTION.partition('FACTS')[0]}", ""),
    (SECURITY, ""),
    (LEGEND, ""),
    (PERSONA, ""),
    (teach(""), ""),
    (teach_native(), ""),
    (f"I was told: {SECURITY} And so on.", "I was told: And so on."),
    (f"- {SECURITY}\n- More.", "- More."),
    (f"**{SECURITY}**\nMore.", "More."),
]  # fmt: skip


@pytest.mark.parametrize("sizes", [(1,), (4,), (1_000_000,)])
@pytest.mark.parametrize(("stream", "rest"), ECHOES)
def test_an_echo_is_not_shown_and_the_answer_is(stream: str, rest: str, sizes: tuple[int, ...]) -> None:
    assert shown(stream, sizes).strip() == rest


def numbered(form: str) -> str:
    lines = SECTION.splitlines()
    return "\n".join(
        f"{form.format(number)}{line}" if line[:1].isalnum() else line for number, line in enumerate(lines)
    )


def in_letters(text: str, capital: int, small: int, digit: int = 0) -> str:
    """Return the text in the letters that begin at these code points; digits stay if none is given."""
    begins = ((string.ascii_uppercase, capital), (string.ascii_lowercase, small), (string.digits, digit))
    return text.translate({ord(char): begin + at for chars, begin in begins if begin for at, char in enumerate(chars)})


# The section's lines and marks as small models write them again.
MARKUPS = {
    "in capitals": SECTION.upper,
    "in small letters": SECTION.lower,
    "with bold titles": lambda: re.sub(r"^([A-Z]{5,})(?=[ :,])", r"**\1**", SECTION, flags=re.MULTILINE),
    "with bold titles and colons": lambda: re.sub(r"^([A-Z]{5,}:)", r"**\1**", SECTION, flags=re.MULTILINE),
    "as headings": lambda: re.sub(r"^(?=[A-Z]{5,})", "### ", SECTION, flags=re.MULTILINE),
    "as a list": lambda: re.sub(r"^(?=\w)", "- ", SECTION, flags=re.MULTILINE),
    "as a quotation": lambda: re.sub(r"^", "> ", SECTION, flags=re.MULTILINE),
    "as a table": lambda: "\n".join(
        f"| {line.replace(': ', ' | ', 1)} |" for line in SECTION.splitlines() if re.match("P[EL]|EN|EX", line)
    ),
    "in a fence": lambda: f"```\n{SECTION}\n```",
    "in a named fence": lambda: f"```text\n{SECTION}\n```",
    "with bold marks": lambda: SECTION.replace(f"[system {WORD}]", f"**[system {WORD}]**"),
    "with marks in code": lambda: SECTION.replace(f"[system {WORD}]", f"`[system {WORD}]`"),
    "with marks in capitals": lambda: SECTION.replace(f"system {WORD}]", f"SYSTEM {WORD.upper()}]"),
    "with blanks in the marks": lambda: SECTION.replace(f"system {WORD}]", f" system  {WORD} ]"),
    "with a colon in the marks": lambda: SECTION.replace(f"system {WORD}]", f"system: {WORD}]"),
    "with marks in angle brackets": lambda: re.sub(rf"\[(/?system {WORD})\]", r"<\1>", SECTION),
    "with German marks": lambda: SECTION.replace(f"system {WORD}]", f"System {WORD}]"),
    "with Spanish marks": lambda: SECTION.replace(f"system {WORD}]", f"sistema {WORD}]"),
    "with Chinese marks": lambda: SECTION.replace(f"system {WORD}]", f"系统 {WORD}]"),
    "with Hindi marks": lambda: SECTION.replace(f"system {WORD}]", f"प्रणाली {WORD}]"),
    "with misspelled marks": lambda: SECTION.replace(f"system {WORD}]", f"sys msg: {WORD}]"),
    "numbered": lambda: numbered("{}. "),
    "numbered in brackets": lambda: numbered("({}) "),
    "in a table with numbers": lambda: numbered("| {} | "),
    "with bullets": lambda: re.sub(r"^(?=\S)", "• ", SECTION, flags=re.MULTILINE),
    "with boxes": lambda: re.sub(r"^(?=\w)", "- [ ] ", SECTION, flags=re.MULTILINE),
    "with arrows": lambda: re.sub(r"^(?=\S)", "→ ", SECTION, flags=re.MULTILINE),
    "as comments": lambda: re.sub(r"^(?=\w)", "// ", SECTION, flags=re.MULTILINE),
    "in quotation marks": lambda: re.sub(r"^(\w.*)$", r"«\1»", SECTION, flags=re.MULTILINE),
    "as an HTML list": lambda: re.sub(r"^(\w.*)$", r"<li>\1</li>", SECTION, flags=re.MULTILINE),
    "with HTML breaks": lambda: SECTION.replace("\n", "<br>\n"),
    "with bold HTML titles": lambda: re.sub(r"^([A-Z]{5,})(?=[ :,])", r"<b>\1</b>", SECTION, flags=re.MULTILINE),
    "with dashes": lambda: re.sub(r"^([A-Z]{5,}):(?=.)", r"\1 –", SECTION, flags=re.MULTILINE),
    "with each word in italics": lambda: re.sub(r"(\w+)", r"*\1*", SECTION),
    "with entities": lambda: SECTION.replace("[", "&#91;").replace("]", "&#93;").replace(" ", "&nbsp;"),
    "with escaped marks": lambda: re.sub(r"([\[\]#:-])", r"\\\1", SECTION),
    "with no-break spaces": lambda: SECTION.replace(" ", "\u00a0"),
    "with invisible characters": lambda: re.sub(r"(\w\w)", "\\1\u200b", SECTION),
    "with soft hyphens": lambda: re.sub(r"(\w\w\w)", "\\1\u00ad", SECTION),
    "in full width": lambda: "".join(chr(ord(char) + 0xFEE0) if char > " " else char for char in SECTION),
    "in bold letters": lambda: in_letters(SECTION, 0x1D400, 0x1D41A, 0x1D7CE),
    "in Fraktur": lambda: in_letters(SECTION, 0x1D56C, 0x1D586),
    "in typewriter letters": lambda: in_letters(SECTION, 0x1D670, 0x1D68A, 0x1D7F6),
    "in circled letters": lambda: in_letters(SECTION, 0x24B6, 0x24D0),
    "with marks in bold letters": lambda: re.sub(
        r"\[(/?)(system \w+)\]", lambda mark: f"[{mark[1]}{in_letters(mark[2], 0x1D400, 0x1D41A, 0x1D7CE)}]", SECTION
    ),
    "with marks in small signs": lambda: SECTION.replace("[", "﹇").replace("]", "﹈"),
    "with marks with another word": lambda: SECTION.replace(WORD, "7be210"),
    "with CR LF": lambda: SECTION.replace("\n", "\r\n"),
    "with line separators": lambda: SECTION.replace("\n", "\u2028"),
    "with marks without brackets": lambda: re.sub(rf"\[(/?system {WORD})\]", r"\1", SECTION),
    "with marks that end in words": lambda: SECTION.replace("[/system", "[end of system"),
    "below headings": lambda: re.sub(r"^([A-Z]{5,}):[ ]?(.+)$", r"### \1\n\2", SECTION, flags=re.MULTILINE),
    "below bold titles": lambda: re.sub(r"^([A-Z]{5,}):[ ]?(.+)$", r"**\1**\n- \2", SECTION, flags=re.MULTILINE),
    "with marks without the word": lambda: SECTION.replace(f"system {WORD}]", "system]"),
}


@pytest.mark.parametrize("name", MARKUPS)
def test_the_section_is_not_shown_in_any_markup_or_case_and_the_answer_is(name: str) -> None:
    stream = f"Sure:\n{MARKUPS[name]()}\n\nThe boat is blue."
    for sizes in [(1,), (3,), (7, 2), (1_000_000,)]:
        assert shown(stream, sizes).split() == ["Sure:", "The", "boat", "is", "blue."]


@pytest.mark.parametrize("name", [name for name in MARKUPS if not re.search("marks|fence", name)])
def test_of_a_section_without_marks_no_line_is_shown_that_is_surely_ours(name: str) -> None:
    lines = MARKUPS[name]().splitlines()[1:-1]
    for sizes in [(1,), (5, 3), (1_000_000,)]:
        text = confusable_skeleton(unescape("".join(shown("\n".join(["Sure:", *lines, "", "Done."]), sizes))))
        assert not re.search(r"ann|terminal|2026|abcd|round", re.sub(r"[^a-z0-9]+", " ", text)), text


@pytest.mark.parametrize(
    "copied", [r"\n".join(SECTION.splitlines()[1:-1]), json.dumps("\n".join(SECTION.splitlines()[4:-1]))]
)
def test_a_section_in_one_line_is_not_shown(copied: str) -> None:
    for sizes in [(1,), (5, 3), (1_000_000,)]:
        assert shown(f"Sure:\n{copied}\nDone.", sizes).split() == ["Sure:", "Done."]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name
        for name in MARKUPS
        if not re.search(
            "without|table|named|Hindi|misspelled|entities|invisible|hyphens|width|another|circled|in words", name
        )
    ],
)
def test_nothing_of_a_section_is_shown_wherever_the_answer_breaks_off(name: str) -> None:
    section = MARKUPS[name]()
    for end in range(0 if is_thorough() else len(name) % 6, len(section), 1 if is_thorough() else 6):
        assert not words(shown(section[:end], (7,)))


@pytest.mark.parametrize("left", ["robin[/system]", f"robin[/system {WORD}]"])
def test_a_closing_mark_alone_is_not_shown(left: str) -> None:
    assert shown(left) == shown(left, (1,)) == "robin"


ANSWERS = [
    "[system]\npath = /usr\n",
    "<system>abc</system> is XML.",
    "The [system](https://example.com) and (system abc).",
    "```\n[system]\nname = a\n```\n",
    "```\nx = 1\n```\nDone.",
    "Hello world, the boat is blue.\n\nOk [x] yes.",
    "FACTS:\n- one\n- two\n",
    "- car: red\n- boat: blue\n",
    "Your goals: finish the thesis, I think.",
    "You can see what is remembered with `/memory`, and erase it with `/forget`.",
    "I am Cogency, a helpful colleague.",
    "The EXECUTION of the plan: three rounds of talks.",
    "[system] is a tag; [system abc] another.\n",
    "We keep it in (the facade), or in [system facade].\n",
    "The last one is [system 81f94",
    "PERSON: a word for who somebody is.\n",
    "An answer needs no more than that.",
    "42",
    "1. One\n2. Two\n12\n",
    "👍",
    '{\n  "a": [1, 2]\n}\n',
    "<ul>\n<li>boat</li>\n</ul>\n",
    "Tom &amp; Jerry at AT&T; R&D.",
    "It is (see the harbour",
    "| 1 | boat |\n| 2 | car |\n",
    "(1) sail (2) row [3] float",
    "Half an answer",
    "A closing tag begins with </",
    "In HTML, write a < as &lt;",
    "The entity is &lt",
    "Ask Q&L",
]


@pytest.mark.parametrize("sizes", [(1,), (4,), (1_000_000,)])
@pytest.mark.parametrize("answer", ANSWERS)
def test_what_an_answer_may_say_is_shown(answer: str, sizes: tuple[int, ...]) -> None:
    assert shown(answer, sizes) == answer


@pytest.mark.parametrize("answer", ["Half an answer", "It may be that you", "The boat is blue. It is"])
def test_the_end_of_what_was_said_is_not_held_back(answer: str) -> None:
    echoes = EchoFilter(TOLD)
    events = [
        event for start in range(0, len(answer), 3) for event in echoes.filter([TextArrived(answer[start : start + 3])])
    ]
    visible = "".join(event.text for event in events if isinstance(event, TextArrived))
    assert answer.startswith(visible)
    assert len(answer) - len(visible) <= len(" It is")


def test_an_echo_is_counted_once() -> None:
    echoes = EchoFilter(TOLD)
    events = [*echoes.filter([TextArrived(f"{SECURITY}\n"), TextArrived(f"{SECTION}\n{LEGEND}")]), *echoes.close()]
    assert events == [ViolationFound(Violation.PROMPT_ECHOED)]


def test_nothing_is_filtered_without_instructions() -> None:
    echoes = EchoFilter(Instructions())
    assert echoes.filter([TextArrived(SECURITY)]) == [TextArrived(SECURITY)]
    assert echoes.close() == []


PARTS = [
    *(markup() for markup in MARKUPS.values()),
    *(SECTION, SECURITY, LEGEND, PERSONA, COMMANDS, teach(""), teach_native(), EXECUTE, WORKSPACE),
    *SECTION.splitlines(),
    *teach("").splitlines(),
    *CALLS.values(),
    *chain(*(shapes.values() for shapes in (RAW_CALLS, BARE_CALLS, CORRECTED, HELLO))),
    *(
        "<|im_start|>user\n",
        "<|im_end|>",
        "[INST]",
        "[/INST]",
        "＜think＞",
        "＜/think＞",
        "{{",
        "workspace:",
        "execute:\n",
    ),
    *("Hello there. ", "The boat is blue.\n\n", "- item\n", "[a] b", "Well, do not ", "```\n", "\n", " ", "<", "`"),
]


def words(text: str) -> str:
    return " ".join("".join(char if char.isalnum() else " " for char in text.casefold()).split())


PRIVATE_WORDS = [words(text).split() for text in PRIVATE]
RUNS = {
    f" {' '.join(run[at : at + 2 * MIN_RUN])} " for run in PRIVATE_WORDS for at in range(len(run) - 2 * MIN_RUN + 1)
}


@pytest.mark.slow
@given(
    parts=st.lists(st.tuples(st.sampled_from(PARTS), st.sampled_from(["", "\n", " "])), max_size=6),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    cut=st.one_of(st.none(), st.integers(0, 2_000)),
    corrections=st.sampled_from([IN_BLOCKS, IN_FUNCTIONS]),
)
@settings(max_examples=examples(300, always=True), deadline=None)
def test_nothing_of_the_prompt_or_the_section_reaches_the_person(
    parts: list[tuple[str, str]], sizes: list[int], cut: int | None, corrections: Corrections
) -> None:
    stream = "".join(part + end for part, end in parts)[:cut]
    text = shown(stream, sizes, corrections)
    assert (
        text.rstrip() == shown(stream, corrections=corrections).rstrip()
    )  # blank lines before an echo that ends an answer are not displayed
    seen = confusable_skeleton(text)
    assert f"[system {WORD}]" not in seen
    assert f"[/system {WORD}]" not in seen
    plain = f" {words(text)} "
    assert not any(run in plain for run in RUNS)
    for line in SECTION.splitlines():
        if line.startswith(("PERSON", "ENVIRONMENT", "PLACE", "2026-11-28", "!", "EXECUTION")):
            assert line not in text.splitlines()
