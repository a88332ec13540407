"""What a person denies, asks, supposes or reports does not count as said by them; in doubt it does."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.memory.attribution import clauses, stated_otherwise
from tests.examples import examples

OTHERWISE = [
    ("I am not allergic to nuts", "allergic to nuts"),
    ("I'm not allergic to nuts", "The user is allergic to nuts"),
    ("I am allergic to nuts", "not allergic to nuts"),
    ("I am allergic to nuts", "The user isn't allergic to nuts"),
    ("I am not allergic to nuts, milk or eggs", "allergic to nuts"),
    ("I am not allergic to nuts, milk or eggs", "allergic to milk"),
    ("I am not allergic to nuts, milk, or eggs.", "allergic to eggs"),
    ("I am not allergic to nuts, cow's milk and eggs, thank you", "allergic to milk"),
    ("I am neither allergic to nuts, milk nor eggs", "allergic to eggs"),
    ("I am not allergic to nuts, to milk or to eggs because I checked", "allergic to milk"),
    ("I am allergic to nuts, milk or eggs", "not allergic to milk"),
    ("Am I allergic to nuts, milk or eggs?", "allergic to eggs"),
    ("Ich bin nicht gegen Nüsse, Milch oder Eier allergisch", "gegen Milch allergisch"),
    ("No soy alérgico a las nueces, la leche o los huevos", "alérgico a la leche"),
    ("x is not z", "x is z"),
    ("am I allergic to nuts?", "allergic to nuts"),
    ("Am i allergic to nuts", "allergic to nuts"),
    ("if I were allergic to nuts, what could I eat?", "allergic to nuts"),
    ("What could I eat if I were allergic to nuts?", "allergic to nuts"),
    ("Bob says I am allergic to nuts", "allergic to nuts"),
    ("I don't think I am allergic to nuts", "allergic to nuts"),
    ("I never eat meat", "eats meat"),
    ("The meeting is not on Friday", "The meeting is on Friday"),
    ("I wish I were allergic to nuts", "allergic to nuts"),
    ("Is the meeting in Berlin?", "The meeting is in Berlin"),
    ("Can you check whether I am allergic to nuts?", "allergic to nuts"),
    ("Ich bin nicht allergisch gegen Nüsse", "allergisch gegen Nüsse"),
    ("Ich bin allergisch gegen Nüsse", "nicht allergisch gegen Nüsse"),
    ("Bin ich allergisch gegen Nüsse?", "allergisch gegen Nüsse"),
    ("Wenn ich allergisch gegen Nüsse wäre, was dann?", "allergisch gegen Nüsse"),
    ("Bob sagt, ich bin allergisch gegen Nüsse", "allergisch gegen Nüsse"),
    ("Ich esse kein Fleisch", "Esse Fleisch"),
    ("No soy alérgico a las nueces", "alérgico a las nueces"),
    ("Soy alérgico a las nueces", "no es alérgico a las nueces"),
    ("¿Soy alérgico a las nueces?", "alérgico a las nueces"),
    ("Si fuera alérgico a las nueces, ¿qué comería?", "alérgico a las nueces"),
    ("Bob dice que soy alérgico a las nueces", "alérgico a las nueces"),
    ("我对坚果不过敏", "对坚果过敏"),
    ("我对坚果过敏吗？", "对坚果过敏"),
    ("如果我对坚果过敏怎么办", "对坚果过敏"),
    ("他说我对坚果过敏", "对坚果过敏"),
    ("我不吃肉", "吃肉"),
    ("私はナッツアレルギーではありません", "ナッツアレルギー"),
    ("私はナッツアレルギーですか？", "ナッツアレルギー"),
    ("もし私がナッツアレルギーなら", "ナッツアレルギー"),
    ("ボブは私がナッツアレルギーだと言っています", "ナッツアレルギー"),
    ("私は肉を食べません", "肉を食べます"),
]
SAID = [
    ("I am not allergic to nuts, milk makes me ill or sick", "milk makes me ill"),
    ("I am not allergic to nuts, milk or eggs", "not allergic to milk"),
    ("I am allergic to nuts, milk and eggs", "allergic to milk"),
    ("I don't live in Bonn, just outside Bonn or Berlin", "lives outside Bonn"),
    ("I'm not vegan, Anna or Bob is", "Bob is vegan"),
    ("x is y", "x is y"),
    ("don't forget that I am allergic to nuts", "allergic to nuts"),
    ("don't forget I am allergic to nuts", "allergic to nuts"),
    ("why don't you remember that I am allergic to nuts", "allergic to nuts"),
    ("Why don't you remember that I'm allergic to nuts?", "allergic to nuts"),
    ("I am not only allergic to nuts but also to milk", "allergic to nuts"),
    ("I am not only allergic to nuts but also to milk", "allergic to milk"),
    ("I'm a vegetarian, not a vegan", "vegetarian, not vegan"),
    ("I'm allergic to nuts but not to milk", "allergic to nuts"),
    ("I am not allergic to nuts", "not allergic to nuts"),
    ("I don't eat meat", "does not eat meat"),
    ("I don't eat meat", "avoids meat"),
    ("Can you remember that I am allergic to nuts?", "allergic to nuts"),
    ("Did you know that I'm allergic to nuts?", "allergic to nuts"),
    ("I'm allergic to nuts, what can I eat?", "allergic to nuts"),
    ("I'm allergic to nuts, right?", "allergic to nuts"),
    ("Bob says I am allergic to nuts", "Bob says they are allergic to nuts"),
    ("Bob says I am allergic to nuts", "allergic to nuts, according to Bob"),
    ("No, I am allergic to nuts", "allergic to nuts"),
    ("no I am allergic to nuts", "allergic to nuts"),
    ("Could you always answer in German?", "answers in German"),
    ("The office isn't open until 9", "The office is open from 9"),
    ("My doctor says I am allergic to nuts", "allergic to nuts"),
    ("The contract says the rent is $900", "The rent is $900"),
    ("Am I allergic to nuts? Yes.", "allergic to nuts"),
    ("I do not work on Fridays", "off on Fridays"),
    ("I told you that I am allergic to nuts", "allergic to nuts"),
    ("Didn't I tell you that I am allergic to nuts?", "allergic to nuts"),
    ("If you need me, I live in Berlin", "lives in Berlin"),
    ("Vergiss nicht, dass ich allergisch gegen Nüsse bin", "allergisch gegen Nüsse"),
    ("Ich bin nicht nur gegen Nüsse allergisch, sondern auch gegen Milch", "gegen Nüsse allergisch"),
    ("Ich bin nicht nur gegen Nüsse allergisch, sondern auch gegen Milch", "gegen Milch allergisch"),
    ("Ich bin nicht allergisch gegen Nüsse", "nicht allergisch gegen Nüsse"),
    ("No olvides que soy alérgico a las nueces", "alérgico a las nueces"),
    ("No solo soy alérgico a las nueces sino también a la leche", "alérgico a las nueces"),
    ("No soy alérgico a las nueces", "no es alérgico a las nueces"),
    ("别忘了我对坚果过敏", "对坚果过敏"),
    ("我不仅对坚果过敏，而且对牛奶过敏", "对坚果过敏"),
    ("我对坚果不过敏", "对坚果不过敏"),
    ("忘れないで、私はナッツアレルギーです", "ナッツアレルギー"),
    ("ナッツアレルギーだけでなく卵アレルギーもあります", "ナッツアレルギー"),
    ("私は肉を食べません", "肉を食べません"),
    ("We never deploy on Fridays", "We never deploy on Fridays"),
    ("I can't live without coffee", "needs coffee"),
    ("I don't want meetings before 10", "Wants meetings after 10"),
    ("No doubt I am allergic to nuts", "allergic to nuts"),
    ("I am not vegan and I live in Rome", "lives in Rome"),
    ("I quit smoking", "no longer smokes"),
    ("Remember: no meetings on Friday", "No meetings on Friday"),
]


@pytest.mark.parametrize(("said", "kept"), OTHERWISE)
def test_what_is_denied_asked_supposed_or_reported_was_said_otherwise(said: str, kept: str) -> None:
    assert stated_otherwise(kept, [said])


@pytest.mark.parametrize(("said", "kept"), SAID)
def test_what_is_said_and_what_may_have_been_said_was_not_said_otherwise(said: str, kept: str) -> None:
    assert not stated_otherwise(kept, [said])


@pytest.mark.parametrize(("said", "kept"), OTHERWISE)
def test_whoever_says_it_elsewhere_has_said_it(said: str, kept: str) -> None:
    assert not stated_otherwise(kept, [said, f"{kept}."])
    assert not stated_otherwise(kept, [f"{said}\n{kept}."])


def test_the_newest_message_that_says_or_denies_it_decides() -> None:
    said, denied = "I am allergic to nuts", "I am not allergic to nuts"
    assert stated_otherwise("allergic to nuts", [said, denied])
    assert not stated_otherwise("allergic to nuts", [denied, said])
    assert not stated_otherwise("allergic to nuts", [said, "Am I allergic to nuts?"])
    assert not stated_otherwise("not allergic to nuts", [said, denied])


def test_whoever_agrees_after_asking_has_said_it() -> None:
    assert not stated_otherwise("allergic to nuts", ["Am I allergic to nuts?", "yes"])


def test_a_supposition_is_kept_as_one() -> None:
    said = "What if we take the train to Rome?"
    assert stated_otherwise("we take the train to Rome", [said])
    assert not stated_otherwise("we take the train to Rome", [said], supposing=True)


@given(st.text(max_size=200))
@settings(max_examples=examples(100, always=True))
def test_whatever_somebody_wrote_was_said_as_they_wrote_it(text: str) -> None:
    assert not stated_otherwise(text, [text])


def test_nothing_of_a_text_is_lost_between_clauses_but_what_joins_them() -> None:
    told = [one.text.strip() for one in clauses("I live in Rome, but I work in Oslo. Do I pay there?")]
    assert told == ["I live in Rome", "I work in Oslo.", "Do I pay there?"]
