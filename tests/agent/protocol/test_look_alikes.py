"""Our tags in other characters are read as ours where they are meant, and any other text passes unchanged."""

import string
import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.protocol.grammar import TAG_NAMES
from agent.protocol.look_alikes import LookAlikes, any_form

SIZES = [(1,), (2, 5), (1_000_000,)]


def passed(text: str, sizes: Sequence[int]) -> str:
    stage, pieces = LookAlikes(), list[str]()
    start, number = 0, 0
    while start < len(text):
        size = sizes[number % len(sizes)]
        pieces.append(stage.feed(text[start : start + size]))
        start, number = start + size, number + 1
    return "".join([*pieces, stage.flush()])


def in_letters(text: str, begin: int) -> str:
    return text.translate({ord(char): begin + at for at, char in enumerate(string.ascii_lowercase)})


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", TAG_NAMES)
def test_a_tag_in_other_letters_around_json_is_ours(name: str, sizes: tuple[int, ...]) -> None:
    for begin in (0x1D41A, 0x1D44E, 0x1D586, 0x1D5BA, 0x1D68A, 0xFF41, 0x24D0):
        other = in_letters(name, begin)
        if "_" not in name and all(unicodedata.category(char) != "Cn" for char in other):
            stream = f"Sure.\n<{other}>\n{{}}\n</{other}>\nDone."
            assert passed(stream, sizes) == f"Sure.\n<{name}>\n{{}}\n</{name}>\nDone."


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    ("stream", "read"),
    [
        ("＜execute＞[{}]＜/execute＞", "<execute>[{}]</execute>"),
        ("﹤execute﹥[{}]﹤／execute﹥", "<execute>[{}]</execute>"),
        ("＜tool＿call＞{}＜/tool＿call＞", "<tool_call>{}</tool_call>"),
        ("< 𝐞𝐱𝐞𝐜𝐮𝐭𝐞 >\n```json\n[{}]", "<execute>\n```json\n[{}]"),
        ("[execute]\n[{}]\n[/execute]", "<execute>\n[{}]\n</execute>"),
        ("【workspace】{}【/workspace】", "<workspace>{}</workspace>"),
        ("> **＜execute＞** no", "> **＜execute＞** no"),
        ("Thoughts.＜/think＞Hello", "Thoughts.</think>Hello"),
    ],
)
def test_other_brackets_are_ours_where_json_stands(stream: str, read: str, sizes: tuple[int, ...]) -> None:
    assert passed(stream, sizes) == read


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    "text",
    [
        "The ＜execute＞ tag, and ＜/execute＞.",
        "＜execute＞ is written so.",
        "```\n＜execute＞[{}]\n[execute]\n[1]\n```\n",
        "- ~~~\n  【execute】{}\n  ~~~\n",
        "a < b ＜ c {d} [e] (f)",
        "[execute] is a section.",
        "<b>bold</b> <thınk> <ſummary>",
        "＜",
        "[",
        "ends with ＜exec",
    ],
)
def test_what_is_only_written_about_passes_unchanged(text: str, sizes: tuple[int, ...]) -> None:
    assert passed(text, sizes) == text


@given(
    parts=st.lists(
        st.sampled_from(
            [
                "＜execute＞",
                "＜/think＞",
                "[{",
                "}]",
                "\n",
                " ",
                "```",
                "a",
                "＜",
                "<𝐞",
                "[execute]",
                "[/",
                "｝",
                "think＞",
            ]
        ),
        max_size=12,
    ),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
)
def test_no_cut_changes_what_passes(parts: list[str], sizes: list[int]) -> None:
    text = "".join(parts)
    assert passed(text, sizes) == passed(text, [1_000_000])


@pytest.mark.slow
@pytest.mark.parametrize("part", ["＜", "[a", "<𝐞", "＜think ", "\n[ ", "＜execute＞", "\n＜/think＞{", "```\n", " "])
@pytest.mark.timeout(30)
def test_a_long_text_takes_linear_time(part: str) -> None:
    text = part * (60_000 // len(part))
    assert len(passed(text, (7,))) > len(text) // 2


def test_every_character_of_a_form_normalises_to_it() -> None:
    for char in string.ascii_lowercase + string.digits + "[]<>/_":
        for other in any_form(char)[1:-1].replace("\\", ""):
            plain = unicodedata.normalize("NFKC", other).lower()
            assert plain == char or unicodedata.name(other).startswith(("CYRILLIC", "GREEK", "ARMENIAN", "LATIN"))
