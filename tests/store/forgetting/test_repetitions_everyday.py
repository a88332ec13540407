"""What may say the same as a forgotten topic, in ordinary talks: not what shares an everyday word with it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.forgetting_plans import AboutTopic, Preview
from store.engine import Store
from store.forgetting.everyday import is_everyday, names_in
from store.search.text import index_words, stem
from tests.contracts.steps import answered, proved
from tests.fakes.incoming import START, said
from tests.store.forgetting.test_repetitions_other_words import texts, told

TALKS = {
    "boat": (
        ("my boat is called Nancy and lies in the harbour of Rostock", "I will keep in mind that she lies in Rostock."),
        ("what is the weather like in Rome in summer?", "In summer it is hot and dry in Rome."),
        ("how do I bake bread?", "Mix flour, water, salt and yeast, then bake it for 40 minutes."),
        ("how long should I paint the boat before winter?", "Paint the boat two weeks before winter, when it is dry."),
        ("what is a closure in Python?", "A closure is a function that keeps the variables of its scope."),
        ("and a decorator?", "A decorator is a function that returns another function."),
        ("when should I paint my kitchen?", "Paint the kitchen when it is warm and dry, before winter."),
        ("what is the capital of Peru?", "The capital of Peru is Lima."),
    ),
    "Katze": (
        (
            "meine Katze heißt Minka und frisst nur Thunfisch",
            "Minka ist ein schöner Name. Thunfisch also.",
        ),
        ("wie wird das Wetter im Sommer in Rom?", "Im Sommer ist es in Rom heiß und trocken."),
        ("wie backe ich Brot?", "Mische Mehl, Wasser, Salz und Hefe und backe ihn 40 Minuten."),
        (
            "wann soll ich mit der Katze zum Tierarzt?",
            "Gehe im Frühling mit der Katze hin, am besten.",
        ),
        ("was ist ein Closure in Python?", "Ein Closure ist eine Funktion, die sich Variablen merkt."),
        ("was pflanze ich im Frühling?", "Im Frühling pflanzt du am besten Salat und Erbsen."),
        ("wie heißt die Hauptstadt von Peru?", "Die Hauptstadt von Peru heißt Lima."),
    ),
    "barco": (
        ("mi barco se llama Nancy y está en el puerto de Cádiz", "Recordaré que Nancy está en Cádiz."),
        ("¿qué tiempo hace en Roma en verano?", "En verano hace calor en Roma, muchas veces más de 30 grados."),
        ("¿cómo hago pan?", "Mezcla harina, agua, sal y levadura, y hornea la masa."),
        ("¿cuándo pinto el barco?", "Pinta el barco dos semanas antes del invierno, cuando esté seco."),
        ("¿qué es un cierre en Python?", "Un cierre es una función que recuerda sus variables."),
        ("¿cuándo pinto la cocina?", "Pinta la cocina antes del invierno, cuando esté seca."),
        ("¿cuál es la capital de Perú?", "La capital de Perú es Lima."),
    ),
    "猫": (
        ("私の猫はミケという名前で、マグロしか食べません", "ミケはいい名前ですね。マグロが好きなのですね。"),
        ("夏のローマの天気はどうですか", "夏のローマは暑くて乾燥していて、いい日が多いです。"),
        ("パンの作り方を教えて", "小麦粉と水と塩とイーストを混ぜて焼きます。"),
        ("猫をいつ獣医に連れて行けばいいですか", "猫は年に一度、春に獣医に連れて行くといいです。"),
        ("クロージャとは何ですか", "クロージャは、作られた場所の変数を覚えている関数です。"),
        ("春に何を植えればいいですか", "春にはレタスとエンドウを植えるといいです。"),
        ("ペルーの首都はどこですか", "ペルーの首都はリマです。"),
    ),
}


async def talked(store: Store, *exchanges: tuple[str, str]) -> None:
    """One conversation, whose answers have all above them in their history."""
    above = list[int]()
    for question, reply in exchanges:
        above += await told(store, question, reply, carried=tuple(above), conversation="later")


async def preview(store: Store, topic: str) -> Preview:
    return await store.forgetting.preview(AboutTopic("ann", topic))


@pytest.mark.parametrize("topic", TALKS)
async def test_an_everyday_talk_lists_nothing_unrelated_to_the_topic(either: Store, topic: str) -> None:
    talk = TALKS[topic]
    await talked(either, *talk)
    shown = await preview(either, topic)
    about = [at for at, (question, _) in enumerate(talk) if topic in question]
    # The next answers below: what they were made of nobody can know by their words.
    assert set(shown.related.lines) == {talk[at + 1][1] for at in about if at + 1 not in about}
    assert shown.in_view == shown.related.count
    receipt = await either.forgetting.forget(AboutTopic("ann", topic), START, related=True)
    assert proved(receipt)
    left = [text for at, exchange in enumerate(talk) if at not in about for text in exchange]
    assert await texts(either) == [text for text in left if text not in shown.related.lines]


async def test_a_name_or_two_words_of_the_topic_further_below_are_listed_and_one_common_word_is_not(
    either: Store,
) -> None:
    named, twice = "Nancy needs a mooring.", "Paint it with varnish, that lasts."
    await talked(
        either,
        ("my boat Nancy gets paint and varnish in spring", "Noted."),
        ("hello", "Hello."),
        ("what shall I buy?", named),
        ("and for the garden shed?", twice),
        ("and my kitchen?", "Paint for kitchens."),
        ("is it spring?", "Spring is here."),
    )
    shown = await preview(either, "boat")
    assert shown.related.lines == (twice, named, "Hello.")
    assert shown.in_view == 1


async def test_what_only_may_repeat_a_related_message_is_not_listed_and_stays(either: Store) -> None:
    """The answer below is listed; one that shares its words, and the one below that, are not."""
    await talked(
        either,
        ("my boat leaks", "Noted."),
        ("what is a closure?", "Closures keep variables of enclosing functions."),
        ("and a decorator?", "Decorators wrap functions and variables of closures."),
        ("the capital of Peru?", "Lima."),
    )
    shown = await preview(either, "boat")
    assert shown.related.lines == ("Closures keep variables of enclosing functions.",)
    await either.forgetting.forget(AboutTopic("ann", "boat"), START, related=True)
    assert (await texts(either))[1:] == [
        "and a decorator?",
        "Decorators wrap functions and variables of closures.",
        "the capital of Peru?",
        "Lima.",
    ]


async def test_what_memory_carried_of_the_topic_is_listed_whatever_its_words(either: Store) -> None:
    boat = await answered(either, said("my boat leaks", conversation="boats"), "Noted.")
    await told(either, "what do I need?", "Some resin.", carried=(boat.message,))
    shown = await preview(either, "boat")
    assert (shown.related.lines, shown.in_view) == (("Some resin.",), 1)


async def test_an_answer_with_an_everyday_word_of_what_memory_carried_is_for_its_person_to_decide(
    either: Store,
) -> None:
    boat = await answered(either, said("my boat leaks every summer", conversation="boats"), "Noted.")
    await told(either, "and Rome?", "Hot in summer.", carried=(boat.message,))
    await told(either, "what do I need?", "Resin, as it leaks.", carried=(boat.message,))
    shown = await preview(either, "boat")
    assert (shown.repetitions.lines, shown.related.lines) == (("Resin, as it leaks.",), ("Hot in summer.",))


def test_names_numbers_and_long_words_tell_by_themselves_and_german_nouns_do_not() -> None:
    assert names_in("My boat Nancy lies in Rostock. Summer is near, E7 is not.") == {
        *map(stem, ("nancy", "rostock", "e7"))
    }
    assert names_in("Im Sommer lebt die Katze mit uns in Rom und hat Hepatitis.") == {stem("hepatitis")}
    assert names_in("“Hello”, she said: Bread! *Paint* it.\nToday.") == frozenset()


@given(st.text(max_size=400))
def test_any_text_has_names_among_its_own_words(text: str) -> None:
    pieces = [text, *re.findall(r"[^\W_]+", text)]
    assert names_in(text) <= {stem(word) for piece in pieces for word in index_words(piece)}
    assert all(isinstance(is_everyday(word), bool) for word in index_words(text))
