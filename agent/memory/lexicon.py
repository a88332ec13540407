"""Words and patterns for the analysis of sentences in ten languages: subjects, values, changes, negations. Data.

The languages are English, German, Dutch, French, Spanish, Italian, Portuguese, Russian, Chinese and
Japanese. Each pattern is linear:
fixed words, and runs of bounded length. Other languages are analysed by their values and their word order only.

Patterns are in lower case, for a search in `folded` text: this takes a third of the time of a search that ignores case.
Those that need capitals to find a name or a month (CASED, DISPLACED) are applied to the original text.
"""

from typing import Final

from agent.patterns import compile_later


def words(*lists: str) -> frozenset[str]:
    return frozenset(" ".join(lists).split())


def _signs(pattern: str) -> str:
    """Return an alternative for scripts without blanks.

    It is tried only at such a character: to try it at each letter of each text takes half of the time of an analysis.
    """
    return f"|(?=[\u3040-\u9fff])(?:{pattern})"


def any_of(words: str, signs: str = "") -> str:
    """Return a pattern of any of these words, or of the signs of scripts without blanks."""
    return rf"\b(?:{words})\b" + (_signs(signs) if signs else "")


def _any_of(words: str, signs: str) -> str:
    return rf"\b(?:{words})\b" + (_signs(signs) if signs else "")


def folded(text: str) -> str:
    """Return the text in lower case with the same length, so that positions are valid in both."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.replace("İ", "I").lower()


# Chinese: a verb of change with its target ("改成", "推迟到").
_TURNED: Final = (
    r"(?:推迟|延迟|延期|延后|提前|提早|延长|缩短|增加|减少|提高|降低|上调|下调|上涨|下降|下跌|调整|变更|更改|更换|替换|切换|升级|迁移|转移"
    r"|[改换变调转挪移搬迁涨升降跌增减])(?:到|至|为|成)|[改换转](?:用|由|叫)|[改挪移]在|改[约签订][到至在成为]|改名(?:为|叫)?|[搬迁挪转]去|跳槽[到去]"
)

# English words that say nothing about the subject.
FUNCTION_WORDS: Final = words(
    """a about after again all also am an and any anyway are as at be because been before being but by can could did do
    does doing done for from get go going got had has have having he her here him his how i if in into is it its just
    let let's ll may me might must my need needs no not of off ok okay on or our out over per please re s shall she
    should so some t than that the their them then there these they this those to too under until up us ve very was we
    were what when where which while who whom whose why will with would yes you your"""
)
# Words without content of their own in the other languages with blanks between words.
OTHER_FUNCTION_WORDS: Final = words(
    """ich du er sie es wir ihr man der die das den dem des ein eine einen einem einer eines mein meine meinen meinem
    meiner dein deine unser unsere unseren unserem unserer sein seine ihre ihren und oder aber in im am an auf aus bei
    fürs übers aufs ans ins durchs
    beim mit nach von vom zu zum zur für über unter vor um bis ab als wie auch nur noch schon sehr so dann mehr dass
    ist sind
    war waren wird werden wurde wurden worden hat haben hatte hatten habe bin bist""",
    """yo tú él ello nosotros ellos ellas usted el la los las lo un una unos unas mi mis tu tus su sus nuestro
    nuestra nuestros nuestras y o pero de del a al en con por para sin sobre se me te nos que es son está están era fue
    ser estar ha he han hemos hay muy como este esta ese esa""",
    """je tu il elle nous vous ils elles le les une des du ce cet cette ces mon ma mes ton ta tes sa ses notre nos votre
    vos leur leurs et ou mais donc ne pas plus qui dans au aux sur sous avec sans pour par chez est étaient était sera
    ont ai avons avez été être avoir très ça""",
    """eu nós ele ela eles elas você vocês os as um uma uns umas do da dos das em na nos nas ao aos às com sem para pelo
    pela mas que é são foi será tem têm há meu minha meus minhas seu sua seus suas nosso nossa nossos nossas não
    mais muito já isso isto""",
    """я ты он она оно мы вы они мой моя моё мое мои моего моей моему моих твой наш наша наше наши нашего нашей свой в
    во на с со к ко у о об от до по за из для без при и или но а что как не ни уже ещё еще же ли бы это этот эта эти был
    была было были есть будет меня мне нас нам его её ее их ему ей им больше""",
    """io noi lui loro il lo gli dei degli delle della dello dal dalla nel nella nello sul sulla allo agli di da mio
    miei nostro nostra nostri nostre suo sua suoi sue è sono siamo era erano ho hanno abbiamo stato stata stati
    state e o ma che non più molto con si ci""",
    """ik jij wij zij hij het een mijn onze ons zijn haar wordt werd bent heb heeft hebben hebt had en maar naar om
    op uit bij aan te tot niet meer zeer dat deze dit voor""",
)
# Words before the noun of a key, and not part of it.
DETERMINERS: Final = words(
    """the a an my our your his her their this der die das den dem ein eine mein meine meinen unser unsere dein deine
    el los las mi mis nuestro nuestra le les un une mon ma mes notre nos o os meu minha nosso nossa
    il lo gli mio mia nostro nostra de het een mijn ons onze мой моя моё мое наш наша наше"""
)
OF: Final = compile_later(r" (?:of(?: the)?|von|vom|de|del|do|da|du|des|di|del(?:la|lo|le)|van (?:de|het)) ")
# The person that a sentence is about if it gives no name.
PRONOUNS: Final = {
    **dict.fromkeys(("i", "ich", "yo", "je", "eu", "io", "ik", "я", "меня", "мне", "我", "私", "僕", "俺"), "i"),
    **dict.fromkeys(
        ("we", "wir", "nosotros", "nous", "nós", "noi", "wij", "мы", "нас", "我们", "我們", "私たち", "弊社", "当社"),
        "we",
    ),
    **dict.fromkeys(("he", "she", "they", "er", "él", "ellos", "il", "elle", "ils", "elles"), "they"),
    **dict.fromkeys(
        (
            "ele",
            "ela",
            "eles",
            "elas",
            "он",
            "она",
            "они",
            "lui",
            "loro",
            "hij",
            "zij",
            "他",
            "她",
            "他们",
            "彼",
            "彼女",
        ),
        "they",
    ),
}

# Words between subject and predicate without a meaning of their own.
COPULAS: Final = compile_later(
    r"(?:\b(?:will be|is|are|was|were|be|been|ist|sind|war|waren|wird|werden|wurde|wurden|bleibt|lautet|beträgt"
    r"|es|son|está|están|era|fue|será|queda|sont|était|sera|è|sono|sarà|zijn(?= (?:nu|niet|op|om|in|bij)\b)|blijft|é"
    r"|estão|foi|fica|ficam|является"
    r"|(?<![\d\ue000-\uf8ff] )est|são(?! (?:paulo|luís|josé|joão|pedro|miguel)))\b"
    r"|['’]s(?=\s+(?:now|no|not|in|at|on|the|a)\b)|:(?=\s|$)"
    r"|(?<=[а-яё])\s[—–-](?=\s)|(?=[\u3040-\u9fff])"
    r"(?:是|(?:部署|安排|存放|保存|托管|运行|坐落|举行|设|放|约)?(?<![现存实所自])在(?=\S)|位于|(?<![因认])为|は|が(?=\S)))"
)
# Verbs of a state, not of an event. They count as part of the predicate.
STATE_VERBS: Final = words(
    """has have had takes take costs cost lasts last lives live works work uses use starts start begins begin ends end
    opens open closes close leaves leave arrives arrive departs depart runs run leads lead owns own reports report
    contains counts measures weighs earns drinks drink eats eat speaks speak ships ship likes like prefers prefer needs
    expires renews stays meets supports support hosts host""",
    """hat haben habe kostet dauert beginnt startet endet öffnet schließt wohnt wohne wohnen arbeitet arbeite arbeiten
    nutzt nutze nutzen benutzt benutze benutzen verwendet verwende verwenden liegt sitzt heißt heisst leitet läuft
    trinkt trinke isst esse spricht spreche gilt steht hängt betreut fährt""",
    """tiene tienen tengo tenemos cuesta cuestan dura empieza comienza termina acaba abre cierra sale llega vive vivo
    vivimos trabaja trabajo trabajamos usa uso usamos utiliza llama dirige habla hablo come como bebe bebo
    cumple""",
    """habite habites habitons habitent vis vit travaille travailles travaillons utilise utilisons utilisent coûte
    coûtent dure commence finit ouvre ferme part arrive appelle parle boit bois mange gère dirige préfère""",
    """moro mora moramos trabalho trabalha trabalhamos utilizamos custa custam começa acaba fecha sai chega tenho tem
    têm temos falo fala bebo chama cuida prefiro prefere""",
    """живу живёт живет живём живем живут работаю работает работаем работают стоит стоят длится начинается заканчивается
    открывается закрывается отправляется прибывает зовут называется находится находятся пью пьёт пьет ем ест использую
    использует используем имеет отвечает ведёт говорит""",
    """abito abita abitiamo abitano lavoro lavora lavoriamo usiamo costano inizia finisce apre chiude parte arriva
    chiama     parlo parla mangio mangia bevo beve preferisco preferisce pesa scade""",
    """woon woont wonen werkt gebruik gebruikt gebruiken kost duurt begint
    eindigt opent sluit vertrekt heet leidt spreek
    spreekt drinkt eet eten ligt""",
)
# Of these, Spanish, Italian and Portuguese ones that can start a sentence as they imply their subject: "Vivo en …".
SPEAKERS_VERBS: Final = words(
    "vivo trabajo uso usamos tengo tenemos hablo como bebo",
    "moro moramos trabalho trabalhamos utilizamos tenho temos falo prefiro",
    "abito abitiamo lavoro lavoriamo usiamo parlo mangio bevo preferisco",
)
# Chinese has no blanks, so a verb of one character needs its neighbors excluded: in "有效" and "费用" it is part of
# a noun.
STATE_CJK: Final = compile_later(
    rf"(?:{_TURNED}|只剩下?|剩下|共?有(?![效关限利趣名用])|叫做?|住在|定在|定于|(?<![费信作应利专适采常])使?用(?![户途品])"
    r"|(?<!最)喜欢|需要|に住|で働)"
)
HAVE: Final = words(
    "has have had hat haben habe tiene tienen tengo tenemos tem têm tenho temos",
    " ho abbiamo hanno heb heeft hebben имеет 有",
)
RESIDES: Final = compile_later(
    r"\b(?:lives?|wohn(?:t|e|en)|viv(?:e|o|imos)|habit(?:e|es|ons|ent)|mor(?:o|a|amos)|abit(?:o|a|iamo|ano)|woon"
    r"|woont|wonen|жив(?:у|[её]т|[её]м|ут))\b" + _signs(r"住在|に住")
)
# A person lives at one place.
SETTLES: Final = compile_later(
    r"\b(?:moved to(?= [a-z])|nach \w{1,40} (?:um)?gezogen\b|mud(?:é|ado|amos) a\b|déménagé (?:à|en|au)\b"
    r"|mud(?:ei(?:-me)?|amos(?:-nos)?) (?:para|pra)\b|trasferit[oaie] a\b|verhuisd naar\b|naar \w{1,40} verhuisd\b"
    r"|переехал[аи]? (?:в|во|на)\b)"
    + _signs(r"搬[到去至](?!.{0,8}(?:办公|公司|工位|座位|部门|教室|会议|[楼层桌]))|に引っ越")
)

# A thing is at one place.
PLACED: Final = compile_later(
    r"\b(?:(?:is|are|ist|sind|liegt|hängt|steht|está|están)\s+(?:now\s+|jetzt\s+|ahora\s+)?(?:in|at|im|en)\b"
    r"|(?:est|sont|se trouve|fica|ficam|находится|находятся)\s+(?:à|au|en|dans|em|no|na|в|во|на)\b"
    r"|(?:è|sono|si trova)\s+(?:ora\s+|adesso\s+)?(?:a|in|al|nel|nella)\b|(?:is|ligt)\s+(?:nu\s+)?(?:op|bij)\b)"
    + _signs(r"(?<!现)在(?!线|[^，。；]{1,20}有)|にあります")
)

# "new" needs a blank behind it, or "New-York" would be a change.
NEW: Final = compile_later(
    r"\b(?:new(?=\s)|(?:neue[nmrs]?|nuev[oa]s?|nouve(?:au|lle|l)s?|nov[oa]s?|nuov[oaie]|nieuwe?|нов(?:ый|ая|ое|ые|ого"
    r"|ой))\b)" + _signs(r"新しい|新的")
)
# Words that announce a change: those of seed 003, similar ones, and those of the other languages.
CUE: Final = compile_later(
    r"\b(?:now(?! that\b)|actually|instead|rather|correct(?:ed|ion)|chang(?:e|es|ed|ing)|mov(?:e|ed|ing)"
    r"|updat(?:e|es|ed|ing)"
    r"|switch(?:ed|ing)?|revis(?:e|ed|ion)|replac(?:e|ed|es|ing)|overrid(?:e|es|ing|den)|reschedul(?:e|ed|ing)"
    r"|cancel(?:s|led|ed|ling)?|no longer|not any ?more|as of|make (?:that|it)|scratch that|no,? wait|let's"
    r"|go(?:ing)? back to|postponed|delayed|extended|upgraded|downgraded|raised|lowered|increased|reduced"
    r"|pushed(?: back)?|(?:went|gone) (?:up|down)|from now on|t(?:ook|aken) over|rebooked"
    r"|jetzt(?!,? (?:wo|da)\b)|nun|inzwischen|stattdessen|verschoben|geändert|verlegt|verlängert"
    r"|umgestiegen|gewechselt|korrektur"
    r"|ab (?:sofort|jetzt|heute)|künftig|(?:um)?gezogen|doch|umgebucht|gestiegen|gesunken|erhöht|gesenkt|übernommen"
    r"|ahora(?! que\b)|actualmente|corrección|cambiad[oa]|cambió|movid[oa]|mudad[oa]|aplazad[oa]"
    r"|pospuest[oa]|prorrogad[oa]"
    r"|pasado a|subido|bajado|finalmente|a partir de ahora"
    r"|maintenant(?! que\b)|désormais|dorénavant|finalement|chang(?:é|ée|és|ées)|déplacée?s?|reportée?s?"
    r"|avancée?s?|augmentée?s?"
    r"|passée?s? (?:de|à)|remplac(?:e|é|ée)|déménagé|corrigée?"
    r"|agora(?! que\b)|atualmente|mudou|mudei|mudamos|mudaram|tro(?:quei|cou|camos)|adiad[oa]s?"
    r"|remarcad[oa]s?|subiu|baixou"
    r"|passou a|assumiu|correção|a partir de agora"
    r"|adesso(?! che\b)|(?<!['’])ora(?! che\b)|d['’]ora in poi|spostat[oaie]|cambiat[oaie]|aumentat[oaie]"
    r"|diminuit[oaie]|trasferit[oaie]"
    r"|rinviat[oaie]"
    r"|posticipat[oaie]|anticipat[oaie]|prorogat[oaie]|attualmente|passat[oaie] (?:a|da)|sostituit[oaie]|correzione"
    r"|nu|tegenwoordig|voortaan|inmiddels|verplaatst|verzet|gewijzigd|veranderd|verhoogd|verlaagd|gestegen|gedaald"
    r"|verhuisd"
    r"|overgestapt|overgenomen|uitgesteld|verlengd|vervroegd|vanaf nu|opgeschoven|vervangen|correctie"
    r"|теперь|отныне|перенес(?:ли|ена|ено|ён|ены|ено)|перенёс|изменил(?:ся|ась|ось|ись)|изменили|сменил[аи]?"
    r"|перешл[аи]|перешёл"
    r"|переехал[аи]?|подорожал[аои]?|подешевел[аои]?|вырос(?:ла|ло|ли)?|вместо)\b"
    + _signs(
        rf"现在|如今|目前|{_TURNED}|变更|更正|调整|起改|涨了?|以后|今后|接[手管任]|改(?=[喝吃开坐骑学穿练住签约])"
        r"|今[はの]|今では|今(?=[\d\ue000-\uf8ff閉開])|現在|変更|変わ|乗り換え|切り替え|移り|移転|延期|訂正|修正|代わりに|になりました|になった|上がりました|下がりました"
    )
)
_MOVES: Final = (
    (
        r"(?:chang|mov|switch|reschedul|postpon|extend|upgrad|downgrad|rais|lower|increas|reduc|push|revis|updat)(?:e"
        r"|ed|ing)?"
        r"|verschoben|geändert|verlegt|verlängert|umgestiegen|gewechselt"
        r"|gestiegen|gesunken|erhöht|gesenkt|umgebucht"
        r"|cambiad[oa]|cambió|movid[oa]|mudad[oa]|aplazad[oa]|pospuest[oa]|prorrogad[oa]|subido|bajado"
        r"|spostat[oaie]|cambiat[oaie]|aumentat[oaie]|diminuit[oaie]|rinviat[oaie]|posticipat[oaie]|anticipat[oaie]"
        r"|prorogat[oaie]"
        r"|verplaatst|verzet|gewijzigd|verhoogd|verlaagd|gestegen|gedaald|uitgesteld|verlengd|vervroegd|opgeschoven"
        r"|déplacée?s?|reportée?s?|avancée?s?|augmentée?s?|adiad[oa]s?|remarcad[oa]s?|subiu|baixou|mudou"
        r"|перенес(?:ли|ена|ено|ён|ены)|перенёс|подорожал[аои]?|подешевел[аои]?|вырос(?:ла|ло|ли)?"
    ),
    rf"{_TURNED}|推迟|提前|延期|涨|変更|変わ|乗り換え|切り替え|上がりました|下がりました",
)
MOVES: Final = compile_later(_any_of(*_MOVES))  # The verbs among them: their object is the subject of the statement
# The subject itself became something else.
BECOMES: Final = compile_later(
    r"\b(?:(?:changed|switched|turned) (?:in)?to|became|wurde zu|umgestellt auf|changé en|cambió a|cambiat[oa] in"
    r"|mudou para"
    r"|veranderd in|сменил(?:ся|ась|ось|ись) на)\b" + _signs("[换改变][成为用由叫]|改名|に変わ|に切り替|に乗り換")
)
# Words of addition: the statement adds something and changes nothing.
ADDS: Final = compile_later(
    r"\b(?:also|too|as well|another|in addition|besides|additionally|auch|außerdem|zusätzlich|también|además"
    r"|(?<!\ba )otr[oa]"
    r"|aussi|également|autre|também|além disso|outr[oa]|anche|inoltre|altr[oa]|ook|bovendien|daarnaast|nog een"
    r"|een andere?|тоже|также|ещ[её] один|друг(?:ой|ая))\b"
    + _signs(r"也|还(?=[会有在是])|另外|此外|さらに|また(?=、)|加えて")
    + r"|[\w\ue000-\uf8ff]も(?!う|り|ら|っ|し|の)(?![^。！？]{1,20}(?:ない|ません|なかった))"
)
# A return to what held before, as "after all", which contradicts the last statement without naming it.
RESTORES: Final = compile_later(
    r"\b(?:back to|again|after all|revert\w*|restor\w*|reinstat\w*|stick(?:ing)? (?:to|with))\b"
)
# Fillers without a meaning.
FILLERS: Final = compile_later(
    r"\b(?:(?:currently|at the moment|still|already|finally|by the way|please note|heads[- ]up|planned|scheduled|due"
    r"|set|update|note|correction|fyi|derzeit|zurzeit|aktuell|bereits|übrigens|geplant|planead[oa]|previst[oa]"
    r"|programad[oa]"
    r"|de momento|actuellement|déjà|toujours|prévue?s?|programmée?s?|atualmente|já|ainda|previst[oa]s?|marcad[oa]s?"
    r"|сейчас|уже|пока|назначен[аоы]?|запланирован[аоы]?|состоится|wieder|takes place|tiene lugar|a lieu"
    r"|findet|finden|saí d[aeo]|quitté)\b|statt(?=\W*$))"
    + _signs(r"计划|定于|予定|^今\s?$|已经|刚刚|终于|最近|今年(?=[\ue000-\uf8ff])|去(?=了\W{0,3}$)")
)

# Something is no longer so.
ENDED: Final = compile_later(
    r"\b(?:(?:no longer|niet meer|geen meer|geen(?= (?:\w{1,40} ){1,2}meer\b)|any ?more|any longer|stopped|quit"
    r"|nicht mehr|kein(?:e[nmrs]?)?(?= (?:\w{1,40} ){1,2}mehr\b)|ya no"
    r"|больше не|уже не|já não)\b|ne (?=\w{1,40}(?: \w{1,40})? plus\b)|não (?=\w{1,40}(?: \w{1,40}){0,2} mais\b)"
    r"|non (?=\w{1,40}(?: \w{1,40}){0,2} più\b))"
    + _signs(
        r"不再|已经?不|没有再|不(?!过(?!敏)|[但仅错久少断管论如同想能会要])(?=[^，。；、]{2,14}了)|もう(?=.{0,80}(?:ない|ません))"
    )
)
# "no" and "ne" are also interjections and pronouns, and the signs parts of many words ("不过", "没问题"): each needs
# its neighbors.
NEGATED: Final = compile_later(
    r"\b(?:(?:not|never|cannot|no longer|nicht|kein(?:e[nmrs]?)?|nie|niemals|nunca|jamás|tampoco|jamais|não|non|niet"
    r"|geen|nooit"
    r"|не|никогда)\b|no(?= \w)|ne (?=\w{1,40} (?:pas|plus|jamais)\b))|n['’]t\b"
    + _signs(r"不再?(?!过(?!敏)|[但仅错久少断管论如同])|没有?(?!问题)|未(?!来)|別に|(?<=\S)(?:ません|ない|なかった)")
)
_CANCELLED: Final = (
    (
        r"cancell?ed|called off|abandoned|abgesagt|gestrichen|cancelad[oa]|anulad[oa]|annulée?s?|annullat[oa]"
        r"|geannuleerd|afgelast|отмен[её]н[аоы]?"
    ),
    r"取消|作废|中止|キャンセル",
)
CANCELLED: Final = compile_later(_any_of(*_CANCELLED))
# The progress of something.
PROGRESS: Final = compile_later(
    r"\b(?:on track|on time|in (?:planning|progress|review|development)|planned|scheduled|approved|accepted"
    r"|confirmed|rejected|declined|delayed|behind|late|blocked|paused|on hold|done|finished|completed?|resolved"
    r"|under (?:review|way|discussion|construction|development)|pending"
    r"|cancell?ed|called off|open|closed|active|inactive|live|down|up|passed|failed|revoked|signed|shipped|delivered"
    r"|geplant|in arbeit|genehmigt|abgelehnt|verzögert|pausiert|fertig|abgesagt|offen|geschlossen"
    r"|aprobad[oa]|rechazad[oa]|retrasad[oa]|en curso|terminad[oa]|cancelad[oa]|abiert[oa]|cerrad[oa])\b"
    + _signs(r"进行中|批准|拒绝|延迟|完成|取消|進行中|承認|却下|遅れ|完了|中止")
)
# The last of several values: earlier changes no longer count.
FINAL: Final = compile_later(
    r"\b(?:final|definitive|definite|endgültig\w{0,2}|definitiv[oea]?|définiti(?:f|ve)|окончательн\w{1,3})\b"
    + _signs(r"最终|最終")
)
# An earlier state, which the sentence itself calls over.
ONCE: Final = compile_later(
    r"\b(?:original(?:ly)?|initial(?:ly)?|previous(?:ly)?|formerly|used to|ursprünglich\w{0,2}|zuerst|früher|vorher"
    r"|original(?:mente)?|inicialmente|antes|anteriormente)\b" + _signs(r"原来|原先(?!生)|当初|最初|以前|元々|もともと")
)
# The start of a message that replaces earlier ones about the same subject.
UPDATE: Final = compile_later(
    r"^\W{0,4}(?:update|correction|corrected|new|aktualisierung|korrektur|actualización|corrección|更新|更正|訂正)\s*[:：]"
)
# An introduction to a sentence, and not part of its subject.
LEAD_IN: Final = compile_later(
    r"^\W{0,4}(?:(?:to be (?:absolutely |quite )?clear|(?:just )?confirming(?: again)?|(?:just )?to confirm"
    r"|(?:great|good|bad) news|reminder|recap|to recap|fyi|note|update|correction|based on \w{1,20}|so|actually"
    r"|oh by the way|oh|by the way|for the record|notiz|hinweis|übrigens|also|nota|aviso|por cierto|注意|备注|更新"
    r"|planänderung|cambio de planes|changement de programme|mudança de planos|changes? of plans?|планы изменились"
    r"|finalement|finalmente|更正|メモ|訂正)\s?[:!,：，–-]\s*)+"
)
# Words that correct the previous statement.
CORRECTS: Final = compile_later(
    r"\b(?:changes? of plans?|correction|actually|instead|scratch that|no,? wait|planänderung|korrektur|stattdessen"
    r"|doch|changement de programme|finalement|en fait|cambio de planes|corrección|en realidad|mejor dicho|finalmente"
    r"|mudança de planos|correção|na verdade|планы изменились|на самом деле)\b"
    + _signs(r"计划有变|更正|其实|実は|訂正")
)
# A choice for a purpose.
DECIDES: Final = compile_later(
    r"\b(?:go|going|went|gone|proceed|proceeding|fly|flying|travel|travelling) with (?P<what>[^.,;]{1,60}?)"
    r" (?:for|to|as) (?P<purpose>[^.,;]{1,80})"
)
# What was so once contradicts nothing that holds now.
PAST: Final = compile_later(
    r"\b(?:was|were|had|met|bought|paid|went|sent|saw|gave|took|came|left|spent|wrote|ran|ate|drank|did|made|got|held"
    # The perfect of German and Dutch, of French, Spanish and Italian: what happened once
    r"|(?:habe|hat|haben|heb|heeft|hebben) (?=.{0,80}\b(?:ge|ver|be|er|ent)\w{2,20}(?:t|d|en)\W{0,3}$)"
    r"|(?:j['’]ai|avons|he|hemos|ho|abbiamo) (?=\w{2,20}(?:é|u|ado|ido|ato|uto|ito)\b)"
    r"|yesterday|last (?:week|month|year|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"|war|waren|hatte|hatten|gestern|letzte[nrs]?|era|eran|fue|fueron|ayer|pasad[oa]|hier|ontem|ieri|scors[oa]"
    r"|comprato|pagato|speso|incontrato|gisteren|vorige|gekocht|betaald|gastei|comprei|paguei|вчера|купил[аи]?"
    r"|заплатил[аи]?)\b" + _signs(r"昨天|前天|去年|上周|上个月|[买去花吃看见跑走写打卖]了|見た|ました|先週|昨日")
)
# What happens again and again stays true when it happens otherwise once.
HABIT: Final = compile_later(
    r"\b(?:every|each|on \w{1,12}days|jede[nrs]?|immer|cada|todos los|chaque|toujours|todos? os?|ogni|elke?|iedere?"
    r"|кажд(?:ый|ую|ое|ые)|всегда)\b" + _signs(r"每(?!(?:月|年|天|周|人|小时)\s?\d)|毎(?!日会)")
)

# The name of what is replaced: up to four words, of which the further ones begin with a capital, since no rule says
# where a name ends.
_DISPLACED: Final = (
    compile_later(
        r"\b(?i:instead of|rather than|in place of|replac(?:es|ed|ing)|statt|anstatt|anstelle von|en lugar de"
        r"|en vez de|invece di|al posto di|in plaats van"
        r"|à la place de|au lieu de|no lugar d[aeo]|em vez d[aeo]|вместо)\s+(?:(?:Frau|Herrn?|Mr|Mrs|Ms)\.?\s)?"
        r"(?P<old>[\w.+#’'-]{1,40}(?: [A-Z][\w.+#-]{1,40}){0,3})"
    ),
    compile_later(
        r"\b(?:from|von|vom|de|do|с|со)\s+(?P<old>[\w.+#-]{1,40}(?: [A-Z][\w.+#-]{1,40}){0,2})\s+"
        r"(?:to|auf|zu|zum|a|al|à|para o|para a|para|на)\s"
    ),
    compile_later(
        r"\b(?i:swapped|exchanged|traded|replaced|remplacé|cambi(?:é|amos|ado|aron)|tro(?:quei|cou|camos)|sostituito"
        r"|vervangen|замени(?:л|ла|ли)|поменял[аи]?) (?:(?:the|our|my|le|la|el|los|las|o|os|il) )?"
        r"(?P<old>[\w.+#-]{1,40}(?: [A-Z][\w.+#-]{1,40}){0,2}) (?:for|with|by|por|par|con|door|на)\s"
    ),
    compile_later(r"\b(?:took|taken) over\b.{1,60}?\bfrom\s+(?P<old>[A-Z]\w{1,40})"),
    compile_later(r"\bvon (?:(?:Frau|Herrn) )?(?P<old>[A-ZÄÖÜ]\w{1,40}) übernommen\b"),
    compile_later(
        r"\b(?:left|quit|quitté|dejado|[Ss]aí d[aeo]|verlassen)\s+(?P<old>[A-Z][\w.+#-]{1,40})"
        r"(?=.{1,40}\b(?:work|now|travaille|désormais|maintenant|trabajo|ahora|trabalho|agora|arbeite|jetzt)\b)"
    ),
    compile_later(rf"从(?P<old>[^从，。；]{{1,30}}?)(?:{_TURNED}|[换改转搬迁切])"),
    compile_later(r"(?:代替了?|取代了?|而不是|而非)(?P<old>[^，。了]{1,30})"),
    compile_later(r"(?P<old>[^\s、。はがをの]{1,16})の代わりに"),
    compile_later(
        r"(?P<old>[^\s、。はがをか]{1,16})から.{1,16}(?:に|へ)(?:乗り換え|切り替え|変え|変わ|代わ|交代|移り|移行|変更)"
    ),
    compile_later(r"(?P<old>[^\s、。はがをの]{1,16}?)ではなく"),
)
# What is replaced by something else, each pattern with a string that all its matches contain.
DISPLACED: Final = tuple(
    zip(("", "", "", " over ", " übernommen", "", "从", "", "の代わりに", "から", "ではなく"), _DISPLACED, strict=True)
)
# Verbs that only say that a person has or uses something.
GENERIC_VERBS: Final = words(
    """use uses using used host hosts work works am drive drives have has with on run runs take read drink eat buy
    handle handles handling manage manages look looks maintain maintains responsible betreut leitet verantwortet
    travaille travaillons utilise utilisons gère gérons déploie déployons trabalho trabalhamos utilizamos cuida cuido
    работаю работаем использую используем отвечает ведёт занимается
    nutze nutzen nutzt benutze benutzen benutzt verwende verwenden verwendet fahre habe arbeite arbeiten
    uso usa usamos utilizo utilizamos tengo trabajo 用 使"""
)

# Nouns without a subject of their own.
GENERIC_NOUNS: Final = words(
    """value data figure number amount information entry answer result statement conclusion thing fact wert angabe zahl
    ergebnis aussage valor dato cifra número resultado valeur donnée chiffre résultat значение данные число результат
    dado resultado valore cifra numero risultato waarde getal resultaat"""
)

# Roles and things of which there is one: another name replaces the first. Of others (friends, customers, hobbies) two
# names can both be true.
UNIQUE: Final = compile_later(
    r"\b(?:manager|boss|supervisor|ceo|cto|cfo|coo|lead(?:er)?|head|director|president|chair(?:man|woman|person)?"
    r"|landlord"
    r"|wife|husband|spouse|capital|address|home|name|surname|nickname|username|email|e-mail|phone|number|editor|bank"
    r"|employer|job title|title|role|time ?zone|headquarters|hq|venue|location|place|currency|native language|status"
    r"|priority|owner|maintainer|provider|host|favou?rite|branch|domain|url|codename|assignee|password hint|deadline"
    r"|chef(?:in)?|vorgesetzter?|leiter(?:in)?|projektleiter(?:in)?|adresse|anschrift|wohnort|hauptstadt|arbeitgeber"
    r"|beruf|zeitzone|sitz|lieblings\w{1,20}|telefonnummer|hausarzt|bürgermeister(?:in)?|ort|währung"
    r"|jef[ea]|director(?:a)?|gerente|dirección|domicilio|nombre|capital|banco|esposa|marido|sede|favorit[oa]|teléfono"
    r"|responsable|líder|correo|moneda|alcalde(?:sa)?|caser[oa]|tutor(?:a)?|ciudad natal"
    r"|doctor|gp|advis[eo]r|supervisor|vermieter(?:in)?|betreuer(?:in)?|passwort|password|mot de passe|senha|contraseña"
    r"|chef(?:fe)?|patron(?:ne)?|directeur|directrice|siège|nom|prénom|numéro|téléphone|banque|propriétaire|femme|mari"
    r"|capitale|maire|préférée?s?|médecin traitant|devise|employeur"
    r"|capo|responsabile|direttore|direttrice|indirizzo|cognome|capitale|banca|moglie|marito|telefono|valuta|sindac[oa]"
    r"|preferit[oa]|medico|dentista|padron[ea] di casa"
    r"|baas|leidinggevende|directeur|adres|naam|hoofdstad|echtgeno(?:ot|te)|telefoonnummer|huisarts|tandarts|werkgever"
    r"|burgemeester|lievelings\w{1,20}|huisbaas|wachtwoord|woonplaats"
    r"|chefe|gerente|diretora?|endereço|nome|esposa|senhorio|responsável|prefeit[oa]|preferid[oa]|moeda|apelido"
    r"|начальник\w{0,2}|директор\w{0,2}|руководител\w{1,2}|босс\w{0,2}|адрес\w{0,2}|штаб-квартир\w{1,2}|столиц\w"
    r"|банк\w{0,2}"
    r"|муж\w{0,2}|жен[аыуе]|телефон\w{0,2}|любим\w{2,3}|ответственн\w{2,3}|имя|фамили\w|валют\w|хозя(?:ин|ина|йка))\b"
    + _signs(
        r"经理|老板|上司|负责人|主管|校长|总裁|地址|住址|名字|姓名|电话|邮箱|银行|妻子|老婆|丈夫|老公|首都|总部|最喜欢|时区|货币|职位|雇主|导师|房东|班主任|密码"
        r"|班长|队长|组长|院长|主任|店长|总监|市长|医生|牙医|教练|籍贯|老家|母语|昵称|网名|代号|用户名|域名|网址|车牌|血型"
        r"|(?<![\d一二三四五六七八九十])号\s?$"
        r"|責任者|社長|部長|課長|店長|住所|電話番号|メール|銀行|妻|夫|首都|本社|一番好き|好きな|時間帯|通貨|職業|勤務先|上司|担当|大家|主治医|パスワード"
    )
)
# Of these a person has several: a second name is another one, not a new one.
MANY: Final = compile_later(
    r"\b(?:friends?|colleagues?|sons?|daughters?|child(?:ren)?|kids?|brothers?|sisters?|cousins?|cats?|dogs?|pets?"
    r"|customers?"
    r"|clients?|neighbou?rs?|uncles?|aunts?|teammates?|vendors?|suppliers?|partners?|contacts?"
    r"|freund(?:in)?|kolleg(?:e|in)|sohn|tochter|kind(?:er)?|bruder|schwester|katze|hund|kund(?:e|in)"
    r"|amig[oa]|colega|hij[oa]|herman[oa]|gat[oa]|perr[oa]|cliente"
    r"|amie?|collègue|fils|fille|frère|sœur|chat|chien|cousine?|enfants?|amig[oa]|filh[oa]|irmão|irmã|cachorro"
    r"|amic[oai]|figli[oa]?|fratell[oi]|sorell[ae]|gatt[oa]|can[ei]|collega|vriend(?:in)?|zoon|dochter|broer|zus|kat"
    r"|hond|klant"
    r"|друг\w{0,2}|подруг\w|коллег\w|сын\w{0,2}|доч\w{1,3}|брат\w{0,2}|сестр\w|кошк\w|собак\w|клиент\w{0,2})\b"
    + _signs(
        r"(?<![男女])朋友|同事|同学|室友|邻居|儿子|女儿|孩子|哥|弟|姐|妹|客户|供应商|学生|员工|猫|狗|友人|友達|同僚|息子|娘|犬|顧客"
    )
)

# Words, and characters of scripts without blanks. The states of a pair exclude each other.
_STATES: Final = (
    (
        (r"open|offen|geöffnet|abiert[oa]|ouverte?s?|abert[oa]|открыт[аоы]?", "开着|开放|营业|開いて"),
        (r"closed|geschlossen|zu|cerrad[oa]|fermée?s?|fechad[oa]|закрыт[аоы]?", "关着|关门|关闭|停业|打烊|閉ま"),
    ),
    (
        (r"up|online|running|funciona|läuft", "在线|上线|稼働"),
        (r"down|offline|stopped|caíd[oa]", "离线|下线|停机|停止"),
    ),
    (
        (
            (
                r"broken|out of order|kaputt|defekt|en panne|cassée?|averiad[oa]|estropead[oa]|quebrad[oa]|com defeito"
                r"|сломан[аоы]?|не работает|сломал(?:ся|ась|ось)"
            ),
            "故障|坏了|壊れ",
        ),
        (
            (
                r"repaired|fixed|works again|repariert|réparée?|reparad[oa]|arreglad[oa]|consertad[oa]|funcionando"
                r"|починен[аоы]?|отремонтирован[аоы]?|(?<!не )работает|починили"
            ),
            "修好|直って|直り",
        ),
    ),
    (
        (
            r"in customs|in transit|on its way|on the way|unterwegs|en route|en camino|a caminho|в пути",
            "运输中|配送中|派送中|在路上",
        ),
        (
            r"delivered|arrived|zugestellt|geliefert|livrée?|entregad[oa]|entregue|доставлен[аоы]?",
            "送达|签收|已到|(?<=已经)到|配達済",
        ),
    ),
    (
        (r"on track|on time|im plan|pünktlich|en plazo", "按时|順調"),
        (r"delayed|late|behind|verspätet|verzögert|retrasad[oa]", "延迟|延误|遅れ"),
    ),
    (
        (r"approved|accepted|genehmigt|aprobad[oa]", "批准|承認"),
        (r"rejected|declined|abgelehnt|rechazad[oa]", "拒绝|驳回|却下"),
    ),
    (
        (r"in (?:planning|progress|review)|pending|active|in arbeit|en curso", "进行中|進行中"),
        (r"delayed|done|finished|completed?|paused|on hold|fertig|pausiert|terminad[oa]", "完成|暂停|结束|完了"),
    ),
    (
        (r"available|free|verfügbar|frei|disponible|libre", "有空"),
        (r"unavailable|taken|booked|besetzt|belegt|ocupad[oa]", "没空"),
    ),
    ((r"passed|green|healthy|successful", ""), (r"failed|red|broken", "")),
    (
        (r"enabled|activated|allowed|aktiviert|erlaubt|activad[oa]|permitid[oa]", "启用|允许|有効"),
        (r"disabled|deactivated|forbidden|deaktiviert|verboten|desactivad[oa]|prohibid[oa]", "禁用|禁止|無効"),
    ),
)


# A thing can have only one state of each pair at a time.
STATES: Final = tuple((compile_later(_any_of(*first)), compile_later(_any_of(*second))) for first, second in _STATES)
_EACH_STATE: Final = [pattern for pair in _STATES for pattern in pair]
_WORDS_OF_STATE: Final = (
    "|".join(words for words, _ in _EACH_STATE),
    "|".join(signs for _, signs in _EACH_STATE if signs),
)
ANY_STATE: Final = compile_later(_any_of(*_WORDS_OF_STATE))
# The start of a predicate: a verb of change, a state.
PREDICATE: Final = compile_later(_any_of(*map("|".join, zip(_MOVES, _CANCELLED, _WORDS_OF_STATE, strict=True))))

DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# A number with its points and commas. It never starts inside a number, so that a long list is read once.
_AMOUNT: Final = r"\d+(?:[.,]\d+)*"
# Also with blanks between thousands, if a unit follows.
_GROUPED: Final = rf"(?:\d{{1,3}}(?: \d{{3}}){{1,3}}(?!\d)|{_AMOUNT})"
_BEGUN: Final = r"(?<!\w)(?<!\d[.,])"
_BEGUN_CJK: Final = r"(?<![\d.,A-Za-z])"
_NO_SIGN: Final = r"(?![\u3040-\u9fff])"  # Chinese and Japanese have no blank before an address
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_MONTHS_ABROAD: Final = (
    r"(?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"
    r"|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
    r"|gennaio|febbraio|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|dicembre"
    r"|januari|februari|maart|mei|juni|juli|augustus|oktober"
    r"|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro"
    r"|января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря)"
)
# In this order, because the first kind that matches takes the text: an amount of money is no mere number.
KINDS: Final = tuple(
    (kind, compile_later(pattern))
    for kind, pattern in (
        (
            "money",
            (
                rf"(?:r\$|[$€£¥₽₹₩])\s?{_AMOUNT}\s?(?:[kmb]\b)?"
                rf"|{_BEGUN}{_GROUPED}\s?(?:(?:тыс(?:яч[аи]?)?|миллион(?:а|ов)?|млн|млрд|mil|mi(?:lhões"
                rf"|lhão)?)\.?\s(?:de\s)?)?"
                r"(?:[€₽]|(?:usd|eur|gbp|chf|brl|dollars?|euros?|reais|real|руб(?:л(?:ей|я|ь))?)\b)"
                rf"|{_BEGUN_CJK}\d[\d.,万千百億亿]*\s?(?:元|円|块钱|美元|欧元|ドル|ユーロ)"
            ),
        ),
        ("share", rf"{_BEGUN_CJK}{_AMOUNT}\s?(?:[%％]|percent\b|prozent\b|por ciento\b|パーセント)|百分之\d+"),
        (
            "date",
            (
                rf"\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? \d{{4}}\b)?"
                rf"|\b\d{{1,2}}(?:st|nd|rd|th|er|º)?\.? (?:of |de )?(?:{_MONTH}|{_MONTHS_ABROAD})\b(?: \d{{4}}\b)?"
                r"|\b\d{4}-\d\d-\d\d\b|(?<!\d)\d{1,2}月\d{1,2}[日号]|(?<![\d.])\d{1,2}\.\d{1,2}\.(?:\d{4})?(?!\d)"
            ),
        ),
        (
            "month",
            (
                r"(?<=[nylem] )(?:(?<=\bin )|(?<=\bem )|(?<=\bby )|(?<=\bim )|(?<=\ben )|(?<=\buntil )|(?<=\bsince ))"
                r"(?:January|February|March|April|May|June|July|August|September|October|November|December|Januar"
                r"|Februar|März"
                r"|Mai|Juni|Juli|Oktober|Dezember|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre"
                r"|octubre|noviembre"
                r"|diciembre|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
                r"|gennaio|febbraio|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|januari|februari|maart|mei"
                r"|augustus"
                r"|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro)\b|(?<!\d)\d{1,2}月"
            ),
        ),
        (
            "weekday",
            (
                rf"\b(?:{'|'.join(DAYS)}|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag"
                r"|lunes|martes|miércoles|jueves|viernes|sábado|domingo|lundi|mardi|mercredi|jeudi|vendredi|samedi"
                r"|dimanche"
                r"|lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica"
                r"|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag"
                r"|(?:segunda|terça|quarta|quinta|sexta)-feira"
                r"|(?<=[aà] )(?:(?<=\bna )|(?<=\bpara )|(?<=\bpara a )|(?<=\bà ))"
                r"(?:segunda|terça|quarta|quinta|sexta)|(?:segunda|terça|quarta|quinta|sexta)(?= às\b)"
                r"|понедельник\w{0,2}|вторник\w{0,2}|сред[аыуе]|четверг\w{0,2}|пятниц[аыуе]|суббот[аыуе]"
                r"|воскресень[ея])\b" + _signs("[下上这本]?(?:星期|周|礼拜)[一二三四五六日天]|[月火水木金土日]曜日?")
            ),
        ),
        (
            "clock",
            (
                r"\b\d{1,2}\s?h(?:\s?\d\d)?\b"
                r"|\b\d{1,2}(?:(?::\d\d)?\s?[ap]\.?m\b|:\d\d\b(?: (?:uhr|uur)\b)?| (?:uhr|uur)\b(?: \d\d\b)?)"
                r"|(?<=\balle )(?<!\d)\d{1,2}(?:[:.]\d\d)?\b"
                r"|(?=[\d\u3040-\u9fff])(?:上午|下午|晚上|早上|中午|午前|午後|凌晨)?(?<!\d)(?:\d{1,2}|[一二三四五六七八九十]{1,2})[点點時](?:半"
                r"|\d{1,2}分)?"
            ),
        ),
        (
            "relative",
            (
                r"\b(?:today|tomorrow|tonight|yesterday|(?:this|next|last) (?:week|month|quarter|year)"
                r"|heute|morgen|hoy|mañana|aujourd['’]hui|demain|hoje|amanhã|oggi|domani|vandaag|сегодня|завтра)\b"
                + _signs("今天|明天|後天|今日|明日|下周|来週")
            ),
        ),
        (
            "address",
            (
                rf"(?<!{_NO_SIGN}[\w.+-])(?:{_NO_SIGN}[\w.+-]){{1,64}}@(?:{_NO_SIGN}[\w-]){{1,64}}"
                rf"(?:\.(?:{_NO_SIGN}[\w-]){{1,30}}){{1,4}}"
            ),
        ),
        ("quarter", r"\bq[1-4]\b|第[一二三四]季度|第[1-4]四半期"),
        ("age", r"(?<![\d.,])\d{1,3}(?:\s?[岁歳]| years? old\b| jahre alt\b)"),
        (
            "duration",
            (
                r"\b\d{1,6}[- ](?:minute|hour|day|week|month|year|min|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?"
                r"|minut[oi]|or[ae]|giorn[oi]|settiman[ae]|mes[ei]|ann[oi]|minuten|uur|dagen|we(?:ek|ken)"
                r"|maand(?:en)?|jaar"
                r"|minutos?|horas?|días?|semanas?|mes(?:es)?|años?|jours?|heures?|mois|semaines?|ans?|dias?|anos?"
                r"|минут[аы]?|час(?:а|ов)?|дн(?:я|ей)|день|недел[ьия]|месяц(?:а|ев)?|лет|года?)s?\b"
                r"|(?<![\d.,])\d{1,6}\s?(?:分钟|小时|个?小时|天|周|个月|年間?|分間|時間|日間|週間|か月|ヶ月)"
            ),
        ),
        (
            "colour",
            (
                r"\b(?:red|blue|green|yellow|black|white|grey|gray|brown|orange|purple|pink|turquoise|vermilion"
                r"|rot|blau|grün|gelb|schwarz|weiß|grau|braun|roj[oa]|azul|verde|amarill[oa]|negr[oa]|blanc[oa]"
                r"|rouges?|bleue?s?|verte?s?|jaunes?|noire?s?|blanc(?:he)?s?|grise?s?|vermelh[oa]|amarel[oa]|pret[oa]"
                r"|branc[oa]"
                r"|ross[oai]|giall[oai]|bianc(?:o|a|hi)|ner[oai]|blu|grigi[oa]|rood|rode|blauwe?|groene?|gele?"
                r"|zwarte?|grijze?"
                r"|(?:красн|зел[её]н|ж[её]лт|ч[её]рн|бел|сер|оранжев|фиолетов)(?:ый|ая|ое|ые)|син(?:ий|яя|ее|ие))\b"
                + _signs("[红红蓝绿黄黑白灰]色|赤い|青い|赤色?|青色?|緑色?|黒い|白い")
            ),
        ),
        ("number", rf"(?<![\w.,]){_AMOUNT}(?:[ -]\d{{2,}}){{0,4}}(?![%％])|(?<=[^\W\d_a-zA-Z]){_AMOUNT}"),
    )
)
# From two on: "one" is also an article.
NUMBER_WORDS: Final = {
    word: str(number)
    for numerals in (
        "two three four five six seven eight nine ten eleven twelve",
        "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "deux trois quatre cinq six sept huit neuf dix onze douze",
        "dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "dois três quatro cinco seis sete oito nove dez onze doze",
        "_ tre quattro cinque _ sette otto _ dieci undici dodici",
        "twee drie vier vijf zes zeven acht negen tien elf twaalf",
        "два три четыре пять шесть семь восемь девять десять одиннадцать двенадцать",
    )
    for number, word in enumerate(numerals.split(), 2)
    if word != "_"  # means something else in another language
} | {"duas": "2", "две": "2"}
# Weekdays of habits: "on Mondays", "montags".
ON_WEEKDAYS: Final = compile_later(
    rf"(?P<day>{'|'.join(DAYS)}|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag|sábado|domingo"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|segunda|terça|quarta|quinta|sexta"
    r"|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag"
    r"|понедельник|вторник|сред|четверг|пятниц|суббот|воскресень)(?:s(?:-feiras)?|ам|ям)"
)
# A day from which a weekday may be computed: "tomorrow", "the 14th", "in two days".
BASES: Final = compile_later(
    r"\b(?:today|tonight|tomorrow|yesterday|next|this week|in \w{1,10} days?|weekend|\d{1,2}(?:st|nd|rd|th)"
    r"|heute|morgen|übermorgen|gestern|nächste[nrs]?|kommende[nrs]?|in \w{1,10} tagen|aujourd['’]hui|demain"
    r"|après-demain|hier|prochaine?|dans \w{1,10} jours|hoy|mañana|ayer|próxim[oa]|dentro de \w{1,10} días"
    r"|oggi|domani|dopodomani|ieri|prossim[oa]|fra \w{1,10} giorni|vandaag|overmorgen|gisteren|volgende"
    r"|over \w{1,10} dagen"
    r"|hoje|amanhã|ontem|daqui a \w{1,10} dias|сегодня|завтра|послезавтра|вчера|следующ\w{2,3}"
    r"|через \w{1,10} дн\w{1,2})\b"
    r"|\d{4}-\d\d-\d\d|\b\d{1,2}[./]\d{1,2}\b|\d月\d|今天|明天|后天|昨天|今日|明日|あした|あさって|来週|下周"
    rf"|\b(?:\d{{1,2}}\.? (?:de |of )?(?:{_MONTH}|{_MONTHS_ABROAD})|{_MONTH}\.? \d{{1,2}})\b"
)
CASED: Final = frozenset({"month"})  # Kinds that need a capital: "may" is no month
COUNTED: Final = frozenset({"money", "share", "date", "age", "duration", "number"})  # Kinds with a digit
TIMES: Final = frozenset({"date", "month", "weekday", "clock", "relative", "quarter", "duration"})
DAYLIKE: Final = frozenset({"date", "month", "weekday", "relative", "quarter"})
# After a number in Chinese and Japanese: the number is an identifier.
COUNTERS: Final = compile_later(r"\s?(?:号|番|室|楼|版|期|階)(?!码)")
# After a number in Chinese: the number is a value.
MEASURES: Final = compile_later(r"\s?(?:[个名位人台辆箱件本张条只套家座步杯斤米度次节页口份间]|公[斤里]|平方?米)")
# A number in Chinese characters before a counter: elsewhere it may be part of a name.
NUMERALS: Final = compile_later(
    r"(?<![第周期拜几数零〇一二两三四五六七八九十百千万亿\d.])(?!一(?![元岁月零〇一二两三四五六七八九十百千万亿])|[百千万亿])"
    r"[零〇一二两三四五六七八九十百千万亿]{1,12}"
    r"(?=[元块円岁歳人名位台辆箱件本张条只套家座步杯斤米度次节页票口份间个天年点點時日月]|公[斤里]|平方?米|美元|欧元|分钟|分間|小时"
    r"|周(?![一二三四五六日天]))|(?<=月)[一二三四五六七八九十]{1,3}(?=[日号])|(?<=[为是到])一(?=[年天周]|个月)|(?<=百分之)[零一二三四五六七八九十百]{1,6}"
)
# Chinese: who is in charge of what ("采购由小李负责", "小李负责采购").
IN_CHARGE: Final = (
    compile_later(
        r"(?P<what>[^，。；]{0,30}?)[改换转]?由(?P<who>[^，。；]{1,12}?)来?(?:负责|接[手管任]|主持|打理)(?!人)(?P<more>[^，。；]{0,20})"
    ),
    compile_later(
        r"(?P<what>)(?P<who>[^，。；的]{1,12}?)(?:现在|目前|已经|主要)?(?:负责|接[手管任])(?![人的])(?P<more>[^，。；]{1,20})"
    ),
)
# Chinese: a person switches to something else ("我改喝茶了").
SWITCHES: Final = compile_later(
    r"(?P<who>[^，。；]{0,12}?)(?:现在|如今|已经|最近|都)?(?:改(?P<verb>[用喝吃开坐骑学穿练])|换[成用]了?)(?P<what>[^，。；]{1,30}?)了?\W*$"
)
# Before a number: the number is an identifier.
NUMBERED: Final = compile_later(
    r"(?:#|\b(?:no|nr|num|id|room|raum|sala|ticket|invoice|rechnung|factura|order|version|v)\.?\s?)$"
)
# A limit from above is broken only by a larger number.
AT_MOST: Final = compile_later(
    r"\b(?:max(?:imum|\.)?|at most|no more than|not more than|up to|capped|cap|limit|below|under|less than|höchstens"
    r"|maximal|nicht mehr als|bis zu|unter|como máximo|máximo|no más de|hasta)\b"
    + _signs(r"最多|不超过|最大|以内|以下|まで")
)
# A limit from below is broken only by a smaller number.
AT_LEAST: Final = compile_later(
    r"\b(?:min(?:imum|\.)?|at least|no less than|not less than|above|more than|over|mindestens|wenigstens"
    r"|al menos|mínimo)\b" + _signs(r"至少|不少于|最低|以上")
)
# What stands behind these is why, and no part of what is stated.
REASON: Final = compile_later(
    r"\b(?:because|based on|due to|weil|wegen|aufgrund|porque|ya que|debido a|parce que|à cause de|por causa de"
    r"|perché|poiché|a causa di|omdat|vanwege"
    r"|потому что|из-за)\b" + _signs(r"因为|由于|根据")
)
