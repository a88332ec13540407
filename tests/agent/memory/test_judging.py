"""What a new fact does to an older one: it replaces it, it may outdate it, or both stand."""

import pytest

from agent.memory.judging import Verdict, judge, may_replace
from agent.memory.told import Told
from agent.memory.writing import NewFact, write
from tests.agent.memory.test_writing import new, valid, written

KEY = "matter"


def judged(older: str, newer: str, *, key: str = KEY, named: bool = False) -> Verdict:
    return judge(Told(key, older, older), Told(key, newer, newer), named=named)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I speak Spanish.", "I also speak Dutch."),
        ("Ich lese Krimis.", "Ich lese außerdem Gedichte."),
        ("Je cultive des tomates.", "Je cultive aussi des poivrons."),
        ("Colecciono sellos.", "También colecciono monedas."),
        ("Coleciono selos.", "Coleciono também moedas."),
        ("Я выращиваю томаты.", "Я также выращиваю перец."),
        ("我种番茄。", "我也种辣椒。"),
        ("トマトを育てています。", "唐辛子も育てています。"),
    ],
)
def test_an_addition_replaces_nothing_under_one_key_and_even_when_named(older: str, newer: str) -> None:
    assert judged(older, newer, named=True) is Verdict.STANDS_BESIDE


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The move is on May 3.", "Otto believes the move is on May 9."),
        ("Der Umzug ist am 3. Mai.", "Laut Otto ist der Umzug am 9. Mai."),
        ("Le départ est le 3 mai.", "Selon Otto, le départ est le 9 mai."),
        ("La mudanza es el 3 de mayo.", "Según Otto, la mudanza es el 9 de mayo."),
        ("A mudança é a 3 de maio.", "O Otto diz que a mudança é a 9 de maio."),
        ("Переезд 3 мая.", "По словам Отто, переезд 9 мая."),
        ("搬家是5月3日。", "听说搬家是5月9日。"),
        ("引っ越しは5月3日です。", "大木さんによると引っ越しは5月9日です。"),
        ("The fee is 40 euros.", "If we joined now, the fee would be 30 euros."),
        ("Die Gebühr beträgt 40 Euro.", "Vielleicht beträgt die Gebühr jetzt 30 Euro."),
        ("La cotisation est de 40 euros.", "La cotisation serait maintenant de 30 euros."),
        ("La cuota es de 40 euros.", "Quizás la cuota sea ahora de 30 euros."),
        ("A taxa é de 40 euros.", "Talvez a taxa agora seja de 30 euros."),
        ("Взнос 40 евро.", "Возможно, взнос теперь 30 евро."),
        ("会费是40欧元。", "会费可能现在是30欧元。"),
        ("会費は40ユーロです。", "会費は今は30ユーロかもしれません。"),
        ("The fee is 40 euros.", "Is the fee 30 euros now?"),
        ("I train on Mondays.", "I don't train on Sundays any more."),
        ("The shop opens at 9.", "The shop opens at 11 today."),
    ],
)
def test_what_is_not_certain_or_holds_for_less_replaces_nothing(older: str, newer: str) -> None:
    assert judged(older, newer, named=True) is not Verdict.REPLACES


@pytest.mark.parametrize(
    ("older", "newer", "keys"),
    [
        ("weighs 5 kg", "weighs 9 kg", ("Rex", "Bella")),
        ("lives in Rome", "now lives in Oslo", ("brother", "sister")),
        ("closes at 5 pm", "closes at 4 pm", ("Oslo office", "Bergen office")),
        ("wiegt 5 kg", "wiegt jetzt 9 kg", ("Rex", "Bella")),
    ],
)
def test_keys_tell_two_things_apart_where_the_values_begin_with_a_verb(
    older: str, newer: str, keys: tuple[str, str]
) -> None:
    facts = written(new("1", keys[0], older), new("2", keys[1], newer, minutes=1))
    assert valid(facts) == [older, newer]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Ann's phone is 551.", "Ben's phone is 552."),
        ("The travel budget is 900 euros.", "The food budget is now 300 euros."),
        ("Der Schlüssel von Jan liegt im Auto.", "Der Schlüssel von Eva liegt jetzt im Keller."),
        ("Mi hermano vive en Lugo.", "Mi hermana vive ahora en Soria."),
        ("爸爸的手机号是551。", "妈妈的手机号现在是552。"),
    ],
)
def test_a_wrong_number_from_the_model_erases_nothing_of_two_things(older: str, newer: str) -> None:
    assert judged(older, newer, named=True) is not Verdict.REPLACES
    facts, _ = write(written(new("1", "", older)), new("2", "", newer, minutes=1, supersedes=("1",)))
    assert valid(facts) == [older, newer]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Mi jefa es Lola.", "Ahora mi jefe es Blas."),
        ("A minha chefe é a Rita.", "Agora o meu chefe é o Nuno."),
        ("Ma cheffe est Odile.", "Maintenant mon chef est Karim."),
    ],
)
def test_the_gender_of_a_role_makes_no_other_role(older: str, newer: str) -> None:
    assert judged(older, newer, key="jefa") is Verdict.REPLACES


def test_what_was_said_in_one_message_replaces_nothing_of_it() -> None:
    said = "The budget for the fair is 900 euros. The budget for the trip is 300 euros now."
    facts = written(
        NewFact("1", "budget", "900 euros", "user", new("0", "", "").timestamp, "team:T1", "ann", source_message=7)
    )
    later = NewFact(
        "2", "budget", "300 euros now", "user", facts[0].timestamp, "team:T1", "ann", source_message=7, said=said
    )
    assert valid(write(facts, later)[0]) == ["900 euros", "300 euros now"]


def test_the_sentence_of_the_message_decides_and_not_the_bare_value() -> None:
    older = Told("languages", "Spanish", "I speak Spanish.")
    assert judge(older, Told("languages", "Dutch", "Hello! I speak Dutch, too. Bye.")) is Verdict.STANDS_BESIDE
    where = Told("desk", "room 4", "My desk is in room 4.")
    moved = Told("desk", "room 7", "Hi. They moved my desk to room 7. Thanks!")
    assert judge(where, moved) is Verdict.REPLACES


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We keep three hens.", "We bought two more at the fair, that makes five hens now."),
        ("Das Lager hat zwei Tore.", "Noch ein Tor kam im Mai, das Lager hat jetzt drei."),
        ("On ouvre une agence à Pau.", "Il n'y a pas d'argent pour une autre agence."),
        ("La consegna è a fine aprile.", "Hanno chiesto altri due mesi, la consegna è a fine giugno."),
    ],
)
def test_what_adds_and_gives_another_value_is_marked_under_one_key(older: str, newer: str) -> None:
    assert judged(older, newer) is not Verdict.STANDS_BESIDE


def test_under_one_key_whatever_does_not_only_add_is_at_least_marked() -> None:
    older = "I report to Denise in the platform team."
    for newer in (
        "Had my first talk with Tomasz yesterday, he took over our whole group from Denise.",
        "My sister reports to Ben.",
        "In 2019 I reported to Eva.",
        "On Fridays it's Uli.",
    ):
        assert judged(older, newer, key="my manager") is Verdict.MAY_OUTDATE
    assert judged(older, older, key="my manager") is Verdict.STANDS_BESIDE


def test_what_may_be_about_the_same_is_doubted() -> None:
    assert judged("Our team eats in the garden.", "Our team eats on the roof.", key="team") is Verdict.MAY_OUTDATE


@pytest.mark.parametrize("said", ["Yes.", "Hm.", "Ja!"])
def test_a_single_word_states_no_value_and_the_keys_decide(said: str) -> None:
    older, newer = Told("deadline", "Friday", said), Told("deadline", "Monday", "The deadline is Monday.")
    assert judge(older, newer) is Verdict.REPLACES


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I drive to work.", "I don't drive to work."),
        ("Die Waage ist genau.", "Die Waage ist nicht genau."),
        ("我开车上班。", "我不开车上班。"),
    ],
)
def test_a_denial_in_the_same_words_needs_no_word_of_change(older: str, newer: str) -> None:
    assert judged(older, newer, key="") is Verdict.REPLACES


def may_be_replaced(older: str, newer: str) -> bool:
    return may_replace(Told(KEY, older, older), Told(KEY, newer, newer))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We host everything on Hetzner.", "The migration is through, hosting is all on OVH."),
        ("I take my coffee black.", "These days I take my coffee with oat milk."),
        ("Priya leads the team.", "Since Priya went on leave, Tomasz leads the team."),
    ],
)
def test_under_one_key_a_model_that_was_asked_decides_what_the_rules_leave_open(older: str, newer: str) -> None:
    assert may_be_replaced(older, newer)
    assert judged(older, newer) is not Verdict.STANDS_BESIDE  # so a model is asked


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Our Q3 budget is 48k.", "The CFO thinks the podcast is too much, so our Q3 budget is only 35k."),
        ("Hugo chausse du 34.", "Hugo chausse du 36, il me faut encore une paire."),
        (
            "Unser Server läuft auf ECC.",
            "Umstellung ist durch: Unser Server läuft seit Montag auf S/4, bisher nur drei Tickets.",
        ),
        ("O final do meu celular é 8834.", "O final do meu celular agora é 2071, blz?"),
    ],
)
def test_a_word_that_may_belong_to_anything_excludes_no_verdict_of_a_model(older: str, newer: str) -> None:
    assert judged(older, newer) is Verdict.MAY_OUTDATE
    assert may_be_replaced(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Our Dublin office closes at six.", "Our Cork office closes at eight."),
        ("Ana uses a Lenovo laptop.", "Bea uses a Dell laptop now."),
        ("Le loyer de l'atelier est de 780 euros.", "Le loyer de la boutique est de 990 euros."),
        ("Ann's phone is 555-1234.", "Ben's phone is 555-9876 now."),
        ("Sven comes at eight.", "Tomorrow Sven comes at ten."),
        ("I live in York.", "I used to live in Leeds."),
    ],
)
def test_what_is_plainly_about_another_no_verdict_replaces(older: str, newer: str) -> None:
    assert not may_be_replaced(older, newer)
