"""A report of a change is restated as the state that it led to."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.judging import Verdict, judge
from agent.memory.restating import restate
from agent.memory.told import Told
from tests.patience import cpu_s


@pytest.mark.parametrize(
    ("report", "state"),
    [
        ("We pushed the review back to 16:30.", "the review is now 16:30."),
        ("Hemos aplazado la entrega al jueves.", "la entrega is now jueves."),
        ("On a décalé le départ à 7 h.", "le départ is now 7 h."),
        ("Abbiamo spostato la cena alle 21.", "la cena is now 21."),
        ("Wir haben die Abgabe auf Freitag verschoben.", "die Abgabe is now auf Freitag"),
        ("Мы перенесли встречу на среду.", "встречу is now среду."),
        ("我们把会议改到周五了。", "会议是周五"),
        ("会議は金曜日に変わりました。", "会議は金曜日です。"),
    ],
)
def test_who_made_a_change_and_its_verb_are_no_part_of_the_state(report: str, state: str) -> None:
    assert restate(report).text == state
    assert restate(report).changed


@pytest.mark.parametrize(
    ("older", "report", "state"),
    [
        ("Die Probe ist montags.", "Die Probe haben wir auf Freitag verlegt.", "Die Probe is now auf Freitag"),
        ("Der Ofen steht auf 180 Grad.", "Hab den Ofen eben auf 200 gestellt.", "den Ofen is now auf 200"),
        (
            "Das Proxy-Limit ist 30 MB.",
            "hab das Limit am Proxy auf 60 MB gedreht",
            "das Limit am Proxy is now auf 60 MB",
        ),
        (
            "De repetitie is maandag.",
            "De repetitie hebben wij naar vrijdag verzet.",
            "De repetitie is now naar vrijdag",
        ),
    ],
)
def test_a_german_or_dutch_sentence_may_begin_with_what_was_changed_or_lack_its_subject(
    older: str, report: str, state: str
) -> None:
    assert restate(report, older).text == state


@pytest.mark.parametrize("sentence", ["Den Kuchen haben wir am Freitag gegessen.", "Hab auf Ann gewartet."])
def test_another_event_in_that_order_is_no_change(sentence: str) -> None:
    assert not restate(sentence, "Der Kuchen ist für Montag.").changed


@pytest.mark.parametrize(
    ("sentence", "state"),
    [
        ("Desde marzo trabajo en Correos.", "now trabajo en Correos."),
        ("Seit letzter Woche wohne ich in Ulm.", "now wohne ich in Ulm."),
        ("С осени я живу в Туле.", "now я живу в Туле."),
        ("Depuis la rentrée je travaille chez Orano.", "now je travaille chez Orano."),
        ("The bot runs on Fly since the migration.", "The bot runs on Fly now ."),
    ],
)
def test_since_when_it_holds_says_that_it_is_new(sentence: str, state: str) -> None:
    assert restate(sentence).text == state
    assert restate(sentence).changed


@pytest.mark.parametrize(
    ("words", "time_of_day"),
    [
        ("The talk is at half past four.", "The talk is at 4:30."),
        ("Die Probe ist um halb fünf.", "Die Probe ist um 4:30."),
        ("L'atelier est à dix heures et demie.", "L'atelier est à 10:30."),
        ("La cena es a las nueve y media.", "La cena es a las 9:30."),
        ("Le déjeuner est à midi.", "Le déjeuner est à 12:00."),
    ],
)
def test_times_of_the_day_in_words_are_read_as_times(words: str, time_of_day: str) -> None:
    assert restate(words).text == time_of_day


def test_since_when_stays_where_the_older_one_says_it_too() -> None:
    newer = "The pass is valid from June."
    assert restate(newer, "The pass is valid from May.").text == newer


def test_what_belongs_to_others_is_not_taken_for_ones_own() -> None:
    older, newer = "Our party is on Friday.", "They moved their party to Sunday."
    assert judge(Told("party", older, older), Told("party", newer, newer), named=True) is not Verdict.REPLACES


@pytest.mark.parametrize(
    ("key", "older", "newer"),
    [
        ("stage", "Le stage est à Lille.", "Le stage est maintenant à Metz."),
        ("trabajo", "Trabajo en Iberia.", "Desde marzo trabajo en Renfe."),
        ("fumar", "Eu fumo.", "Deixei de fumar em março."),
        ("projeto", "A Carla gere o projeto.", "Quem gere o projeto agora é o Rui."),
        ("コーチ", "コーチは林さんです。", "コーチは森さんに代わりました。"),
        ("lager", "Unser Lieferant ist Metro.", "Wir haben den Lieferanten gewechselt, es ist jetzt Edeka."),
        ("loan rate", "The loan rate is 4.1 percent.", "The bank nudged the loan rate to 4.4 percent."),
        ("tent", "The tent is in the attic.", "The tent ended up in the cellar."),
        ("ferry", "Die Fähre legt um 8.20 Uhr ab.", "Die Fähre legt seit dem Umbau um 8.50 Uhr ab."),
        ("rival", "Our rival is Zephyr.", "Our rival is Altus now that Zephyr closed."),
        ("age of Rex", "My dog is called Rex and is 4.", "Rex is 5 now."),
        ("checkout", "Checkout is at 11:00.", "Checkout is now at noon."),
        ("сайт", "Сайтом занимается Катя.", "Сайтом теперь занимается Денис."),
        ("тренер", "Тренер — Петров.", "Тренер теперь Сидоров."),
        ("编辑", "編集長は林さんです。", "編集長は今は森さんです。"),
        ("panel code", "The panel code is dune-12.", "We changed the panel code to wave-77."),
    ],
)
def test_a_report_replaces_the_state_under_one_key(key: str, older: str, newer: str) -> None:
    assert judge(Told(key, older, older), Told(key, newer, newer)) is Verdict.REPLACES


@pytest.mark.parametrize(
    ("key", "older", "newer"),
    [
        ("Ann", "Ann is tall.", "Ann is now in Rome."),
        ("stage", "Le stage de Luc est à Lille.", "Le stage d'Ève est maintenant à Metz."),
        ("code", "The code of the gate is 12.", "We changed the code of the garage to 34."),
        ("vol", "Le vol aller part à 6 h 45.", "Le vol retour part à 21 h 10."),
        ("sendero", "El sendero norte mide 6 km.", "El sendero sur mide ahora 9 km."),
        ("pont", "Le vieux pont est fermé.", "Le nouveau pont est ouvert maintenant."),
        ("コーチ", "コーチは優しいです。", "コーチは森さんに代わりました。"),
    ],
)
def test_a_report_of_something_else_replaces_nothing(key: str, older: str, newer: str) -> None:
    assert judge(Told(key, older, older), Told(key, newer, newer), named=True) is not Verdict.REPLACES


def test_news_in_other_words_marks_what_stood_under_the_same_key() -> None:
    older, newer = "My desk is beside the lift.", "I sit in the annex now."
    assert judge(Told("desk", older, older), Told("desk", newer, newer)) is Verdict.MAY_OUTDATE


def test_news_of_another_one_replaces_nothing_and_marks_only_what_has_the_same_key() -> None:
    older, newer = "Ann's phone is an iPhone.", "Ben's phone is a Pixel now."
    assert judge(Told("phone", older, older), Told("phone", newer, newer)) is Verdict.MAY_OUTDATE
    assert judge(Told("", older, older), Told("", newer, newer)) is Verdict.STANDS_BESIDE


@given(st.text(max_size=200))
def test_any_text_is_restated(text: str) -> None:
    assert isinstance(restate(text).text, str)


@pytest.mark.parametrize(
    "piece", ["since the ", "we moved the ", "c'est a qui ", "findet ", "把", "は", "に変わ", "from May to "]
)
def test_text_that_begins_a_report_again_and_again_is_read_in_linear_time(piece: str) -> None:
    began = time.process_time()
    restate(piece * 20_000)
    assert time.process_time() - began < cpu_s(1)
