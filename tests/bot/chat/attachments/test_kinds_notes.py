"""The notes for unread files, and the names of files."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.incoming import Attachment
from bot.chat.attachments import kinds
from tests.fakes.incoming import said


def test_a_file_that_is_not_read_is_named_with_kind_size_and_reason() -> None:
    assert kinds.not_read("application/zip; x", 1234, "why") == "(not read: why; application/zip, 1,234 bytes)"
    assert kinds.not_read("", 0, "why") == "(not read: why; unknown kind, size unknown)"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("notes.md", "notes.md"),
        ("two\nlines\r\n.txt", "two lines .txt"),
        ("gpj.\u202eexe", "gpj. exe"),
        ("a\u200bb\0c.txt", "a b c.txt"),
        ("a\U000e0041\ud800.txt", "a .txt"),
        (f"{'x' * 300}-2.pdf", f"{'x' * 67}…xxxxxx-2.pdf"),
        ("", ""),
    ],
)
def test_a_name_is_one_line_without_tricks(name: str, shown: str) -> None:
    assert kinds.shown_note(name) == shown


def test_a_message_names_its_own_files_in_its_words_for_later() -> None:
    own = [Attachment(f"{number}.txt", "", 1, "x") for number in range(1, 8)]
    spoken, forwarded = replace(own[0], spoken=True), replace(own[0], source="file of a forwarded message")
    named = kinds.with_names(replace(said("see"), files=(*own, spoken, forwarded)))
    assert named.text == "see\n(attached: 1.txt, 2.txt, 3.txt, 4.txt, 5.txt and 2 more)"
    assert kinds.with_names(named) == named  # as for a regenerated question
    assert kinds.with_names(replace(said("see"), files=(spoken, forwarded))).text == "see"


@given(st.text(max_size=300))
def test_any_name_is_one_bounded_line(name: str) -> None:
    shown = kinds.shown_note(name)
    assert len(shown) <= kinds.MAX_NAME_CHARS
    assert shown.isprintable()
