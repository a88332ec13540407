"""No key or token reaches the log."""

import io
import json
import logging
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.logs import log_to, redactor

SECRET = "xoxb-1234/5678+abcd"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    levels = {name: logging.getLogger(name).level for name in ("", "agent", "store", "bot")}
    before, root.handlers[:] = root.handlers[:], []
    lines = io.StringIO()
    log_to(lines, "INFO", [SECRET, "another-secret", "ollama", ""])
    yield lines
    root.handlers[:] = before
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def test_a_secret_in_a_message_its_arguments_or_an_address_is_masked(stream: io.StringIO) -> None:
    log = logging.getLogger("bot.somewhere")
    log.info("token %s", SECRET)
    log.warning(f"GET /?key={'xoxb-1234%2F5678%2Babcd'}")  # noqa: G004 -- as a library may do
    log.info({"key": "another-secret"})
    assert stream.getvalue().count("[secret]") == 3
    assert "1234" not in stream.getvalue()
    assert "another" not in stream.getvalue()


def test_a_secret_in_a_traceback_is_masked(stream: io.StringIO) -> None:
    try:
        int(SECRET)
    except ValueError:
        logging.getLogger("x").exception("it failed")
    assert "ValueError: invalid literal for int() with base 10: '[secret]'" in stream.getvalue()
    assert SECRET not in stream.getvalue()


def test_a_line_names_its_level_and_its_logger_and_lower_levels_are_left_out(stream: io.StringIO) -> None:
    logging.getLogger("bot.b").info("hello from ollama")
    logging.getLogger("bot.b").debug("not this")
    assert stream.getvalue().endswith("INFO bot.b: hello from ollama\n")
    assert stream.getvalue().count("\n") == 1


def test_a_librarys_daily_doings_are_left_out_and_its_warnings_are_not(stream: io.StringIO) -> None:
    logging.getLogger("some.library").info("connected")
    logging.getLogger("some.library").warning("lost")
    assert stream.getvalue().endswith("WARNING some.library: lost\n")
    assert stream.getvalue().count("\n") == 1


def test_a_secret_that_begins_with_another_is_masked_whole() -> None:
    assert redactor(["abcdefgh", "abcdefghij"])("abcdefghij") == "[secret]"


def test_without_secrets_nothing_changes() -> None:
    assert redactor([])("as it is") == "as it is"


@given(st.lists(st.text(min_size=8, max_size=20), max_size=3), st.text(), st.text())
def test_no_secret_is_left_in_any_line(secrets: list[str], before: str, after: str) -> None:
    redact = redactor(secrets)
    for secret in secrets:
        assert secret not in redact(before + secret + after).replace("[secret]", "\0")


@pytest.mark.parametrize("shown", ["{0!r}", "key={1}", "key={2}", '{{"key": {3}}}'])
def test_a_secret_is_masked_however_a_line_spells_it(shown: str) -> None:
    key = "sk-a/b+c\"d'e\\f"
    line = shown.format(key, quote(key), quote(key, safe="").lower(), json.dumps(key))
    masked = redactor([key])(line)
    assert "[secret]" in masked
    assert "sk-a" not in masked


def test_what_others_wrote_forges_no_line_and_steers_no_terminal(stream: io.StringIO) -> None:
    forged = "bad \x1b]0;owned\x07\x9b2J \u202egpj\n2026-01-01 00:00:00,000 ERROR bot.app: forged\r\u2028x"
    log_to(stream, "INFO", [])
    log = logging.getLogger("bot.test")
    log.warning("refused: %s", forged)
    try:
        raise ValueError(forged)  # noqa: TRY301 -- as somewhere deep
    except ValueError:
        log.exception("failed")
    lines = stream.getvalue().splitlines()
    assert [line.split()[2] for line in lines if line[:1].isdigit()] == ["WARNING", "ERROR"]
    assert all(line.isprintable() for line in lines)
    assert "\\x1b]0;owned\\x07" in lines[0]
    assert any(line.startswith("  ValueError: bad") for line in lines)
