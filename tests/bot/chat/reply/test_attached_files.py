"""The files that come with a reply."""

import csv
import io
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import MAX_FILES, SharedFile
from bot.chat.reply.attached_files import (
    LONG_LINES,
    MAX_BYTES,
    MAX_NAME_CHARS,
    MAX_PAGES,
    attached_files,
    name_files,
    plain_name,
)
from bot.chat.reply.link_addresses import show_addresses
from bot.chat.reply.surface import Limits, MarkdownReader, OutFile
from bot.platforms.slack.markup import CHANGED_IN_CODE, neutral
from tests.fakes.answers import answers, scribbles

LONG = "".join(f"line_{number} = {number}\n" for number in range(LONG_LINES + 1))
SHORT = "x = 1\n"


def made(text: str, pages: int = 1, page_chars: int = 2_000, **limits: Any) -> dict[str, str]:
    """Return each file's content, by name."""
    place = Limits(page_chars, 1, **limits)
    return {file.name: file.content.decode() for file in attached_files(text, pages=pages, limits=place)}


@pytest.mark.parametrize(
    ("info", "name"),
    [
        ("python", "code.py"),
        ("", "code.txt"),
        ("c++", "code.cpp"),
        ("json", "code.json"),
        ("py title=src/boat.py", "boat.py"),
        ("js {1,3}", "code.js"),
        ("ts:boat.ts", "boat.ts"),
        ("an unheard-of language", "code.an"),
        ("py ../../etc/passwd.txt", "code.py"),
    ],
)
def test_long_code_is_handed_over_under_the_name_of_its_language(info: str, name: str) -> None:
    assert made(f"Here:\n\n```{info}\n{LONG}```\n\nDone.") == {name: LONG}


def test_where_text_can_be_copied_only_files_of_tools_come_as_files() -> None:
    answer = f"Here:\n\n```py\n{LONG}```"
    shared = [SharedFile("chart.png", "image/png", b"png")]
    limits = Limits(2_000, 1, attaches_text=False)
    assert attached_files(answer, pages=11, limits=limits, shared=shared) == (OutFile("chart.png", b"png"),)


def test_short_code_that_its_place_does_not_show_as_it_is_comes_as_a_file() -> None:
    nested = "[our wiki](https://wiki.example/start)\n```\nx\n```\n"
    answer = f"So:\n\n````markdown\n{nested}````\n\n```py\n{SHORT}```"
    assert made(answer, inexact_code=re.compile("```")) == {"code.md": nested}
    assert made(answer) == {}


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("post('<!channel> done')", True),
        ("post('<@U012ABC>')", True),
        ("'<https://a.test|words>'", True),
        ("<!DOCTYPE html>", False),
        ("List<@NonNull String>", False),
        ("f'<@{user}> <!-- x --> <a href=\"https://a.test\">'", False),
    ],
)
def test_in_slack_that_is_code_with_a_complete_mention(code: str, changed: bool) -> None:
    assert bool(made(f"```\n{code}\n```", inexact_code=CHANGED_IN_CODE)) is changed
    shown = show_addresses(f"```\n{code}\n```", lambda _: False, complete=True, reader=MarkdownReader.WITH_REFERENCES)
    assert (code not in neutral(shown)) is changed


def test_a_table_that_is_too_wide_for_its_place_comes_as_a_file() -> None:
    head, row = "| name | what it is |\n|---|---|\n", f"| boat | {'blue and long ' * 9}|\n"
    assert list(made(f"{head}{row}", table_width=76)) == ["table.csv"]
    assert made(f"{head}{row}") == made(f"{head}| boat | blue |\n", table_width=76) == {}


def test_short_code_is_not() -> None:
    assert made(f"```py\n{SHORT}```") == {}


def test_few_lines_that_fill_a_page_are_long() -> None:
    assert made(f"```\n{'x' * 2_001}\n```") == {"code.txt": "x" * 2_001 + "\n"}


def test_what_a_list_or_a_quote_puts_before_code_is_no_part_of_it() -> None:
    inside = LONG.replace("line_1 =", "\tline_1  =")
    in_list = "- Here:\n  ```py\n" + "".join(f"  {line}" for line in inside.splitlines(keepends=True)) + "  ```\n"
    in_quote = "> ```py\n" + "".join(f"> {line}" for line in inside.splitlines(keepends=True)) + "> ```\n"
    assert made(in_list) == {"code.py": inside}
    assert made(in_quote) == {"code.py": inside}


def test_code_that_was_cut_off_is_handed_over_as_far_as_it_goes() -> None:
    assert made(f"```py\n{LONG}x = ") == {"code.py": f"{LONG}x = "}


def test_several_files_have_names_of_their_own() -> None:
    assert list(made(f"```py\n{LONG}```\n```py\n{LONG}```\n```js\n{LONG}```")) == ["code.py", "code-2.py", "code.js"]


def test_a_long_table_is_handed_over_for_a_spreadsheet_that_runs_nothing_of_it() -> None:
    rows = "".join(f"| {number} | a \\| b | =SUM(A1) | -1.5 |\n" for number in range(LONG_LINES + 1))
    table = made(f"Prices:\n\n| No. | Or | Sum | Change |\n|---:|:---|---|---|\n{rows}\nThat is all.")
    read = list(csv.reader(io.StringIO(table["table.csv"])))
    assert read[:2] == [["No.", "Or", "Sum", "Change"], ["0", "a | b", "'=SUM(A1)", "-1.5"]]
    assert len(read) == LONG_LINES + 2


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("x;=HYPERLINK(1)", "x;'=HYPERLINK(1)"),
        ('x; "@SUM(1)', "x;' \"@SUM(1)"),
        ("x;-1+cmd", "x;'-1+cmd"),
        ("\uff1dSUM(1)", "'\uff1dSUM(1)"),
        ("+1;-2.5%;x", "+1;-2.5%;x"),
        ("a=b; c", "a=b; c"),
    ],
)
def test_no_part_of_a_cell_is_run_where_a_semicolon_begins_a_cell_or_signs_are_wide(cell: str, written: str) -> None:
    table = made(f"| A | B |\n|---|---|\n{f'| {cell} | 1 |{chr(10)}' * (LONG_LINES + 1)}")
    assert list(csv.reader(io.StringIO(table["table.csv"])))[1] == [written, "1"]


def test_no_table_is_a_workbook_that_excel_knows_by_its_beginning() -> None:
    table = made(f"| ID;PWXL |\n|---|\n{f'| C;X1;Y1;EWEBSERVICE(A1) |{chr(10)}' * (LONG_LINES + 1)}")
    assert table["table.csv"].startswith("'ID;PWXL\n")


def test_a_very_long_answer_comes_as_a_document_too() -> None:
    text = f"Much.\n\n```py\n{LONG}```\n"
    assert made(text, pages=MAX_PAGES) == {"code.py": LONG}
    assert made(text, pages=MAX_PAGES + 1) == {"answer.md": text, "code.py": LONG}


def test_no_more_is_handed_over_than_a_message_holds() -> None:
    assert len(name_files([OutFile("a.txt", b"x")] * 20)) == MAX_FILES
    assert name_files([OutFile("empty.txt", b""), OutFile("huge.txt", b"x" * (MAX_BYTES + 1))]) == ()
    assert name_files([OutFile("plot.png", b"\x89PNG", "a boat")]) == (OutFile("plot.png", b"\x89PNG", "a boat"),)


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("notes.md", "notes.md"),
        ("../../.ssh/id_rsa", "id_rsa.txt"),
        ("C:\\secret\\plan.docx", "plan.docx"),
        ("Übersicht der Preise.csv", "bersicht-der-Preise.csv"),
        ("", "file.txt"),
        ("船", "file.txt"),
        (".env", "env.txt"),
        ("a\nb.py", "a-b.py"),
        ("x" * 200 + ".py", "x" * 57 + ".py"),
    ],
)
def test_a_name_is_one_plain_word_with_an_ending(name: str, plain: str) -> None:
    assert plain_name(name) == plain


@given(st.text(max_size=120))
def test_any_name_is_made_plain_and_bounded(name: str) -> None:
    plain = plain_name(name)
    assert plain == plain_name(plain)
    assert len(plain) <= MAX_NAME_CHARS
    assert plain.isascii()
    assert not set(plain) & set("/\\ \n")


@given(answers | scribbles, st.integers(1, 9), st.sampled_from([40, 2_000]))
def test_what_is_handed_over_stands_in_the_answer(text: str, pages: int, page_chars: int) -> None:
    for name, content in made(text, pages, page_chars).items():
        if not name.startswith("table"):
            assert all(line.lstrip(" \t>") in text for line in content.split("\n"))
