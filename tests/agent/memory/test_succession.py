"""A statement that names the old value as over, and another in its place, replaces the older one."""

from time import process_time

import pytest

from agent.memory.judging import Verdict, judge
from agent.memory.told import Told
from tests.patience import cpu_s


def judged(key: str, older: str, newer: str, *, newer_key: str = "", bare: tuple[str, str] = ("", "")) -> Verdict:
    return judge(Told(key, bare[0] or older, older), Told(newer_key or key, bare[1] or newer, newer))


@pytest.mark.parametrize(
    ("key", "older", "newer"),
    [
        ("landlord", "We rent from Osei & Sons.", "Osei & Sons went bust, the flat belongs to Brightwater."),
        ("bug tracker", "Bugs go into Mantis.", "Mantis got shut down and everything lives in Linear."),
        ("team coach", "Rafael coaches the juniors.", "Following Rafael's retirement Imani coaches the juniors."),
        ("backup region", "Backups sit in eu-west-2.", "Backups went to ap-south-1, eu-west-2 isn't used anymore."),
        ("deploy day", "We release on Tuesdays.", "Releases come out on Wednesdays now, Tuesday was too hectic."),
        ("Kita", "Mia geht in die Kita Regenbogen.", "Bei Regenbogen haben wir gekündigt, sie geht zu Sonnenhof."),
        ("Werkstatt", "Mein Auto bringe ich zu Petersen.", "Nach Petersens Abschied repariert Yilmaz mein Auto."),
        ("coach", "Mon coach est Baptiste.", "Baptiste a démissionné, mon coach c'est Inès."),
        ("wiki", "Le wiki est chez Gandi.", "Le wiki est allé chez Ikoula, il n'y a plus rien sur Gandi."),
        ("gestoría", "Los impuestos los lleva Montero.", "Montero se jubiló, los impuestos los lleva Aranda."),
        ("ferramenta de design", "Os layouts ficam no Sketch.", "Abandonamos o Sketch, tá tudo no Figma."),
        ("commercialista", "Il commercialista è Ferri.", "Ferri è andato in pensione, il commercialista è Gallo."),
        ("tandarts", "Mijn tandarts is Bakker.", "Bakker is met pensioen, mijn tandarts is De Wit."),
        ("тренер", "Мой тренер Игорь.", "Игорь уволился, тренирует меня Ольга."),
        ("ブラウザ", "ブラウザはFirefoxです。", "Firefoxは卒業して、普段はVivaldiです。"),
        ("笔记软件", "我用Evernote记笔记。", "Evernote停用了，笔记都在Obsidian里。"),
    ],
)  # fmt: skip
def test_a_value_that_is_over_is_replaced_by_the_one_named_in_its_place(key: str, older: str, newer: str) -> None:
    assert judged(key, older, newer) is Verdict.REPLACES


@pytest.mark.parametrize(
    ("key", "newer_key", "older", "newer"),
    [
        ("sales lead", "head of sales", "Tamsin runs sales.", "Since Tamsin's resignation Dmitri has run sales."),
        ("my extension", "desk phone", "My extension is 5521.", "Somebody else has 5521 now, call me on 5570."),
        ("responsable du stock", "gestion", "Le stock est géré par Odette.", "Odette est partie, Karim gère le stock."),
    ],
)  # fmt: skip
def test_the_keys_need_not_be_alike_where_the_two_share_a_word_or_a_long_number(
    key: str, newer_key: str, older: str, newer: str
) -> None:
    assert judged(key, older, newer, newer_key=newer_key) is Verdict.REPLACES


@pytest.mark.parametrize(
    ("key", "older", "newer"),
    [
        ("seats", "The hall has 300 seats.", "I misspoke, the hall has 240 seats and not 300."),
        ("Miete", "Die Miete ist 800 Euro.", "Die Miete ist 860 Euro, die 800 stimmten nicht."),
        ("quota", "Le quota est de 20 Go.", "Au temps pour moi : le quota c'est 40 Go et pas 20."),
        ("importer", "The importer is in Perl.", "Scrap what I said about Perl, the importer is in Ruby."),
    ],
)  # fmt: skip
def test_what_was_said_wrongly_is_replaced_by_its_correction(key: str, older: str, newer: str) -> None:
    assert judged(key, older, newer) is Verdict.REPLACES


@pytest.mark.parametrize(
    ("key", "older", "newer"),
    [
        # For a while
        ("on-call owner", "Tamsin owns the importer.", "Tamsin isn't in this week, ask Dmitri about the importer."),
        ("receptionist", "Our receptionist is Aoife.", "Aoife left early today, Ravi sits at the front desk."),
        ("Ansprechpartner", "Für die Kasse ist Petersen zuständig.", "Petersen ist im Urlaub, Yilmaz vertritt ihn."),
        ("infirmière", "Mon infirmière est Inès.", "Inès est partie en vacances, Karim passe à la maison."),
        ("portera", "La portera es Rosa.", "Rosa está de baja, abre Julián."),
        ("portiere", "Il portiere è Gallo.", "Gallo è in ferie, lo sostituisce per ora Ferri."),
        ("负责人", "Alice负责前台。", "Alice休假了，前台由Bob代班。"),
        # It will be so, or may be
        ("chat tool", "We chat on Rocket.Chat.", "We are leaving Rocket.Chat next quarter, Zulip comes then."),
        ("chat tool", "We chat on Rocket.Chat.", "We might ditch Rocket.Chat, Zulip looks nice."),
        # Somebody else's
        ("employer", "I work at Halden.", "My cousin left Halden, she is at Norvik."),
        ("Arbeitgeber", "Ich arbeite bei Halden.", "Meine Cousine hat Halden verlassen, sie ist bei Norvik."),
        # Reported
        ("editor", "I write in Kakoune.", "Ravi says everyone ditched Kakoune and Helix won."),
        # Nothing in its place
        ("chat tool", "We chat on Rocket.Chat.", "Rocket.Chat is dead."),
        # Another kind of thing in its place
        ("flatmate", "My flatmate is Aoife.", "Aoife left me 50 euros."),
        # A question
        ("chat tool", "We chat on Rocket.Chat.", "Has anyone dropped Rocket.Chat for Zulip?"),
    ],
)  # fmt: skip
def test_an_absence_a_plan_a_report_and_what_is_somebody_elses_replace_nothing(
    key: str, older: str, newer: str
) -> None:
    assert judged(key, older, newer) is not Verdict.REPLACES


@pytest.mark.parametrize(
    ("key", "newer_key", "older", "newer"),
    [
        ("manager", "choir", "My manager is Aoife.", "Aoife left the choir, I sing with Ravi now."),
        ("dentist", "band", "Bakker is my dentist.", "Bakker quit the band, De Wit plays bass."),
    ],
)
def test_one_name_in_two_matters_is_no_successor_under_other_keys(
    key: str, newer_key: str, older: str, newer: str
) -> None:
    assert judged(key, older, newer, newer_key=newer_key) is not Verdict.REPLACES


def test_the_value_of_a_model_tells_which_name_is_over() -> None:
    older, newer = "I met Aoife at Halden, where I work.", "Halden fired me and Norvik hired me."
    assert judged("employer", older, newer, bare=("Halden", "Norvik")) is Verdict.REPLACES


def test_a_long_message_takes_time_in_proportion_to_its_length() -> None:
    older = Told("tool", "We use Mantis.", "We use Mantis.")

    def seconds(times: int) -> float:
        newer = "Mantis left, " * times
        start = process_time()
        judge(older, Told("tool", newer, newer))
        return process_time() - start

    seconds(10)
    assert seconds(4_000) < cpu_s(0.5)
