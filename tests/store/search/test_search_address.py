"""Whom a question speaks of without a name."""

import pytest

from store.search.search import speaks_of_asker, speaks_of_bot


@pytest.mark.parametrize(
    ("question", "asker", "bot"),
    [
        ("What did I say about the boat?", True, False),
        ("which is MY flight", True, False),
        ("What did you suggest?", False, True),
        ("what was your advice on my boat", True, True),
        ("Where does Ben live?", False, False),
        ("Could you tell me where Ben lives?", False, False),
        ("Do you remember what I ordered?", True, False),
        ("我上周说了什么", True, False),
        ("あなたは何を勧めましたか", False, True),
        ("", False, False),
    ],
)
def test_pronouns_tell_whom_a_question_speaks_of_and_polite_words_do_not(question: str, asker: bool, bot: bool) -> None:
    assert (speaks_of_asker(question), speaks_of_bot(question)) == (asker, bot)
