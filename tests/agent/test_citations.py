"""An answer cites only references of results; a page is fetched only if its address carries no added data."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.citations import MAX_REFERENCES, Citations, Reference, ReferenceNumbers, cite, references_of
from agent.messages import Keep, ResultStatus, ToolCall, ToolResult
from agent.progress import Progress, RoundStep, decode, encode
from bot.chat.texts.replies import sources_text
from tests.examples import examples


def brought(*references: Reference) -> ToolResult:
    return ToolResult("web_search", ResultStatus.SUCCESS, "", references=references)


KNOWN = {
    1: Reference(1, "https://a.example/", "A"),
    2: Reference(2, "https://b.example/", "B", is_read=False),
    12: Reference(12, "https://c.example/", "C", is_read=False),
}


@pytest.mark.parametrize(
    ("written", "shown", "cited", "invented"),
    [
        ("It is so [1].", "It is so [1].", [1], 0),
        ("It is so [9].", "It is so.", [], 1),
        ("Both[1][2], and [12].", "Both[1][2], and [12].", [1, 2, 12], 0),
        ("Both [1, 9; 2].", "Both [1, 2].", [1, 2], 1),
        ("None [8, 9].", "None.", [], 2),
        ("Noted.[^1] Not.[^7]", "Noted.[^1] Not.", [1], 1),
        ("Said in [1]: yes.", "Said in [1]: yes.", [1], 0),
        ("A link [9](https://x.example) stays.", "A link [9](https://x.example) stays.", [], 0),
        ("In code `a[9]` it stays.", "In code `a[9]` it stays.", [], 0),
        ("- ```py\n  x = a[9]\n  ```\n  So [9].", "- ```py\n  x = a[9]\n  ```\n  So.", [], 1),
        ("```\na[9]\n```\nand out [9]", "```\na[9]\n```\nand out", [], 1),
        ("~~~\na[9]", "~~~\na[9]", [], 0),
        ("[a] [1234] [] [1 [2", "[a] [1234] [] [1 [2", [], 0),
    ],
)
def test_a_citation_of_nothing_is_dropped_and_counted(
    written: str, shown: str, cited: list[int], invented: int
) -> None:
    citations = Citations(dict(KNOWN))
    assert citations.shown(written, complete=True) == shown
    assert (citations.cited, citations.invented) == (cited, invented)
    assert cite(written, KNOWN).text == shown


def test_where_nothing_was_brought_brackets_are_just_brackets() -> None:
    assert cite("It is so [1].", {}).text == "It is so [1]."
    assert Citations().shown("It is so [1].", complete=False) == "It is so [1]."


def test_what_is_cited_is_listed_and_else_what_was_read() -> None:
    assert [one.number for one in cite("It [2] is [1], see [12].", KNOWN).sources] == [1, 2, 12]
    uncited = cite("It is so.", KNOWN)
    assert ([one.number for one in uncited.sources], uncited.is_cited) == ([1], False)
    found = {number: one for number, one in KNOWN.items() if not one.is_read}
    assert [one.number for one in cite("It is so.", found).sources] == [2, 12]
    assert sources_text(cite("So [2].", KNOWN)) == "**Sources**\n- [2] [B](https://b.example/)"
    assert sources_text(cite("", KNOWN)) == ""


@pytest.mark.parametrize(
    ("own", "invented"),
    [
        ("**Sources:**\n[1] https://a.example/\n[2] https://b.example", 0),
        ("## Quellen\n\n- [A](https://a.example/)\n- [Gold](https://gold.example/x)", 1),
        ("Sources\n1. https://gold.example/, https://more.example/", 2),
        ("来源：\n* [9] Gold", 1),
    ],
)
def test_a_list_of_sources_that_the_model_wrote_itself_gives_way_to_what_was_brought(own: str, invented: int) -> None:
    cited = cite(f"It is so [1].\n\n{own}\n", KNOWN)
    assert (cited.text, cited.invented) == ("It is so [1].", invented)
    assert KNOWN[1] in cited.sources


@pytest.mark.parametrize(
    "kept", ["Sources:\n- rain\nand rivers.", "Sources:\n- https://x.example", "The sources:\n- snow"]
)
def test_a_list_that_goes_on_or_is_all_there_is_stays(kept: str) -> None:
    text = kept if kept.startswith("Sources:\n- https") else f"Where it comes from [1].\n\n{kept}"
    assert cite(text, KNOWN).text == text


texts = st.lists(
    st.sampled_from(
        ["[1]", " [2]", "[9]", "[1, 9]", "[", "]", "1", "`", "```\n", "\n", "x ", "(", "[12](", "[^3]", ": "]
    )
).map("".join)
addresses = st.sampled_from([f"https://{name}.example/" for name in "abcdef"])
results = st.lists(
    st.lists(st.builds(Reference, st.integers(1, 14), addresses, st.text(max_size=9), st.booleans()), max_size=4),
    max_size=4,
)


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(texts, results)
def test_no_address_is_a_source_that_no_result_brought(text: str, parts: list[list[Reference]]) -> None:
    known = references_of(brought(*one) for one in parts)
    cited = cite(text, known)
    sources = {(one.number, one.address) for part in parts for one in part}
    assert {(one.number, one.address) for one in cited.sources} <= sources
    shown = [(line.split("]")[0], line.split("](")[-1].split(" ")[-1]) for line in sources_text(cited).splitlines()[1:]]
    assert {(head, address.removesuffix(")")) for head, address in shown} <= {(f"- [{n}", a) for n, a in sources}


@settings(max_examples=examples(300))
@given(texts)
def test_however_an_answer_grows_what_was_shown_stays_and_ends_as_it_is_stored(text: str) -> None:
    citations, before = Citations(dict(KNOWN)), ""
    for end in range(len(text) + 1):
        shown = citations.shown(text[:end].rstrip(), complete=False).rstrip()
        if "`" not in text and "(" not in text and ":" not in text:  # which can make something else of what came before
            assert shown.startswith(before)
        before = shown
    assert Citations(dict(KNOWN)).shown(text, complete=True) == cite(text, KNOWN).text or not text.strip()


def test_what_becomes_known_later_does_not_change_what_was_shown() -> None:
    citations = Citations()
    citations.add(brought(KNOWN[1]))
    assert citations.shown("First [1], then [2] and", complete=False) == "First [1], then and"
    citations.add(brought(KNOWN[2]))
    assert citations.shown("First [1], then [2] and [2]", complete=True) == "First [1], then and [2]"


def test_numbers_end_where_nobody_could_read_more() -> None:
    numbers = ReferenceNumbers()
    given_out = [numbers.number(f"https://{number}.example/") for number in range(MAX_REFERENCES + 5)]
    assert given_out[MAX_REFERENCES - 1 :] == [MAX_REFERENCES, *[None] * 5]
    assert numbers.number("https://0.example/") == 1


def test_references_are_stored_with_the_turn_but_for_what_may_not_be_kept() -> None:
    kept, unkept = brought(KNOWN[1]), ToolResult("x", ResultStatus.SUCCESS, "", keep=Keep.TURN, references=(KNOWN[2],))
    calls = (ToolCall("web_search", {}), ToolCall("x", {}))
    stored = decode(encode(Progress((RoundStep(calls=calls, results=(kept, unkept)),))))
    assert references_of(stored.steps[0].results) == {1: KNOWN[1]}
