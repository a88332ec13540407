"""How much evidence a newer statement needs to replace an older one under one key: with less, both are kept."""

import pytest

from agent.memory.judging import Verdict, judge
from agent.memory.told import Told


def judged(key: str, older: str, newer: str, *, named: bool = False) -> Verdict:
    return judge(Told(key, older, older), Told(key, newer, newer), named=named)


@pytest.mark.parametrize(
    ("key", "older", "newer"),
    [
        # It is told, and another value of the same kind is given
        ("deadline of Atlas", "The deadline of Atlas is Friday.", "The deadline of Atlas is Monday now."),
        ("Miete", "Die Miete ist 900 Euro.", "Die Miete wurde auf 980 Euro erhöht."),
        ("締め切り", "締め切りは5月3日です。", "すみません、締め切りは5月9日に変更です。"),
        # It is told, and the old value is named as left behind
        ("laptop", "I have a ThinkPad.", "I got a MacBook, the ThinkPad is gone."),
        ("歯医者", "歯医者は木村先生です。", "歯医者を変えて、今は西先生です。"),
        # It is told, and one has only one of it, or the thing itself is said to have moved
        ("home", "I live in Berlin.", "I moved to Munich."),
        ("CI system", "Our CI runs on Jenkins.", "Our CI moved to Buildkite."),
        ("保姆", "家里的保姆是刘阿姨。", "家里的保姆换成了孙阿姨。"),
        # It is told, and the sentence is the same but for one word
        ("stage", "Le stage est à Lille.", "Le stage est maintenant à Metz."),
        ("сайт", "Сайтом занимается Катя.", "Сайтом теперь занимается Денис."),
        # Another value of the kind, of which one has one
        ("manager", "My manager is Ann.", "Ben is my new manager."),
    ],
)
def test_a_change_that_is_told_and_that_something_else_shows_to_be_one_of_the_value_replaces_it(
    key: str, older: str, newer: str
) -> None:
    assert judged(key, older, newer) is Verdict.REPLACES


@pytest.mark.parametrize(
    ("key", "older", "newer"),
    [
        # A word of change alone
        ("side project", "In my spare time I build a site about bike routes.", "The sign-up is done now."),
        ("coffee", "I take my coffee black.", "I take my coffee with oat milk now."),
        ("team", "I'm in purchasing.", "Since spring I've been working in logistics."),
        ("desk location", "My desk is on the first floor, beside the lift.", "I sit on the second floor now."),
        ("proveedor", "El proveedor es Makro.", "Hemos fichado a Cash Lepe como proveedor."),
        # Another value of the kind alone
        ("absence in May", "I'm away for two weeks in May.", "In May I fly out on the 9th and land on the 23rd."),
        ("horaire", "La bibliothèque ouvre à 9 heures.", "La bibliothèque, à 10 heures c'est vide."),
        # The old value named, beside what is told of it
        ("projet", "Le soir, je travaille sur mon jeu Archipel.", "48 cartes de dessinées pour Archipel, ça avance."),
        # What was booked is an event, and what will be so is a plan
        ("vacances", "Vacances en Corse du 12 au 26 juillet.", "En Corse on a réservé deux jours de plongée."),
        ("plataforma", "Vendemos por Shopify.", "A partir de abril pasaremos a WooCommerce; hasta entonces, Shopify."),
        ("deadline of Borealis", "Borealis ships on 30 September.", "We're about 60% through Borealis now."),
        # "Now that" tells no change, and a single day or an illness ends nothing
        (
            "address",
            "We live at 7 Mill Lane.",
            "Couriers can use the gate at Mill Lane now that it's fixed, code 4410.",
        ),
        (
            "climbing partner",
            "Nadia is my climbing partner.",
            "Today I went with Jo instead of Nadia, she has the flu.",
        ),
        # No rule tells words of Japanese apart: his brother left accounting
        ("夫の仕事", "夫は経理の仕事をしてる。", "夫の弟が経理から企画に移ったんだって。"),
        # A joke
        ("好きな球団", "阪神ファンです。", "今日から巨人に乗り換えるわ、嘘です。"),
        ("team", "I support the Reds.", "From now on I support the Blues, just kidding."),
    ],
)
def test_with_one_sign_both_are_kept_and_the_older_one_is_marked(key: str, older: str, newer: str) -> None:
    assert judged(key, older, newer) is Verdict.MAY_OUTDATE
    assert judged(key, older, newer, named=True) is Verdict.MAY_OUTDATE


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
