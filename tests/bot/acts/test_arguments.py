"""What the arguments of acts mean: addresses of pages, times of events, links of canvases and events."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolError
from bot.acts.service import host_of, moment, names_host
from bot.platforms.discord.scheduled_events import event_of, event_page
from bot.platforms.slack.canvases import canvas_page
from bot.platforms.slack.inbound import SlackBot
from tests.fakes.slack_things import BOT_ID, BOT_USER, TEAM

ME = SlackBot(TEAM, BOT_USER, BOT_ID, "cogency")


@pytest.mark.parametrize(
    ("link", "host"),
    [
        ("https://Docs.Example.com/plan?x=1", "docs.example.com"),
        ("http://example.com:8080", "example.com"),
        ("https://example.com@evil.example/", ""),
        ("javascript:alert(1)", ""),
        ("//example.com", ""),
        ("https://", ""),
        ("https://example.com/a b", ""),
        ("https://example.com/\u202etxt", ""),
        ("https://[::1", ""),
    ],
)
def test_a_bookmark_leads_to_a_web_page_and_names_its_host(link: str, host: str) -> None:
    assert host_of(link) == host


@given(st.text())
def test_any_text_is_a_page_with_a_host_or_none(text: str) -> None:
    assert host_of(text) == "" or text.casefold().startswith(("http://", "https://"))


def test_a_title_names_a_host_only_as_a_whole() -> None:
    assert names_host("Plan (X.co)", "x.co")
    assert not names_host("paypalx.com", "x.co")
    assert not names_host("x.co.uk and an-x.co", "x.co")


def test_a_time_is_on_the_clock_of_its_zone_unless_it_has_an_offset() -> None:
    noon = datetime(2027, 5, 1, 12, tzinfo=UTC)
    assert moment("2027-05-01T14:00", "Europe/Berlin") == noon
    assert moment("2027-05-01T12:00Z", "") == noon
    assert moment("2027-05-01T14:00+02:00", "Asia/Tokyo") == noon


@pytest.mark.parametrize(
    ("text", "zone"), [("2027-05-01T14:00", ""), ("tomorrow", "UTC"), ("2027-05-01T14:00", "Mars")]
)
def test_a_time_that_is_not_certain_is_refused(text: str, zone: str) -> None:
    with pytest.raises(ToolError):
        moment(text, zone)


def test_the_link_of_a_canvas_means_one_of_this_workspace() -> None:
    assert canvas_page(ME, f"<https://fake.slack.com/docs/{TEAM}/F0123|Plan>") == "canvas:F0123"
    assert canvas_page(ME, "https://fake.slack.com/docs/T0OTHER/F0123") == ""
    assert canvas_page(ME, "https://fake.slack.com/archives/C0123/p1700000000000001") == ""


def test_the_link_of_an_event_names_its_server_and_itself() -> None:
    assert event_of(event_page("https://discord.com/events/10/73")) == ("10", "73")
    assert event_page("https://discord.com/channels/10/20/73") == ""
    assert event_of("20/73") is None
