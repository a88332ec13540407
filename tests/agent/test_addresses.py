"""An address that a call sends out carries nothing that its reader did not write: whatever form it has, wherever it
stands in the call, and whichever call or text of the bot's own named it before.
"""

from base64 import b64encode, urlsafe_b64encode
from dataclasses import replace
from time import process_time
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.addresses import (
    MAX_ADDRESSES,
    AddressesRead,
    addresses_in,
    addresses_read,
    carries_by_number,
    leaving,
    texts_in,
    texts_of_schema,
)
from agent.citations import FETCH
from agent.messages import Json, JsonObject, Reference, ResultStatus, ToolCall, ToolResult
from agent.progress import Progress, RoundStep
from agent.turn_records import Waiting
from tests.examples import examples

SECRET = "heron"
QUESTION = (
    "What does https://a.example/x?y=1#top say, and example.com? Also b.example/path/long, "
    "https://archive.example/https://b.example/path, **https://c.example/bold**, (see https://d.example/end). "
    "<https://e.example/slack|words>, [words](https://f.example/markdown), “https://g.example/quoted”、"
    "https://h.example/ひらがなは, x,https://i.example/1,https://j.example/2, https://k.example/last?"
)


def read_in(*texts: str) -> AddressesRead:
    return addresses_read(Progress(), texts)


@pytest.mark.parametrize(
    "address",
    [
        "https://a.example/x?y=1#top",
        "http://a.example/x?y=1#top",  # the other scheme says nothing
        "a.example/x?y=1#top",
        "example.com",
        "https://example.com",
        "https://example.com/",
        "https://www.example.com/",
        "b.example/path/long",
        "https://b.example/path/long",
        "https://archive.example/https://b.example/path",
        "https://b.example/path",
        "https://c.example/bold",
        "https://d.example/end",
        "https://e.example/slack",
        "https://f.example/markdown",
        "https://g.example/quoted",
        "https://i.example/1",
        "https://j.example/2",
        "https://k.example/last",
    ],
)
def test_what_somebody_wrote_is_sent_unasked(address: str) -> None:
    assert read_in(QUESTION).may_leave(address)
    assert read_in(QUESTION).may_leave(address, fetched=True)


@pytest.mark.parametrize(
    "address",
    [
        "https://a.example/x?y=12#top",
        "https://a.example/x?y=1&z=heron",
        "https://a.example/x",
        "https://a.example/",
        "https://a.example/heron",
        "https://a.example/X?y=1#top",
        "https://heron.a.example/x?y=1#top",
        "https://heron.example.com/",
        "https://example.com/heron",
        "https://example.com//",
        "https://example.com///////",
        "https://example.co",
        "ample.com",
        "https://b.example/path/lon",
        "https://b.example/path/long/",
        "https://b.example/path/long//",
        "https://b.example//path/long",
        "https://b.example:443/path/long",
        "https://heron@b.example/path/long",
        "https://b.example/pahttps://th",
        "https://example.com:8080/",
        "https:/b.example/path/long",
        "https:///b.example/path/long",
        "//b.example/path/long",
        "ftp://b.example/path/long",
        "view-source:https://b.example/path/long",
        "https://b.example/path/long?",
        "https://b.example/path/long?q",
        "https://b.example/path/%6cong",
        "https://example.com?heron",
        "https://example.com\\heron",
        "https://k.example/last?heron",
        "/",
        "//",
    ],
)
def test_what_nobody_wrote_so_is_not(address: str) -> None:
    assert not read_in(QUESTION).may_leave(address)
    assert not read_in(QUESTION).may_leave(address, fetched=True)


def test_only_where_a_page_is_fetched_the_case_of_its_site_and_what_follows_a_number_sign_are_not_sent() -> None:
    read = read_in("See example.com and https://a.example/x?y=1")
    assert read.may_leave("http://EXAMPLE.com", fetched=True)
    assert not read.may_leave("http://EXAMPLE.com")
    assert read.may_leave("https://a.example/x?y=1#heron", fetched=True)
    assert not read.may_leave("https://a.example/x?y=1#heron")
    assert read_in("See EXAMPLE.com").may_leave("https://example.com/")


words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]), min_size=1, max_size=9)


@given(words, st.sampled_from(["https://b.example/path", "example.com", "http://a.example/x?y=1"]))
@settings(max_examples=examples(200))
def test_nothing_can_be_added_behind_an_address_that_was_read(added: str, address: str) -> None:
    read = read_in(f"Look at {address} now.")
    is_site = "/" not in address.removeprefix("https://")
    if not (is_site and added == "/"):
        assert not read.may_leave(f"{address}{added}") or not added.strip()


@given(words)
@settings(max_examples=examples(200))
def test_nothing_can_be_added_before_an_address_that_was_read(added: str) -> None:
    read = read_in("Look at evil.example/list now, or at evil.example.")
    if added.casefold() not in ("http://", "https://"):
        assert not read.may_leave(f"{added}evil.example/list")
        assert not read.may_leave(f"{added}evil.example") or added == "www."


# What is looked at

EVERYWHERE: list[tuple[JsonObject, str]] = [
    ({"url": "https://evil.example/heron"}, "https://evil.example/heron"),
    ({"url": "evil.example/heron"}, "evil.example/heron"),
    ({"url": "heron.evil.example"}, "heron.evil.example"),
    ({"url": "//evil.example/heron"}, "//evil.example/heron"),
    ({"url": "https:/evil.example/heron"}, "https:/evil.example/heron"),
    ({"url": "https:evil.example/heron"}, "https:evil.example/heron"),
    ({"url": "https:\\\\evil.example\\heron"}, "https:\\\\evil.example\\heron"),
    ({"url": "\\\\evil.example\\heron"}, "\\\\evil.example\\heron"),
    ({"url": "view-source:https://evil.example/heron"}, "view-source:https://evil.example/heron"),
    ({"url": "ftp://evil.example/heron"}, "ftp://evil.example/heron"),
    ({"url": "HTTPS://EVIL.EXAMPLE/heron"}, "HTTPS://EVIL.EXAMPLE/heron"),
    ({"url": "  https://evil.example/heron  "}, "https://evil.example/heron"),
    ({"url": "evil.example:8080"}, "evil.example:8080"),
    ({"url": "heron@evil.example"}, "heron@evil.example"),
    ({"url": "203.0.113.7/heron"}, "203.0.113.7/heron"),
    ({"url": "http://[2001:db8::1]/heron"}, "http://[2001:db8::1]/heron"),
    ({"url": "http://2130706433/heron"}, "http://2130706433/heron"),
    ({"url": "evil。example/heron"}, "evil。example/heron"),
    ({"url": "xn--evil-9na.xn--p1ai/heron"}, "xn--evil-9na.xn--p1ai/heron"),
    ({"url": "evil.example%2Fheron"}, "evil.example%2Fheron"),
    ({"url": "mailto:heron@evil.example"}, "mailto:heron@evil.example"),
    ({"url": "data:text/html,heron"}, "data:text/html,heron"),
    ({"url": "http://evil.example/ heron"}, "http://evil.example/ heron"),
    ({"url": "http://evil.exa\nmple/heron"}, "http://evil.exa\nmple/heron"),
    ({"url": "evil\u200b.example/heron"}, "evil\u200b.example/heron"),
    ({"url": "ev\u00adil.example/heron"}, "ev\u00adil.example/heron"),
    ({"url": "ｅｖｉｌ．ｅｘａｍｐｌｅ／heron"}, "ｅｖｉｌ．ｅｘａｍｐｌｅ／heron"),
    ({"task": "Open ｅｖｉｌ．ｅｘａｍｐｌｅ／heron now"}, "ｅｖｉｌ．ｅｘａｍｐｌｅ／heron"),
    ({"url": "3405803783/heron"}, "3405803783/heron"),
    ({"url": "0xCB007107/heron"}, "0xCB007107/heron"),
    ({"parts": ["evil", ".example", "/heron"]}, "/heron"),
    ({"parts": ["http", "://", "evil.", "example", "?heron"]}, "?heron"),
    ({"urls": ["https://a.example/", "https://evil.example/heron"]}, "https://evil.example/heron"),
    ({"pages": [{"at": {"url": "https://evil.example/heron"}}]}, "https://evil.example/heron"),
    ({"headers": {"https://evil.example/heron": True}}, "https://evil.example/heron"),
    ({"deep": [[[[[["https://evil.example/heron"]]]]]]}, "https://evil.example/heron"),
    ({"task": "Open (https://evil.example/heron) for me."}, "https://evil.example/heron"),
    ({"task": "Please open evil.example/heron, then say it."}, "evil.example/heron"),
    ({"task": "Please open heron.evil.example now."}, "heron.evil.example"),
    ({"host": "evil.example", "path": "/heron"}, "/heron"),
    ({"host": "evil.example", "query": {"q": ["heron"]}}, "heron"),
    ({"host": "evil.example", "port": 4711}, "4711"),
    ({"host": "evil.example", "headers": {"X-heron": ""}}, "X-heron"),
    ({"a": {"domain": "evil.example"}, "b": {"words": "heron and boat"}}, "heron and boat"),
    ({"q": "evil%2eexample/heron"}, "evil%2eexample/heron"),
    ({"q": "evil%252eexample%252fheron"}, "evil%252eexample%252fheron"),
    ({"q": "evil%25252525252525252eexample"}, "evil%25252525252525252eexample"),
    ({"q": "evil&period;example&sol;heron"}, "evil&period;example&sol;heron"),
    ({"q": "evil\\u002eexample/heron"}, "evil\\u002eexample/heron"),
    ({"task": "Open evil%2Eexample%2Fheron now"}, "evil%2Eexample%2Fheron"),
    ({"task": "Open https%3A%2F%2Fevil%2Eexample now"}, "https%3A%2F%2Fevil%2Eexample"),
    ({"q": "//evil/heron"}, "//evil/heron"),
    ({"q": "\\\\evil\\heron"}, "\\\\evil\\heron"),
    ({"q": "2001:db8::beef"}, "2001:db8::beef"),
    ({"body": '{"host": "evil.com", "path": "heron"}'}, "heron"),
    ({"body": '{"url": "heron"}'}, "heron"),
    ({"body": ' [{"data": "{\\"host\\": \\"heron\\"}"}]'}, "heron"),
    ({"task": "Ask 2001:db8:1:2:3:4:5:6 now"}, "2001:db8:1:2:3:4:5:6"),
    ({"q": "::ffff:203.0.113.7"}, "::ffff:203.0.113.7"),
    ({"q": "MAILTO:heron@evil"}, "MAILTO:heron@evil"),
    ({"q": "Sip:heron@evil"}, "Sip:heron@evil"),
    ({"q": "203.28935/heron"}, "203.28935/heron"),
    ({"q": "203.0.28935?heron"}, "203.0.28935?heron"),
    ({"q": "0xcb.0x0.0x71.0x7/heron"}, "0xcb.0x0.0x71.0x7/heron"),
    ({"q": "0xcb.0x7107/heron"}, "0xcb.0x7107/heron"),
    ({"q": "031300070407/heron"}, "031300070407/heron"),
    ({"q": "1.2.772/heron"}, "1.2.772/heron"),
    ({"q": "Open 1.772/heron now"}, "1.772/heron"),
    ({"q": "0313.0.0161.07/heron"}, "0313.0.0161.07/heron"),
    ({"q": "Open [dead::beef]/heron now"}, "dead::beef]/heron"),
    ({"q": "[fe80::a%eth]:80/heron"}, "[fe80::a%eth]:80/heron"),
    ({"task": "Open heron☁.evil.example now"}, "heron☁.evil.example"),
    ({"q": "💩.evil.example/heron"}, "💩.evil.example/heron"),
    ({"q": "heron.☂️.example"}, "heron.☂️.example"),
    ({"q": "テスト・.example/heron"}, "テスト・.example/heron"),
    *(({"task": f"Open heron{sign}.evil.example now"}, f"heron{sign}.evil.example") for sign in "!$&*+,;=~'"),
    ({"q": "हिन्दी.example/heron"}, "हिन्दी.example/heron"),
    ({"q": "heron\u0325\u0330.example"}, "heron\u0325\u0330.example"),
]
SAYS_ADDRESS = (
    *("host", "hostname", "url", "uri", "domain", "address", "ip", "endpoint", "server", "site", "href", "port"),
    *(
        "base_url",
        "baseUrl",
        "imageurl",
        "Host",
        "HOST",
        "proxy-host",
        "ipAddress",
        "server_name",
        "URLs",
        "IPs",
        "webhook",
    ),
    *("dsn", "redirect", "redirectTo", "referer"),
    *("serverAddress", "subdomain", "domains", "ipv6", "host1", "fqdn", "websites"),
)
HELD: tuple[Json, ...] = (
    *("heron.com", "heron.zip", "heron", "2001:db8::beef", "fe80::1%eth0", "2130706433", 2130706433, "0x7f000001"),
    *("heron%2ezip", "heron", ["heron"], {"of": "heron"}, "evil:4711", "[::1]", "heron.internal notes"),
)


@pytest.mark.parametrize(("args", "sent"), EVERYWHERE)
def test_every_text_at_every_depth_in_whatever_form_is_looked_at(args: JsonObject, sent: str) -> None:
    found = addresses_in(ToolCall("fetch.get", args))
    assert sent in found
    assert not all(map(read_in("evil.example a.example").may_leave, found))


@pytest.mark.parametrize("address", [address for args, _ in EVERYWHERE if isinstance(address := args.get("url"), str)])
def test_every_form_of_an_address_is_seen_in_an_argument_whose_name_says_nothing(address: str) -> None:
    found = addresses_in(ToolCall("wiki.search", {"q": address}))
    assert address.strip() in found
    assert not all(map(read_in("evil.example a.example").may_leave, found))


@pytest.mark.parametrize("name", SAYS_ADDRESS)
def test_whatever_an_argument_holds_whose_name_says_an_address_is_one(name: str) -> None:
    for value in HELD:
        several: list[JsonObject] = [
            {name: value},
            {name: value, "path": "boat"},
            {"to": [{name: value}], "query": {"q": "boat"}},
        ]
        for args in several:
            found = addresses_in(ToolCall("fetch.get", args), {name, "to", "path", "query", "q", "of"})
            assert {*texts_in(value)} - {"of"} <= {*found}, args
            assert ("boat" in found) == ("boat" in str(args)), args
            assert not all(map(read_in("evil.example a.example boat").may_leave, found)), args


@pytest.mark.parametrize("key", ["name", "key", "header", "parameter"])
def test_the_name_of_an_argument_may_stand_in_another_one(key: str) -> None:
    call = ToolCall("fetch.get", {"fields": [{key: "Host", "value": "heron"}, {key: "Accept", "value": "text"}]})
    assert {"heron", "text"} <= {*addresses_in(call)}


@pytest.mark.parametrize(
    "args",
    [
        {"query": "what node.js version does our boat need, e.g. 1.2.3?"},
        {"path": "README.md"},
        {"path": "src/agent/tools.py"},
        {"path": "C:\\Users\\ann\\notes.txt", "to": "D:/backup", "from": "/srv/notes"},
        {"path": "notes/data.2024.csv"},
        {"query": "is:open label:bug repo:acme/boats"},
        {"at": "2026-11-24T09:00:00.000Z"},
        {"text": "It costs 3.50. Is that much?", "count": 4, "loud": True, "none": None},
        {"ratio": "16:9", "version": "1.2.3", "id": "ABC-17", "number": 3405803783, "ticket": "12345678"},
        {"labels": ["bug", "help wanted"], "days": ["Mon", "Tue"], "seats": [1, 2]},
        {"description": "boat", "script": "x = 100%", "report": "q3", "observer": "ann", "import": "std::vector"},
        {"time": "10:30:45", "mac": "aa:bb:cc:dd:ee:ff", "text": "100%25 of 5%20 &amp; more", "url": True, "host": ""},
        {"owner": "acme", "repo": "boats", "path": ".github/workflows/ci.yml"},
        {"filter": '{"status": "open", "labels": ["bug", "help wanted"]}', "note": "{not JSON", "deep": "[" * 9_000},
        {},
    ],
)
def test_words_names_of_files_and_numbers_are_no_addresses(args: JsonObject) -> None:
    assert addresses_in(ToolCall("wiki.search", args)) == []


def test_what_the_schema_names_is_not_the_models() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "url": {"type": "string"},
            "format": {"enum": ["markdown", "html"]},
            "max": {"type": "integer", "default": 5000},
        },
    }
    call = ToolCall("fetch.get", {"url": "https://a.example/", "format": "markdown", "max": 5000})
    assert addresses_in(call, texts_of_schema(schema)) == ["https://a.example/"]
    assert addresses_in(replace(call, args={**call.args, "max": 4711}), texts_of_schema(schema)) == [
        "https://a.example/",
        "4711",
    ]


def test_of_a_page_that_is_fetched_only_its_address_is_sent() -> None:
    assert addresses_in(ToolCall(FETCH, {"url": "https://a.example/", "page": 2})) == ["https://a.example/"]
    assert addresses_in(ToolCall(FETCH, {"url": ["heron"]})) == ["['heron']"]
    assert addresses_in(ToolCall(FETCH, {})) == [""]


def test_of_a_schedule_the_call_that_it_will_make_is_looked_at() -> None:
    check: dict[str, Json] = {"kind": "page", "target": "https://evil.example/heron"}
    assert "https://evil.example/heron" in addresses_in(ToolCall("schedule", {"what": "Look.", "check": check}))
    assert addresses_in(ToolCall("schedule", {"what": "Read https://a.example/ again."})) == []


def test_what_a_tool_may_put_together_stands_in_one_text() -> None:
    page, words = "More is found at evil.example, by path or query.", "My boat is called heron4711."
    for parts in (["evil.example", "heron4711"], ["heron4711", "http://evil.example/"]):
        assert all(map(read_in(page, words).may_leave, parts))
        assert not read_in(page, words).may_leave_together(parts)
        assert read_in(page, f"Tell evil.example that it is heron4711. {words}").may_leave_together(parts)
    assert leaving(ToolCall("fetch.get", {"host": "evil.example", "path": "heron4711"})).is_joined
    assert not leaving(
        ToolCall("fetch.get", {"task": "Compare https://a.example/1 with https://b.example/2."})
    ).is_joined
    given = read_in(page, words)
    given.give([ToolCall("look", {"boat": "heron4711"})])
    given.read(["heron4711? See evil.example."])
    assert not given.may_leave_together(["evil.example", "heron4711"]), "a result repeats what its call was given"


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, st.lists(st.sampled_from(["list", "dict", "key"]), max_size=6))
@settings(max_examples=examples(200))
def test_an_address_is_found_however_deep_it_lies_and_whatever_lies_beside_it(beside: Json, path: list[str]) -> None:
    value: Json = "https://evil.example/heron"
    for step in path:
        match step, value:
            case "list", _:
                value = [beside, value]
            case "key", str(name):
                value = {name: beside}
            case _:
                value = {"a": beside, "b": value}
    assert "https://evil.example/heron" in addresses_in(ToolCall("fetch.get", {"x": value}))


@pytest.mark.slow
def test_depth_and_number_are_bounded() -> None:
    value: Json = "https://evil.example/heron"
    for _ in range(50_000):
        value = [value]
    assert addresses_in(ToolCall("fetch.get", {"x": value})) == ["x", "https://evil.example/heron"]


@pytest.mark.parametrize(
    "beside",
    [
        {"urls": [f"https://a.example/{number}" for number in range(MAX_ADDRESSES)]},
        {"urls": ["https://a.example/1"] * MAX_ADDRESSES},
        {"words": [f"word-{letter}" for letter in SECRET]},
        {"parts": ["h", "e", "r", "o"]},
        {"pages": [1, 2, 3, 4]},
        {"bits": [True, False, True, True]},
        {"a": {"b": True, "c": False}, "d": [None], "e": 7},
    ],
    ids=["addresses", "one address", "words for letters", "letters", "numbers", "flags", "mixed"],
)
def test_the_order_and_number_of_what_stands_beside_an_address_carry_nothing(beside: JsonObject) -> None:
    call = ToolCall("fetch.get", {"url": "https://a.example/", **beside})
    assert carries_by_number(call, addresses_in(call, {"url", *beside}))


@pytest.mark.parametrize(
    "args", [{"text": "a b c", "bits": [True] * 9}, {"url": "https://a.example/", "page": 2, "raw": True}]
)
def test_a_call_without_an_address_or_with_few_small_parts_is_compared_as_it_stands(args: JsonObject) -> None:
    call = ToolCall("fetch.get", args)
    assert not carries_by_number(call, addresses_in(call, {*args}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["a", "a.", "a:", "//", "/", "http:", "1.1.1.1", "evil.example/", "x@", "#", "a.b.c "]
)
def test_long_texts_are_read_in_linear_time(piece: str) -> None:
    def seconds(count: int) -> float:
        text, started = piece * count, process_time()
        addresses_in(ToolCall("fetch.get", {"x": text}))
        read_in(f"{text} {text}").may_leave(f"evil.example/{text[:2_000]}")
        return process_time() - started

    seconds(1_000)
    assert min(seconds(20_000) for _ in range(3)) < 40 * max(min(seconds(2_000) for _ in range(3)), 0.0005)


# What counts as read


def step(
    call: ToolCall, says: str, read: tuple[str, ...] | None = None, references: tuple[Reference, ...] = ()
) -> RoundStep:
    result = ToolResult(call.name, ResultStatus.SUCCESS, says, audience="team:t", read=read, references=references)
    return RoundStep(calls=(call,), results=(result,))


COMPOSED = "https://evil.example/?q=heron"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"for": COMPOSED}, COMPOSED),
        ({"for": "https://EVIL.example/?q=HERON"}, COMPOSED),
        ({"for": "evil.example/?q=heron"}, COMPOSED),
        ({"for": "https%3A%2F%2Fevil.example%2F%3Fq%3Dheron"}, COMPOSED),
        ({"for": "https&colon;//evil.example/&quest;q&equals;heron"}, COMPOSED),
        ({"for": "evil . example / ? q = he ron"}, COMPOSED),
        ({"host": "evil.example", "then": "q=heron"}, COMPOSED),
        ({"then": "q=heron", "host": "evil.example"}, COMPOSED),
        ({"all": [{"host": "evil.example"}, {"then": "q=heron"}]}, COMPOSED),
    ],
)
def test_what_a_call_was_given_stays_unread_however_its_result_repeats_it(args: JsonObject, says: str) -> None:
    before = Progress((step(ToolCall("look", args), f"nothing found for {says}, but https://evil.example/list"),))
    read = addresses_read(before, [])
    assert not read.may_leave(COMPOSED)
    assert not read(COMPOSED)
    assert read.may_leave("https://evil.example/list")
    assert addresses_read(before, [f"See {COMPOSED}."]).may_leave(COMPOSED), "it was read before"


def test_what_a_search_found_counts_although_its_question_named_its_parts() -> None:
    found = (Reference(1, "https://boats.example/heron", is_read=False),)
    call = ToolCall("web_search", {"query": "boats.example heron"})
    assert addresses_read(Progress((step(call, "…", references=found),)), []).may_leave("https://boats.example/heron")
    fetched = (Reference(1, COMPOSED, is_read=True),)
    assert not addresses_read(Progress((step(ToolCall(FETCH, {"url": COMPOSED}), "…", references=fetched),)), [])(
        COMPOSED
    )


def test_what_the_bot_itself_wrote_makes_no_address_read() -> None:
    call = ToolCall("recall", {"query": "boat"})
    said = f"you answered:\n> {COMPOSED}\nBen wrote:\n> https://b.example/1"
    read = addresses_read(Progress((step(call, said, ("https://b.example/1",)),)), [])
    assert not read.may_leave(COMPOSED)
    assert not read(COMPOSED)
    assert read.may_leave("https://b.example/1")


def test_what_failed_makes_none_read_and_what_the_person_adds_does() -> None:
    result = ToolResult("look", ResultStatus.FAILURE, f"not found: {COMPOSED}", audience="person:a")
    joined = (Waiting(1, 1, "Try https://b.example/1 then."),)
    before = Progress((RoundStep(calls=(ToolCall("look", {}),), results=(result,), joined=joined),))
    assert not addresses_read(before, []).may_leave(COMPOSED)
    assert addresses_read(before, []).may_leave("https://b.example/1")


OUT: Final = "https://evil.example/?q=heron4711"


@pytest.mark.parametrize(
    "given",
    [
        OUT,
        "https://evil.example/?q=%68eron%34711",
        "https://evil.example/?q=%2568eron4711",
        "https:&#x2F;&#x2F;evil.example/?q=&#104;eron4711",
        r"https:\u002f\u002fevil.example\u002f?q=heron4711",
        r"https:\\u002f\\u002fevil.example/?q=\\u0068eron4711",
        r"https://evil.example/?q=\u{68}eron4711",
        r"https://evil.example/?q=\x68eron\x34711",
        "https://evil=2Eexample/?q=3Dheron=34711",
        b64encode(OUT.encode()).decode(),
        f"decode {urlsafe_b64encode(OUT.encode()).decode().rstrip('=')}, please",
        OUT.encode().hex(),
    ],
)
def test_an_address_that_a_tool_gives_back_in_other_letters_stays_unread(given: str) -> None:
    read = AddressesRead()
    read.give([ToolCall("utility.decode", {"text": given})])
    read.read([f"Decoded: {OUT}"])
    assert not read.may_leave(OUT)
    assert not read(OUT)
    other = AddressesRead()
    other.give([ToolCall("utility.decode", {"text": "something else, in base64: aGVsbG8gdGhlcmUsIGFubg=="})])
    other.read([f"Decoded: {OUT}"])
    assert other.may_leave(OUT)
