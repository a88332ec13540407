"""Incoming ids become names; outgoing text mentions no one."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bot.platforms.slack.markup import (
    SlackMessageLink,
    mentioned_channels,
    mentioned_users,
    message_links,
    neutral,
    readable,
    settled,
    with_user_names,
    without_mention,
)

PING = re.compile(r"<@|<!(channel|here|everyone|group|subteam)|(?<!\w)@(channel|here|everyone|group)\b", re.IGNORECASE)

# What every reader of Markdown takes for code: a span within one line, a block of lines.
SPAN = re.compile(
    r"(?<!`)(`+)(?!`)[^\n]*?(?<!`)\1(?!`)|^ {0,3}(```+)[^`\n]*\n(?:.*?^ {0,3}\2`*[ \t]*$|.*)", re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("<@U1> and <@U2|bob>", "@ann and @bob"),
        ("<@U9>", "@U9"),
        ("see <#C1|general> or <#C2>", "see #general or #C2"),
        ("see <#C7> and <#C7|>", "see #random and #random"),
        ("<!here> <!subteam^S1|@crew> <!subteam^S2>", "@here @crew @subteam"),
        ("<!date^1392734382^{date}|Feb 18, 2014>", "Feb 18, 2014"),
        ("<https://example.org/a?b=1&amp;c=2>", "https://example.org/a?b=1&c=2"),
        ("<https://example.org|the site>", "[the site](https://example.org)"),
        ("<http://example.org|example.org>", "http" + "://example.org"),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
        ("&amp;lt;", "&lt;"),
    ],
)
def test_a_message_of_slack_reads_as_a_person_reads_it(sent: str, read: str) -> None:
    assert readable(sent, {"U1": "ann", "C7": "random"}) == read


@given(st.text(alphabet="<>@!#|U1&;lt gmp^", max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    readable(text, {})


def test_the_mentions_that_a_message_begins_with_are_taken_off() -> None:
    assert without_mention("<@UBOT>: <@UBOT> tell <@UBOT> this", "UBOT") == "tell <@UBOT> this"
    assert without_mention("<@UANN> hello", "UBOT") == "<@UANN> hello"


def test_mentioned_users_are_found_once() -> None:
    assert mentioned_users("<@U1> <@U2|x> <@U1> <#C1>") == ("U1", "U2")


def test_code_keeps_what_mentions_users_because_it_may_show_the_arguments_of_a_call() -> None:
    text = "`<@U1>`\n```\nto: <@U1>, <!subteam^S3>\n```\n"
    assert with_user_names(text, {"U1": "ann"}) == text


def test_a_text_of_the_bot_names_users_instead_of_mentioning_them() -> None:
    shown = with_user_names("<@U1>, <@U2|x>, <!subteam^S3>, \\<@U1\\>, @U1", {"U1": "a*b"})
    assert shown == "@a\\*b, `U2`, `role:S3`, \\<@U1\\>, @U1"


def test_channels_without_a_name_are_found_once() -> None:
    assert mentioned_channels("<#C1> <#C2|general> <#C1|> <#G3>") == ("C1", "G3")


def test_links_to_messages_are_found_with_their_thread() -> None:
    text = (
        "<https://acme.slack.com/archives/C1/p1700000000000100> "
        "<https://acme.slack.com/archives/C2/p1700000000000200?thread_ts=1700000000.000100&amp;cid=C2|there> "
        "<https://acme.slack.com/archives/C1/p1700000000000100>"
    )
    assert message_links(text) == (
        SlackMessageLink("C1", "1700000000.000100", ""),
        SlackMessageLink("C2", "1700000000.000200", "1700000000.000100"),
    )
    assert message_links("https://x/archives/C1/p1700000000000100?" * 2_000)  # in no more time than it takes to read it


@pytest.mark.parametrize(
    "ping",
    [
        "<!channel>",
        "<!here|here>",
        "<!EVERYONE>",
        "<!subteam^S1>",
        "<@U1>",
        "<@W1|x>",
        "@here",
        "(@channel)",
        "@Everyone!",
    ],
)
def test_no_text_of_a_model_pings_anybody(ping: str) -> None:
    for text in (ping, f"`{ping}", f"[{ping}]({ping})", ping * 3):
        assert not PING.search(neutral(text))


@pytest.mark.parametrize("ping", ["<!channel>", "<!here|here>", "<!EVERYONE>", "<!subteam^S1>", "<@U1>", "<@W1|x>"])
def test_slacks_own_mentions_are_defused_in_code_too_as_it_may_see_them_there(ping: str) -> None:
    for text in (f"`{ping}`", f"```\n{ping}\n```", f"    {ping}", f"- ```\n  {ping}\n  ```"):
        assert not PING.search(neutral(text))


@pytest.mark.parametrize(
    "hidden",
    [
        "&lt;!channel&gt;",
        "&#60;@U1>",
        "&#x3C;!here>",
        "<\\@U1>",
        "<!\\here>",
        "<&commat;U1>",
        "<&#33;here>",
        "<!&#104;ere>",
        "&commat;here",
    ],
)
def test_a_ping_that_only_markdown_would_uncover_is_defused_too(hidden: str) -> None:
    assert neutral(hidden) != hidden
    assert not PING.search(neutral(hidden))


@pytest.mark.parametrize(
    "harmless",
    ["<!DOCTYPE html>", "<!-- note -->", "a < b", "ann@here.example", "@ann", "if (a<!b)", "<p>", "&lt;p&gt;"],
)
def test_what_pings_nobody_stays_as_it_is(harmless: str) -> None:
    assert neutral(harmless) == harmless


@given(st.text(alphabet="<>@!chanelryoiugpsubtm U1&;l#x60\\`\n", max_size=80))
def test_the_defused_text_is_as_long_as_before_and_pings_nobody(text: str) -> None:
    assert len(neutral(text)) == len(text)
    prose = SPAN.sub("", neutral(text))
    assert not PING.search(prose)


PIECES = (
    "<",
    "&lt;",
    "&#060;",
    "&",
    "@",
    "&commat;",
    "!",
    "&#33;",
    "\\",
    "channel",
    "here",
    "U1",
    ">",
    " ",
    "x",
    "&#x3c",
    "`",
    "```",
    "\n",
    "|",
)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@example("`<@<```")
def test_what_is_shown_of_a_growing_text_is_the_beginning_of_what_it_becomes(text: str) -> None:
    for end in range(len(text) + 1):
        assert neutral(text).startswith(settled(text[:end]))


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@example("<!&lt;@U1>")
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    assert neutral(neutral(text)) == neutral(text)


@pytest.mark.parametrize(
    "code",
    ["npm i @here/flexpolyline", "@group.command()", "List<@NonNull String>", "a < b && @channel", "&lt;!here&gt;"],
)
def test_code_stays_as_it_was_written(code: str) -> None:
    for text in (f"`{code}`", f"```sh\n{code}\n```", f"- do:\n  ```\n  {code}\n  ```", f"> ```\n> {code}\n> ```"):
        assert neutral(text) == text
        assert "".join(pieces_of(text)) == text


def pieces_of(text: str) -> list[str]:
    """Return what a stream is given of a text that grows by one sign at a time."""
    ends = [len(settled(text[:end])) for end in range(len(text) + 1)]
    assert ends == sorted(ends)
    return [neutral(text)[: ends[-1]], neutral(text)[ends[-1] :]]


def test_a_growing_text_is_shown_up_to_its_last_words() -> None:
    assert settled("Hello <@U1>, dear @her") == "Hello ‹@U1>, dear "
    assert settled("a < b & ") == "a < b & "
    assert settled("@" + "x" * 60) == "@" + "x" * 60
    assert settled("`@here") == "`"
    assert settled("`List<@NonNull") == "`List"
