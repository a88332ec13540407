"""What docs/webhooks-out.md shows works: its file is read, and its code tells the bot's requests from others."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.outgoing import FAILED_KEPT, TRIED_FOR, OutgoingEvent
from benchmarks.house_code import ROOT
from bot.webhooks.outgoing.retries import LIMITS
from bot.webhooks.outgoing.rows import KEYS, SecretSources, parse_rows
from bot.webhooks.outgoing.sending import SEND_S
from bot.webhooks.outgoing.service import MAX_WORDS_CHARS
from bot.webhooks.outgoing.signing import parse_secret, signed_headers
from store.outbox import MAX_TURNS
from tests.fakes.webhook_receiver import SECRET

PAGE = (ROOT / "docs" / "webhooks-out.md").read_text(encoding="utf-8")
OTHER = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return found


def is_genuine() -> Callable[[str, dict[str, str], bytes], bool]:
    names: dict[str, Any] = {}
    exec(block("python"), names)  # noqa: S102 -- our own page
    return names["is_genuine"]


def test_the_code_of_the_page_knows_the_requests_of_the_bot_and_no_others() -> None:
    verify, body, now = is_genuine(), b'{"type":"forgotten"}', int(time.time())  # noqa: TID251 -- as the page does
    headers = signed_headers([parse_secret(SECRET)], "evt_1", now, body)
    assert verify(SECRET, headers, body)
    assert verify(SECRET, signed_headers([parse_secret(OTHER), parse_secret(SECRET)], "evt_1", now, body), body)
    assert not verify(OTHER, headers, body)
    assert not verify(SECRET, headers, body + b" ")
    assert not verify(SECRET, headers | {"webhook-id": "evt_2"}, body)
    assert not verify(SECRET, signed_headers([parse_secret(SECRET)], "evt_1", now - 400, body), body)


def test_the_file_of_the_page_is_read() -> None:
    sources = SecretSources({"DASHBOARD_SIGNING_KEY": SECRET}, lambda _, name: {"/a/archive-secret.txt": OTHER}[name])
    dashboard, archive = parse_rows(block("toml"), Path("/a/webhooks-out.toml"), sources)
    assert (dashboard.name, dashboard.words, dashboard.places) == ("dashboard", False, frozenset())
    assert (archive.name, archive.words, archive.places) == ("archive", True, {"slack:T0123:C0123"})


def test_the_page_names_each_key_and_event_and_the_real_limits() -> None:
    assert [key for key in KEYS if f"`{key}`" not in PAGE] == []
    assert [event for event in OutgoingEvent if f"| `{event}` |" not in PAGE] == []
    text = " ".join(PAGE.split())
    for sentence in (
        f"within {SEND_S:g} seconds",
        f"about {LIMITS.first.seconds} seconds",
        f"for {TRIED_FOR.total_seconds() / 3600:g} hours",
        f"for {FAILED_KEPT.days} days",
        f"more than {MAX_WORDS_CHARS:,} characters",
        f"at most {MAX_TURNS} in one event",
    ):
        assert sentence in text
