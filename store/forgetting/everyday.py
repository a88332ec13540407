"""Words that two texts of one conversation share by chance, and words that tell by themselves. Pure.

Rules
  Messages of one person are too few to tell a rare word from a common one: a season, a weekday or "better" stands in
  any talk. So what many talks have in common is listed here, and a text is related only by what is left.
  A name, a number or a long word tells by itself. In German every noun is written as a name is, so there only numbers
  and long words do.
"""

import re
from typing import Final

from store.search.text import index_words, stem

LONG: Final = 9  # Letters of a word that is hardly ever said by chance: "hepatitis", "antifouling"
_EVERYDAY: Final = """
able after afternoon agree almost along already also although always amount another around available away back because
become been before began begin behind being believe below best better between both bring build call called came cannot
case change city come comes common consider country course create daily days deal depend different does doing done
down each early easy either else end ends english enough even ever every everyone example explain fact family far feel
few find fine first follow following form found four free friday friend from full general generally give gives given
goes going gone good great group half hand happen hard have high hold home hour hours house idea important inside
instead into issue item job just keep kind large last late later least left less level life like list little live long
longer look looking looks lot made main make makes making many mark matter maybe mean means might mind minute minutes
monday money month months more most move much must name named names near nearly need needs never next nice night
nothing now number often once one only open order other others outside over own page part people perhaps person place
places plan plus point possible post problem provide put quick quickly quite rather read real really reason result
return right room run same saturday school second see seem seems send set several short show side simple simply since
small some something sometimes soon sort special spring start starts state stay step still stop such summer sunday
sure take takes talk ten than then there thing things think three through thursday time times today together tomorrow
tonight toward true try tuesday turn two type under until upon used useful uses using usual usually value very via
wait walk want warm water ways wednesday week weekend weekly weeks well went what when while whole wide winter within
without word words work works world write wrong year yearly years yes yesterday yet young autumn aber alle allem allen
aller alles als andere anderen anders auch auf aus beide beim beispiel bekommen beste besten besser bevor bin bis bist
bleiben bleibt bringen brauche brauchen braucht dabei dadurch dafur damit danach dann daran darauf daraus darf darum
dass davon dazu dein deine deinen deiner denn der des deshalb dich dienstag dies diese diesem diesen dieser dieses
doch donnerstag dort drei durch durfen eben eigene eigenen eigentlich ein eine einem einen einer eines einfach einige
einmal ende enthalt entweder erst erste ersten etwa etwas finde finden findet frage freitag fruh fruhling fruhjahr fur
ganz ganze geben gegen gehe gehen geht gemacht genau genug gerade gesagt gibt grad gross grosse grossen gut gute guten
guter habe haben halb halbe hast hat hatte heisst heissen heute herbst hier hinter hoch ihnen ihr ihre ihrem ihren
ihrer immer ins ist jahr jahre jahren jede jedem jeden jeder jedes jetzt kann kannst kein keine keinen klein kleine
kommen kommt konnen konnte kurz lang lange lasse lassen lasst leben leicht letzte letzten liegt machen machst macht
man manche mehr mein meine meinem meinen meiner meist meistens minuten mit mittwoch mochte monat monate montag morgen
muss mussen musst nach nachste nachsten nachdem nacht namen neben nehmen nicht nichts nie nimmt noch nun nur oben oder
oft ohne ort paar platz richtig sagen sagt samstag schnell schon schone schoner sehen sehr sein seine seinen seiner
seit seite selbst sich sicher sieht sind sollen sollte sommer sondern sonntag sonst stadt statt stehen steht stelle
stunde stunden tag tage tagen teil tun uber uhr und uns unser unsere unten unter viel viele vielen vier vielleicht vom
von vor vorher wann war warum was weg weil weiter weitere welche welchen welcher welt wenig wenige weniger wenn wer
werde werden wie wieder will wird wirklich wissen wo woche wochen wohl wollen wurde zehn zeigt zeit zum zur zusammen
zwei zwischen ademas ahora algo alguien alguna algunas alguno algunos ambos ano anos antes aquel aqui asi aun aunque
bajo bastante bien buen buena buenas bueno buenos cada casa casi caso ciudad como con cosa cosas cual cuales cualquier
cuando cuanto cuatro debe deben decir dentro desde despues dia dias dice dicho diez domingo donde dos durante ejemplo
ella ellas ellos embargo entonces entre eres esa esas ese eso esos esta estaba estan estar estas este esto estos forma
fuera gente gran grande grandes hace hacen hacer hacia han hasta hay haya hora horas hoy igual invierno ir jueves
junto lado largo lugar lunes luego maneras manana martes mas mayor media mejor mejores menos mes meses miercoles
mientras minuto minutos misma mismo mismos momento mucha muchas mucho muchos mundo muy nada nadie ninguna ninguno
noche nombre nosotros nueva nuevo nuevos nunca otono otra otras otro otros para parte pequena pequeno pero persona
personas poca pocas poco pocos poder porque primavera primer primera primero problema pronto propio puede pueden
puedes pues punto quiere quiero quien quizas recordare sabado saber seco segun segunda segundo seis semana semanas
sera ser siempre siete sido siguiente sin sino sobre solo son suele tal tambien tampoco tan tanto tarde tener tengo
tiempo tiene tienen tipo toda todas todavia todo todos trabajo tras tres una unas uno unos usar varias varios veces
ver verano verdad viernes vez vida ainsi alors annee annees apres assez aucun aujourd aussi autre autres avant avec
avez avoir avons beaucoup bonne bonnes bons bon cela celle celui cependant ces cet cette ceux chaque chez chose choses
comme comment contre dans debut deja depuis dernier derniere deux devant dire dix dois doit dont elle elles encore
enfin ensuite environ etait etc ete etre exemple facile faire fait faut fois font genre gens grand grands heure heures
hiver ici jamais janvier jour jours jusque juste laquelle lequel lesquels leur leurs lieu loin longtemps lorsque lundi
maintenant mais maison mal mardi matin meilleur meilleure meme memes mercredi mieux mois moins moment monde nom notre
nous nouveau nouvelle nuit parce parfois parmi partie partir pas pays pendant petit petite petits peu peut peuvent
peux plusieurs plutot pour pourquoi premier premiere pres presque printemps prochain propre puis quand quatre que quel
quelle quelles quelque quelques quels qui quoi rien samedi sans selon semaine semaines seul seulement sinon soir sont
sous souvent sujet sur tant tel temps toi toujours tous tout toute toutes trois trop trouve une vendredi vers ville
voici voila voir vos votre vous vraiment automne dimanche jeudi abbastanza adesso alcuni alla allora altra altre altri
altro anche ancora anni anno appena bella bello bene buona buone buoni buono cento che chi ciascuno circa citta cose
cosi dalla dalle dallo dal degli dei del della delle dello deve devi devono dopo dove due ecco entrambi era essere
estate fare fatto fino fra fuori gia giorni giorno giovedi gli grandi hai hanno ieri inoltre insieme inverno invece
loro lunedi luogo lungo mai martedi mattina meglio meno mentre mercoledi mese mesi mezzo migliore minuti modo molta
molte molti molto mondo nei nel nella nelle nessuno niente nome non nostro notte nulla numero nuovo ogni oggi oltre
ora ore perche per persone piccolo piu pochi poi possibile possono posso prima primo proprio prossimo puo puoi qualche
qualcosa qualcuno quale quali quando quanto quasi quattro quella quelli quello questa queste questi questo quindi
quinta sabato secondo sei sempre senza settimana settimane sia siamo sono sopra sotto spesso stata stato stesso sua
subito sulla suo tale tempo tra tre troppo tua tutta tutte tutti tutto usare venerdi vero verso vita volta volte
vostro autunno domenica domani acima agora ainda alem alguem alguma algumas alguns apenas apos aquela aquele assim ate
atras bem boa boas bom cidade coisa coisas com contra cujo dar das devem depois dessa desse desta deste dizer duas ela
elas ele eles embora enquanto entao essa essas esse esses estao estes eu exemplo facil faz fazem fazer feira foi for
fora foram hoje isso isto ja lhe logo longe longo maior manha melhor mesma mesmo meu minha muita muitas muito muitos
nao nas nenhum nessa nesse nesta neste ninguem noite nos nossa nosso nova novo num numa onde ontem otimo outono outra
outras outro outros pela pelas pelo pelos perto pessoa pessoas pode podem pois portanto possivel pouca pouco poucos
pra primeira primeiro proximo quais qual qualquer quarta quase quatro quem quer sao seja sem sendo sexta sim somente
suas talvez tambem tanta tem tenho ter terca teve trabalho tudo uma umas vezes voce voces verao aan achter alleen
altijd ander avond beter bij binnen blijven boven buiten daar daarna dag dagen dan dat deze dinsdag dit doen doet
donderdag door drie dus een eens eerst eerste eigen elk elke enkele geen gaan gaat geeft gemaakt genoeg geven goed
goede graag groot grote haar had heb hebben heeft heel helemaal herfst het hoe hoeveel hun huis iedere iedereen iemand
iets ieder jaar jaren jij jouw juist kan keer komen komt kort kunnen kun laat laatste laten leven liever maak maakt
maand maanden maandag maar maken makkelijk meer meest meestal men met mijn minder misschien moet moeten mogelijk naam
naar naast nemen niemand niet niets nieuw nieuwe nodig nog nooit onder ons onze ook omdat ooit plaats plek samen
slechts soms staan staat stad steeds straks tegen tijd toch toen tot tussen twee uit uren uur vaak van vandaag vanaf
veel vind vinden voor vooral vrijdag wanneer waar waarom wat weken weer weinig welk welke wel wereld werken werkt werk
wij wil woensdag worden wordt zal zaterdag zeer zeggen zegt zelf zes zijn zien ziet zich zodat zomer zonder zondag zou
zullen zulke lente
니다 습니 합니 입니 됩니 있습 없습 했습 었습 았습 어요 에요 예요 해요 세요 네요 군요
에서 으로 에게 부터 까지 하고 하는 하면 해서 지만 그리 그래 그런 이런 것은 것이 것을 있는 없는 이다
"""
EVERYDAY: Final = frozenset(map(stem, _EVERYDAY.split()))

_HIRAGANA: Final = re.compile("[\u3041-\u309f]")  # In Japanese the signs of grammar
_CJK_SIGN: Final = re.compile("[\u3005\u3041-\u9fff\uac00-\ud7ff]")
# The smallest words of German, which stand in nearly every sentence of it and hardly in another language's.
_GERMAN: Final = frozenset(
    "das dem den der des die ein eine einen fur ich ihr ist mein meine meinen mit nicht sich sie und wie wir zu".split()  # noqa: SIM905 -- shorter than a list
)
_TOKEN: Final = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_ENDS: Final = (".", "!", "?", ":", "\n", "\u201c", '"', "(", "*", "#", "-")


def is_everyday(word: str) -> bool:
    """Whether many talks have this index word, so that two texts share it by chance. Of a pair of signs, one with a
    sign of Japanese grammar.
    """
    return stem(word) in EVERYDAY or bool(_HIRAGANA.search(word))


def names_in(text: str) -> frozenset[str]:
    """The stems of the words in a text that tell by themselves: names, numbers and long words."""
    words = index_words(text)
    told = {stem(word) for word in words if len(word) >= LONG and not _CJK_SIGN.match(word)}
    told |= {stem(word) for word in words if any(map(str.isdigit, word))}
    if len(_GERMAN.intersection(words)) < 2:
        told |= _capitalised(text)
    return frozenset(told)


def _capitalised(text: str) -> set[str]:
    """The stems of words with a capital letter inside of a sentence."""
    found = set[str]()
    for token in _TOKEN.finditer(text):
        before = text[max(token.start() - 3, 0) : token.start()].rstrip(" ")
        if token[0][0].isupper() and before and not before.endswith(_ENDS):
            found.update(map(stem, index_words(token[0])))
    return found
