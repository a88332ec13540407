"""Random presentations, up to all their limits."""

from hypothesis import strategies as st

from agent.presentations import (
    MAX_ALT_CHARS,
    MAX_CELL_CHARS,
    MAX_COLUMNS,
    MAX_FIELDS,
    MAX_NAME_CHARS,
    MAX_QUESTION_CHARS,
    MAX_QUESTIONS,
    MAX_ROWS,
    MAX_SECTIONS,
    MAX_TEXT_CHARS,
    MAX_TITLE_CHARS,
    MAX_VALUE_CHARS,
    Presentation,
    PresentedField,
    PresentedPicture,
    PresentedSection,
    PresentedTable,
)

_LETTERS = st.characters(codec="utf-8", exclude_categories=["C", "Z"])


def _plain(most: int, least: int = 0) -> st.SearchStrategy[str]:
    """Texts on one line; one of the greatest length is likely."""
    short = st.lists(st.text(_LETTERS, max_size=8), max_size=5).map(lambda words: " ".join(filter(None, words)))
    longest = st.sampled_from(["a", "*", "|", "<", "é", "😀"]).map(lambda letter: letter * most)
    return st.one_of(short.map(lambda line: line[:most].strip()), longest).filter(lambda line: len(line) >= least)


plain_lines = _plain(60)
_markdown = st.one_of(
    _plain(80),
    st.sampled_from(
        ["- a\n- b", "```\ncode\n```", "<@U1> @here <!channel> [a](https://x.example)", "x" * MAX_TEXT_CHARS]
    ),
)
_fields = st.builds(PresentedField, _plain(MAX_NAME_CHARS), _plain(MAX_VALUE_CHARS))
_pictures = st.builds(
    PresentedPicture, st.integers(0, 99).map(lambda at: f"https://x.example/{at}.png"), _plain(MAX_ALT_CHARS, 1)
)


@st.composite
def _tables(draw: st.DrawFn) -> PresentedTable:
    columns = draw(st.integers(1, MAX_COLUMNS))
    cell = _plain(MAX_CELL_CHARS)
    rows = draw(st.sampled_from([1, 2, MAX_ROWS]))
    row = tuple(draw(st.lists(cell, min_size=columns, max_size=columns)))
    return PresentedTable(tuple(draw(st.lists(cell, min_size=columns, max_size=columns))), (row,) * rows)


def _sections(pictures: int) -> st.SearchStrategy[PresentedSection]:
    return st.builds(
        PresentedSection,
        _plain(MAX_TITLE_CHARS),
        _markdown,
        st.lists(_fields, max_size=MAX_FIELDS).map(tuple),
        st.one_of(st.none(), _tables()),
        st.lists(_pictures, max_size=pictures).map(tuple),
    )


presentations = st.builds(
    Presentation,
    _plain(MAX_TITLE_CHARS),
    st.one_of(
        st.lists(_sections(1), min_size=1, max_size=MAX_SECTIONS).map(tuple),
        _sections(10).map(lambda section: (section,)),
    ),
    st.lists(_plain(MAX_QUESTION_CHARS, 1), max_size=MAX_QUESTIONS, unique=True).map(tuple),
)
