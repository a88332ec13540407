"""What recall finds by a word, `/forget about` that word finds, too: one function decides what a text speaks of."""

import pytest

from agent.memory.audience import may_flow_from
from agent.memory.forgetting_plans import AboutTopic
from agent.recall_query import RecallQuery
from store.engine import Store
from store.search.search import speaks_of, topic_of
from tests.contracts.steps import answered
from tests.fakes.incoming import said

FORMS = [
    ("cat", "My cats sleep all day"),
    ("child", "The children went home"),
    ("buy", "I bought a new bicycle"),
    ("Katze", "Meine Katzen schlafen gern"),
    ("Motor", "Der Bootsmotor ist kaputt"),
    ("Vertrag", "Alle Verträge sind unterschrieben"),
    ("cheval", "Les chevaux sont dans le pré"),
    ("reunión", "Las reuniones son los lunes"),
    ("кошка", "Мои кошки спят весь день"),
    ("договор", "Договоры подписаны"),
    ("猫", "我家的猫很懒"),
    ("合同", "这份合同已经签了"),
    ("猫", "うちの猫は眠っています"),
    ("toplantı", "Toplantılar pazartesi günü"),
    ("مهندس", "المهندسون في المكتب"),
]


@pytest.mark.parametrize(("word", "text"), FORMS)
async def test_forgetting_finds_each_form_that_recall_finds(either: Store, word: str, text: str) -> None:
    claim = await answered(either, said(text), "OK.")
    audiences = may_flow_from(said("").place)
    found = [hit.message.id for hit in await either.memories.search(RecallQuery("ann", word, audiences, "", 10))]
    shown = await either.forgetting.preview(AboutTopic("ann", word))
    assert (claim.message in found) == (shown.counts.get("messages", 0) > 0) == speaks_of(text, topic_of(word))


@pytest.mark.parametrize(("word", "text"), [pair for pair in FORMS if pair[0] != "cheval"])
def test_other_forms_of_a_word_speak_of_it(word: str, text: str) -> None:
    assert speaks_of(text, topic_of(word))


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("luces", "La luz de la cocina"),
        ("peces", "El pez es rojo"),
        ("reuniões", "A reunião foi curta"),
        ("pães", "O pão está fresco"),
        ("papéis", "O papel acabou"),
        ("viagens", "A viagem foi longa"),
        ("chevaux", "Le cheval est au pré"),
        ("travaux", "Le travail avance"),
        ("jeux", "Le jeu est fini"),
        ("parchi", "Il parco è chiuso"),
        ("banche", "La banca è chiusa"),
        ("huizen", "Het huis is oud"),
        ("huis", "De huizen zijn oud"),
        ("buses", "The bus is late"),
        ("leaf", "The leaves are falling"),
        ("рынок", "Мы были на рынке"),
        ("рынки", "Наш рынок закрыт"),
        ("отец", "Это сказали отцы города"),
        ("отцов", "Мой отец дома"),
    ],
)
def test_a_plural_speaks_of_what_its_singular_does_and_a_vowel_may_fall_out(word: str, text: str) -> None:
    assert speaks_of(text, topic_of(word))


@pytest.mark.parametrize(("word", "text"), [("voices", "The void"), ("brief", "Brewing beer"), ("bus", "A buzzer")])
def test_what_only_begins_alike_is_spoken_of_by_neither(word: str, text: str) -> None:
    assert not speaks_of(text, topic_of(word))


def test_a_text_speaks_of_a_topic_only_with_all_of_its_words() -> None:
    assert speaks_of("Die grünen Boote", topic_of("grüne Boot"))
    assert not speaks_of("Die blauen Boote", topic_of("grüne Boot"))
    assert not speaks_of("anything", topic_of(""))
