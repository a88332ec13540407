"""Which statements contradict each other, and which are both kept (seed 003, rules 1 and 2)."""

import pytest

from agent.memory.statements import read_statement
from agent.memory.supersession import about_the_same, contradicts, overrules, taken_back, updates


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Meeting is Tuesday at 2pm", "Let's do the meeting Thursday at 3pm"),
        ("The rent is €900", "The rent is €950"),
        ("My address is 123 Main St", "My new address is 456 Oak Ave"),
        ("The project is in planning", "The project is delayed now"),
        ("The fair is in Berlin", "The fair is in Leipzig"),
        ("Delivery takes 3 weeks", "Delivery takes 5 weeks"),
    ],
)
def test_one_subject_with_another_value_is_a_contradiction(older: str, newer: str) -> None:
    assert contradicts(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Meeting is Tuesday at 2pm", "The report is due Thursday"),
        ("Acme has an SLA of 4 hours", "Beta has an SLA of 8 hours"),
        ("The rent is €900", "The rent is €900"),
        ("The rent is €900", "The deposit is €2,700"),
        ("Quotes: A $180, B $150, C $220", "We take B at $145"),
        ("My cat is called Tom", "I moved to Oslo"),
        ("Launch on March 1st", "Code freeze Feb 15, launch March 1"),
        ("Release 12 ships on May 3", "Release 13 ships on June 7"),
        ("I play the violin", "I now also play chess"),
        ("", "anything"),
    ],
)
def test_two_subjects_or_one_value_are_none(older: str, newer: str) -> None:
    assert not contradicts(older, newer)


def test_of_several_sentences_only_those_are_taken_back_that_the_successor_speaks_about() -> None:
    value = "The budget is $200. We need three vendors."
    assert taken_back(value, "The budget is $120 now.") == ["The budget is $200."]


def test_a_single_sentence_is_taken_back_whole() -> None:
    assert taken_back("approved", "cancelled") == ["approved"]


@pytest.mark.parametrize(
    ("binding", "said", "overruled"),
    [
        ("The discount is at most 15%", "The discount is 25%", True),
        ("The discount is at most 15%", "The discount is 10%", False),
        ("Der Rabatt ist höchstens 15 %", "Der Rabatt ist 25 %", True),
        ("折扣最多 15%", "折扣是 25%", True),
        ("The notice period is at least 30 days", "The notice period is 14 days", True),
        ("The notice period is at least 30 days", "The notice period is 60 days", False),
        ("The travel budget is at most $5k", "The travel budget is $4,000", False),
        ("The travel budget is at most $5k", "The hardware budget is $9,000", False),
        ("The report is due on Friday at the latest", "The report is due on Monday", True),
    ],
)
def test_what_goes_beyond_a_limit_is_overruled_and_what_keeps_within_is_not(
    binding: str, said: str, overruled: bool
) -> None:
    assert overrules(read_statement(binding), read_statement(said)) is overruled


def test_a_word_of_change_may_mean_what_was_just_spoken_of_in_more_words() -> None:
    assert updates(read_statement("The hardware budget is $200"), read_statement("The budget is now $300"))
    assert not updates(read_statement("The hardware budget is $200"), read_statement("The travel budget is now $300"))
    assert not updates(read_statement("The project is written in Rust"), read_statement("The project is now public"))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The rent is $900", "The bike costs $300"),
        ("We pay $900 for the flat", "We pay $300 for a bike"),
        ("My flight leaves on Friday", "The report is due on Monday"),
        ("The office opens at 9:00", "Dinner starts at 19:00"),
        ("Das Auto ist rot", "Die Tür ist blau"),
        ("Die Miete beträgt 900 Euro", "Das Fahrrad kostet 300 Euro"),
        ("Wir zahlen 900 Euro für die Wohnung", "Wir zahlen 300 Euro für ein Fahrrad"),
        ("Das Treffen ist am Freitag", "Die Abgabe ist am Montag"),
        ("El alquiler es de 900 euros", "La bicicleta cuesta 300 euros"),
        ("Pagamos 900 euros por el piso", "Pagamos 300 euros por una bicicleta"),
        ("La reunión es el viernes", "La entrega es el lunes"),
        ("房租是900元", "自行车的价格是300元"),
        ("会议在周五", "报告在周一交"),
        ("家賃は900円です", "自転車は300円です"),
        ("会議は金曜日です", "締め切りは月曜日です"),
        ("Ann pays $900", "Ben pays $300"),
        ("$900", "$300"),
        ("Friday", "Monday"),
        ("discount: 15%", "Our share of the firm is 30%"),
    ],
)
def test_a_shared_kind_of_value_or_a_shared_verb_makes_nobody_speak_of_the_same(older: str, newer: str) -> None:
    assert not about_the_same(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The rent is $900", "The rent of the flat is $950"),
        ("We pay $900 rent", "From May on we pay $950 rent"),
        ("I earn $5000", "I earn $6000"),
        ("My flight leaves on Friday", "The flight is on Monday now"),
        ("Die Miete beträgt 900 Euro", "Die Miete kostet jetzt 950 Euro"),
        ("Wir zahlen 900 Euro Miete", "Wir zahlen 950 Euro Miete"),
        ("El alquiler es de 900 euros", "El alquiler cuesta ahora 950 euros"),
        ("Pagamos 900 euros de alquiler", "Ahora pagamos 950 euros de alquiler"),
        ("房租是900元", "现在房租是950元"),
        ("房租900元", "房租涨到950元"),
        ("家賃は900円です", "家賃は950円になりました"),
        ("会議は金曜日です", "会議は月曜日に変更"),
        ("I prefer tea", "I prefer coffee"),
        ("Ann lives in Rome", "Ann has moved to Oslo"),
        ("Apollo is due on Friday", "Apollo slipped to Monday"),
    ],
)
def test_whoever_shares_words_of_a_subject_may_speak_of_the_same(older: str, newer: str) -> None:
    assert about_the_same(older, newer)


def test_bare_values_are_about_the_same_under_one_key_only() -> None:
    assert about_the_same("$900", "$950", about=("rent", "Rent"))
    assert not about_the_same("$900", "$300", about=("rent", "price of the bike"))
