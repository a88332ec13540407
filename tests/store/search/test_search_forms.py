"""Irregular English: one form finds the others."""

import pytest

from store.search.search import speaks_of, topic_of, word_forms


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("buy", ("buy", "bought")),
        ("bought", ("buy", "bought")),
        ("buying", ("buy", "bought")),
        ("children", ("child", "children")),
        ("boat", ("boat",)),
        ("買", ("買",)),
    ],
)
def test_a_word_is_looked_for_in_all_its_forms(word: str, expected: tuple[str, ...]) -> None:
    assert word_forms(word) == expected


def test_no_word_belongs_to_two_groups() -> None:
    for word in ("find", "lie", "lay", "see", "saw", "leave", "left", "lead", "wake", "wear"):
        for form in word_forms(word):
            assert word_forms(form) == word_forms(word)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("Hund", "Unser Hündchen heißt Bruno."),
        ("Katze", "Das Kätzchen schläft im Korb."),
        ("Kätzchen", "Die Katze schläft im Korb."),
        ("Lehrer", "Meine Lehrerin heißt Frau Blum."),
        ("Lehrerinnen", "Der Lehrer heißt Herr Blum."),
        ("Arzt", "Die Ärztinnen haben angerufen."),
        ("actor", "La actriz llegó tarde."),
        ("acteur", "L'actrice est en retard."),
        ("amica", "Le mie amiche arrivano."),
        ("Buch", "Mit den Büchern komme ich nicht weiter."),
        ("perro", "Mi perrito tiene tres años."),
        ("perrito", "El perro tiene tres años."),
        ("amigo", "Mi amiguito viene mañana."),
        ("lápiz", "Compré seis lápices de color."),
        ("luz", "Las luces del pasillo parpadean."),
        ("fille", "Ma fillette entre au CP."),
        ("canal", "Les canaux sont gelés."),
        ("eau", "Les eaux montent."),
        ("cão", "Os cães do vizinho ladram à noite."),
        ("avião", "Os aviões passam por cima da casa."),
        ("homem", "Os homens chegaram."),
        ("papel", "Os papéis sumiram."),
        ("gato", "O meu gatinho está doente."),
        ("gatto", "Il mio gattino beve solo acqua."),
        ("ねこ", "うちのネコは三歳です。"),
        ("リンゴ", "りんごを毎朝食べます。"),
    ],
)
def test_a_topic_is_found_in_other_forms_that_share_few_letters_with_it(word: str, text: str) -> None:
    assert speaks_of(text, topic_of(word))


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("data", "My date with Kim is on Friday."),
        ("kit", "The kitchen is being painted."),
        ("car", "I care about birds."),
        ("bar", "The bark of the tree is rough."),
        ("cat", "The category is wrong."),
        ("pin", "The pine tree fell."),
        ("Ort", "Die Torte war gut."),
        ("Wand", "Der Wandel kommt."),
        ("caso", "Mi casa es azul."),
        ("pan", "La pantalla está rota."),
        ("sol", "El soldado llegó."),
        ("ねこ", "いぬはかわいい。"),
    ],
)
def test_a_topic_is_not_found_in_another_word_with_the_same_beginning(word: str, text: str) -> None:
    assert not speaks_of(text, topic_of(word))
