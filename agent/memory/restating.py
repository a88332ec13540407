"""Restates a report of a change as the state that it led to, so that it can be compared with the older state. Pure.

    We pushed the retro back to 16:30.         the retro is now 16:30.
    Desde enero trabajo en Indra.              now trabajo en Indra.
    La réunion aura lieu à 11 h désormais.     La réunion is à 11 h désormais.
    定例会議は水曜日に変わりました。             定例会議は水曜日です。

Only the frame of the report is removed: who made the change, if that is "we" or "they", its verb, since when it holds,
and a verb that says only that something happens. What stands of the sentence is compared as strictly as before. Each
pattern is linear: fixed words, and runs of bounded length. They are in lower case, for `folded` text.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from agent.memory import when_cues
from agent.memory.lexicon import NUMBER_WORDS, folded
from agent.memory.statements import READ_CHARS, content_tokens
from agent.patterns import compile_later


def _forms(stems: str, endings: str) -> str:
    return rf"(?:{'|'.join(stems.split())})(?:{'|'.join(endings.split())})"


# Verbs that report a change, in the forms of the past that people use for it.
_CHANGED: Final = "|".join(
    (
        (
            r"moved|changed|switched|pushed|shifted|bumped|raised|lowered|increased|reduced|extended|shortened"
            r"|postponed"
            r"|delayed|rescheduled|updated|set|reset|brought|put|cut|renamed|upgraded|downgraded|transferred"
            r"|relocated"
            r"|migrated|turned|widened|expanded|shrunk|enlarged|dropped|slid|stretched"
        ),
        _forms(  # Spanish
            "cambi adelant retras aplaz traslad aument ampli actualiz modific ajust prorrog baj prolong program",
            "é ó amos aron ad[oa]",
        ),
        _forms("sub mov", "í ió imos ieron ido"),
        _forms("redu", "je jo jimos jeron cido"),
        _forms(  # Portuguese
            "mud alter adi adiant antecip aument atualiz remarc prolong ajust transferi? pass baix",
            "ei ou [aá]mos aram ad[oa]",
        ),
        _forms(  # French
            "chang déplac décal avanc report repouss augment baiss prolong modifi actualis transfér raccourc fix",
            "ée?s? ie?s?",
        ),
        r"agrandie?s?|élargie?s?|réduite?s?|étendue?s?|raccourcie?s?|remise?s?|portée?s?|ramenée?s?",
        _forms("spost cambi aument anticip posticip rinvi prorog aggiorn modific alz abbass rinomin", "at[oaie]"),
        r"trasferit[oaie]|ridott[oaie]|portat[oaie]|estes[oaie]",
        r"verplaatst|verzet|gewijzigd|veranderd|verhoogd|verlaagd|uitgesteld|verlengd|vervroegd|opgeschoven|hernoemd",
        r"перен[её]с|перенесл[аи]",
        _forms(  # Russian
            "сдвину передвину отложи подня повыси снизи измени поменя продли сократи увеличи уменьши обнови переименова"
            " переве",
            "л ла ли",
        ),
    )
)
VERB_OF_CHANGE: Final = compile_later(rf"\b(?:{_CHANGED})\b")
_PART: Final = 4  # Letters of a word that is part of a compound
_PARTICIPLES: Final = (
    r"verschoben|verlegt|vorverlegt|vorgezogen|geändert|verlängert|verkürzt|erhöht|gesenkt|angehoben|gesetzt"
    r"|umbenannt"
    r"|umgestellt|gelegt|aktualisiert|angepasst|reduziert|aufgestockt|gekürzt|umgebucht|geschoben|gezogen"
    r"|vergrößert|verkleinert|verteilt|gebracht|gedreht"
    r"|verplaatst|verzet|gewijzigd|veranderd|verhoogd|verlaagd|uitgesteld|verlengd|vervroegd|opgeschoven"
)
# Who made it, where that says nothing about the thing. "Ann's team moved its retro" is about another one.
_WHO: Final = r"we|they|i|nosotros|ellos|on|nous|ils|je|j|nós|eles|noi|loro|io|wij|we|ze|ik|мы|они|я"
_HAVE: Final = (
    r"(?:['’]ve|have|just|had to|['’]ai|hemos|han|he|ha|a|ont|avons|ai|abbiamo|hanno|ho|hebben|heb|nous|nos|ci|me|lo)"
)
_THE: Final = (
    r"the|our|my|el|la|los|las|nuestr[oa]s?|mis?|le|les|notre|nos|mon|ma|mes|l['’]|o|a|os|as|noss[oa]s?|meus?|minhas?"
    r"|il|lo|i|gli|nostr[oa]|mi[oa]|de|het|onze|ons|mijn"
)
_OBJECT: Final = rf"(?P<what>(?:(?:{_THE})\s)?(?!(?:{_HAVE}|to|a|al|à)\s)[^.,;:\s][^.,;:]{{1,60}}?)"
_TO: Final = (
    r"(?:to|until|till|a|al|ao|à|au|aux|hasta|até|para|para [oa]|pro|jusqu['’]?(?:à|au)?|en|alle?|fino al?|naar|tot|op"
    r"|на|до|в)"
)
_MADE: Final = compile_later(
    rf"^\W{{0,3}}(?:(?:{_WHO})\b\s?)?(?:{_HAVE}\s){{0,2}}(?:{_CHANGED})\s{_OBJECT}"
    rf"(?:\s(?:from|von|de|desde|da|с|со)\s[^.,;]{{1,40}}?)?(?:\s(?:back|forward|up|down|over|out))?\s{_TO}\s(?P<value>.)"
)
# Whatever the verb is: if the older sentence is about what is acted on, and it ends up at a value, it was changed.
_ACTED: Final = compile_later(
    rf"^\W{{0,3}}(?:(?:{_WHO})\b\s?|(?P<agent>(?:the|la|le|el|il|o|a|l['’])\s?[^\W\d_]{{2,20}}\s))(?:{_HAVE}\s){{0,2}}"
    rf"[^\W\d_]{{3,20}}\s{_OBJECT}"
    rf"(?:\s(?:back|forward|up|down|over|out))?\s{_TO}\s(?P<value>.)"
)
_ACTED_BY_NAME: Final = compile_later(
    rf"^\W{{0,3}}(?P<agent>(?!(?:{_THE})\s)[^\W\d_]{{2,20}}\s)(?:{_HAVE}\s){{0,2}}(?:{_CHANGED})\s{_OBJECT}\s{_TO}\s"
    r"(?P<value>.)"
)
_DEFINITE: Final = compile_later(rf"(?:{_THE}|de[rmn]|die|das|unser\w{{0,2}}|mein\w{{0,2}})\s")
_ACTED_AT_END: Final = compile_later(
    r"^\W{0,3}(?:wir|sie|man|ich|we|wij|ze|ik|(?P<agent>(?:(?:der|die|das|de|het) )?[^\W\d_]{2,24}))"
    r" (?:haben?|hat|hebben|heb|heeft) (?P<what>[^.,;]{1,60}?)"
    r" (?P<value>(?:auf|nach|bis|zum?|in|ins|um|ab|naar|tot|op) (?:[^.,;]|[.,](?=\d)){1,60}?)"
    r" (?P<verb>[^\W\d_]{4,24})(?=\W*$)"
)
# "We changed our supplier, it is X now."
_IT_IS: Final = (
    r"\s?[,;:–—-]\s?(?:(?:now|ahora|adesso|ora|agora|maintenant|теперь)\s)?"
    r"(?:it['’]s|it is|c['’]est|es ist|das ist|es|è|é|это)(?:\s(?:now|jetzt|nun|ahora|adesso|ora|agora|maintenant))?"
    r"\s(?P<value>[^\s])"
)
_GIVEN_UP: Final = (
    compile_later(
        rf"^\W{{0,3}}(?:(?:{_WHO})\b\s?)?(?:{_HAVE}\s){{0,2}}(?:{_CHANGED}|replaced|remplacée?s?)\s{_OBJECT}{_IT_IS}"
    ),
    compile_later(
        rf"^\W{{0,3}}(?:wir|ich|we|ik) (?:haben?|hebben|heb) (?P<what>[^.,;]{{1,60}}?) (?:gewechselt|ersetzt|vervangen"
        rf"|{_PARTICIPLES}){_IT_IS}"
    ),
)
# German and Dutch have the participle at the end.
_MADE_AT_END: Final = compile_later(
    r"^\W{0,3}(?:wir|sie|man|ich|we|wij|ze|ik) (?:haben?|hat|hebben|heb) (?P<what>[^.,;]{1,60}?)"
    r" (?P<value>(?:auf|nach|bis|zum?|in|ins|um|ab|naar|tot|op) [^.,;]{1,60}?)"
    rf" (?:{_PARTICIPLES})\b"
)
# German and Dutch may put first when it was made, and the verb before who made it: "am Montag haben wir …"
_WHEN_FIRST: Final = compile_later(
    r"^\W{0,3}(?:(?:am|im|vor|letzte[nrs]?|vorige[nrs]?|diese[nrs]?|afgelopen|op|in) (?:[^\W_]{1,20} ){1,3}?"
    r"|(?:vor)?gestern |heute |neulich |kürzlich |inzwischen |mittlerweile |endlich |gisteren |vandaag |onlangs"
    r" |inmiddels )"
    r"(?P<have>haben?|hebben|heb) (?P<who>wir|ich|man|we|wij|ik) "
)
# Or the thing that was changed ("den Termin haben wir … verlegt"), and colloquially no subject: "hab ihn … verlegt"
_OBJECT_FIRST: Final = compile_later(
    r"^\W{0,3}(?P<what>(?:den|die|das|unser\w{0,2}|mein\w{0,2}|de|het|onze|mijn) [^.,;]{2,40}?)"
    r" (?P<have>habe?n?|hebben|heb) (?P<who>wir|ich|man|we|wij|ik) "
)
_NO_SUBJECT: Final = compile_later(r"^\W{0,3}(?:hab(?!en)e?|heb(?!ben)) ")
_WHILE_MAKING: Final = compile_later(
    r" (?:eben|gerade|soeben|vorhin|dauerhaft|endgültig|bereits|schon|jetzt|nun|net|zojuist|definitief|voorgoed)(?= )"
    r"| (?:und|en) (?:[^\W\d_]{1,5}(?=ge))?(?:ge|ver|be|er|ent)[^\W\d_]{2,20}(?:t|en|d)(?=\W*$)"
)
# "It is X who does Y", and "who does Y is X".
_CLEFT: Final = (
    compile_later(
        r"^(?:(?P<topic>(?:les?|la|l['’])\s?[^,]{2,40}), )?c['’]est (?P<who>[^,.]{1,30}?) qui (?P<does>[^,.]{3,80})"
    ),
    compile_later(r"^(?:it['’]s|it is) (?P<who>[^,.]{1,30}?) who (?P<does>[^,.]{3,80})"),
    compile_later(r"^è (?P<who>[^,.]{1,30}?) che (?P<does>[^,.]{3,80})"),
    compile_later(
        r"^(?:(?:the (?:one|person) )?who|quem|quien|chi|celui qui|celle qui|la persona que) (?P<does>[^,.]{3,60}?)"
        r" (?:is|é|es|è|est)(?: (?:now|agora|ahora|ora|adesso|maintenant|désormais))?"
        r" (?:o |a |el |la )?(?P<who>[^,.]{1,30})"
    ),
)
_OF_IT: Final = compile_later(r"\bs['’]en (?=\w)|\ben (?=charge)")
_PUT_CHINESE: Final = compile_later(
    r"^(?:我们|我|他们)?(?:已经?)?把(?P<what>[^，。；]{1,20}?)"
    r"(?:推迟|延期|提前|延长|增加|减少|提高|降低|调整|变更|更改|更换|切换|升级|迁移|转移|[改换变调转挪移搬升降])[到至为成]了?"
)
_BECAME_JAPANESE: Final = compile_later(
    r"(?:に|へ|と)(?:変わ(?:りました|った|ります)|変更(?:に?なりました|になった|しました|した|されました|された|です)?|変え(?:ました|た)"
    r"|なりました|なった|移り(?:ました)|移(?:りました|った|しました)|移動(?:しました|になりました)|延期(?:されました|になりました|しました)"
    r"|替わりました|代わりました|決まりました"
    r"|値?[上下]がり(?:しました|した|ました)|値[上下]げ(?:しました|した|されました)|[増減](?:りました|えました))(?:\W*$)"
)
_OBJECT_JAPANESE: Final = compile_later(r"^(?P<what>[^、。はが]{1,24})を")
# It only says that something is or happens.
_HAPPENS: Final = compile_later(
    r"\b(?:(?:will |is going to |now )?(?:take|takes|taking) place|(?:will |is going to )happen|happens"
    r"|is (?:being )?held|will be held|is going to be|will now be|auront lieu|aura lieu|se tient|se tiendra"
    r"|se déroule(?:ra)?|tendrán? lugar|se celebran?|se celebrará|va a ser|se har[áa]n?|avr(?:à|anno) luogo"
    r"|si ter(?:rà|ranno)|si tiene|si svolg(?:e|erà|ono)|acontecem?|vai ser|vão ser|decorre|realiza-se|vindt plaats"
    r"|пройд[её]т|проходит|состоится|будет проходить)\b"
)
_DAY: Final = (
    r"mon|tues|wednes|thurs|fri|satur|sun",
    r"montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag",
    r"lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo",
    r"lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica|segunda|terça|quarta|quinta|sexta",
    r"понедельника|вторника|среды|четверга|пятницы|субботы|воскресенья",
)
_MONTH: Final = (
    r"january|february|march|april|may|june|july|august|september|october|november|december"
    r"|januar|jänner|februar|märz|mai|juni|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août"
    r"|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre"
    r"|noviembre|diciembre|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre"
    r"|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro"
    r"|января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря"
    r"|januari|februari|maart|mei|augustus"
)
_PERIOD: Final = (
    r"weeks?|months?|years?|quarters?|spring|summer|autumn|fall|winter|morning|weekend|term|semester|yesterday|today"
    r"|recently|woche|monats?|jahr(?:es)?|quartals?|frühjahr|frühling|sommer|herbst|winter|gestern|heute|kurzem"
    r"|neuestem"
    r"|wochenende|semaine|mois|année|printemps|été|automne|hiver|rentrée|hier|peu|trimestre|semana|mes|año|primavera"
    r"|verano|otoño|invierno|ayer|hoy|poco|semestre|settimana|mese|anno|estate|autunno|inverno|ieri|oggi|mês|ano"
    r"|verão"
    r"|outono|inverno|ontem|hoje|недели|месяца|года|весны|лета|осени|зимы|вчерашнего дня|недавних пор|этого момента"
    r"|easter|christmas|new year(?:['’]s)?|ostern|weihnachten|neujahr|silvester|pâques|noël|pascua|navidad|año nuevo"
    r"|pasqua|natale|capodanno|páscoa|natal|ano novo|pasen|kerst|nieuwjaar|пасхи|рождества|нового года"
    r"|aujourd['’]hui|сегодняшнего дня|maand|jaar|voorjaar|zomer|herfst|kort|gisteren|vandaag"
)
_TIME: Final = rf"(?:(?:{'|'.join(_DAY)})(?:day)?|{_MONTH}|{_PERIOD})"
_OF_TIME: Final = (
    r"(?:the |this |last |next |early |mid-?|late |dem |der |den |diese[rmns]? |letzte[rmns]? |(?:anfang|mitte|ende) "
    r"|le |la |l['’]|cette? |el |este |esta |principios de |finales de |il |lo |quest[oa] |questa |o |a |deste "
    r"|desta "
    r"|прошло(?:й|го) |этого |этой |начала |конца |de |het |deze |dit |afgelopen ){0,2}"
)
_SINCE: Final = (
    r"since|as of|starting(?: in| from)?|beginning|from|seit|ab|depuis|dès|à partir d[eu]|à compter d[eu]"
    r"|à (?:partir|compter) d(?=['’])|desde"
    r"|a partir d[eo]|dal|dalla|dall['’]|da|a partire d[a-z]{1,4}|sinds|vanaf|с|со|начиная с"
)
# "Since the rebuild": only where it is the end of the sentence, and never "from", which also names a place.
_SINCE_EVENT: Final = compile_later(
    r"\s(?:ever )?(?:since|seit|depuis|sinds)(?: (?!\d)[^\W\d_]{1,20}){1,4}(?=\W*$)"
    # Before the sentence: "since the refit the museum …", "seit der neuen Saison spiele ich …", "desde la mudanza, …"
    r"|^\W{0,3}(?:since|seit|depuis|desde|dalla?|sinds)(?: [^\W\d_]{1,20}){1,4},"
    r"|^\W{0,3}since (?:the|our|my|his|her|their) [^\W\d_]{1,20}(?= (?:the|our|my|we|i|they|he|she|it)\b)"
    r"|(?<!\w)(?:seit|sinds) (?:de[rm]?|het|unser\w{1,2}|mein\w{1,2}|onze|mijn) (?:[^\W\d_]{2,20}en )?"
    r"[^\W\d_]{2,24}(?= )"
    # What is new, and how long it has been so: "with the new plan I …", "ça fait deux mois que …"
    r"|^\W{0,3}(?:with|mit|avec|con|com|met)"
    r" (?:the|my|our|de[rmn]?|het|mein\w{1,2}|unser\w{1,2}|mijn|onze|l[aeo]s?|notre|mon|ma|el|mi|nuestr[oa]"
    r"|il|i|os?|as?)"
    r" (?:new|neue[nrm]?|nieuwe|nouve(?:l|lle|au|aux)s?|nuev[oa]s?|nuov[oaie]|nov[oa]s?) [^\W\d_]{2,30}(?=,? )"
    r"|^\W{0,3}(?:(?:ça|cela) fait|voilà|hace|faz|há|è da) [^,.;:!?]{2,30}? (?:que|che) (?=\w)"
    # Why it is so now: "… now that Ann left"
    r"|\s(?:now that|jetzt,? (?:wo|da)|ahora que|maintenant que|ora che|adesso che|agora que"
    r"|теперь, когда)\s[^.!?]{1,200}"
    r"|\s(?:desde|dalla|dal|dopo|after|nach|après|tras|após|после) (?:the |la |el |le |il |o |a |der |dem |l['’])?"
    r"(?:re(?:build|org|design|launch|name)|upgrade|migration|merger|move|switch|umbau|umzug|umstellung|umstieg"
    r"|wechsel|migración|mudanza|fusión|actualización|cambio|déménagement|fusion|passage|changement|mudança|migração"
    r"|fusão|atualização|troca|trasloco|migrazione|fusione|aggiornamento|переезда|перехода|обновления"
    r"|слияния)(?=\W*$)"
)
_SINCE_TIME: Final = compile_later(
    rf"(?<!\w)(?:{_SINCE})[\s'’]{_OF_TIME}{_TIME}(?:(?:\s(?:on|onwards|an|passad[oa]|pasad[oa]|dernière?|scors[oa]"
    r"|geleden))\b)?(?![\w-])(?!\s(?:to|until|till|through|bis|à|au|a|al|até|hasta|tot|по|до)\s),?"
)
_SINCE_SIGNS: Final = compile_later(
    r"(?:从|自)(?:[上这本下今去]个?[月周年季]度?|[今去]年[春夏秋冬]天?|[春夏秋冬]天|周[一二三四五六日]|[\d一二三四五六七八九十]{1,3}月份?|昨天|今天)(?:起|开始)?，?"
    r"|(?:先月|先週|今月|今週|昨年|去年|今年|来月|来週|[春夏秋冬]|\d{1,2}月|昨日|[月火水木金土日]曜日?)(?:から|より|以降は?)、?"
)
# "Now" may stand anywhere; the comparison of two frames needs it nowhere.
_NOW: Final = compile_later(
    r"\s(?:now|nowadays|jetzt|nun|inzwischen|mittlerweile|neuerdings|désormais|maintenant|dorénavant|à présent|ahora"
    r"|actualmente|agora|atualmente|adesso|ormai|attualmente|теперь|nu)(?=\s[^\W_])"
)
# A thing is where it lies: "the tent ended up in the cellar"
_LIES: Final = compile_later(
    r"\b(?:ended up|wound up|(?:is|are) (?:kept|stored|parked))(?=\s(?:in|at|on|under|behind|beside|next to)\s)"
)
_SINCE_PATTERNS: Final = (_SINCE_TIME, _SINCE_EVENT, _SINCE_SIGNS)
_HAPPENS_APART: Final = compile_later(
    r"\b(?:findet|finden|vindt|vinden)\b(?P<value>[^.;]{1,80}?)\b(?:statt|plaats)(?=\W*$)"
)
# When the change was made: in a sentence of a change that is no part of what is so now.
_MADE_WHEN: Final = compile_later(
    rf"\s(?:in|im|en|em|a|ad|au|в) (?:early |late |mid-)?(?:{_MONTH})(?=\W*$)|\s(?:{when_cues.WHEN.pattern})(?=\W*$)"
)
# A code of a word and a number: "tulip-44"
_HYPHEN_IN_CODE: Final = compile_later(r"(?<=[^\W\d_])-(?=\d)")
# Why it is so: nothing that it is about
_REASON: Final = compile_later(
    r"\s(?:because(?: of)?|due to|owing to|wegen|parce qu[e'’]|à cause d[eu]|porque|debido al?|por culpa de"
    r"|por (?:el|la) (?:trabajo|estudios?) de|perché|a causa d\w{1,4}|por causa d\w|omdat|vanwege|потому что|из-за)\s"
    r"[^.,;:!?\d]{1,100}(?=[.!?]*$)"
    r"|^\W{0,3}(?:because of|due to|owing to|thanks to|wegen|aufgrund|dank|infolge|à cause d(?:e|u|es)|grâce (?:à|aux?)"
    r"|suite (?:à|aux?)|debido al?|gracias al?|por culpa del?|a raíz del?|a causa d\w{1,4}|per via d\w{1,4}"
    r"|grazie a\w{0,3}|por causa d\w{1,2}|graças (?:a|aos?|às?)|devido (?:a|aos?|às?)|vanwege|wegens|dankzij|из-за"
    r"|благодаря) [^,.;:!?\d]{1,60},"
    r"|^\W{0,3}(?:wegen|aufgrund|dank|infolge|vanwege|wegens|dankzij)"
    r"(?: (?:de[rsmn]?|het|unser\w{1,2}|mein\w{1,2}|onze|mijn))?(?: [^\W\d_]{2,20}e[nrms])? [^\W\d_]{3,30}(?= )"
    r"|^[^、。はが]{1,12}(?:のせいで|のために|のおかげで)、?|^(?:因为|由于)[^，。]{1,20}，"
)
# That it was said before: "我上次说…", and that it is meant whole: "全部"
_FRAME_CHINESE: Final = compile_later(r"^我(?:上次|之前|刚才|昨天)说(?:过|的是)?[，：]?|全部(?=[换改转搬迁])")
_NEW_JAPANESE: Final = compile_later(r"新しい(?=[^、。は]{1,10}は[^、。はがのに]{1,8}(?:さん|氏|先生|様)(?:です|だ))")
_NEW_CHINESE: Final = compile_later(
    r"(?<=[的们是任])新(?=任?(?:经理|老板|上司|负责人|主管|校长|总裁|地址|住址|电话|邮箱|房东|班主任|密码|队长|组长|院长|主任|店长"
    r"|总监|医生|牙医|教练|号码|手机号|工位))任?"
)


# Times of the day in words
_TWELVE: Final = compile_later(r"\b(?:noon|midday|midi|mediodía|mezzogiorno|meio-dia|полдень|twaalf uur)\b|正午")
_MIDNIGHT: Final = compile_later(
    r"\b(?:midnight|mitternacht|minuit|medianoche|mezzanotte|meia-noite|полночь|middernacht)\b"
)
_NUMBERS: Final = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_HALF_PAST: Final = compile_later(
    rf"\bhalf past (?P<past>{_NUMBERS}|\d{{1,2}})\b"
    r"|\bhal[bf] (?P<to>eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|twee|drie|vijf|zes|zeven|negen"
    r"|tien|twaalf)\b"
    rf"|\b(?P<and>{_NUMBERS}|\d{{1,2}})(?: heures| h)? (?:et demie|y media|e mezza|e meia)\b"
)


@dataclass(frozen=True, slots=True)
class Restated:
    """`changed`: the sentence reported a change, in a frame that `text` no longer has."""

    text: str
    changed: bool = False


@lru_cache(maxsize=256)
def restate(sentence: str, after: str = "") -> Restated:
    """Restate a sentence. `after`: an older one; if it says itself since when it holds, that is compared, too."""
    text = sentence[:READ_CHARS]
    is_dated = any(pattern.search(folded(after[:READ_CHARS])) is not None for pattern in _SINCE_PATTERNS)
    text, dated = (text, False) if is_dated else _replace(text, _SINCE_PATTERNS, " now ")
    text, renewed = _replace(text, (_NEW_CHINESE, _NEW_JAPANESE), "")
    text, _ = _replace(text, (_REASON, _FRAME_CHINESE), "")
    if (apart := _HAPPENS_APART.search(folded(text))) is not None:
        text = f"{text[: apart.start()]}is{text[slice(*apart.span('value'))]}{text[apart.end() :]}"
    text, _ = _replace(text, (_HAPPENS, _LIES), " is ")
    text = with_closed_codes(text)
    text, _ = _replace(text, (_TWELVE,), "12:00")
    text, _ = _replace(text, (_MIDNIGHT,), "0:00")
    text = _half_hours(text)
    if (first := _WHEN_FIRST.match(folded(text))) is not None:
        text = f"{first['who']} {first['have']} {text[first.end() :]}"
    text = _in_usual_order(text)
    made = _made(text) or _acted(text, after)
    return Restated(
        " ".join((made or text).split()),
        dated or renewed or (made is not None and not any(pattern.match(folded(text)) for pattern in _CLEFT)),
    )


def with_closed_codes(text: str) -> str:
    """Return a text with each code of words and numbers as one word: "tulip-44" is "tulip44"."""
    return _replace(text, (_HYPHEN_IN_CODE,), "")[0]


def _in_usual_order(text: str) -> str:
    """Return a German or Dutch sentence in the perfect with its subject first and without adverbs of the change."""
    if (first := _OBJECT_FIRST.match(folded(text))) is not None:
        text = f"{first['who']} {first['have']} {text[slice(*first.span('what'))]} {text[first.end() :]}"
    elif (start := _NO_SUBJECT.match(folded(text))) is not None:
        text = f"{'ik heb' if start.group().strip() == 'heb' else 'ich habe'} {text[start.end() :]}"
    else:
        return text
    return _replace(text, (_WHILE_MAKING,), "")[0]


def _replace(text: str, patterns: Iterable[re.Pattern[str]], replacement: str) -> tuple[str, bool]:
    found = False
    for pattern in patterns:
        parts, position = list[str](), 0
        for match in pattern.finditer(folded(text)):
            parts += [text[position : match.start()], replacement]
            position = match.end()
        if parts:
            text, found = "".join([*parts, text[position:]]), True
    return text, found


def tells_when_first(text: str) -> bool:
    """Return whether a sentence begins with when the speaker did something: "am Montag haben wir … verschoben"."""
    return _WHEN_FIRST.match(folded(text[:READ_CHARS])) is not None


def _acted(text: str, after: str) -> str | None:
    for pattern in (_ACTED_AT_END, _ACTED, _ACTED_BY_NAME):
        match = pattern.match(folded(text))
        if match is None:
            continue
        value = text[slice(*match.span("value"))] if pattern is _ACTED_AT_END else text[match.start("value") :]
        what = content_tokens(text[slice(*match.span("what"))])
        known = {token.word for token in content_tokens(after)}
        is_value = any(token.kind for token in content_tokens(value))
        # "Dan moved staging to 16": without an article it is as little his own as with one
        is_thing = pattern is _ACTED_BY_NAME and " " not in match["what"]
        is_agent = match["agent"] is None or is_thing or _DEFINITE.match(match["what"]) is not None
        if is_value and is_agent and what and all(_is_known(token.word, known) for token in what):
            return f"{text[slice(*match.span('what'))]} is now {value}"
    return None


def _is_known(word: str, known: Collection[str]) -> bool:
    """Return whether it is one of these words, a compound of two of them ("Marketingbudget") or part of one
    ("Gateway-Timeout").
    """
    if word in known or sum(len(part) >= _PART and part in word for part in known) > 1:
        return True
    return len(word) >= _PART and any(word in compound.replace("‐", "-").split("-") for compound in known)


def _half_hours(text: str) -> str:
    """Write "half past four" as 4:30. German and Dutch "halb fünf" is half an hour before five."""
    parts, position = list[str](), 0
    for match in _HALF_PAST.finditer(folded(text)):
        hour = match["past"] or match["and"] or match["to"]
        number = int((NUMBER_WORDS | {"eins": "1"}).get(hour, hour)) - (1 if match["to"] else 0)
        parts += [text[position : match.start()], f"{number}:30"]
        position = match.end()
    return "".join([*parts, text[position:]])


def _made(text: str) -> str | None:
    lowered = folded(text)
    for pattern in (*_GIVEN_UP, _MADE_AT_END, _MADE):
        if (match := pattern.match(lowered)) is not None:
            value = text[slice(*match.span("value"))] if pattern is _MADE_AT_END else text[match.start("value") :]
            value, _ = _replace(value, (_MADE_WHEN,), "")
            return f"{text[slice(*match.span('what'))]} is now {value}"
    for pattern in _CLEFT:
        if (match := pattern.match(lowered)) is not None:
            topic = f" {text[slice(*match.span('topic'))]}" if match.groupdict().get("topic") else ""
            does, _ = _replace(text[slice(*match.span("does"))], (_OF_IT,), "")
            return f"{text[slice(*match.span('who'))]} {does}{topic}".rstrip(". ") + "."
    if (match := _PUT_CHINESE.match(text)) is not None:
        return f"{match['what']}是{text[match.end() :].rstrip('。.！!了 ')}"
    if (match := _BECAME_JAPANESE.search(text)) is not None:
        return _OBJECT_JAPANESE.sub(r"\g<what>は", text[: match.start()]) + "です。"
    return None
