"""What tells how a sentence of one of the lexicon's ten languages is built. Data.

By which words a language is known, what it does with an article, an adjective or a negation, and which words carry no
content or stand for several things. Patterns are as in `agent.memory.cues`.
"""

import re
from typing import Final

from agent.memory import lexicon
from agent.memory.lexicon import any_of
from agent.patterns import compile_later

ELIDED_END: Final = compile_later(r"\bn['’](?=\w{1,40}(?: \w{1,40})? plus\b)")
# Which one of several, behind the noun: "requests in the billing repository", "le loyer de Paul"
BESIDE_NOUN: Final = compile_later(
    r"(?:of|for|in|at|with|from(?= the)|von|vom|für|im|in|am|beim?|mit|de|du|des|del|da|do|di|della|dell|dello|para"
    r"|pour|per|en|em|no|na|van|voor|bij|в|для|на|у) "
    r"(?:(?:the|an?|our|my|der|die|das|dem|den|unser\w{0,2}|mein\w{0,2}|la|le|les|l|el|los|las|o|os|as|il|lo|gli|i|het|een)"
    r"\s)?(?P<which>[^\W\d_][\w-]{1,40})(?=\s\S+\s)"
)
# In Romance languages the adjective stands there: "el menú infantil cuesta", "il corso avanzato ora è"
ADJECTIVE_BEHIND: Final = compile_later(
    r"(?P<which>(?!(?:now|ahora|agora|ora|adesso|maintenant|désormais|ya|já|più|ne|no|não|non|se|si|s)\b)"
    r"[^\W\d_]{4,30}) "
    r"(?:(?:ahora|agora|ora|adesso|maintenant|désormais|ya|já) )?"
    rf"(?:{'|'.join(sorted(lexicon.STATE_VERBS))}|est|sont|es|está|son|están|è|sono|é|são|fica|ha|vale|costa)\b"
)
# For whom, with what or at which time it holds.
QUALIFIES: Final = compile_later(
    # Behind a copula it is what is stated: "the keys are with Ben"
    r"(?<!\bis )(?<!\bare )(?<!\bist )(?<!\bsind )(?<!\best )(?<!\bsont )(?<!\bestá )(?<!\bestán )(?<!\bè )"
    r"(?<!\bsono )(?<!\bé )\b(?:with|without|for|during|including|excluding"
    r"|mit|ohne|für|während|inklusive|pour|avec|sans|pendant|con|sin"
    r"|para"
    r"|durante|com|sem|per|senza|met|zonder|voor|tijdens|с|без|для)\s",
    re.IGNORECASE,
)
# The new value beside the old one: "closes earlier, at six"
COMPARED: Final = compile_later(
    any_of(
        r"earlier|later|sooner|früher|später|plus (?:tôt|tard)|más (?:tarde|temprano|pronto)|mais (?:cedo|tarde)"
        r"|più (?:tardi|presto)|prima|vroeger|eerder|раньше|позже|позднее",
        r"早く|遅く|早[点些]|晚[点些]",
    )
)
# Words that only carry a sentence: "who makes the coffee is …".
LIGHT: Final = frozenset(
    {"charge", "responsible", "handled", "zuständig", "verantwortlich", "chargé", "chargée", "encargado", "encargada"}
    | {"incaricato", "incaricata", "encarregado", "encarregada", "verantwoordelijk", "ответственный", "ответственная"}
    | {"who", "do", "does", "makes", "make", "goes", "go", "comes", "come"}
    | {"wer", "macht", "machen", "geht", "kommt", "qui", "fait", "font", "va", "vais"}
    | {"chi", "fa", "fanno", "vado", "wie", "doet", "doen", "gaat", "komt"}
    # That somebody looks after something, in whichever word
    | {"manages", "manage", "maintains", "maintain", "handles", "handle", "belongs", "belong", "owns", "own", "looks"}
    | {"after", "care", "takes", "looked", "run", "runs", "leitet", "betreut", "kümmert", "verantwortet", "übernimmt"}
    | {"gère", "gérons", "occupe", "gestiona", "ocupa", "maneja", "gere", "cuida", "trata", "gestisce", "segue", "cura"}
    | {"beheert", "регулирует", "занимается", "ведёт", "ведет", "отвечает"}
    | {"quien", "hace", "hacen", "lleva", "llevan", "quem", "faz", "fazem", "vai", "vou", "кто", "делает", "делают"}
)
# A person does this with many things at a time: another one ends none.
MANY_AT_A_TIME: Final = compile_later(
    any_of(
        r"likes?|loves?|enjoys?|adores?"
        r"|fond of|fans? of|gerne?|graag|нрав(?:ится|ятся)|обожа(?:ю|ет)"
        r"|speaks?|plays?|collects?|reads?|watch(?:es)?|sells?|knows?|owns?|grows?"
        r"|stud(?:y|ies)|learns?"
        r"|visits?|follows?|supports?|mag|mögen|liebt?e?|sprech\w{1,2}|spricht|spielt?e?|samm(?:le|elt|eln)"
        r"|lese|liest|lesen"
        r"|schaue?n?|verkauf\w{1,2}|kenne?n?|kennt|lern\w{1,2}|besuch\w{1,2}|aime|aimes|adore|parle|joue"
        r"|collectionne|lis|lit"
        r"|regarde|vends?|vend|apprends?|gusta|gustan|encanta|encantan|hablo|habla|toco|toca|juego|juega"
        r"|colecciona|colecciono"
        r"|leo|lee|veo|vendo|vende|aprendo|estudio|estudia|gosto|gosta|adoro|adora|falo|fala|jogo|joga"
        r"|colecion[ao]|leio|lê"
        r"|vejo|estudo|estuda|piac(?:e|ciono)|am[oa]|adoro|parl[oa]|suon[oa]|gioc[oa]|colleziono|colleziona|legg[oe]"
        r"|guard[oa]"
        r"|vend[oe]|studi[oa]?|hou|houdt|spreekt?|speelt?|verzamelt?|leest?|kijkt?|verkoopt?|leert?|studeert?|люблю"
        r"|любит|говор(?:ю|ит)|игра(?:ю|ет)|собира(?:ю|ет)|чита(?:ю|ет)|смотр(?:ю|ит)"
        r"|прода(?:ю|ёт)"
        r"|уч(?:у|ит)|изуча(?:ю|ет)",
        r"喜欢|喜歡|爱|会说|收集|收藏|玩|看|卖|(?<![小中大同数文科开上入留化])学(?![生校年期院历位费])|好き|話せ|話し|集めて|読み|読んで|見て|売って|学んで",
    )
)
# Prepositions before a place or an employer, of which a thing or person has one.
PLACING: Final = lexicon.words(
    "in at on to a à au aux en dans chez bei beim im nach auf an al alle alla nel nella presso em no na nos",
    "nas в во на op bij naar",
)
# Words without content that stand before a verb or an adjective, and before no noun
NO_DETERMINERS: Final = lexicon.words(
    "to am been being do does did can could may might must should will would not also just very so too please let re",
    "ve out off up about again all go goes going get zu nicht auch nur noch schon sehr so dann bin bist man ihr du",
    "ne pas très se si me te no ya muy non più molto mi ti não já muito niet ook zeer ik je не ни бы уже ещё еще",
)
# "It is Ben now": the sentence is about what was spoken of
BEGINS_WITH_IT: Final = compile_later(
    r"\W{0,3}(?:(?:now|actually|jetzt|nun|maintenant|ahora|adesso|ora|agora|теперь|nu) )?(?:it|that|that['’]s|it['’]s"
    r"|es|sie|er|das(?= ist\b)|ist es|c['’]est|elle|ça|il (?=est\b|sera\b|a\b|se\b)|ella|ele|ela|hij|het(?= is\b)|dat"
    r"|он|она|оно|это)\b"
)
# Of a key: one has several of it at a time.
MANY_VALUES: Final = compile_later(
    any_of(
        r"committees?|memberships?|gremi(?:um|en)|mitgliedschaft(?:en)?|commissies?|comités?|comitat[oi]|comitês?"
        r"|комитеты?"
        r"|languages?|hobb(?:y|ies)|allerg(?:y|ies)|instruments?|pets?|sports?|music|drinks?|foods?|interests?"
        r"|skills?|kids"
        r"|children|siblings?|brothers?|sisters?|medications?|supplements?|media|games?|reading|routine|trips?"
        r"|vacations?"
        r"|likes|dislikes|habits?|notes?|todos?|tasks?|expenses|products?"
        r"|sprachen?|hobbys?|instrumente?|getränke?|haustiere?|medikamente?|allergien?|interessen|reisen?"
        r"|gewohnheiten"
        r"|aufgaben?|kosten|geschwister|musik|vorlieben"
        r"|langues?|loisirs?|animaux|musique|boissons?|allergies?|goûts|habitudes?|voyages?|tâches?|frais|dépenses"
        r"|idiomas?|aficion(?:es)?|afición|alergias?|mascotas?|bebidas?|instrumentos?|deportes?|gustos?|gastos"
        r"|viajes?"
        r"|tareas?|hábitos|intereses|passatempos?|esportes?|desportos?|gostos|despesas|viagens|viagem|tarefas?|música"
        r"|línguas?|lingu[ae]|allergi[ae]|strument[oi]|musica|bevand[ae]|animali|gusti|abitudini|viagg[io]|spese"
        r"|compiti"
        r"|talen|huisdier(?:en)?|drank(?:en)?|allergie(?:ën)?|muziek|reizen|taken|kosten|gewoontes?|voorkeuren"
        r"|языки?|аллерги[яи]|хобби|спорт|музыка|напитки|увлечени[яе]|питомцы|привычки|расходы|поездки|задачи|досуг"
        r"|сотрудники?|лекарства",
        r"语言|爱好|过敏|饮料|运动|宠物|习惯|费用|兴趣|旅行|任务|趣味|言語|アレルギー|飲み物|動物|ペット|習い事|習慣|旅行|課題",
    )
)
PLURAL_KEY: Final = compile_later(  # "languages", "travel plans", "countries visited"
    r"(?:[^\W\d_]{2,20} )?[^\W\d_]{2,20}(?<![sui])s(?: [^\W\d_]{2,20}(?:ed|é[es]{0,2}|[aio]d[oa]s|t[ie]))?"
)
# Words of Spanish, Portuguese, Italian and French
ROMANCE: Final = compile_later(
    r"\b(?:el|los|las|una?|del|al|en|con|por|para|que|em|uma?|da|dos|das|na|nas|com|como|il|lo|gli|di|che|nel|nella"
    r"|alla|le|les|des|du|est|une|chez|hasta|desde|até|ao|seu|sua|su|sus)\b|[ãõñ]"
)
# Words of German, where each noun has a capital
GERMAN: Final = compile_later(
    r"\b(?:der|dem|ich|wir|ist|sind|und|nicht|kein(?:e[nmrs]?)?|mein(?:e[nmrs]?)?|unser(?:e[nmrs]?)?|zum|zur|für|beim"
    r"|wird|wurden?|haben|auf|bei|um|vom)\b"
)
# Words of Portuguese, and its "in the", which is "not" in Spanish and English
PORTUGUESE: Final = compile_later(
    r"[ãõ]"
    r"|\b(?:tá|tô|tudo|pra|pro|é|em|um|uma|não|meus?|minhas?|noss[oa]s?|agora|às?|aos?|dos|das|vai|foi|fica|moro|trabalho|estou|você"
    r"|ele|ela)\b|^\W{0,3}os? (?=\w)|(?<=\w{3}[aeo] )do (?=\w)"
)
IN_THE: Final = compile_later(r"\bno(?= \w)")
ELIDED_NEGATION: Final = compile_later(r"\bn['’](?=\w{1,40}(?: \w{1,40})? (?:pas|plus|jamais)\b)")
INFINITIVE: Final = compile_later(r"(?P<stem>[^\W\d_]{3,20})(?:[aei]r|[aei]re|ить|ать|ять|еть)")


def without_in_the(text: str) -> str:
    """Return a folded text without the "in the" of Portuguese: "no dia 5" denies nothing."""
    return text if PORTUGUESE.search(text) is None else IN_THE.sub(" ", text)
