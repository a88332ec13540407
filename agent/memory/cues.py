"""Words by which a sentence says how it stands to an earlier one, in the lexicon's eight languages. Data.

A sentence may change what was so ("these days", "sold"), add to it ("too"), report it ("Rita thinks"), suppose it
("if"), hold for a part of it ("except"), or say from when on it holds ("starting Monday"). Each pattern is linear, and
in lower case for `folded` text, as those of `agent.memory.lexicon`.
"""

import re
from typing import Final

from agent.memory import lexicon
from agent.patterns import compile_later


def _any_of(words: str, signs: str = "") -> str:
    return rf"\b(?:{words})\b" + (rf"|(?=[\u3040-\u9fff])(?:{signs})" if signs else "")


# Something became different. A word that also tells of a single event ("bought") is none of these.
TURNED: Final = compile_later(
    _any_of(
        r"these days|nowadays|as of|effective|starting|bumped|relocated|transferred|renamed|promoted|became|become"
        r"|turned into|sold|gave up|given up|gone off|migrated|converted|grew to|shrank|shrunk|rose|risen"
        r"|dropped|fell to"
        r"|ended up|in the end|after all|turns out|retired|resigned|has started|have started|is gone|are gone|merged"
        r"|brought forward|put (?:back|off)|swapped|dropped|got (?:pushed|moved|changed)|adopted|no more"
        r"|mo?ved (?:in|out)"
        r"|left|divorced|graduated|expired|started (?:using|taking|working)"
        r"|since (?:last|this|monday|january|yesterday)"
        # German
        r"|mittlerweile|neuerdings|nunmehr"
        r"|seit (?:kurzem|heute|gestern|montag|dienstag|mittwoch|donnerstag|freitag|januar)"
        r"|gekürzt|aufgestockt|angehoben|herabgesetzt|halbiert|verdoppelt|gelegt|vorverlegt|vorgezogen|verkauft"
        r"|ausgezogen"
        r"|eingezogen|umgestellt|ersetzt|abgelöst|verspätet|gekündigt|befördert|geworden|letztlich|schließlich"
        r"|am ende"
        r"|nun doch|erst am|erst um|in rente|aufgegeben|aufgehört|abgeschafft|umbenannt|umgezogen|nachfolger(?:in)?"
        # French
        r"|à présent|plutôt|décalée?s?|avancée?s?|repoussée?s?|quittée?s?|abandonnée?s?|devenue?s?|vendue?s?"
        r"|depuis peu"
        r"|en fin de compte|à partir d[eu]|est passée?|sont passée?s?|arrêtée?s?|partie?s?|remplacée?s?|rebaptisée?s?"
        r"|baissé|monté|réduite?s?|prolongée?s?"
        # Spanish
        r"|al final|mejor|desde ahora|ya|retras(?:a|ó|ado|ada)|adelant(?:a|ó|ado|ada)|ampliad[oa]|reducid[oa]|dejado"
        r"|dej(?:é|amos|ó)|sustitu(?:ido|ida|yó|imos)|reemplaz(?:ado|ada|ó|amos)|ha pasado|han pasado"
        r"|pas(?:a|ó) a|subió"
        r"|subieron|bajó|se ha ido|se fue|vendí|vendido|cambié|cambiamos|han hecho|ascendid[oa]|en realidad"
        r"|trasladad[oa]"
        # Portuguese
        r"|no lugar d[aeo]|afinal|já|deixei|deixou|deixamos|parei|adiantad[oa]|ampliad[oa]|reduzid[oa]"
        r"|substitu(?:í|iu|ímos)"
        r"|passou|vendi|desde agora|transferid[oa]|promovid[oa]|aumentou|diminuiu|saiu"
        # Russian
        r"|вс[её]-таки|в итоге|стал[аои]?|стали|перевели|передвинули|сдвинули|отложили|повысили|снизили"
        r"|поменял[аи]?|поменяли"
        r"|сменился|заменил[аи]?|уш[её]л|ушла|уволил(?:ся|ась)|продал[аи]?|бросил[аи]?|перестал[аи]?|сменили"
        r"|переименовали",
        r"最后(?:决定|还是)|最终|已经|调走|离职|辞职|退休|升[职为]|卖了|戒了|不再|别再|改名|了[。！!\s]*$"
        r"|(?:に|く|と)な(?:りました|った)|変え(?:ました|た)|引っ越し|移行|やはり|やっぱり|今では|やめ|辞め|異動|結局|最終的",
    )
)
# Something is no longer so, besides `lexicon.ENDED`.
STOPPED: Final = compile_later(
    _any_of(
        r"no more|gave up|given up|gone off|stopped|quit|aufgehört|aufgegeben|abgeschafft|nie mehr|arrêté (?:de|d)"
        r"|(?:he |hemos )?dejado de|dej(?:é|amos|ó) de|nunca más|deixei de|deixou de|deixamos de|parei de|parou de"
        r"|бросил[аи]?|перестал[аи]?",
        r"戒了|停了|やめ|辞め",
    )
)
# It adds to what was said, and ends nothing, besides `lexicon.ADDS`.
ADDED: Final = compile_later(
    _any_of(
        r"additional|extra|likewise|on top of that|both|ebenfalls|ebenso|genauso|gleichfalls|dazu|weitere[nrs]?|sowie"
        r"|noch ein(?:e[nmrs]?)?|en plus|de plus|encore un|encore une|pareillement|asimismo|aparte|igualmente"
        r"|otr[oa]s?"
        r"|igualmente|outr[oa]s?|ещ[её]|кроме того|вдобавок",
        r"还(?!是)|也|另外|并且|同样|再加|加えて|(?<!変)更に|それに|ほかに|他に",
    )
    + r"|(?<![でとそ])(?<!して)(?<!とて)(?<!いつ)(?<!子ど)(?<![一二三四五何])"
    r"も(?=[\u3040-\u9fff、])(?!う|し|っと|の|ら)"
)
# Somebody else says or thinks so, or it is hearsay.
REPORTS: Final = compile_later(
    _any_of(
        r"thinks?(?<!i think)(?<!we think)|believes|says|said|claims?|claimed|guesses|reckons|suspects|assumes"
        r"|expects|hopes"
        r"|heard|told (?:me|us)|according to|apparently|allegedly|supposedly|rumou?rs?|suggests|suggested"
        r"|proposes|proposed"
        r"|wants (?:the|it|us|me|to)|insists|wonders|predicts|argues|thought|mentioned"
        r"|meint|meinte|glaubt|glaubte|sagt|sagte|denkt|dachte|behauptet|vermutet|laut|angeblich|zufolge|hofft|möchte"
        r"|schlägt|schlug|erwartet|gehört|hält"
        r"|pense|pensait|croit|croyait|dit|disait|affirme|suppose|prétend|d['’]après|selon|paraît|espère"
        r"|propose|estime"
        r"|cree|creía|piensa|pensaba|dice|dijo|afirma|según|dicen|parece|espera|propone|supone|opina|asegura"
        r"|acha|achava|diz|disse|dizem|acredita|afirma|segundo|espera|propõe|supõe|parece"
        r"|считает|думает|говорит|сказал[аи]?|полагает|утверждает|по словам|по мнению|кажется|якобы|надеется"
        r"|предлагает|слышал[аи]?",
        r"觉得|认为|以为|听说|据说|[^我们]说(?!话)|提议|建议|估计|猜|思って|思う|言って|言う|言った|らしい|そうです|によると|とのこと|主張|聞いた",
    )
)
# It is supposed, wished or only possible.
SUPPOSES: Final = compile_later(
    _any_of(
        r"if|unless|would|could|might|maybe|perhaps|probably|possibly|suppose|supposing|assuming|imagine"
        r"|hypothetically"
        r"|considering|thinking (?:about|of)|thinking|i think|we think|i guess|wondering|what if|in case|ideally"
        r"|wenn|falls|würde[nt]?|hätte[nt]?|wäre[nt]?|könnte[nt]?|bräuchte[nt]?|müsste[nt]?|sollte[nt]?"
        r"|dürfte[nt]?|vielleicht"
        r"|eventuell|möglicherweise|angenommen|überlege|überlegen|wahrscheinlich|vermutlich|ich (?:glaube|denke)"
        r"|si|s['’]ils?|serai(?:s|t|ent)|aurai(?:s|t|ent)|faudrait|pourrai(?:s|t|ent)|devrai(?:s|t|ent)"
        r"|peut-être|supposons"
        r"|probablement|[a-zàâçéèêëîïôûù]{2,20}eri(?:ons|ez)|[a-zàâçéèêëîïôûù]{2,20}erai(?:s|t|ent)"
        r"|je (?:pense|crois)"
        r"|quizás?|tal vez|a lo mejor|puede que|sería[ns]?|tendría[ns]?|podría[ns]?|habría[ns]?|debería[ns]?"
        r"|haría[ns]?"
        r"|[a-zñ]{2,20}[aei]ríamos|pagaría[ns]?|costaría[ns]?|supongamos|probablemente|(?:yo )?creo que"
        r"|talvez|se calhar|quem sabe|seria[m]?|teria[m]?|poderia[m]?|deveria[m]?|haveria|custaria[m]?|pagaria[m]?"
        r"|[a-zç]{2,20}[aei]ríamos|se (?:a|o|as|os|nós|eu|for|fosse|tivesse|[a-zçáéíóúâêô]{2,20}ss(?:e|em|emos))"
        r"|[a-zçáéíóúâêô]{2,20}ássemos|[a-zçáéíóúâêô]{2,20}[êí]ssemos|caso|acho que|provavelmente"
        r"|если|бы|возможно|может быть|может|наверное|наверно|вероятно|допустим|предположим|думаю",
        r"如果|要是|假如|的话|可能|也许|或许|大概|万一|倘若|考虑|我想|应该"
        r"|もし|たら(?=[、,])|(?:な|け|せ|れ|え|ね|べ|め)ば(?=[、,])|かもしれ|でしょう|だろう|仮に|場合|検討|つもり|かな",
    )
)
# It holds for a part, or for once.
EXCEPT: Final = compile_later(
    _any_of(
        r"except|only|just (?:for|this)|apart from|other than|exceptionally|for once|temporarily|some(?:times)?"
        r"|außer|nur|ausnahmsweise|manchmal|einmalig|vorübergehend|bis auf|sauf|seulement|uniquement"
        r"|exceptionnellement"
        r"|parfois|temporairement|excepto|salvo|s[oó]lo|solamente|excepcionalmente|a veces|exceto|apenas"
        r"|somente|às vezes"
        r"|excepcionalmente|кроме|только|лишь|иногда|временно|за исключением",
        r"除了|只[有在是]|仅|偶尔|有时|临时|例外|だけ|のみ|以外|たまに|臨時",
    )
)
# From when on it holds.
_STARTING: Final = (
    r"from|since|starting|beginning|as of|effective|until|till"
    r"|ab|seit|vom|bis|à partir d[eu]|dès|depuis|jusqu\w{0,3}"
    r"|desde|a partir de|hasta|até|с|со|начиная|до"
)
STARTS: Final = compile_later(_any_of(_STARTING, "从|起|自|到|至|から|より|以降|まで"))
SINCE: Final = compile_later(rf"\b(?:{_STARTING}) \w{{1,20}}", re.IGNORECASE)  # With what follows: "since January"
# Something or somebody went to another place.
RELOCATED: Final = compile_later(
    _any_of(
        r"moved|relocated|umgezogen|verlegt|gezogen|déménagé|transférée?s?|mudad[oa]|mudó|trasladad[oa]|mudou"
        r"|mudei|переехал[аи]?"
        r"|перевезли",
        r"搬|迁|移り|移転|引っ越し",
    )
)
HOME: Final = compile_later(
    _any_of(
        r"home|city|town|address|residence|wohnort|wohnung|adresse|domicile|ville|domicilio|ciudad|vivienda"
        r"|moradia|cidade"
        r"|место жительства|адрес|город",
        r"住处|住址|城市|住まい|住所",
    )
)
# When something happened: no part of what is so now.
WHEN: Final = compile_later(
    _any_of(
        r"last (?:night|week|month|year|spring|summer|autumn|fall|winter|\w{1,10}day)|yesterday|recently|lately"
        r"|meanwhile"
        r"|letzte[nrs]? (?:nacht|woche|monat|jahr|\w{1,10}tag)|gestern|kürzlich|vor kurzem|neulich"
        r"|hier|la semaine dernière|le mois dernier|l['’]an dernier|récemment"
        r"|ayer|la semana pasada|el mes pasado|el año pasado|hace poco|recientemente"
        r"|ontem|(?:na )?semana passada|(?:no )?mês passado|(?:no )?ano passado|recentemente|há pouco"
        r"|вчера|на прошлой неделе|в прошлом (?:месяце|году)|недавно",
        r"上个?(?:月|周|星期)|昨天|去年|最近|刚[刚才]?|先月|先週|昨日",
    )
)
# Words that only carry a sentence: "who makes the coffee is …".
LIGHT: Final = frozenset(
    {"who", "do", "does", "makes", "make", "goes", "go", "comes", "come"}
    | {"wer", "macht", "machen", "geht", "kommt", "qui", "fait", "font", "va", "vais"}
    | {"quien", "hace", "hacen", "lleva", "llevan", "quem", "faz", "fazem", "vai", "vou", "кто", "делает", "делают"}
)
# A person does this with many things at a time: another one ends none.
MANY_AT_A_TIME: Final = compile_later(
    _any_of(
        r"likes?|loves?|enjoys?|speaks?|plays?|collects?|reads?|watch(?:es)?|sells?|knows?|owns?|grows?"
        r"|stud(?:y|ies)|learns?"
        r"|visits?|follows?|supports?|mag|mögen|liebt?e?|sprech\w{1,2}|spricht|spielt?e?|samm(?:le|elt|eln)"
        r"|lese|liest|lesen"
        r"|schaue?n?|verkauf\w{1,2}|kenne?n?|kennt|lern\w{1,2}|besuch\w{1,2}|aime|aimes|adore|parle|joue"
        r"|collectionne|lis|lit"
        r"|regarde|vends?|vend|apprends?|gusta|gustan|encanta|encantan|hablo|habla|toco|toca|juego|juega"
        r"|colecciona|colecciono"
        r"|leo|lee|veo|vendo|vende|aprendo|estudio|estudia|gosto|gosta|adoro|adora|falo|fala|jogo|joga"
        r"|colecion[ao]|leio|lê"
        r"|vejo|estudo|estuda|люблю|любит|говор(?:ю|ит)|игра(?:ю|ет)|собира(?:ю|ет)|чита(?:ю|ет)|смотр(?:ю|ит)"
        r"|прода(?:ю|ёт)"
        r"|уч(?:у|ит)|изуча(?:ю|ет)",
        r"喜欢|喜歡|爱|会说|收集|收藏|玩|看|卖|学|好き|話せ|話し|集めて|読み|読んで|見て|売って|学んで",
    )
)
CHANGES: Final = (lexicon.CUE, lexicon.ENDED, TURNED, STOPPED)
ADDS: Final = (lexicon.ADDS, ADDED)
ENDS: Final = (lexicon.ENDED, STOPPED)
UNSURE: Final = (REPORTS, SUPPOSES, EXCEPT)
