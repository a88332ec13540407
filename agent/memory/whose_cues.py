"""Words by which a sentence says of whom it is, in the lexicon's ten languages. Data.

Who speaks, whose something is, who it is done to, and who stands in for whom. Patterns are as in `agent.memory.cues`.
"""

import re
from typing import Final

from agent.memory import lexicon
from agent.memory.lexicon import any_of
from agent.patterns import compile_later

# Somebody or something else is there now
BY_ANOTHER: Final = compile_later(
    any_of(
        r"(?:some(?:body|one)|something|somewhere) else(?:['’]s)?|jemand(?:em|en)? ander(?:e[nrms]?|s)|woanders"
        r"|quelqu['’]un d['’]autre|ailleurs|alguien más|otra persona|outra pessoa|qualcun altro|iemand anders"
        r"|кто-то другой",
        r"别人|他人|ほかの人|他の人|別の人",
    )
)
# Somebody fills in for somebody
STANDS_IN: Final = compile_later(
    any_of(
        r"covers? for|covering for|filling in|fill(?:s|ed)? in|stand-?in|stand(?:s|ing)? in|interim|temporar(?:y|ily)"
        r"|vertret(?:e|en|ung)|vertritt|springt ein|vorübergehend|übergangsweise|testweise|probeweise"
        r"|intérim|provisoire\w{0,5}|dépann\w{1,3}|interin[oa]|provisional\w{0,5}|cubre a|cobre [oa]"
        r"|l[oae] (?:sostituisce|sustituye)|[oa] substitui"
        r"|provisori[oa]\w{0,5}|provvisori\w{1,6}|ad interim|waarnemend|valt in|tijdelijk|временно|замещает"
        r"|подменяет",
        r"临时|代班|代管|顶替|臨時|一時的|代理",
    )
)
# Of whom it is, if of somebody else.
OWNED: Final = compile_later(
    r"\b(?!(?:it|that|he|she|there|what|who|let|here|this|where|how|today)['’])(?P<owner>[^\W\d_]{2,30})(?:['’]s"
    r"|(?<=s)['’]) "
    r"(?!(?:now|no|not|in|at|on|the|an?|been|got|going|also|still|gone|moved|changed)\b)[^\W\d_]"
    r"|\b(?:(?:of|von|de|di|do|da|van) (?:the other|my|our|his|her|their|meine[rmn]|unsere[rmn]|mi|ma|mon|mes|minha"
    r"|meu|mia|mio|mijn|onze)"
    r"|(?<=[a-zäöüß] )(?:meine[rs]|unsere[rs])) (?P<whose>[^\W\d_]{2,30})"
)
# "Celui de Claire", "la de Julia": somebody else's
OF_SOMEBODY: Final = compile_later(
    r"\W{0,3}(?:celui|celle|ceux|celles|l[ao]s?|el|[oa]s?|quell[oaie]|der|die|das|dat|that|those|the one)"
    r" (?:de |d['’]|d[oa]s? |of |von |van |di )(?P<owner>[^\W\d_]{2,30})",
    re.IGNORECASE,
)
# Of the speaker, and of others. Where a language says "your" with the word for "their", that is none of them.
OURS: Final = compile_later(
    any_of(
        r"my|our|mein(?:e[nmrs]?)?|unser(?:e[nmrs]?)?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?|meus?|minhas?|noss[oa]s?"
        r"|mi[oae]|miei|nostr[oaie]|mijn|ons|onze|мо(?:й|я|ё|е|и|его|ей|ю)|наш(?:а|е|и|его|ей|у)?",
        "我们?的|私たちの|私の|うちの",
    )
)
THEIRS: Final = compile_later(
    any_of(r"their|his|her|seine?[nmrs]?|leurs?|loro|hun|их|его|её", "他们?的|她们?的|彼らの|彼の|彼女の")
)
# "Our office", "son bureau": whose it is, where a sentence begins with that
BEGINS_WITH_OURS: Final = compile_later(
    r"^\W{0,3}(?:my|our|mein|unser|meine|unsere|mon|ma|mes|notre|nos|mi|mis|nuestr[oa]s?|o meu|a minha|meus?|minhas?"
    r"|o nosso|a nossa|il mio|la mia|il nostro|la nostra|mio|mia|mijn|ons|onze|мо(?:й|я|ё|и)|наш[аеи]?) "
    r"|^(?:我们|我的|私たち|私の|うち|弊社)"
)
BEGINS_WITH_THEIRS: Final = compile_later(
    r"^\W{0,3}(?:his|her|their|seine?|ihre?|son|sa|ses|leurs?|sus?|o seu|a sua|seus?|suas?|il suo|la sua"
    r"|il loro|la loro|zijn|haar|hun|его|е[её]|их) |^(?:他们|她们|他的|她的|彼の|彼女の|彼ら)"
)
# A person lives at one place, whatever a model calls the key.
HOME: Final = compile_later(
    any_of(
        r"home|city|town|address|residence|wohnort|wohnung|adresse|domicile|ville|domicilio|ciudad|vivienda"
        r"|moradia|cidade|casa|città|indirizzo|residenza|domicilio|woonplaats|adres|woning|huis|stad"
        r"|место жительства|адрес|город",
        r"住处|住址|城市|住まい|住所",
    )
)
# Of the speaker: in any case of the pronoun, and where the pronoun is the subject.
# Italian "i" is an article before a plural; French "on" stands where a clause begins, English "on" does not.
_I: Final = r"i(?! \w{2,20}i\b)"
_ON: Final = (
    r"(?:^\W*|[,;:(–—]\s*|\b(?:et|mais|donc|que|si|quand|où|car|puis|alors|maintenant|ici|là|comme)\s|\bqu['’])on"
    r"(?! (?:\w{1,20}s|the|my|our)\b)\b"
)
SPEAKER: Final = compile_later(
    any_of(
        rf"{_I}|we|me|us|ours|mine|myself|ich|wir|mich|mir|uns|je|j|moi|m|nous|yo|nosotr[oa]s|nos|eu|nós|io|noi|mi|ci"
        r"|ik|wij|mij|я|мы|меня|мне|мной|нас|нам",
        "我|私|僕|俺|うち|弊社",
    )
    + rf"|{_ON}"
)
SPEAKS: Final = compile_later(
    any_of(rf"{_I}|we|ich|wir|je|j|nous|yo|nosotr[oa]s|eu|nós|io|noi|ik|wij|я|мы", "我|私|僕|俺")
)
# English "on" before a noun is no French "on"; Spanish "mi" is "my", where Italian "mi" stands before a verb.
BEGINS_WITH_SPEAKER: Final = compile_later(
    r"(?:soy|sou|estoy|estou|fui|voy|vou|tengo|tenho|somos|estamos|vamos|hemos|ho|abbiamo|sono|siamo"
    rf"|{_I}|we|ich|wir|mich|mir|uns|je|nous|moi|me|yo|nosotr[oa]s|nos|eu|nós|io|noi|ik|wij|mij|ons|я|мы|меня|мне|нас"
    r"|нам"
    r"|on(?! (?:\w{1,20}s|the|my|our)\b))(?!\w)|[jm]['’]\w|(?:mi|ci) (?:sono|siamo|ha|hanno|chiamo|occupo)\b"
    r"|he \w{2,20}(?:[dt]o|cho)\b"
)
OFTEN: Final = lexicon.words(
    "sempre siempre spesso di solito normalmente generalmente habitualmente geralmente nunca mai quasi casi"
)
# Somebody did it to the speaker: "the doctor put me on 30 mg". Not "my sister".
DONE_TO_SPEAKER: Final = compile_later(
    r"^\W{0,3}(?:(?:the|der|die|das|le|la|les|l|el|los|las|il|lo|o|a|os|as|de|het) |[А-ЯЁа-яё]|l['’])"
    r".{1,60}\b(?:me|us|mich|mir|uns|m['’]|nous|nos|mi|ci|mij|ons|мне|меня|нам|нас)\b"
)
# A Romance verb that implies "I" or "we"
SPEAKERS_ENDING: Final = compile_later(
    r"(?:[^\W\d_]{2,20}(?:o|ei|é|í|i|[aei]mos|iamo)(?:-me|-nos)?|sto|ho|he|sou|soy|estou|voy|vou)(?= )"
)
NOBODY: Final = compile_later(
    r"^\W{0,3}(?:(?:nobody|no one|niemand|personne|nadie|nessuno|ninguém|никто)\b|没有?人|誰も)"
)
# Words before a name: "is called Bo"
CALLED: Final = lexicon.words("heißt heisst heet heten llama appelle chama chiama зовут")
# Between a thing and the name of its owner, as parts of patterns: "la demo de Ann", "my dog is called Rex"
OF_NAME: Final = "of|von|vom|de|du|da|do|del|di|van"
IS_CALLED: Final = rf"(?:(?:(?:is|se|si|chama-) ?|s['’])?(?:called|{'|'.join(sorted(CALLED))}) )?"
TITLES: Final = lexicon.words("dr prof mr mrs ms frau herr mme monsieur madame sr sra dra doctor")
# Another person of the speaker's, where nothing stands between the two: "我姐夫", "妻は"
BEGINS_WITH_RELATIVE: Final = compile_later(
    r"^(?:我们?(?:的)?|(?!老板|房东|客户|学生|孩子|对象|先生))(?P<of>[男女]?朋友|同事|室友|邻居|儿子|女儿|孩子|[大小表堂]?[哥弟姐妹]{1,2}夫?|爸爸?|妈妈?|父亲|母亲|爷爷|奶奶|叔叔?|舅舅?|姑姑?|阿?姨"
    r"|嫂子?|岳[父母]|公公|婆婆|老公|老婆|爱人|丈夫|妻子|太太|先生|对象|侄[子女]|外甥女?|外[婆公]|孙[子女]|老板|房东|客户|学生)"
    r"|^(?:私の|うちの)?(?P<whose>妻|夫|息子|娘|父|母|兄|弟|姉|妹|義理の.{1,2}|友人|友達|同僚|隣人|彼女|彼氏|彼|主人|旦那|祖[父母]|叔[父母])(?=[はがもの])"
)
# One may be a member of many
MEMBER: Final = compile_later(
    any_of(
        r"members? of|mitglied\w{0,3}|membres?|miembros?|soci[oa]s?|membr[oi]|lid van|член\w{0,3}",
        "成员|会员|メンバー|会員",
    )
)
TITLED: Final = compile_later("さん|先生|氏|老师|医生|先生|女士|经理")
