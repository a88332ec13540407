"""Sources are listed below an answer, and can be taken off again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.citations import Cited
from agent.messages import Reference
from bot.chat.texts.replies import sources_text, without_sources
from tests.examples import examples
from tests.fakes.answers import answers

_title = st.text(alphabet="ab [](*`\n#船", max_size=40)


@pytest.mark.slow
@given(answers, st.lists(_title, max_size=4), st.booleans())
@settings(max_examples=examples(200))
def test_an_answer_is_the_same_once_its_sources_are_taken_off(answer: str, titles: list[str], is_cited: bool) -> None:
    sources = tuple(Reference(number, "http://a.example", title) for number, title in enumerate(titles, start=1))
    below = sources_text(Cited(answer, sources, is_cited))
    assert without_sources(f"{answer}\n\n{below}" if below else answer) == answer.rstrip("\n") or not below


@pytest.mark.parametrize(
    "answer",
    [
        "It is up.",
        "**Sources**\nThe river has two.",
        "See **Sources**\n- [1] http://a.example",
        "**Sources**\n- [1] a\n\nMore.",
    ],
)
def test_what_is_no_list_of_sources_at_the_end_stays(answer: str) -> None:
    assert without_sources(answer) == answer
