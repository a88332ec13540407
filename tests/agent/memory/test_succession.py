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
        ("sales lead", "boss", "Tamsin runs sales.", "Since Tamsin's resignation Dmitri has run sales."),
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
    ("key", "older", "newer"),
    [
        # Ends something else
        ("manager", "Our manager is Aoife.", "Aoife quit the chess club, Ravi is its captain now."),
        ("Chefin", "Meine Chefin ist Petersen.", "Petersen ist aus dem Verein ausgetreten, Yilmaz ist jetzt Kassier."),
        ("supplier", "We order from Brightwater.", "Brightwater cancelled the tasting, Osei comes on Tuesday."),
        ("town", "I live in Halden.", "I left Halden at 8 and reached Norvik at 10."),
        ("employer", "I work at Halden.", "Ravi quit Halden, he's at Norvik now."),
        # Was so once
        ("gym", "I train at Ironworks.", "Ironworks was packed, so I ran in Victoria Park."),
        ("lunch place", "We eat at Rosa's.", "Rosa's was full, so we ate at Sakura."),
        ("Anbieter", "Wir sind bei Nordnetz.", "Nordnetz war gestört, ich hab den Hotspot von Südfunk genommen."),
        ("jefa", "Mi jefa es Rosa.", "Rosa no pudo venir, vino Julián."),
        ("chef", "Mon chef est Karim.", "Karim n'était pas là, c'est Odette qui a signé."),
        ("chefe", "Meu chefe é o Tiago.", "O Tiago não veio, quem assinou foi a Rita."),
        ("dentist", "My dentist is Aoife Byrne.", "Byrne had no slot, so Ravi Rao saw me."),
        # Holds in another place
        ("price", "The plan is 30 dollars.", "It's not 30 dollars in Canada, it's 38."),
        ("browser", "I use Vivaldi.", "Vivaldi doesn't show the form, Falkon does."),
    ],
)  # fmt: skip
def test_the_end_of_something_else_and_what_was_so_once_replace_nothing(key: str, older: str, newer: str) -> None:
    assert judged(key, older, newer) is not Verdict.REPLACES


@pytest.mark.parametrize(
    ("key", "older", "newer"),
    [
        # A release
        ("runtime", "We run Lumen 3.", "Lumen 4 is out."),
        ("Laufzeit", "Wir nutzen Lumen 3.", "Lumen 4 ist erschienen."),
        ("runtime", "On est sur Lumen 3.", "Lumen 4 vient de sortir."),
        ("版本", "我们用Lumen 3。", "Lumen 4已经发布了。"),
        ("バージョン", "Lumen 3を使っています。", "Lumen 4がリリースされました。"),
        # One of several
        ("approvals", "Changes need one approval.", "Changes in the billing repository now need two approvals."),
        ("price", "The course is 40 euros.", "The course for adults is now 60 euros."),
        ("precio", "El menú cuesta 11 euros.", "El menú del domingo ha subido a 17 euros."),
        ("precio", "El menú cuesta 11 euros.", "El menú infantil ahora cuesta 8 euros."),
        # What is planned
        ("Preis", "Die Karte kostet 50 Euro.", "Die Karte soll auf 60 Euro steigen."),
        ("framework", "The site runs on Lumen 3.", "The roadmap has the site on Lumen 4."),
        # Once
        ("daily", "La daily es a las 9.", "Hoy la daily se ha movido a las 11."),
        ("picnic", "The picnic is on May 3.", "The picnic is on May 10 this year."),
    ],
)  # fmt: skip
def test_a_release_one_of_several_a_plan_and_a_single_time_replace_nothing(key: str, older: str, newer: str) -> None:
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
