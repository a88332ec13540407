"""The situation summary (seed 002): how an update is merged into it."""

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Provenance
from agent.state import FIELD_CHARS, FINDINGS_CHARS, SituationSummary, SummaryWords, telling_terms

BEFORE = SituationSummary("paint the boat", "bought paint", "two coats", "it is wood", "sand it")
KEYS = ["goal", "progress", "current_approach", "key_findings", "next_focus"]


def test_seed_002_the_fields_are_those_of_the_specification() -> None:
    assert list(asdict(SituationSummary())) == KEYS
    assert SituationSummary().is_empty
    assert not BEFORE.is_empty
    assert SituationSummary(goal="  ").is_empty


def test_seed_002_each_field_is_merged_by_itself() -> None:
    merged = BEFORE.merged({"progress": "first coat done", "next_focus": "second coat"})
    assert asdict(merged) == {**asdict(BEFORE), "progress": "first coat done", "next_focus": "second coat"}


def test_seed_002_an_empty_value_leaves_what_was_there() -> None:
    assert BEFORE.merged({"goal": "", "progress": " \n", "key_findings": "\t"}) == BEFORE


def test_seed_002_an_unknown_key_or_what_is_no_text_is_ignored() -> None:
    assert BEFORE.merged({"mood": "good", "goal": 7, "progress": None, "next_focus": ["x"], "__class__": "x"}) == BEFORE


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from([*KEYS, "mood", "Goal"]), st.text(max_size=5) | st.none() | st.integers()))
def test_seed_002_a_field_holds_its_old_text_or_a_text_of_the_update(update: dict[str, object]) -> None:
    before, after = asdict(BEFORE), asdict(BEFORE.merged(update))
    for key in KEYS:
        new = update.get(key)
        assert after[key] == (new if isinstance(new, str) and new.strip() else before[key])


def test_a_code_word_of_the_first_message_outlives_twenty_updates_that_do_not_name_it() -> None:
    summary = SituationSummary(key_findings="The door code is Zebra-47 and the contact is Olga Petrova.")
    for number in range(20):
        summary = summary.merged({"key_findings": f"We compared the offers of round {number}, nothing is decided yet."})
    assert "Zebra-47" in summary.key_findings
    assert "Olga Petrova" in summary.key_findings
    assert len(summary.key_findings) <= FINDINGS_CHARS


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("The user's code word is marzipan, and the trip starts in May.", "marzipan"),
        ("The safe word for the house: heron.", "heron"),
        ('They open the gate with "blue heron at dawn".', "blue heron at dawn"),
        ("Das Codewort lautet gänseblümchen.", "gänseblümchen"),
        ("Le mot de passe de la soirée est tournesol.", "tournesol"),
        ("La palabra clave es girasol.", "girasol"),
        ("A palavra-chave é girassol.", "girassol"),
        ("Кодовое слово: сирень, встреча завтра.", "сирень"),
        ("用户的暗号是桃花岛,会议在三月五日。", "桃花岛"),
        ("合言葉は「モモタロウ」です。", "モモタロウ"),
        ("Invoices go to ops@northpole.example from now on.", "ops@northpole.example"),
        ("The plan is at https://wiki.example/plan-b for all.", "https://wiki.example/plan-b"),
    ],
)
def test_agreed_words_quotes_and_addresses_outlive_updates_that_do_not_name_them(said: str, kept: str) -> None:
    summary = SituationSummary(key_findings=said)
    for _ in range(20):
        summary = summary.merged({"key_findings": "We compared the offers, nothing is decided yet."})
    assert kept in summary.key_findings


@pytest.mark.slow
def test_a_long_text_of_naming_words_is_read_in_linear_time() -> None:
    assert len(telling_terms("code word " * 20_000 + '"' * 20_000)) <= 1


def test_what_the_new_text_names_is_not_repeated_behind_it() -> None:
    summary = SituationSummary(goal="Paint the 3 boats of Anna.").merged({"goal": "Sell the 3 boats of Anna."})
    assert summary.goal == "Sell the 3 boats of Anna."


@given(st.lists(st.text(max_size=600), min_size=1, max_size=8))
def test_a_field_stays_within_its_limit_whatever_it_is_updated_with(texts: list[str]) -> None:
    summary = SituationSummary()
    for text in texts:
        summary = summary.merged({"goal": text, "key_findings": text})
    assert len(summary.goal) <= FIELD_CHARS
    assert len(summary.key_findings) <= FINDINGS_CHARS


summary_words = st.builds(SummaryWords, st.sampled_from(["", "ann", "ben"]), st.sampled_from(Provenance))


@given(st.lists(summary_words, min_size=2, max_size=4))
def test_a_summary_made_from_several_is_as_little_ones_own_as_the_least_of_them(parts: list[SummaryWords]) -> None:
    first, *others = parts
    joined = first
    for other in others:
        joined = joined.joined(other)
    for person in ("ann", "ben"):
        least = max(part.for_person(person) for part in parts)
        assert joined.for_person(person) >= min(least, Provenance.RELAYED)
        if least < Provenance.RELAYED:
            assert joined.for_person(person) is least
