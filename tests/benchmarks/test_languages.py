"""The benchmark of languages reads its data, and the product finds messages that its plain baseline does not."""

from pathlib import Path

import pytest

from benchmarks.languages import (
    DATA,
    LANGUAGES,
    UNSEEN,
    UNSEEN_DATA,
    measure,
    read_language,
    table,
    talk_of_lines,
)

ROOT = Path(__file__).parents[2]


def test_a_question_is_answered_by_the_line_before_it() -> None:
    talk = talk_of_lines(["the boat is blue", "? which colour have boats?", "good night"])
    assert [line.text for line in talk.lines] == ["the boat is blue", "good night"]
    assert [(asked.text, asked.evidence) for asked in talk.questions] == [("which colour have boats?", {"0"})]
    assert len({line.session for line in talk.lines}) == 2


def test_every_language_has_twenty_questions_that_repeat_no_message_and_twenty_messages_beside_them() -> None:
    assert {path.stem for path in DATA.glob("*.txt")} == set(LANGUAGES)
    for language in LANGUAGES:
        talk = read_language(language)
        texts = {line.text for line in talk.lines}
        assert len(talk.questions) == 20
        assert len(texts) == len(talk.lines) == 40
        assert texts.isdisjoint(asked.text for asked in talk.questions)


async def test_the_documentation_holds_the_table_and_what_other_forms_need_is_found() -> None:
    metrics, baseline = await measure(LANGUAGES)
    assert table(LANGUAGES, metrics, baseline) in (ROOT / "docs" / "recall.md").read_text(encoding="utf-8")
    for language in LANGUAGES:
        assert metrics[f"recall_at_5_{language}"] >= max(90, baseline[f"recall_at_5_{language}"])


def test_every_language_to_which_nothing_was_tuned_has_forty_messages_with_a_question_each() -> None:
    assert {path.stem for path in UNSEEN_DATA.glob("*.txt")} == set(UNSEEN)
    for language in UNSEEN:
        talk = read_language(language, UNSEEN_DATA)
        assert len(talk.questions) == len({line.text for line in talk.lines}) == len(talk.lines) == 40


@pytest.mark.slow
async def test_the_documentation_holds_the_table_of_those_too() -> None:
    metrics, baseline = await measure(UNSEEN, UNSEEN_DATA)
    assert table(UNSEEN, metrics, baseline) in (ROOT / "docs" / "recall.md").read_text(encoding="utf-8")
