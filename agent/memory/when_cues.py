"""Words by which a sentence says when it holds or happened, in the lexicon's ten languages. Data.

From a day on, for a while, on a part of the days, once, not yet, or in the past. Patterns are as in
`agent.memory.cues`.
"""

import re
from typing import Final

from agent.memory.lexicon import any_of
from agent.patterns import compile_later

# Somebody is away
AWAY: Final = compile_later(
    any_of(
        r"(?:on|for|from) (?:a |his |her |their )?(?:vacations?|holidays?|leave|break|pto|sabbatical)"
        r"|(?:maternity|paternity|parental|sick) leave|(?:out|off) sick|sick|ill|flu"
        r"|(?:a|got|with) (?:bad )?(?:cold|fever)|out of office|ooo|in hospital"
        r"|for now|for the (?:moment|time being|day)|in the meantime"
        # German
        r"|(?:im|in den|in die|aus dem) (?:urlaub|ferien)|in elternzeit|krank\w{0,8}|vorerst|einstweilen|fürs erste"
        r"|(?:hat|mit) (?:die )?(?:grippe|fieber)|erkältet"
        # French
        r"|en (?:vacances|congés?|arrêt)|malade|en attendant|pour (?:l['’]instant|le moment)"
        r"|(?:a|avec) (?:la|une) grippe|enrhumée?"
        # Spanish, Portuguese and Italian
        r"|de (?:vacaciones|baja|permiso|férias|licença|folga)|enferm[oa]|por ahora|de momento|doente|por enquanto"
        r"|co[nm] gripe|gripad[oa]|resfriad[oa]|con l['’]influenza|raffreddat[oa]"
        r"|in (?:ferie|vacanza|malattia|maternità|congedo)|malat[oa]|intanto|per (?:ora|adesso|il momento)"
        # Dutch and Russian
        r"|(?:met|op) (?:vakantie|verlof)|ziek|griep|voorlopig|zolang|в отпуске|на больничном|болеет|заболел[аи]?"
        r"|с гриппом|простыл[аи]?|пока",
        r"休假|病假|产假|出差|请假|生病|感冒|发烧|流感|暂时|風邪|インフル|休暇|休み|出張|病気|とりあえず|当面|育休|産休",
    )
)
# It holds for a time that ends, or has not begun
FOR_A_WHILE: Final = compile_later(
    any_of(
        r"until|till|while|during|for (?:the )?rest of|early|tomorrow|trial|experiment\w{0,5}|back (?:on|in|next)"
        r"|(?<!since )(?<!from )(?<!as of )(?<!starting )this (?:week|month|morning|afternoon)"
        r"|(?:just|only) (?:for )?(?:today|tomorrow|this)|solange|währenddessen|während|bis|diese woche|morgen"
        r"|nur heute"
        r"|jusqu['’]\w{1,3}|pendant|cette semaine|demain|tant que|mientras|hasta|esta semana|mañana|enquanto|até"
        r"|nesta semana|amanhã|fino a\w{0,3}|finché|questa settimana|domani|tot|deze week|morgen|на этой неделе|до",
        r"这周|本周|明天|直到|期间|今週|明日|まで",
    )
)
# It was or is so on one day: what that day began is not meant ("from today")
ON_ONE_DAY: Final = compile_later(
    any_of(
        r"(?<!from )(?<!since )(?<!as of )(?<!starting )(?:today|tonight|yesterday)|(?<!ab )(?<!seit )(?:heute|gestern)"
        r"|(?<!depuis )(?<!partir d['’])(?:aujourd['’]hui|hier)|(?<!desde )(?<!partir de )(?:hoy|ayer|hoje|ontem)"
        r"|(?<!da )(?:oggi|ieri)|(?<!vanaf )(?<!sinds )(?:vandaag|gisteren)|сегодня|вчера",
        r"今天|昨天|今日(?!から)|昨日(?!から)",
    )
)
# It will be so
WILL_BE: Final = compile_later(
    any_of(
        r"will|won['’]t|gonna|(?:am|are|is|['’]s|['’]re|['’]m) (?:going to|leaving|moving|retiring|quitting|dropping)"
        r"|next (?:week|month|quarter|year|spring|summer|autumn|fall|winter)|soon|eventually|some ?day|wird|werden"
        r"|werde"
        r"|nächste[nrsm]?|bald|irgendwann|verlässt|(?:va|vais|vas|allons|vont) \w{2,20}(?:er|ir|re)|bientôt"
        r"|(?:voy|va|vamos|van) a|pronto|próxim[oa]|(?:vou|vai|vamos|vão) \w{2,20}[aei]r|em breve|prossim[oa]|presto"
        r"|lascer(?:à|ò|emo)|zal|zullen|gaat|gaan|volgende?|binnenkort|будет|будем|скоро|следующ\w{2,3}",
        r"将要?|即将|快要|打算|下[周个]|明年|予定|来週|来月|来年|もうすぐ",
    )
)
# From when on it holds.
_STARTING: Final = (
    r"from|since|starting|beginning|as of|effective|until|till"
    r"|ab|seit|vom|bis|à partir d[eu]|dès|depuis|jusqu\w{0,3}"
    r"|dal|dalla|fino a|vanaf|sinds|tot|desde|a partir de|hasta|até|с|со|начиная|до"
)
STARTS: Final = compile_later(any_of(_STARTING, "从|起|自|到|至|から|より|以降|まで"))
STARTS_BEFORE: Final = frozenset("从自")  # Before the day, the others behind it
SINCE: Final = compile_later(rf"\b(?:{_STARTING}) \w{{1,20}}", re.IGNORECASE)  # With what follows: "since January"
# When something happened: no part of what is so now.
WHEN: Final = compile_later(
    any_of(
        r"(?:at last|endlich|enfin|por fin|eindelijk|наконец)|last (?:night|week(?:end)?|month|year|spring|summer"
        r"|autumn|fall|winter|\w{1,10}day)|yesterday|recently|lately"
        r"|meanwhile|(?:an?|\w{1,10}) (?:days?|weeks?|months?|years?) ago"
        r"|vor \w{1,10} (?:tagen|wochen?|monaten?|jahren?)(?! \d)"
        r"|il y a \w{1,10} (?:jours?|semaines?|mois|ans?)"
        r"|hace (?:\w{1,10} )?\w{1,10} (?:días?|semanas?|mes(?:es)?|años?)"
        r"|há \w{1,10} (?:dias?|semanas?|m[êe]s(?:es)?|anos?)|\w{1,10} (?:mesi|anni|mese|settimana) fa"
        r"|\w{1,10} (?:dagen|weken|maanden|jaar|week|maand) geleden"
        r"|(?:\w{1,10} )?(?:дн\w{1,2}|недел\w{1,2}|месяц\w{0,2}) назад"
        r"|letzte[nrs]? (?:nacht|woche|wochenende|monat|jahr|\w{1,10}tag)|gestern|kürzlich|vor kurzem|neulich"
        r"|hier|le week-end dernier|la semaine dernière|le mois dernier|l['’]an dernier|récemment"
        r"|ayer|el fin de semana pasado|la semana pasada|el mes pasado|el año pasado|hace poco|recientemente"
        r"|ontem|(?:no )?fim de semana passado|(?:na )?semana passada|(?:no )?mês passado|(?:no )?ano passado"
        r"|recentemente|há pouco"
        r"|ieri|lo scorso fine settimana|la settimana scorsa|il mese scorso|l['’]anno scorso|di recente|poco fa"
        r"|\w{1,10} settimane fa"
        r"|\w{1,10} giorni fa"
        r"|gisteren|vorig weekend|vorige (?:week|maand)|vorig jaar|onlangs|pas geleden"
        r"|вчера|на прошлой неделе|в прошлом (?:месяце|году)|недавно",
        r"(?:\d{1,3}|[一二两三四五六七八九十半]{1,2})(?:天|周|个月|个星期|年|週間|か月|日)前|上个?(?:月|周|星期)|昨天|去年|最近|刚[刚才]?|先月|先週|昨日|さっき|先日|先ほど",
    )
)
# The recent past
JUST: Final = compile_later(
    any_of(
        r"(?:just|recently) \w{2,20}ed|(?:viens|vient|venons|viennent) (?:de\b|d(?=['’]))|acab(?:o|a|amos|an) de"
        r"|acab(?:ei|ou|ámos|aram) de|(?:ho|ha|abbiamo|hanno|sono|siamo) appena|gerade \w{1,30} ?(?:ge|ver)\w{2,20}"
        r"|zojuist|(?:heb|ben|zijn|hebben) net|только что",
        r"刚刚?|たばかり",
    )
)
# Something happened: of an attribute that is a change.
PERFECT: Final = compile_later(
    any_of(
        r"(?:have|has|we['’]ve|i['’]ve|they['’]ve) \w{2,20}(?:ed|en)|(?:ai|a|avons|ont|suis|est|sommes|sont|m['’]a)"
        r" (?:été )?\w{2,20}(?:é|i|u|is)e?s?|(?:he|ha|hemos|han) \w{2,20}(?:[dt]o|cho)"
        r"|(?:ho|ha|abbiamo|hanno|sono|siamo) \w{2,20}[aiu]t[oaie]|\w{3,20}(?:aram|eram|iram|aron|ieron)"
        r"|contrat(?:ou|ó)|\w{3,20}(?:али|или|яли|ели)"
    )
    + r"|\b(?:habe?|hat|haben|ist|bin|sind|heb|heeft|hebben)\b.{1,80}\b\w{0,6}ge\w{2,20}(?:t|en|d)\W{0,3}$"
)
# It was so once, besides `lexicon.ONCE`.
ONCE: Final = compile_later(
    any_of(
        r"once|back then|in the past|damals|einst|ehemals|autrefois|auparavant|jadis|antiguamente|antigamente"
        r"|un tempo|in passato|vroeger|destijds|раньше|прежде|когда-то|в прошлом",
        "以前|昔|从前|过去|かつて",
    )
)
# It is not so yet: what happens next ends that.
NOT_YET: Final = compile_later(
    any_of(
        r"yet|still|noch|immer noch|pas encore|toujours|encore|todavía|aún|ancora|ainda|nog|ещё|еще|пока",
        r"まだ|还[没未在是]|還[沒未]|尚未",
    )
)
# "It is planned", "she is married": a state, where the perfect of another verb tells what happened
IN_A_STATE: Final = compile_later(
    r"\b(?:suis|est|sommes|sont) (?!(?:all|ven|arriv|part|entr|sort|mont|descend|n|mort|tomb|rest|retourn|pass|deven)"
    r"(?:é|u|i|t)?e?s?\b)[^\W\d_]{2,20}(?:é|i|u|is|it)e?s?\b"
    r"|\b(?:sono|siamo) (?!(?:andat|venut|arrivat|partit|entrat|uscit|salit|sces|nat|mort|cadut|rimast|tornat|passat"
    r"|diventat|stat)[oaie]\b)[^\W\d_]{2,20}[aiu]t[oaie]\b"
)
# It happened once, in the perfect: besides `lexicon.PAST`.
HAPPENED: Final = compile_later(
    r"^\W{0,3}(?:i|we) \w{2,20}ed\b|^\W{0,3}(?:me|nos) [^\W\d_]{2,20}(?:é|í|amos|imos)\b|\bj['’]ai \w{2,20}[éiu]s?\b"
    r"|\b(?:habe|hat|haben|hatten?)\b.{0,80}\b\w{0,6}(?:ge|unter|über|zer|miss)\w{2,20}(?:t|en)\W{0,3}$"
)
# A state in the past tense: what was so then says nothing of what is so now. Behind "was", "были" and the like a word
# of change makes it a passive, which `agent.memory.attributes` looks for: "the class was moved".
PAST_STATE: Final = compile_later(
    any_of(
        r"was|were|(?<!have )(?<!has )(?<!['’]ve )(?:lived|worked|earned|owned|belonged|lasted|drove|used to)"
        r"|war|waren|hatten?|wohnten?|lebten?|arbeiteten?|kosteten?|hieß(?:en)?|fuhr(?:en)?|betrug(?:en)?"
        r"|verdienten?|nutzten?|benutzten?|lagen?(?<!lage)|spielten?|tranke?n?|saß(?:en)?|lief(?:en)?"
        r"|(?:j['’]|je |tu |il |elle |on |nous |vous |ils |elles |c['’]|qui )"
        r"(?!(?:sais|fais|vais|connais|sait|fait|plaît|connaît|paraît)\b)[^\W\d_]{2,20}(?<!r)(?:ais|ait|aient)"
        r"|étai(?:s|t|ent)|avai(?:s|t|ent)|coûtai(?:t|ent)|habitai(?:s|t|ent)|travaillai(?:s|t|ent)"
        r"|eran?|éramos|[^\W\d_]{2,20}(?<!ac)aba(?:n|mos)?|(?:viv|ten|hab|beb|com|sal|abr|conduc|hac|sol)ía(?:n|mos)?"
        r"|erano|eravamo|av?ev[oa](?:no|mo)?|[^\W\d_]{3,20}av(?:o|a|amo|ano|am|amos)"
        r"|(?!ricev)[^\W\d_]{3,20}ev(?:o|a|amo|ano)|(?:part|apr|serv|usc|prefer)iv[oa](?:no)?|us(?:avo|ava|avam)"
        r"|eram|tinham?|havia|(?:viv|beb|com|sa|abr|part|dirig|consegu)ía?(?:am|íamos)"
        r"|had(?:den)?|woonden?|werkten?|kostten?|verdienden?|heetten?|leefden?|reden?(?<!rede)"
        r"|был[аои]?|жил[аи]?|работал[аи]?|стоил[аои]?|зарабатывал[аи]?|называл(?:ся|ась|ось)|ездил[аи]?",
        r"でした|だった|[てで]い(?:ました|た)(?=[。、\s]|$)|曾经?|当年|那时候?",
    )
)
# What happened once, with the year: "in 2022 we spent …"
IN_A_YEAR: Final = compile_later(
    r"\b(?:in|im jahr|en|em|nel|в) (?:19|20)\d\d\b(?! г)|\b(?:19|20)\d\d年(?!から|より|起)|\bв (?:19|20)\d\d году"
)
# A single day or period to come: what holds then need not hold always
NEXT: Final = compile_later(
    any_of(
        r"(?:next|coming|nächste[nrsm]?|kommende[nrsm]?|volgende|следующ\w{2,3}) [^\W\d_]{3,20}"
        r"|[^\W\d_]{3,20} (?:prochaine?|prochains|que viene|próxim[oa]|prossim[oa]|que vem)"
        r"|(?:prochaine?|próxim[oa]|prossim[oa]) [^\W\d_]{3,20}",
        "下[周个]|来週|来月|次の",
    )
)
# A part of the time: what holds then does not hold always
PART_OF_TIME: Final = compile_later(
    any_of(
        r"weekends?|weekdays?|workdays?|holidays?|wochenenden?|werktags|feiertage?n?|ferien|week-ends?|jours? fériés?"
        r"|vacances|fin(?:es)? de semana|festivos?|vacaciones|fi(?:m|ns) de semana|feriados?|férias|fine settimana"
        r"|festivi|weekenden|feestdagen|vakanties?|выходн\w{2,3}|праздник\w{0,3}|будн\w{1,3}|каникул\w{0,3}",
        "周末|平日|平时|休日|祝日|节假日|假期|寒假|暑假|夏休み|冬休み|土日|週末",
    )
)
# How often: "every week", "par mois". And whom a number counts: "for 5 persons"
PERIOD: Final = compile_later(
    r"every|each|jede[nmrs]?|chaque|tous|toutes|cada|todos|todas|ogni|tutt[ie]|toda|elke|ieder|кажд(?:ый|ую|ое)"
    r"|(?:day|night|week|month|year|hour|minute|morning|evening|tag|nacht|woche|monat|jahr|stunde|jour|nuit|semaine"
    r"|mois|an|année|heure|día|noche|semana|mes|año|hora|dia|noite|mês|ano|giorno|notte|settimana|mese|anno|ora|dag"
    r"|maand|jaar|uur|день|ночь|неделю|месяц|год|час|moment|momento|person|persona)(?:e?[ns])?"
)
# "On weekends …", "bei Regen …": when or for what it holds, before the sentence
BEGINS_WITH_CONDITION: Final = compile_later(
    r"\W{0,3}(?!(?:in place of|in(?:stead| luogo) d?|en (?:vez|lugar|remplacement)|in plaats|em (?:vez|lugar)"
    r"|no lugar|al posto|au lieu)\b)"
    r"(?:on(?= (?:\w{1,20}s|the|my|our)\b)|bei|beim|in|im|at|for|with|mit|für|während|during|when|wenn|en|em"
    r"|dans|pour|avec|para|com|con|per|в|во|на|для|при|по|voor|met|op|tijdens|pendant|durante|aux|au|aos|as|às|am|an"
    r"|no(?! more\b)|na|nos(?! (?:han?\b|\w{2,20}(?:aron|ieron)\b))|nas|nel|nella|al"
    r"|alla)\s(?P<what>[^,]{1,40}?)(?=,|$|\s\w+\s\w+)"
)
# A clause of time before the sentence: "as soon as the contract ends", "mientras duren las obras", "als Studentin"
BEGINS_WITH_CLAUSE_OF_TIME: Final = compile_later(
    r"\W{0,3}(?:as (?:soon|long) as|as an?|once|when|while|until|before|after|sobald|solange|bevor|nachdem|vor|nach|als"
    r"|wenn|quand|lorsqu[e'’]|dès qu[e'’]|tant qu[e'’]|avant|après|pendant|cuando|mientras|en cuanto|antes de"
    r"|después de|de niñ[oa]|quando|mentre|appena|finché|prima d[ei]\w{0,3}|dopo|assim que|enquanto|depois d[eo]"
    r"|zodra|zolang|terwijl|toen|voordat|nadat|na(?= \w{1,20} )|когда|пока|как только|до|после)\s(?P<what>[^,]{1,60})"
)
# The same in scripts without blanks. "毕业后我搬了" tells what happened then; "合同到期后搬" what will.
BEGINS_WITH_TIME: Final = compile_later(
    r"^(?![今以最然从自之])[^，。；]{2,16}?(?:的时候|期间|之前|(?<![今以最然])[后後](?![^。]{0,40}了[。！\s]*$))"
    r"|^[^、。]{1,16}?(?:[れけっしいきえべめ]たら(?!い)|た?頃[はの]|ときの|た時[はの]|(?<=[のる])間は?、|中は、)"
)
