"""Texts are split into passages: complete, not too long, each with the headings above it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.memory.documents import MAX_HEADING_CHARS, MAX_HEADINGS, PASSAGE_CHARS, DocumentPage, passages_of
from tests.examples import examples

MARKED = ["# One", "## Two", "### Three", "TITLE", "1.2 Part", "Under", "-----", "=====", "", "#hash", "# ", "1. item;"]
PLAIN = ["a b c.", "Some words here. " * 30, "x" * 3_000, "词" * 1_500, "\t indented", "é ß ô"]
LINES = st.sampled_from(MARKED + PLAIN)


@settings(max_examples=examples(200))
@given(st.lists(st.lists(LINES, max_size=14), max_size=4))
def test_every_word_of_every_page_stands_in_one_passage_or_above_it_in_order(pages: list[list[str]]) -> None:
    made = passages_of([DocumentPage("\n".join(lines), number) for number, lines in enumerate(pages, 1)])
    told = "".join(f"{one.heading}{one.text}" for one in made)
    body = [line.strip() for lines in pages for line in lines if line.strip() not in ("", "-----", "=====", "#")]
    for line in body:
        for word in line.lstrip("# ").split():
            assert word[:40] in told.replace("\n", "")
    assert all(one.text.strip() and len(one.text) <= 2 * PASSAGE_CHARS + 200 for one in made)
    assert all(len(one.heading) <= MAX_HEADINGS * (MAX_HEADING_CHARS + 3) for one in made)
    shown = [one.page for one in made if one.page is not None]
    assert shown == sorted(shown)


def test_a_passage_stands_below_its_headings_and_begins_where_they_do() -> None:
    body = "word " * 80
    text = f"# Book\n\nIntro.\n\n## First\n\n{body}\n\n## Second\n{body}\n\nLast\n----\n\n{body}"
    made = passages_of([DocumentPage(text)])
    assert [one.heading for one in made] == ["Book", "Book › Second", "Book › Last"]
    assert made[0].text.startswith("Intro.\n\nFirst\n\nword")


def test_what_stands_on_another_page_is_a_passage_of_that_page_unless_little_came_before() -> None:
    long, short = "A sentence of some length. " * 20, "One line."
    pages = [DocumentPage(text, number) for number, text in enumerate([long, long, short, long], 1)]
    assert [one.page for one in passages_of(pages)] == [1, 2, 3]


def test_a_long_paragraph_is_cut_where_a_sentence_ends() -> None:
    text = "This is a sentence that says something. " * 100
    made = passages_of([DocumentPage(text)])
    assert len(made) > 2
    assert all(one.text.endswith(".") and one.text.startswith("This") for one in made)
