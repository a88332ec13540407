"""What people tell happened, under one key: which of it replaces what was so, and what stays beside it."""

import pytest

from agent.memory.judging import Verdict, judge
from agent.memory.news import tells_what_became
from agent.memory.told import Told


def judged(key: str, older: str, newer: str, *, named: bool = False) -> Verdict:
    return judge(Told(key, older, older), Told(key, newer, newer), named=named)


@pytest.mark.parametrize(
    ("key", "older", "newer"),
    [
        ("venue of the offsite", "The offsite is in the Kiel office.", "Half of us are ill, so the offsite is online."),
        ("price of the permit", "Parking costs us 40 a month.", "A letter came, parking is 55 a month now."),
        ("Ort der Feier", "Die Feier ist im Gasthof Krone.", "Die Krone macht zu, gefeiert wird jetzt im Bootshaus."),
        ("Miete Werkstatt", "Für die Werkstatt zahlen wir 900.", "Der Vermieter schrieb, die Werkstatt kostet 980."),
        ("proveedor de fibra", "La fibra la tenemos con Lumen.", "Lumen nos subió el precio, ahora estamos con Ondas."),
        ("lugar de la cena", "La cena es en casa de Inés.", "Inés está con gripe, la cena será en el Rincón."),
        ("lieu du séminaire", "Le séminaire aura lieu à Lyon.", "Lyon est complet, le séminaire sera à Annecy."),
        ("sede del corso", "Il corso si tiene in biblioteca.", "La biblioteca chiude, adesso il corso è in palestra."),
        ("fornecedor de pão", "O pão vem da padaria Sol.", "A padaria Sol fechou, agora o pão vem da Estrela."),
        ("门禁密码", "门禁密码是4471。", "物业昨天通知了，门禁密码改成9036。"),
        ("打ち合わせの場所", "打ち合わせは本社でやります。", "本社が工事なので、打ち合わせは支社に変わりました。"),
    ],
)  # fmt: skip
def test_what_is_told_in_several_clauses_under_a_key_of_two_words_replaces_what_was_so(
    key: str, older: str, newer: str
) -> None:
    assert judged(key, older, newer) is Verdict.REPLACES


@pytest.mark.parametrize(
    ("key", "older", "newer"),
    [
        ("gate", "The code of the gate is 12.", "I set the code of the gate to 34."),
        ("Schlüssel", "Der Schlüssel vom Keller hängt am Brett.", "Ich hab den Schlüssel vom Keller in der Lade."),
        ("alarm", "The alarm in the shop is armed at 22.", "We arm the alarm in the shop at 21."),
    ],
)  # fmt: skip
def test_what_the_speaker_does_to_it_replaces_what_was_so(key: str, older: str, newer: str) -> None:
    assert judged(key, older, newer) is Verdict.REPLACES


@pytest.mark.parametrize(
    ("key", "older", "newer"),
    [
        # At another place, or once
        ("team lead", "Our team lead is Ann.", "At the customer's, the team lead is Ben."),
        ("chef de projet", "Le chef de projet est Luc.", "À l'agence de Nantes, le chef de projet est Odile."),
        ("start of class", "Class begins at nine.", "On Thursday the bus was late, so class began at ten."),
        ("release of the engine", "We run engine 3.", "Engine 4 came out yesterday, the notes look good."),
        # Of what somebody has, or while somebody is away
        ("garden", "Rosa waters the garden.", "Rosa's deputy, Emil, took over the greenhouse."),
        ("caretaker of the house", "The caretaker is Egon.", "Egon is on leave, Willi fills in for him."),
        # The end of something else
        ("chair", "Our chair is Aoife.", "Aoife quit the chess club, Ravi is its captain now."),
        # Of somebody else, added, reported, supposed
        ("dentist", "My dentist is Dr. Ames.", "My uncle switched dentists, he goes to Dr. Boll now."),
        ("name of the cat", "My cat is called Pixel.", "We also took in a stray last week, her name is Voxel."),
        ("hosting of the shop", "The shop runs on Arno.", "Rita was here, she says the shop should be on Brenta."),
        ("hosting of the shop", "The shop runs on Arno.", "If Arno gets dearer, we would move the shop to Brenta."),
    ],
)  # fmt: skip
def test_what_is_told_of_something_else_replaces_nothing(key: str, older: str, newer: str) -> None:
    assert judged(key, older, newer) is not Verdict.REPLACES
    assert judged(key, older, newer, named=True) is not Verdict.REPLACES


def test_one_clause_under_a_key_of_one_word_is_no_news() -> None:
    assert not tells_what_became(Told("dog", "The dog is brown."), Told("dog", "The dog now sleeps in the hall."))
    assert not tells_what_became(Told("phone", "I carry a Pixel."), Told("phone", "Mia carries a Nord now."))


def test_news_under_another_key_replaces_nothing() -> None:
    older = "The offsite is in the Kiel office."
    newer = "Half the team is ill, so the offsite is online."
    told = Told("venue of the offsite", older, older), Told("venue of the retreat", newer, newer)
    assert judge(*told) is not Verdict.REPLACES


@pytest.mark.parametrize(
    ("key", "older", "other", "newer"),
    [
        (
            "company phone",
            "My company phone is a Pixel.",
            "my phone",
            "They took the Pixel, so my phone is a Nord now.",
        ),
        (
            "size of support",
            "Support has eight people.",
            "support team",
            "Two have joined, so support now has ten people.",
        ),
        (
            "Preis der Lizenz",
            "Die Lizenz kostet 240 Euro.",
            "Lizenz pro Platz",
            "Neuer Vertrag, die Lizenz kostet jetzt 290 Euro.",
        ),
        (
            "tamaño del equipo",
            "El equipo son ocho personas.",
            "equipo de soporte",
            "Entraron dos, el equipo ahora son diez.",
        ),
    ],
)
def test_what_changed_under_another_label_is_replaced_where_the_model_names_it(
    key: str, older: str, other: str, newer: str
) -> None:
    told = Told(key, older, older), Told(other, newer, newer)
    assert judge(*told, named=True) is Verdict.REPLACES
    assert judge(*told) is not Verdict.REPLACES


@pytest.mark.parametrize(
    ("key", "older", "other", "newer"),
    [
        (
            "flight to Oslo",
            "My flight to Oslo is at 9.",
            "flight from Oslo",
            "They moved it, the flight from Oslo is at 11 now.",
        ),
        ("budget", "The budget of the team is 900.", "travel budget", "Finance cut it, the travel budget is 300 now."),
        (
            "rent of the shop",
            "The rent is 900.",
            "rent of the studio",
            "New contract, the rent of the studio is 700 now.",
        ),
        ("lead of Alpha", "Ann leads project Alpha.", "tester of Alpha", "Ben left, Cleo tests project Alpha now."),
        (
            "deadline of Alpha",
            "Alpha is due on Friday.",
            "kickoff of Alpha",
            "Ann is ill, the kickoff of Alpha moved to Monday.",
        ),
        ("mum's flat", "Mum lives in Leeds.", "mum's job", "Mum retired from the bank, she works at the library now."),
        ("server 1", "Server 1 has 16 GB.", "server 2", "We ordered memory, server 2 has 64 GB now."),
        ("Emmas Instrument", "Emma spielt Geige.", "Emmas Sport", "Emma hat gewechselt, sie macht jetzt Judo."),
        ("上海办公室", "上海办公室在静安。", "上海仓库", "搬家了，上海仓库现在在嘉定。"),
    ],
)
def test_a_wrong_number_replaces_nothing_under_another_label(key: str, older: str, other: str, newer: str) -> None:
    assert judge(Told(key, older, older), Told(other, newer, newer), named=True) is not Verdict.REPLACES
