"""What proves that two statements are about two things, and what proves nothing."""

import pytest

from agent.memory.distinct import are_two_things
from agent.memory.judging import Verdict, judge, may_replace
from agent.memory.told import Told


def told(text: str, key: str) -> Told:
    return Told(key, text, text)


TWO_THINGS = [
    ("The bakery's oven is a Miwe.", "My cousin's oven is a Wachtel.", "oven", "oven"),
    ("Our delivery van is a Vito.", "Ben's delivery van is a Sprinter.", "van", "van"),
    ("Parcel 4410 is at the depot.", "Parcel 4415 is on the van.", "parcel", "parcel"),
    ("The lease of the shop runs until 2027.", "The lease of the studio runs until 2029.", "lease", "lease"),
    ("Orders need one signature.", "Orders from the export desk need two.", "orders", "orders"),
    ("The kiln fires at 1,100 degrees.", "The kiln was fired at 900 degrees in 2019.", "kiln", "kiln"),
    ("Hugo kommt um acht.", "Morgen kommt Hugo um zehn.", "Hugo", "Hugo"),
    ("Le four chauffe à 200 degrés.", "Vendredi le four chauffe à 240 degrés.", "four", "four"),
    ("El horno es de mi taller.", "El horno de mi hermana es nuevo.", "horno", "horno"),
    ("I report to Denise.", "In 2019 I reported to Eva.", "manager", "manager"),
    ("She bakes rye bread.", "She baked wheat bread.", "bread", "bread"),
    ("Chef ist Frau Sauer.", "Herr Bitter vertritt Frau Sauer als Chef.", "Chef", "Chef"),
]
# Told in other words than what it changes
ONE_THING = [
    ("We bake in the old mill.", "The mill burned down, all the bread comes out of the new hall.", "where we bake"),
    ("Ich backe nur mit Hefe.", "Sauerteig hat mich überzeugt, Hefe fasse ich nicht mehr an.", "Triebmittel"),
    ("On livre à vélo.", "Les vélos sont vendus, tout part en camionnette.", "livraison"),
    ("Trabajo de noche en el obrador.", "Por fin tengo turno de mañana.", "turno"),
    ("O forno aquece a 220 graus.", "Com a porta nova bastam 190.", "forno"),
    ("Il capo fornaio è Aldo.", "In panetteria comanda Bruna.", "capo fornaio"),
    ("面包房八点开门。", "现在要到九点才营业。", "营业时间"),
    ("店は駅前です。", "商店街に移りました。", "店の場所"),
]


@pytest.mark.parametrize(("older", "newer", "key", "other"), TWO_THINGS)
def test_what_is_proven_to_be_another_thing_is_never_replaced(older: str, newer: str, key: str, other: str) -> None:
    assert are_two_things(told(older, key), told(newer, other))
    assert judge(told(older, key), told(newer, other), named=True) is Verdict.MAY_OUTDATE
    assert not may_replace(told(older, key), told(newer, other))


@pytest.mark.parametrize(("older", "newer"), [pair[:2] for pair in TWO_THINGS])
def test_what_is_proven_to_be_another_thing_is_not_marked_by_a_common_word(older: str, newer: str) -> None:
    assert judge(told(older, ""), told(newer, "")) is Verdict.STANDS_BESIDE


@pytest.mark.parametrize(("older", "newer", "key"), ONE_THING)
def test_what_has_one_key_is_at_least_marked_and_a_model_may_decide(older: str, newer: str, key: str) -> None:
    assert judge(told(older, key), told(newer, key)) is not Verdict.STANDS_BESIDE
    assert may_replace(told(older, key), told(newer, key))


@pytest.mark.parametrize(("older", "newer", "key"), ONE_THING)
def test_what_the_model_names_is_at_least_marked_whatever_the_keys_are(older: str, newer: str, key: str) -> None:
    assert judge(told(older, key), told(newer, "news"), named=True) is not Verdict.STANDS_BESIDE


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("We bake in the old mill.", "The mill burned down last night."),
        ("Ich backe nur mit Hefe.", "Hefe fasse ich nicht mehr an."),
        ("Notre pétrin est un Bongard.", "Un Miwe a remplacé le pétrin hier."),
        ("I live in Tarbert.", "Finally unpacked, we moved to Oban."),
    ],
)
def test_without_a_key_what_speaks_of_one_thing_is_at_least_marked(older: str, newer: str) -> None:
    assert judge(told(older, ""), told(newer, "")) is not Verdict.STANDS_BESIDE


def test_without_a_key_or_a_common_word_nothing_is_marked() -> None:
    assert judge(told("We bake in the old mill.", ""), told("Rye costs 2 euros.", "")) is Verdict.STANDS_BESIDE


@pytest.mark.parametrize(
    ("older", "newer", "key"),
    [
        ("Notre boulanger, c'est Hervé.", "Chez les voisins, le boulanger s'appelle Yvon.", "boulanger"),
        ("Our auditor is Ms. Lowe.", "In the Leeds branch, the auditor is Mr. Pike.", "auditor"),
        ("J'ai yoga tous les lundis.", "lundi dernier j'ai manqué le yoga, trop de fièvre", "yoga"),
        ("I have choir on Mondays.", "I skipped choir last Monday, too much snow.", "choir"),
    ],
)
def test_another_place_or_a_missed_day_replaces_nothing(older: str, newer: str, key: str) -> None:
    assert judge(told(older, key), told(newer, key)) is not Verdict.REPLACES


@pytest.mark.parametrize(
    ("older", "newer", "key"),
    [
        # Words that are pronouns in one language and no such thing in another: "on", "i", "son"
        ("I'm on watch on Sundays.", "Petra is on watch on Thursdays now.", "watch"),
        ("Cuociamo al forno.", "I cornetti li cuociamo in padella.", "cottura"),
        ("I like rye bread.", "These days my son likes oat bread.", "bread"),
        # Another one of two, told by what stands behind the noun
        ("Il magazzino ha 30 scaffali.", "Il magazzino di sotto è sceso a 18 scaffali.", "scaffali"),
        # A name where the older one has none
        ("Le moulin moud 2 tonnes.", "Le moulin du canal moud maintenant 2,4 tonnes.", "capacité"),
        # In another place, without a comma behind it
        ("I knead by hand.", "In the annex I now knead by machine.", "kneading"),
        ("Je suis du matin.", "Marceline est passée du matin.", "équipe"),
        # Without blanks: another topic with a value of its own
        ("面包店七点关。", "咖啡馆现在九点关。", "关门时间"),
        ("我喝红茶。", "室友改喝咖啡了。", "喝的"),
    ],
)
def test_another_subject_with_a_word_of_change_replaces_nothing(older: str, newer: str, key: str) -> None:
    assert judge(told(older, key), told(newer, key)) is not Verdict.REPLACES


def test_a_wrong_number_needs_the_newer_one_to_speak_of_nothing_else() -> None:
    older, newer = told("I'm in UTC+2.", "my time zone"), told("The supplier sits in Osaka, that's UTC+9.", "supplier")
    assert judge(older, newer, named=True) is not Verdict.REPLACES
