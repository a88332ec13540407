"""No key or token reaches the log."""

import asyncio
import io
import json
import logging
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.chat.logs import FORM_OF_SECRETS, MASK, JsonFormatter, LogForm, bound, log_to, on_one_line, redactor

SECRET = "xoxb-1234/5678+abcd"


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    levels = {name: logging.getLogger(name).level for name in ("", "agent", "store", "bot", "azure", "google.auth")}
    before, root.handlers[:] = root.handlers[:], []
    yield
    root.handlers[:] = before
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.fixture
def stream() -> io.StringIO:
    lines = io.StringIO()
    log_to(lines, "INFO", [SECRET, "another-secret", "ollama", ""])
    return lines


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


def test_a_librarys_warnings_are_logged_and_its_routine_lines_are_not(stream: io.StringIO) -> None:
    logging.getLogger("some.library").info("connected")
    logging.getLogger("some.library").warning("lost")
    assert stream.getvalue().endswith("WARNING some.library: lost\n")
    logging.getLogger("azure.identity").warning("no identity in the first of nine places")
    assert stream.getvalue().count("\n") == 1


def as_json(stream: io.StringIO, *secrets: str) -> None:
    stream.truncate(0)
    stream.seek(0)
    log_to(stream, "INFO", secrets, LogForm.JSON)


def test_for_programs_each_line_is_an_object_with_the_bound_ids(stream: io.StringIO) -> None:
    as_json(stream)
    with bound(turn=7, conversation="C1:2", person="slack:T:U"):
        logging.getLogger("bot.b").info("turn %d: answered", 7)
    logging.getLogger("bot.b").warning("and then")
    first, second = map(json.loads, stream.getvalue().splitlines())
    ids = {"turn": 7, "conversation": "C1:2", "person": "slack:T:U"}
    assert datetime.fromisoformat(first.pop("timestamp")).tzinfo is UTC
    assert first == {"level": "info", "logger": "bot.b", "event": "turn 7: answered", **ids}
    assert second.keys() == {"timestamp", "level", "logger", "event"}


def test_for_people_the_bound_ids_follow_the_message(stream: io.StringIO) -> None:
    with bound(turn=7), bound(person="slack:T:U\nforged"):
        logging.getLogger("bot.b").info("done")
    assert stream.getvalue().endswith("INFO bot.b: done  turn=7  person=slack:T:U\\nforged\n")
    assert stream.getvalue().count("\n") == 1


async def test_ids_are_bound_only_in_the_block_and_the_tasks_that_start_there(stream: io.StringIO) -> None:
    as_json(stream)

    async def work() -> None:
        await asyncio.sleep(0)
        logging.getLogger("bot.b").info("from within")

    with bound(turn=1):
        one = asyncio.create_task(work())
    with bound(turn=2):
        two = asyncio.create_task(work())
    await asyncio.gather(one, two, asyncio.create_task(work()))
    assert [json.loads(line).get("turn") for line in stream.getvalue().splitlines()] == [1, 2, None]


def test_a_terminal_gets_text_and_others_get_json_unless_a_setting_says_otherwise() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def is_json(stream: io.StringIO, form: LogForm) -> bool:
        return isinstance(log_to(stream, "INFO", [], form).formatter, JsonFormatter)

    pairs = [(stream, form) for stream in (Terminal(), io.StringIO()) for form in LogForm]
    assert [is_json(stream, form) for stream, form in pairs] == [False, False, True, True, False, True]


ON_A_LINE = st.characters(exclude_characters="\n")


@pytest.mark.slow
@example(["secret \udcff of no encoding"], "", "")
@given(st.lists(st.text(ON_A_LINE, min_size=8, max_size=20), min_size=1, max_size=3), st.text(), st.text())
def test_no_secret_is_left_in_a_json_line_and_each_line_is_valid(secrets: list[str], before: str, after: str) -> None:
    formatter = JsonFormatter(secrets)
    for secret in secrets:
        try:
            raise ValueError(before + secret + after)  # noqa: TRY301 -- as deep in a library
        except ValueError:
            record = logging.LogRecord("bot", logging.INFO, "", 0, "%s", (before + secret + after,), sys.exc_info())
        with bound(person=secret):
            line = formatter.format(record)
        assert line.isascii()
        assert line.isprintable()
        fields = json.loads(line)
        assert fields["person"].replace(MASK, "") != secret
        for value in (fields["event"], fields["exception"]):
            assert on_one_line(secret) not in value.replace(MASK, "\0")


def test_a_json_line_contains_foreign_text_without_control_characters(stream: io.StringIO) -> None:
    as_json(stream)
    try:
        raise ValueError("bad \x1b]0;owned\x07\n{}")  # noqa: TRY301 -- as deep in a library
    except ValueError:
        logging.getLogger("bot.b").exception("failed: \x1b[2J\u202e")
    (line,) = stream.getvalue().splitlines()
    fields = json.loads(line)
    assert fields["event"] == "failed: \\x1b[2J\\u202e"
    assert all(part.isprintable() for part in fields["exception"].split("\n"))


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
def test_a_secret_is_masked_in_every_spelling(shown: str) -> None:
    key = "sk-a/b+c\"d'e\\f"
    line = shown.format(key, quote(key), quote(key, safe="").lower(), json.dumps(key))
    masked = redactor([key])(line)
    assert "[secret]" in masked
    assert "sk-a" not in masked


@pytest.mark.parametrize(
    "line",
    [
        "> Authorization: Bearer sk-of-a-channel",
        "> x-api-key: sk-of-a-channel",
        "{'x-goog-api-key': 'sk-of-a-channel'}",
        "(b'authorization', b'Bearer sk-of-a-channel')",
    ],
)
def test_a_key_that_no_setting_holds_is_masked_in_the_header_of_a_request(line: str, stream: io.StringIO) -> None:
    logging.getLogger("websockets.client").warning(line)
    assert "[secret]" in stream.getvalue()
    assert "sk-of-a-channel" not in stream.getvalue()


@pytest.mark.parametrize("form", [LogForm.TEXT, LogForm.JSON])
def test_what_is_sent_by_a_form_of_secrets_is_not_logged(form: LogForm) -> None:
    lines = io.StringIO()
    log_to(lines, "DEBUG", [], form)
    sent = json.dumps({"callback_id": f"window:{FORM_OF_SECRETS}key", "value": "sk-of-a-channel"})
    logging.getLogger("library").debug("Received message (data: %r)", sent)
    logging.getLogger("library").debug("Received message (data: %r)", "hello")
    assert lines.getvalue().count("\n") == 2
    assert "hello" in lines.getvalue()
    assert "sk-of-a-channel" not in lines.getvalue()


def test_foreign_text_forges_no_line_and_steers_no_terminal(stream: io.StringIO) -> None:
    forged = "bad \x1b]0;owned\x07\x9b2J \u202egpj\n2026-01-01 00:00:00,000 ERROR bot.app: forged\r\u2028x"
    log_to(stream, "INFO", [])
    log = logging.getLogger("bot.test")
    log.warning("refused: %s", forged)
    try:
        raise ValueError(forged)  # noqa: TRY301 -- as deep in a library
    except ValueError:
        log.exception("failed")
    lines = stream.getvalue().splitlines()
    assert [line.split()[2] for line in lines if line[:1].isdigit()] == ["WARNING", "ERROR"]
    assert all(line.isprintable() for line in lines)
    assert "\\x1b]0;owned\\x07" in lines[0]
    assert any(line.startswith("  ValueError: bad") for line in lines)
