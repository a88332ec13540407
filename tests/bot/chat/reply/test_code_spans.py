"""What is certainly code is code for everybody who reads it: checked against parsers of Markdown."""

import re
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bot.chat.reply.code_spans import code_map
from bot.chat.reply.link_addresses import show_addresses
from bot.chat.reply.surface import MarkdownReader
from tests.examples import examples
from tests.fakes.discord_markdown import CODE, LINK, read_discord

PARSERS = [
    MarkdownIt("commonmark", {"html": html}).enable(["table", "strikethrough"] if tables else [])
    for html in (True, False)
    for tables in (True, False)
]
MARK = re.compile(r"Q\d+")


def code_in_markdown(parser: MarkdownIt, text: str) -> str:
    """Return all code of a text."""
    code: list[str] = []
    for block in parser.parse(text):
        if block.type in ("fence", "code_block"):
            code.append(block.content)
        code += [span.content for span in block.children or [] if span.type == "code_inline"]
    return "\n".join(code)


def marks_in_code(text: str, reader: MarkdownReader) -> Iterator[str]:
    found = code_map(text, reader)
    yield from (mark[0] for mark in MARK.finditer(text) if found.covers(mark.start()))


def numbered(parts: list[str]) -> str:
    """Join parts, of which each "Q" gets a number of its own."""
    return "".join(f"Q{number} " if part == "Q" else part for number, part in enumerate(parts))


PARTS = (
    *("Q", "Q", "Q", "Q", "`", "`", "`", "``", "```", "```\n", "\n```\n", "```py\n", "\n", "\n\n", "\n", " ", "  "),
    *("- ", "1. ", "2. ", "> ", ">", "* ", "~~~\n", "\\", "<", ">", "<div>", "<!--", "-->", "<a b=", "|", "||"),
    *("*", "**", "_", "__", "~~", "[", "]", "](", ")", "https://a.test/", "words", "# ", "-# ", "\t", "---", "````\n"),
    *("[a](https://evil.test/)", "| a | b |\n|---|---|\n", "`code`", "```\ncode\n```\n", "- a\n  ", "\n   ```\n   "),
    *("    ", "|---|"),
)
texts = st.lists(st.sampled_from(PARTS), max_size=18).map(numbered)


@pytest.mark.slow
@example("- a\nlazy\n  ```\nQ1\n  ```")
@example("text\n2. ```\n   Q1")
@example("text\n    ```\n    Q1")
@example("<div>\n```\n\nQ1\n```")
@example("| a` | `Q1` | `c |\n|---|---|---|\n| a` | `Q2` | `c |")
@example("<a title='`'>`Q1`")
@example("a ` b\nc `Q1` d")
@settings(max_examples=examples(3_000))
@given(texts)
def test_what_is_certainly_code_is_code_in_markdown(text: str) -> None:
    for parser in PARSERS:
        code = code_in_markdown(parser, text)
        assert all(mark in code for mark in marks_in_code(text, MarkdownReader.WITH_REFERENCES))
        assert all(mark in code for mark in marks_in_code(text, MarkdownReader.COMMONMARK))


@pytest.mark.slow
@example("*a\n```\nx* Q1\n```")
@example("[a\n```\nb](https://evil.test/) Q1\n```")
@example("> ```\n> Q1\n\ntext")
@example("```\n\n```\nQ1\n```\nQ2\n```")
@example("a ` b\n\n`Q1`")
@example("````md\n```\nQ1\n```\n````\n`Q2`")
@example("```Q1 ````Q4 ```")
@settings(max_examples=examples(3_000))
@given(texts)
def test_what_is_certainly_code_is_code_on_discord(text: str) -> None:
    code = "\n".join(content for kind, content in read_discord(text) if kind == CODE)
    assert all(mark in code for mark in marks_in_code(text, MarkdownReader.LOOSE))


@pytest.mark.slow
@settings(max_examples=examples(3_000))
@given(texts)
def test_no_link_is_hidden_from_readers_of_discord(text: str) -> None:
    shown = show_addresses(text, lambda _: False, complete=True, reader=MarkdownReader.LOOSE)
    links = [words for kind, words in read_discord(shown) if kind == LINK]
    assert not [link for link in links if re.search(r" https?://\S", link)]


CODE_LINES = (
    "[Convert]::ToBase64String($bytes)",
    "[our wiki](https://wiki.example/start)",
    '[id]: https://wiki.example/start "title"',
    'last=("${files[@]:1:2}")',
    r"sed -E 's/[0-9](\.[0-9]+)?//' f",
    'HOST = re.compile(r"^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$")',
    "curl http://[::1]:8080/a//b",
    "@group.command()",
    "npm i @here/flexpolyline",
    "List<@NonNull String> a = b[0](std::move(c));",
    "a || b; *p = **q; __init__; snake_case_",
    "<a href='https://wiki.example/'>x</a> <!-- y -->",
    "> quoted",
    "\ttabbed",
    "    indented",
    "",
    "# heading",
    "| a | b |",
    "\\begin{x} \\right](\\alpha)",
)
code_lines = st.lists(st.sampled_from(CODE_LINES), min_size=1, max_size=6).filter(any)


@st.composite
def answers_with_code(draw: st.DrawFn) -> tuple[str, str]:
    """Return an answer with a block of code as models write them, and that code as it stands in the answer."""
    before = draw(st.sampled_from(["", "So:\n\n", "**Write** it `so` _now_:\n", "See <https://a.test/> and [x].\n\n"]))
    margin, opening = draw(
        st.sampled_from([("", ""), ("  ", "- "), ("   ", "1. "), ("> ", "> "), ("   ", "1. Do:\n   ")])
    )
    info = draw(st.sampled_from(["", "py", "sh", "c++", "json title=a.json"]))
    code = "".join(f"{margin}{line}\n" for line in draw(code_lines))
    after = draw(st.sampled_from(["", "\nDone.", "\n\nAnd `[a](b)`.\n"]))
    return f"{before}{opening}```{info}\n{code}{margin}```{after}", code


@pytest.mark.slow
@settings(max_examples=examples(500))
@given(answers_with_code(), st.sampled_from(MarkdownReader))
def test_code_stays_as_it_was_written_for_every_reader(answer: tuple[str, str], reader: MarkdownReader) -> None:
    text, code = answer
    for end in (*range(0, len(text), 7), len(text)):
        shown = show_addresses(text[:end], lambda _: False, complete=end == len(text), reader=reader)
        assert text.startswith(shown)
    assert code in show_addresses(text, lambda _: False, complete=True, reader=reader)


@pytest.mark.parametrize(
    "prose",
    [
        "[Convert]::ToBase64String and [math]::Round(2.5) are PowerShell.",
        r"\left[\frac{a}{b}\right](\alpha), \left[x\right](\,y) and $[a](b)$",
        "The match of ^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$ is a host.",
        "See ${a[@]:1:2}, s/[0-9](x)/y/, [::1]:8080 and handlers[0](std::move(x)).",
    ],
)
def test_prose_that_only_looks_like_a_link_stays_readable(prose: str) -> None:
    assert show_addresses(prose, lambda _: False, complete=True) == prose


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["`", "``` ", "<a", "<a `", "> ", "- ", "](", "[a](&#58;", "*a", "www.`a", "`a` ", "\\`"]
)
def test_whatever_is_repeated_the_time_grows_with_the_length_alone(piece: str) -> None:
    def seconds(times: int) -> float:
        text = piece * times
        started = time.process_time()
        show_addresses(f"{text}[a](https://evil.test/)", lambda _: False, complete=True, reader=MarkdownReader.LOOSE)
        return time.process_time() - started

    assert seconds(40_000) < 40 * max(seconds(4_000), 0.005)


@pytest.mark.parametrize("reader", MarkdownReader)
@pytest.mark.parametrize(
    "text",
    [
        "```\nx\r```\r[a](https://evil.test/)\n```",
        "`a\r\r[a](https://evil.test/)`",
        "```\r[a](https://evil.test/)\n```\n",
    ],
)
def test_a_carriage_return_hides_no_link_as_code(text: str, reader: MarkdownReader) -> None:
    shown = show_addresses(text, lambda _: False, complete=True, reader=reader)
    assert "[a](https://evil.test/)" not in shown


def test_code_with_the_line_ends_of_windows_stays_code() -> None:
    text = "```\r\n[a](https://evil.test/)\r\n```\r\n"
    assert show_addresses(text, lambda _: False, complete=True) == text
