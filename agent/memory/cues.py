"""Words by which a sentence says how it stands to an earlier one, in the lexicon's ten languages. Data.

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


_DAYS_AND_MONTHS: Final = (
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may|june|july|august"
    r"|september"
    r"|october|november|december|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|januar|februar|märz|mai"
    r"|juni"
    r"|juli|oktober|dezember|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|janvier|février|mars|avril|juin"
    r"|juillet"
    r"|août|septembre|octobre|novembre|décembre|lunes|martes|miércoles|jueves|viernes|enero|febrero|marzo|abril|mayo"
    r"|junio"
    r"|julio|agosto|septiembre|octubre|noviembre|diciembre|lunedì|martedì|mercoledì|giovedì|venerdì|gennaio|febbraio"
    r"|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|segunda|terça|quarta|quinta|sexta|janeiro|fevereiro"
    r"|março"
    r"|maio|junho|julho|setembro|outubro|dezembro|maandag|dinsdag|woensdag|donderdag|vrijdag|januari|februari|maart"
    r"|mei"
)
# Something became different. A word that also tells of a single event ("bought") is none of these.
TURNED: Final = compile_later(
    _any_of(
        r"these days|nowadays|as of|effective|starting|bumped|relocated|transferred|renamed|promoted|became|become"
        r"|turned into|turned(?= \d)|sold|gave up|given up|gone off|migrated|converted|grew to|grown to|went from"
        r"|cut to|slipped to"
        r"|shrank|shrunk"
        r"|rose|risen"
        r"|dropped|fell to"
        r"|ended up|in the end|after all|turns out|retired|resigned|has started|have started|is gone|are gone|merged"
        r"|brought forward|put (?:back|off)|swapped|dropped|got (?:pushed|moved|changed)|adopted|no more"
        r"|mo?ved (?:in|out)"
        r"|left|divorced|graduated|expired|started (?:using|taking|working|at|with"
        r"|a new)|passaram a|passou a|pass(?:ou|aram) (?:para|ao)|transferi-me|d['’]ora in (?:poi|avanti)"
        r"|turned (?:up|down)"
        rf"|since (?:last|this|yesterday|{_DAYS_AND_MONTHS})"
        # German
        r"|mittlerweile|neuerdings|nunmehr"
        rf"|(?:seit|sinds|depuis|desde|dal|da) (?:le |el |a )?(?:kurzem|heute|gestern|{_DAYS_AND_MONTHS})"
        r"|gekürzt|aufgestockt|angehoben|herabgesetzt|halbiert|verdoppelt|gelegt|vorverlegt|vorgezogen|verkauft"
        r"|ausgezogen"
        r"|eingezogen|umgestellt|ersetzt|abgelöst|verspätet|gekündigt|befördert|geworden|gegangen|letztlich"
        r"|schließlich"
        r"|am ende"
        r"|nun doch|erst am|erst um|in rente|aufgegeben|aufgehört|abgeschafft|umbenannt|umgezogen|nachfolger(?:in)?"
        # French
        r"|à présent|plutôt|décalée?s?|avancée?s?|repoussée?s?|quittée?s?|abandonnée?s?|devenue?s?|vendue?s?"
        r"|depuis peu"
        r"|en fin de compte|à partir d[eu]|est passée?|sont passée?s?|arrêtée?s?|partie?s?|remplacée?s?|rebaptisée?s?"
        r"|baissé|monté|réduite?s?|prolongée?s?|(?:suis|sommes) passée?s?"
        # Spanish
        r"|al final|mejor|desde ahora|ya|retras(?:a|ó|ado|ada)|adelant(?:a|ó|ado|ada)|ampliad[oa]|reducid[oa]|dejado"
        r"|dej(?:é|amos|ó)|sustitu(?:ido|ida|yó|imos)|reemplaz(?:ado|ada|ó|amos)|ha pasado|han pasado"
        r"|pas(?:a|ó|é|amos|aron) al?|subió"
        r"|subieron|bajó|se ha ido|se fue|(?:me )?mud(?:é|amos)|aplaz(?:ó|aron|amos)|aument(?:ó|aron)|disminuyó"
        r"|cambiaron|movieron|vendí|vendido|cambié|cambiamos|han hecho|ascendid[oa]|en realidad"
        r"|trasladad[oa]"
        # Portuguese
        r"|no lugar d[aeo]|afinal|já|deixei|deixou|deixamos|parei|adiantad[oa]|ampliad[oa]|reduzid[oa]"
        r"|substitu(?:í|iu|ímos)"
        r"|passou|passei|passámos|vendi|desde agora|transferid[oa]|promovid[oa]|aumentou|diminuiu|saiu"
        # Italian
        r"|(?:sono|siamo) passat[oaie]"
        r"|ormai|alla fine|lasciat[oa]|vendut[oa]|smesso|da (?:oggi|ieri|lunedì|gennaio)|a partire da|diventat[oa]"
        r"|promoss[oa]"
        r"|rinominat[oa]|salit[oaie]|sces[oaie]|ridott[oaie]|raddoppiat[oaie]|licenziat[oa]|abbandonat[oa]"
        r"|adottat[oa]"
        # Dutch
        r"|sinds (?:kort|vandaag|gisteren|januari|maandag)|uiteindelijk|toch|verkocht|gestopt|opgezegd|geworden"
        r"|gepromoveerd"
        r"|hernoemd|met ingang van|vanaf|verdubbeld|gehalveerd|ontslagen|afgeschaft|vertrokken|omgedoopt"
        # Russian
        r"|вс[её]-таки|в итоге|стал[аои]?|стали|перевели|передвинули|сдвинули|отложили|повысили|снизили"
        r"|поменял[аи]?|поменяли"
        r"|сменился|заменил[аи]?|уш[её]л|ушла|уволил(?:ся|ась)|продал[аи]?|бросил[аи]?|перестал[аи]?|сменили"
        r"|переименовали",
        r"最后(?:决定|还是)|最终|已经|调走|离职|辞职|退休|升[职为]|卖了|戒了|不再|别再|改名|了[。！!\s]*$"
        r"|(?:に|く|と)な(?:りました|った)|変え(?:ました|た)|引っ越し|移行|やはり|やっぱり|今では|やめ|辞め|異動|結局|最終的|減りました|増えました|減った|増えた|値上が|値下が",
    )
)
# A word of change that only tells which thing is meant: "the reduced ticket", "my left knee", "mi mejor amigo".
ATTRIBUTE: Final = compile_later(
    r"\b(?:the|an?|my|our|your|his|her|their|its|\w{1,20}['’]s) (?:left|reduced|extended|raised|lowered|increased"
    r"|delayed|dropped"
    r"|swapped|merged|sold|converted|retired|expired|transferred|promoted|upgraded|cancell?ed) \w"
    r"|\b(?:el|la|los|las|mi|mis|nuestr[oa]s?|le|les|mon|ma|mes|notre|nos|il|lo|gli|mi[oae]|i|o|a|os|as|meu"
    r"|minha) \w{2,20} "
    r"(?:réduite?s?|prolongée?s?|avancée?s?|reducid[oa]s?|ampliad[oa]s?|adelantad[oa]s?|reduzid[oa]s?|adiantad[oa]s?"
    r"|ridott[oaie]|aumentat[oaie]|vendut[oa]|anticipat[oaie]|prorogat[oaie])\b"
    r"|\b(?:mi|mis|el|la|los|las|su|nuestr[oa]s?) mejor(?:es)? \w"
)
# Something is no longer so, besides `lexicon.ENDED`.
STOPPED: Final = compile_later(
    _any_of(
        r"no more|gave up|given up|gone off|stopped|quit|aufgehört|aufgegeben|abgeschafft|nie mehr|arrêté (?:de|d)"
        r"|(?:he |hemos )?dejado de|dej(?:é|amos|ó) de|nunca más|deixei de|deixou de|deixamos de|parei de|parou de"
        r"|smesso di|gestopt met|бросил[аи]?|перестал[аи]?",
        r"戒了|停了|やめ|辞め",
    )
)
# Somebody has no longer what it names
LEFT: Final = compile_later(
    _any_of(
        r"sold|left|gave up|given up|quit|dropped out|verkauft|verlassen|gekündigt|aufgegeben|abgegeben|vendue?s?"
        r"|quittée?s?"
        r"|résiliée?s?|vendid[oa]s?|vendí|dej(?:é|ado)|abandon(?:é|ado)|vendut[oaie]|lasciat[oaie]|disdett[oaie]"
        r"|vendi|deix(?:ei|ado)|larguei|verkocht|opgezegd|verlaten|продал[аи]?|бросил[аи]?",
        r"卖[了掉]|退[了掉出]|放弃|売っ|売り|辞め|やめ",
    )
)
# Somebody or something left for good, or is not what it was: besides `LEFT`, in nouns and particles, too
GONE: Final = compile_later(
    _any_of(
        r"leav(?:es|ing)|departure|departed|resign(?:ed|s|ation)|retire(?:d|s|ment)|stepp?(?:ed|ing) down"
        r"|(?:is|are) gone"
        r"|is (?:dead|history|over|out)|ditch(?:ed|ing)?|dump(?:ed|ing)?|drop(?:ped|ping)?|abandon(?:ed|ing)?"
        r"|scrap(?:ped|ping)?|decommission(?:ed|ing)?|deprecat(?:ed|ing)|sunset(?:ted)?|phas(?:ed|ing) out"
        r"|shut(?:ting)? down|(?:got|getting) rid of"
        r"|(?:moved|moving|migrated|migrating|came|coming) (?:off|away from|out of)"
        r"|hand(?:ed|ing) (?:over|off)|passed (?:away|on)|closed (?:down|its doors)|went bust|out of business|fired"
        r"|let go"
        r"|no more|is no more|a thing of the past|tak(?:es|en|ing)? over from|took over from|died|cancell?ed"
        # German
        r"|verlässt|ausgetreten|ausgeschieden|ausgestiegen|ausstieg|weggang|abgang|abschied|in rente|im ruhestand"
        r"|pensioniert|weg von"
        r"|(?:ist|sind) (?:weg|raus|passé|geschichte|tot)|abgeschaltet|abgeschafft|eingestellt|abgelöst|ersetzt"
        r"|gegangen"
        r"|aufgehört|losgeworden|rausgeflogen|entlassen|gestorben|plattgemacht|abgekündigt"
        # French
        r"|partie?s?|départ|démissionn(?:é|e|er)|retraite|abandonnée?s?|lâchée?s?|larguée?s?|virée?s?|remplacée?s?"
        r"|arrêtée?s?|supprimée?s?|débranchée?s?|décédée?|mort|dit adieu|c['’]est fini"
        # Spanish
        r"|se fue|se ha ido|se march(?:ó|a)|marchado|salida|salió|jubil(?:ó|ado|ada|ación)|abandon(?:amos|ó|ado)"
        r"|dej(?:ó|amos|ado|é)|quitamos|quitado|elimin(?:amos|ado)|adiós a|despid(?:ió|ieron)|despedid[oa]|renunció"
        r"|cerró|falleció|dimitió|retirado"
        # Portuguese
        r"|saí(?:da|mos)?|saiu|saíram|larg(?:ou|amos)|abandon(?:amos|ou)|demitid[oa]|demitiu|pediu demissão"
        r"|aposent(?:ou|ado|ada|adoria)|deix(?:ou|amos|ei)|encerr(?:ou|ado|ada|amos)|desativad[oa]|fechou|morreu"
        r"|adeus ao"
        # Italian
        r"|andat[oa] via|se n['’]è andat[oa]|dimess[oa]|dimission[ei]|in pensione|uscit[oa]|mollat[oaie]"
        r"|abbandonat[oaie]"
        r"|lasciat[oaie]|licenziat[oa]|dismess[oaie]|eliminat[oaie]|addio a|mort[oa]"
        # Dutch
        r"|vertrekt|vertrek|met pensioen|weg (?:bij|van)|afscheid|gestopt met|afgeschaft|vervangen|overleden"
        r"|ontslagen"
        r"|uitgefaseerd"
        # Russian
        r"|уш[её]л|ушла|ушли|уволил(?:ся|ась)|уход[ае]?|отказались от|бросили|перестал[аи]?|закрыл(?:и|ся|ась)"
        r"|на пенси[юи]|убрали|расстались|умер(?:ла)?",
        r"离开|离职|辞职|辞了|退休|退了|退租|弃用|停用|换掉|不用了|走了|卖了|关了|下线|辞め|退職|卒業|離れ|やめ|退任|異動|解約|廃止|引退|去り|閉店|手放",
    )
)
# A product or a law came out: what people have stays
CAME_OUT: Final = compile_later(
    _any_of(
        r"came out|come out|(?:is|are|['’]s) out(?! of)|(?:was|were|is|are|been|got|has|have) (?:just |now )?"
        r"(?:released|announced|launched)|announced|released|releases"
        r"|ist (?:jetzt |nun |endlich |seit \w{2,20} )?(?:raus|draußen|erschienen|verfügbar)|erschienen|angekündigt"
        r"|rausgekommen"
        r"|est (?:sortie?|disponible)|vient de sortir|sont sorti(?:e?s)|annonc(?:é|ée|e)|ha salido|salió"
        r"|(?:ya )?está disponible"
        r"|anunci(?:ó|aron|ado|ada|ou|aram)|foi lançad[oa]|lançaram|saiu a|è uscit[oa]|annunciat[oa]|uitgekomen"
        r"|is uit"
        r"|verschenen|aangekondigd|вышел|вышла|вышло|выпустили|анонсировали",
        "发布|推出了|上市|リリースされ|発売|公開され|出ました",
    )
)
ELIDED_END: Final = compile_later(r"\bn['’](?=\w{1,40}(?: \w{1,40})? plus\b)")
# Who leaves it, leaves what somebody is or does there: "left the company", "est partie chez un concurrent"
WORKPLACE: Final = compile_later(
    _any_of(
        r"company|firm|team|job|competitors?|place|role|post|duty|duties|good"
        r"|firma|unternehmen|stelle|posten|konkurrenz|entreprise|boîte|société|équipe|poste|concurrents?|concurrence"
        r"|empresa|compañía|equipo|puesto|competencia|equipe|cargo|concorrente|azienda|ditta|concorrenza|bedrijf|baan"
        r"|concurrent|компани[июя]|фирм[уые]|команд[уые]|конкурент\w{0,3}",
        "公司|团队|会社|職場",
    )
)
# Something began
BEGUN: Final = compile_later(
    _any_of(
        r"start(?:ed|s|ing)|began|begun|join(?:ed|s|ing)|signed (?:up|on|with)|moved (?:in|to)"
        r"|angefangen|begonnen|fange? .{1,40} an|eingestiegen|beigetreten|commenc(?:é|e|ons)|rejoint|débuté|intégré"
        r"|empe(?:cé|zó|zamos|zado)|comen(?:cé|zó|zado)|incorpor(?:é|ado)|entr(?:é|ado) en|comec(?:ei|amos)"
        r"|começ(?:ou|amos)"
        r"|entrei|iniziato|cominciato|entrat[oa]|begonnen|gestart|начал[аи]?|устроил(?:ся|ась)|вступил[аи]?",
        "加入|入职|开始|入社|始め",
    )
)
# What was said before is taken back
WITHDRAWN: Final = compile_later(
    _any_of(
        r"(?:scrap|scratch|forget|ignore|disregard|strike)(?= (?:what|that|my|the|all|everything|about)\b)|i was off"
        r"|misspoke|stand corrected|mixed (?:it|them|those|that) up|no,? wait"
        r"|(?:isn|wasn)['’]t (?:right|true|correct)"
        r"|vergiss(?:t)?|vergesst|streich(?:t|e)?|nehme? (?:ich )?(?:es |das )?zurück|stimm(?:t|te|ten) nicht"
        r"|oubliez?|laissez? tomber|au temps pour moi|autant pour moi|bêtise|n['’]importe quoi"
        r"|olvid(?:a|en|ad)|retiro lo dicho|metí la pata|no era así"
        r"|esque(?:ce|çam|çam?)|retiro o que|falei besteira|dimentica(?:te)?|ritiro|mi sono sbagliat[oa]"
        r"|lascia(?:te)? perdere"
        r"|vergeet|забудь(?:те)?|беру слова назад|ошибся|ошиблась",
        r"算了|忘了|收回|口误|撤回|忘れて|取り消",
    )
)
# Somebody or something else is there now
BY_ANOTHER: Final = compile_later(
    _any_of(
        r"(?:some(?:body|one)|something|somewhere) else(?:['’]s)?|jemand(?:em|en)? ander(?:e[nrms]?|s)|woanders"
        r"|quelqu['’]un d['’]autre|ailleurs|alguien más|otra persona|outra pessoa|qualcun altro|iemand anders"
        r"|кто-то другой",
        r"别人|他人|ほかの人|他の人|別の人",
    )
)
# A sentence that begins with the end of something: "since Ann's departure", "nach dem Weggang von Ann"
BEGINS_WITH_END: Final = compile_later(
    r"\W{0,3}(?:since|after|with|following|now that|seit|nach|mit|depuis|après|avec|desde|tras|después de|con|dopo"
    r"|da|após|depois d[aeo]|com|sinds|na|met|после|с)\s[^,;.]{0,60}?"
    r"(?:departure|resignation|retirement|exit|left|gone|closure|weggang|ausstieg|abgang|abschied|kündigung|rente|départ"
    r"|démission|retraite|salida|marcha|renuncia|jubilación|saída|demissão|aposentadoria|uscita|partenza|dimissioni"
    r"|pensionamento|vertrek|ontslag|pensioen|ухода|увольнения)\b"
)
# All that a clause says: "and not 5", "pas 5"
NOT_IT: Final = compile_later(
    r"^\W{0,3}(?:and |et |und |y |e |en |и )?(?:not|pas|nicht|no|non|não|niet|geen|не|kein\w{0,2})\b"
    r"|^\W{0,3}(?:不是|ではなく|じゃなく)"
)
# Somebody is away
AWAY: Final = compile_later(
    _any_of(
        r"(?:on|for|from) (?:a |his |her |their )?(?:vacations?|holidays?|leave|break|pto|sabbatical)"
        r"|(?:maternity|paternity|parental|sick) leave|(?:out|off) sick|sick|ill|the flu|out of office|ooo"
        r"|in hospital"
        r"|for now|for the (?:moment|time being|day)|in the meantime"
        # German
        r"|(?:im|in den|in die|aus dem) (?:urlaub|ferien)|in elternzeit|krank\w{0,8}|vorerst|einstweilen|fürs erste"
        # French
        r"|en (?:vacances|congés?|arrêt)|malade|en attendant|pour (?:l['’]instant|le moment)"
        # Spanish, Portuguese and Italian
        r"|de (?:vacaciones|baja|permiso|férias|licença|folga)|enferm[oa]|por ahora|de momento|doente|por enquanto"
        r"|in (?:ferie|vacanza|malattia|maternità|congedo)|malat[oa]|intanto|per (?:ora|adesso|il momento)"
        # Dutch and Russian
        r"|(?:met|op) (?:vakantie|verlof)|ziek|voorlopig|zolang|в отпуске|на больничном|болеет|заболел[аи]?|пока",
        r"休假|病假|产假|出差|请假|生病|暂时|休暇|休み|出張|病気|とりあえず|当面|育休|産休",
    )
)
# Somebody fills in for somebody
STANDS_IN: Final = compile_later(
    _any_of(
        r"covers? for|covering for|filling in|fill(?:s|ed)? in|stand-?in|stand(?:s|ing)? in|interim|temporar(?:y|ily)"
        r"|vertret(?:e|en|ung)|vertritt|springt ein|vorübergehend|übergangsweise|testweise|probeweise"
        r"|intérim|provisoire\w{0,5}|dépann\w{1,3}|interin[oa]|provisional\w{0,5}|cubre a|cobre [oa]"
        r"|l[oae] (?:sostituisce|sustituye)|[oa] substitui"
        r"|provisori[oa]\w{0,5}|provvisori\w{1,6}|ad interim|waarnemend|valt in|tijdelijk|временно|замещает"
        r"|подменяет",
        r"临时|代班|代管|顶替|臨時|一時的|代理",
    )
)
# It holds for a time that ends, or has not begun
FOR_A_WHILE: Final = compile_later(
    _any_of(
        r"until|till|while|during|for (?:the )?rest of|early|tomorrow|trial|experiment\w{0,5}|back (?:on|in|next)"
        r"|(?<!since )(?<!from )(?<!as of )(?<!starting )this (?:week|month|morning|afternoon)"
        r"|(?:just|only) (?:for )?(?:today|tomorrow|this)|solange|währenddessen|während|bis|diese woche|morgen"
        r"|nur heute"
        r"|jusqu['’]\w{1,3}|pendant|cette semaine|demain|tant que|mientras|hasta|esta semana|mañana|enquanto|até"
        r"|nesta semana|amanhã|fino a\w{0,3}|finché|questa settimana|domani|tot|deze week|morgen|на этой неделе|до",
        r"这周|本周|明天|直到|期间|今週|明日|まで",
    )
)
# It will be so
WILL_BE: Final = compile_later(
    _any_of(
        r"will|won['’]t|gonna|(?:am|are|is|['’]s|['’]re|['’]m) (?:going to|leaving|moving|retiring|quitting|dropping)"
        r"|next (?:week|month|quarter|year|spring|summer|autumn|fall|winter)|soon|eventually|some ?day|wird|werden"
        r"|werde"
        r"|nächste[nrsm]?|bald|irgendwann|verlässt|(?:va|vais|vas|allons|vont) \w{2,20}(?:er|ir|re)|bientôt"
        r"|(?:voy|va|vamos|van) a|pronto|próxim[oa]|(?:vou|vai|vamos|vão) \w{2,20}[aei]r|em breve|prossim[oa]|presto"
        r"|lascer(?:à|ò|emo)|zal|zullen|gaat|gaan|volgende?|binnenkort|будет|будем|скоро|следующ\w{2,3}",
        r"将要?|即将|快要|打算|下[周个]|明年|予定|来週|来月|来年|もうすぐ",
    )
)
# It adds to what was said, and ends nothing, besides `lexicon.ADDS`.
ADDED: Final = compile_later(
    _any_of(
        r"(?:(?<!nur )noch|encore|nog|ancora|otr[oa]s|altr[ie]|outr[oa]s|ещ[её]) (?=\d)"
        r"|\d{1,6} (?:more|weitere|de plus|más"
        r"|in più|extra)"
        r"|additional|extra|likewise|on top of that|both|ebenfalls|ebenso|genauso|gleichfalls|dazu|weitere[nrs]?"
        r"|sowie"
        r"|noch ein(?:e[nmrs]?)?|en plus|de plus|encore un|encore une|pareillement|asimismo|aparte|igualmente"
        r"|(?<!\ba )otr[oa]s?"
        r"|igualmente|outr[oa]s?|altr[oaie]|pure|in più|in aggiunta|allo stesso modo|extra|eveneens|tevens|nog een"
        r"|zowel"
        r"|ещ[её]|кроме того|вдобавок",
        r"还(?!是)|也|又(?=[添加多买养种开])|添了|另外|并且|同样|再加|加えて|(?<!変)更に|それに|ほかに|他に",
    )
    + r"|(?<![でとそ])(?<!して)(?<!とて)(?<!いつ)(?<!子ど)(?<![一二三四五何])"
    r"も(?=[\u3040-\u9fff、])(?!う|し|っと|の|ら|り)(?![^。！？]{1,20}(?:ない|ません|なかった))"
)
# Somebody else says or thinks so, or it is hearsay.
REPORTS: Final = compile_later(
    _any_of(
        r"thinks?(?<!i think)(?<!we think)|believes|says|(?<!\bi )said|claims?|claimed|guesses|reckons|suspects"
        r"|assumes"
        r"|expects|hopes"
        r"|heard|told (?:me|us)|according to|apparently|allegedly|supposedly|rumou?rs?|suggests|suggested"
        r"|proposes|proposed"
        r"|wants (?:the|it|us|me|to)|insists|wonders|predicts|argues|thought|mentioned"
        r"|meint|meinte|glaubt|glaubte|sagt|sagte|denkt|dachte|behauptet|vermutet|laut|angeblich|zufolge|hofft|möchte"
        r"|schlägt|schlug|erwartet|gehört|hält"
        r"|pense|pensait|croit|croyait|(?<!j['’]ai )dit|disait|affirme|suppose|prétend|d['’]après|selon|paraît|espère"
        r"|propose|estime"
        r"|cree|creía|piensa|pensaba|dice|dijo|afirma|según|dicen|parece|espera|propone|supone|opina|asegura"
        r"|acha|achava|diz|disse|dizem|acredita|afirma|segundo|espera|propõe|supõe|parece"
        r"|pensa(?:va)?|crede(?:va)?|dice che|diceva|ha detto|secondo|pare che|sembra|propone|sostiene|spera"
        r"|a quanto pare|vorrebbe"
        r"|denkt|dacht|zegt|zei|gelooft|volgens|schijnt|blijkbaar|beweert|vindt|hoopt|stelt voor|naar verluidt"
        r"|(?:they|people) say|asks?|asked|^\W{0,3}es heißt(?=,|:| dass)|man sagt|on dit|se dice|se comenta|si dice"
        r"|dicono|diz-se|men zegt"
        r"|envisage\w{0,4}|(?:me|te|le|nos|les) \w{2,20}ría[ns]?|говорят|пишут"
        r"|считает|думает|говорит|сказал[аи]?|полагает|утверждает|по словам|по мнению|кажется|якобы|надеется"
        r"|предлагает|слышал[аи]?",
        r"觉得|认为|以为|听说|据说|[^我们]说(?!话)|提议|建议|估计|猜|思って|思う|言って|言う|言った|らしい|そうです|によると|とのこと|主張|聞いた",
    )
)
# It is supposed, wished or only possible.
SUPPOSES: Final = compile_later(
    _any_of(
        r"if|unless|(?<![^\W\d_] )se [^\W\d_]{2,20}[aei]r"
        # "Se Dropbox aumenta i prezzi, …", but not the Spanish reflexive: "Se aplazó la entrega, ahora …"
        r"|(?<![^\W\d_] )se (?!(?:\w{1,20}(?:ó|aron|ieron|ou|aram|eram|iram|án?)|han?|me|te|les?|lo|la|nos|sono|è)\b)"
        r"[^,.;:]{3,80}(?=, (?!ahora\b|es\b))"
        r"|would|could|might|maybe|perhaps|probably|possibly|suppose"
        r"|supposing|assuming|imagine"
        r"|hypothetically"
        r"|considering|thinking (?:about|of)|thinking|i think|we think|i guess|wondering|what if|in case|ideally"
        r"|wenn|falls|würde[nt]?|hätte[nt]?|wäre[nt]?|könnte[nt]?|bräuchte[nt]?|müsste[nt]?|sollte[nt]?"
        r"|dürfte[nt]?|vielleicht"
        r"|eventuell|möglicherweise|angenommen|überlege|überlegen|wahrscheinlich|vermutlich|ich (?:glaube|denke)"
        r"|si(?! (?:fa|fanno|farà|faranno|tiene|tengono|terrà|terranno|trova|trovano|chiama|chiamano|svolge"
        r"|svolgono|occupa|occupano|usa|usano|riunisce|riuniscono|incontra|incontrano|allena|allenano|è|sono|chiude"
        r"|apre)\b)"
        r"|s['’]ils?|serai(?:s|t|ent)|aurai(?:s|t|ent)|faudrait|pourrai(?:s|t|ent)|devrai(?:s|t|ent)"
        r"|peut-être|supposons"
        r"|probablement|[a-zàâçéèêëîïôûù]{2,20}eri(?:ons|ez)|[a-zàâçéèêëîïôûù]{2,20}erai(?:s|t|ent)"
        r"|je (?:pense|crois)"
        r"|quizás?|tal vez|a lo mejor|puede que|sería[ns]?|tendría[ns]?|podría[ns]?|habría[ns]?|debería[ns]?"
        r"|haría[ns]?"
        r"|[a-zñ]{2,20}[aei]ríamos|pagaría[ns]?|costaría[ns]?|supongamos|probablemente|(?:yo )?creo que"
        r"|talvez|se calhar|quem sabe|seria[m]?|teria[m]?|poderia[m]?|deveria[m]?|haveria|custaria[m]?|pagaria[m]?"
        r"|[a-zç]{2,20}[aei]ríamos|se (?:a|o|as|os|nós|eu|for|fosse|tivesse|[a-zçáéíóúâêô]{2,20}ss(?:e|em|emos))"
        r"|[a-zçáéíóúâêô]{2,20}ássemos|[a-zçáéíóúâêô]{2,20}[êí]ssemos|caso|acho que|provavelmente"
        r"|se (?:la|il|lo|le|gli|piove|fosse|potessi|potessimo|avessi|avessimo|andiamo|[a-z]{2,20}ss(?:i|e|imo|ero))"
        r"|forse"
        r"|magari|sarebbe(?:ro)?|avre(?:i|mmo|bbe|bbero)|potre(?:i|mmo|bbe|bbero)|dovre(?:i|mmo|bbe|bbero)"
        r"|costerebbe(?:ro)?"
        r"|[a-z]{2,20}(?:er|ir)e(?:i|mmo|bbe|bbero)|probabilmente|supponiamo|mettiamo che|penso che|credo che"
        r"|può darsi"
        r"|als (?=(?:het|de|ik|we|wij|er|je|hij|zij|ze|mijn|onze)\b)|indien|misschien|wellicht|zouden|zou"
        r"|waarschijnlijk|mogelijk|stel dat|ik denk|eventueel"
        # What is planned, wanted or looked for is not so yet
        r"|(?:supposed|expected|slated|likely|bound) to|road ?map|proposal|proposed|soll(?:en)?|vorschlag|idee|idea"
        r"|l['’]idée"
        r"|l['’]objectif|el objetivo|o objetivo|l['’]obiettivo|das ziel|the goal|план"
        r"|plan(?:ning|s|ned)? (?:to|on)|want(?:s|ed)? to|hop(?:e|es|ing) to|intend(?:s|ing)? to"
        r"|(?:would|['’]d) (?:like|love|prefer|rather)|looking (?:for|into|at|to)"
        r"|appl(?:y|ied|ying) (?:at|for|with)|interviewing (?:at|with|for)|dream(?:s|ing)? of|tempted|about to|toying"
        r"|ich plane|planen|habe(?:n)? vor|(?:ich|er|sie) will|will ich|wollen|bewerbe|beworben|hoffe|ich suche"
        r"|träume"
        r"|veux|voulons|voudrais|je compte|nous comptons|envisage|envisageons|prévois|cherche|cherchons|rêve"
        r"|quiero|queremos|planeo|planeamos|pienso|pensamos|me gustaría|busco|buscamos|sueño con"
        r"|voglio|vogliamo|vorrei|vorremmo|penso di|pensiamo di|sto pensando|conto di|spero di|cerco|cerchiamo|sogno"
        r"|quero|queremos|pretendo|pretendemos|gostaria|procuro|sonho|pensando em|a pensar em"
        r"|wil|willen|van plan|overweeg|overwegen|hoop|hopen|solliciteer|gesolliciteerd|zoek|zoeken"
        r"|хочу|хотим|планирую|планируем|собираюсь|собираемся|надеюсь|ищу|ищем|мечтаю"
        r"|если|бы|возможно|может быть|может|наверное|наверно|вероятно|допустим|предположим|думаю",
        r"如果|要是|假如|的话|可能|也许|或许|大概|万一|倘若|考虑|我想|应该|打算|希望|想[要换去搬]"
        r"|もし|たら(?=[、,])|(?:な|け|せ|れ|え|ね|べ|め)ば(?=[、,])|かもしれ|でしょう|だろう|仮に|場合|検討|つもり|かな|[いりきしちみび]たい(?:です|と|。|$)|希望",
    )
)
# It holds for a part, or for once.
EXCEPT: Final = compile_later(
    _any_of(
        rf"(?:this|diese[nrms]?|ce|este|esta|est[ae]|quest[oa]|deze|neste|nesta|эт(?:от|у|о)) (?:{_DAYS_AND_MONTHS}"
        r"|понедельник|вторник|среду|четверг|пятницу|субботу|воскресенье|domingo|s[áa]bado|sabato|domenica|zaterdag"
        r"|zondag)"
        r"|this (?:spring|summer|autumn|fall|winter|time|weekend|once|semester|term|season|year)"
        r"|th(?:is|ese) holidays?"
        r"|dieses jahr|cette année|este año|est[ae] ano|quest['’]anno|dit jaar|в этом году"
        r"|diese[nrsm]? (?:frühling|sommer|herbst|winter|mal|wochenende|semester)|diesmal"
        r"|cet (?:été|automne|hiver)|cette fois|ce week-end|ce printemps|est[ea] (?:verano|otoño|invierno|vez|finde)"
        r"|quest['’](?:estate|autunno|inverno)|questa volta|stavolta|dest[ae] vez|este (?:verão|outono|inverno)"
        r"|neste verão"
        r"|deze (?:zomer|herfst|winter|lente|keer)|dit (?:weekend|voorjaar|najaar)|(?:этим|этой) (?:летом|зимой"
        r"|осенью|весной)"
        r"|на этот раз|в этот раз"
        r""
        r"|except"
        r"|only(?! (?:takes?|costs?|has|have|needs?|leaves?)\b)"
        r"(?! (?:(?!(?:on|in|at|for|from|until|with|the|if|when)\b)[^\W\d_]{1,12} ){0,3}[$€£]?\d)"
        r"|just (?:for|this)|apart from|other than|exceptionally|for once|temporarily|some(?:times)?"
        r"|außer|nur(?! noch)|ausnahmsweise|manchmal|einmalig|vorübergehend|bis auf|sauf|seulement|uniquement"
        r"|exceptionnellement"
        r"|parfois|temporairement|excepto|salvo|s[oó]lo(?!\W*$)|solamente|excepcionalmente|a veces|exceto|apenas"
        r"|somente|às vezes"
        r"|tranne|eccetto|solo(?!\W*$)|soltanto|solamente|eccezionalmente|a volte|talvolta|temporaneamente"
        r"|per una volta"
        r"|behalve|alleen|slechts|uitsluitend|bij uitzondering|soms|tijdelijk|eenmalig"
        r"|excepcionalmente|кроме|только|лишь|иногда|временно|за исключением",
        r"这次|这一次|今回|今年の夏|今度は|除了|只[有在是]|仅|偶尔|有时|临时|例外|だけ|のみ|以外|たまに|臨時",
    )
)
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
    _any_of(
        r"my|our|mein(?:e[nmrs]?)?|unser(?:e[nmrs]?)?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?|meus?|minhas?|noss[oa]s?"
        r"|mi[oae]|miei|nostr[oaie]|mijn|ons|onze|мо(?:й|я|ё|е|и|его|ей|ю)|наш(?:а|е|и|его|ей|у)?",
        "我们?的|私たちの|私の|うちの",
    )
)
THEIRS: Final = compile_later(
    _any_of(r"their|his|her|seine?[nmrs]?|leurs?|loro|hun|их|его|её", "他们?的|她们?的|彼らの|彼の|彼女の")
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
# From when on it holds.
_STARTING: Final = (
    r"from|since|starting|beginning|as of|effective|until|till"
    r"|ab|seit|vom|bis|à partir d[eu]|dès|depuis|jusqu\w{0,3}"
    r"|dal|dalla|fino a|vanaf|sinds|tot|desde|a partir de|hasta|até|с|со|начиная|до"
)
STARTS: Final = compile_later(_any_of(_STARTING, "从|起|自|到|至|から|より|以降|まで"))
STARTS_BEFORE: Final = frozenset("从自")  # Before the day, the others behind it
SINCE: Final = compile_later(rf"\b(?:{_STARTING}) \w{{1,20}}", re.IGNORECASE)  # With what follows: "since January"
# Something or somebody went to another place.
RELOCATED: Final = compile_later(
    _any_of(
        r"moved|relocated|umgezogen|verlegt|gezogen|déménagé|transférée?s?|mudad[oa]|mudó|trasladad[oa]|mudou"
        r"|mudei|trasferit[oaie]|spostat[oaie]|verhuisd|verplaatst|переехал[аи]?"
        r"|перевезли",
        r"搬|迁|移り|移転|引っ越し",
    )
)
# A person lives at one place, whatever a model calls the key.
HOME: Final = compile_later(
    _any_of(
        r"home|city|town|address|residence|wohnort|wohnung|adresse|domicile|ville|domicilio|ciudad|vivienda"
        r"|moradia|cidade|casa|città|indirizzo|residenza|domicilio|woonplaats|adres|woning|huis|stad"
        r"|место жительства|адрес|город",
        r"住处|住址|城市|住まい|住所",
    )
)
# When something happened: no part of what is so now.
WHEN: Final = compile_later(
    _any_of(
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
# The new value beside the old one: "closes earlier, at six"
COMPARED: Final = compile_later(
    _any_of(
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
    _any_of(
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
# Of the speaker: in any case of the pronoun, and where the pronoun is the subject.
# Italian "i" is an article before a plural; French "on" stands where a clause begins, English "on" does not.
_I: Final = r"i(?! \w{2,20}i\b)"
_ON: Final = (
    r"(?:^\W*|[,;:(–—]\s*|\b(?:et|mais|donc|que|si|quand|où|car|puis|alors|maintenant|ici|là|comme)\s|\bqu['’])on"
    r"(?! (?:\w{1,20}s|the|my|our)\b)\b"
)
SPEAKER: Final = compile_later(
    _any_of(
        rf"{_I}|we|me|us|ours|mine|myself|ich|wir|mich|mir|uns|je|j|moi|m|nous|yo|nosotr[oa]s|nos|eu|nós|io|noi|mi|ci"
        r"|ik|wij|mij|я|мы|меня|мне|мной|нас|нам",
        "我|私|僕|俺|うち|弊社",
    )
    + rf"|{_ON}"
)
SPEAKS: Final = compile_later(
    _any_of(rf"{_I}|we|ich|wir|je|j|nous|yo|nosotr[oa]s|eu|nós|io|noi|ik|wij|я|мы", "我|私|僕|俺")
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
# Somebody got another one: under one key that is a change.
GIVEN: Final = compile_later(
    _any_of(
        r"gave|given|got|assigned|issued|handed|put|bought|received|hired"
        r"|bekommen|erhalten|zugeteilt|gekriegt|gekauft"
        r"|m['’](?:a|ont) \w{2,20}|(?:me|nos) (?:han?|hemos) \w{2,20}[dt]o"
        r"|(?:me|nos) (?:dieron|deram|pusieron|asignaron)"
        r"|recib(?:í|ido|imos)|compr(?:é|ei|amos)|receb(?:i|emos)|ganh(?:ei|amos)|acheté|reçu|pris|found|gefunden"
        r"|trouvé|encontr(?:ad[oa]|é|ei)|trovat[oa]|gevonden|нашёл|нашла"
        r"|migré|migrad[oa]|migrat[oa]|migriert|gemigreerd|elegeram|eligieron|gewählt|élue?|elett[oa]|выбрали"
        r"|(?:mi|ci) (?:ha|hanno) \w{2,20}|ricevut[oa]|comprat[oa]|gekregen|ontvangen|gekocht"
        r"|дали|выдали|получил[аи]?|купил[аи]?",
        r"拿到|领到|找到|买了|给了?我|もらい|届き|支給|くれました|買いました|売って",
    )
)
# The recent past
JUST: Final = compile_later(
    _any_of(
        r"(?:just|recently) \w{2,20}ed|(?:viens|vient|venons|viennent) (?:de\b|d(?=['’]))|acab(?:o|a|amos|an) de"
        r"|acab(?:ei|ou|ámos|aram) de|(?:ho|ha|abbiamo|hanno|sono|siamo) appena|gerade \w{1,30} ?(?:ge|ver)\w{2,20}"
        r"|zojuist|(?:heb|ben|zijn|hebben) net|только что",
        r"刚刚?|たばかり",
    )
)
# Something happened: of an attribute that is a change.
PERFECT: Final = compile_later(
    _any_of(
        r"(?:have|has|we['’]ve|i['’]ve|they['’]ve) \w{2,20}(?:ed|en)|(?:ai|a|avons|ont|suis|est|sommes|sont|m['’]a)"
        r" (?:été )?\w{2,20}(?:é|i|u|is)e?s?|(?:he|ha|hemos|han) \w{2,20}(?:[dt]o|cho)"
        r"|(?:ho|ha|abbiamo|hanno|sono|siamo) \w{2,20}[aiu]t[oaie]|\w{3,20}(?:aram|eram|iram|aron|ieron)"
        r"|contrat(?:ou|ó)|\w{3,20}(?:али|или|яли|ели)"
    )
    + r"|\b(?:habe?|hat|haben|ist|bin|sind|heb|heeft|hebben)\b.{1,80}\b\w{0,6}ge\w{2,20}(?:t|en|d)\W{0,3}$"
)
# Somebody exchanged a thing of which they have one for another: "I switched dentists", "j'ai changé de banque"
EXCHANGED: Final = (
    compile_later(
        r"\b(?:switched|changed|swapped|replaced|chang(?:é|ée|és|eons)|cambi(?:é|ó|amos|ado|ato|ata|ati)"
        r"|mud(?:ei|ou|amos|ado)|tro(?:quei|cou|camos|cado)|veranderd|смен(?:ил[аи]?|яем)|поменял[аи]?)"
        r" (?:(?:the|my|our|its|de|d[eoa]|di|van|mi|il|la|le|el|o|a|свою|своего|нашу|нашего) ?){0,2}"
        r"(?P<what>[^\W\d_]{3,30}(?: [^\W\d_]{3,30})?)"
    ),
    compile_later(r"(?P<what>[^\W\d_]{3,30}) (?:gewechselt|ausgetauscht|ersetzt|vervangen|gewisseld)\b"),
    compile_later(r"[换換](?:了|过)?(?:个|家|一个|新的?)?(?P<what>[^，。；、了成到用\s]{1,6})"),
    compile_later(r"(?P<what>[^、。はが]{1,10})を(?:変え|替え|換え|乗り換え|切り替え|交換し)"),
    compile_later(r"(?P<what>[^、。，]{1,10}?)(?:换了|換了|(?:が|は)(?:変わ|替わ|代わ))"),
)
# It was so once, besides `lexicon.ONCE`.
ONCE: Final = compile_later(
    _any_of(
        r"once|back then|in the past|damals|einst|ehemals|autrefois|auparavant|jadis|antiguamente|antigamente"
        r"|un tempo|in passato|vroeger|destijds|раньше|прежде|когда-то|в прошлом",
        "以前|昔|从前|过去|かつて",
    )
)
# It is not so yet: what happens next ends that.
NOT_YET: Final = compile_later(
    _any_of(
        r"yet|still|noch|immer noch|pas encore|toujours|encore|todavía|aún|ancora|ainda|nog|ещё|еще|пока",
        r"まだ|还[没未在是]|還[沒未]|尚未",
    )
)
NOBODY: Final = compile_later(
    r"^\W{0,3}(?:(?:nobody|no one|niemand|personne|nadie|nessuno|ninguém|никто)\b|没有?人|誰も)"
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
    _any_of(
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
# The way back, which is another one than the way there
RETURN: Final = compile_later(
    _any_of(
        r"(?:flight|train|bus|ferry|trip|way|ride|journey|drive) (?:back|home)"
        r"|return (?:flight|train|bus|trip|ticket)"
        r"|rück(?:fahrt|flug|weg|reise)|heim(?:fahrt|flug|weg|reise)|zurück(?=.{0,20} (?:fahr|flieg|geh|nehm|komm))"
        r"|(?:du|de|au) retour|de (?:vuelta|regreso)|di ritorno|al ritorno|de volta|na volta"
        r"|terug(?:reis|weg|vlucht|rit)|обратн\w{2,3}",
        "帰り|復路|回程|返程",
    )
)
# A single day or period to come: what holds then need not hold always
NEXT: Final = compile_later(
    _any_of(
        r"(?:next|coming|nächste[nrsm]?|kommende[nrsm]?|volgende|следующ\w{2,3}) [^\W\d_]{3,20}"
        r"|[^\W\d_]{3,20} (?:prochaine?|prochains|que viene|próxim[oa]|prossim[oa]|que vem)"
        r"|(?:prochaine?|próxim[oa]|prossim[oa]) [^\W\d_]{3,20}",
        "下[周个]|来週|来月|次の",
    )
)
# A part of the time: what holds then does not hold always
PART_OF_TIME: Final = compile_later(
    _any_of(
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
# Words without content that stand before a verb or an adjective, and before no noun
NO_DETERMINERS: Final = lexicon.words(
    "to am been being do does did can could may might must should will would not also just very so too please let re",
    "ve out off up about again all go goes going get zu nicht auch nur noch schon sehr so dann bin bist man ihr du",
    "ne pas très se si me te no ya muy non più molto mi ti não já muito niet ook zeer ik je не ни бы уже ещё еще",
)
# An answer or excuse before the sentence: "No, it is Ben", "Sorry, …"
ANSWER: Final = compile_later(
    r"^\W{0,3}(?:(?:no|nein|non|não|nee|нет|sorry|oh|ah|ach|well|oops|ups|perdón|pardon|scusa|desculpa"
    r"|不是?|不对|いや|いえ|いいえ|违う)\s?[,，、.!:]\s?){1,3}"
)
# Words before a name: "is called Bo"
CALLED: Final = lexicon.words("heißt heisst heet heten llama appelle chama chiama зовут")
# Between a thing and the name of its owner, as parts of patterns: "la demo de Ann", "my dog is called Rex"
OF_NAME: Final = "of|von|vom|de|du|da|do|del|di|van"
IS_CALLED: Final = rf"(?:(?:(?:is|se|si|chama-) ?|s['’])?(?:called|{'|'.join(sorted(CALLED))}) )?"
TITLES: Final = lexicon.words("dr prof mr mrs ms frau herr mme monsieur madame sr sra dra doctor")
# A greeting or a call for attention before the sentence: "Heads up, …", "Bonne nouvelle de la RH : …"
OPENER: Final = compile_later(
    r"^\W{0,3}(?:(?:ok(?:ay)?|alright|hi|hey|hello|all|everyone|everybody|team|guys|folks|psa|fyi|heads[- ]up|attention"
    r"|(?:good|bad|great) news(?: [^,.:!]{1,30})?|just so you know|btw|hallo|leute|zusammen|achtung|info|entwarnung"
    r"|(?:gute|schlechte) nachrichten?(?: [^,.:!]{1,30})?|salut|bonjour|pour info"
    r"|(?:bonne|mauvaise) nouvelle(?: [^,.:!]{1,30})?"
    r"|hola|chic[oa]s|gente|atención|ojo|(?:buena|mala)s? noticias?(?: [^,.:!]{1,30})?|olá|oi|pessoal|atenção"
    r"|(?:boa|má)s? notícias?(?: [^,.:!]{1,30})?|ciao|ragazzi|attenzione"
    r"|(?:buon|brutt)[ae] notizi[ae](?: [^,.:!]{1,30})?"
    r"|hoi|let op|(?:goed|slecht) nieuws(?: [^,.:!]{1,30})?|привет|внимание|ребята|коллеги"
    r"|大家好?注?意?|各位|注意|通知|皆さん|お知らせ|すみません|すいません)\s?[,，、.!！:：]\s?){1,3}"
)
# "It is Ben now": the sentence is about what was spoken of
BEGINS_WITH_IT: Final = compile_later(
    r"\W{0,3}(?:(?:now|actually|jetzt|nun|maintenant|ahora|adesso|ora|agora|теперь|nu) )?(?:it|that|that['’]s|it['’]s"
    r"|es|sie|er|das(?= ist\b)|ist es|c['’]est|elle|ça|il (?=est\b|sera\b|a\b|se\b)|ella|ele|ela|hij|het(?= is\b)|dat"
    r"|он|она|оно|это)\b"
)
# What was said before was wrong
MISTAKEN: Final = compile_later(
    _any_of(
        r"(?:was|were|got|had|am) (?:it |that |them )?wrong|misspell\w{0,3}|misspelt|mistyped?|misread|mistaken"
        r"|(?:by|my) mistake|typo|i meant|mixed up|falsch (?:gesagt|geschrieben|notiert|angegeben|gemerkt|verstanden)"
        r"|vertan|verlesen|verschrieben|vertippt|verwechselt|versehentlich|mein fehler|irrtum"
        r"|trompée?s?|erreur de ma part|par erreur|confondu|me equivoqué|mal el (?:dato|número)|por error|me corrijo"
        r"|me confundí|sbagliat[oa]|mi correggo|letto male|errei|me enganei|enganad[oa]|por engano|dito errado"
        r"|vergist?|verkeerd|per ongeluk|ошиб(?:ся|лась|ка)|перепутал[аи]?",
        r"记错|搞错|说错|写错|弄错|間違|勘違",
    )
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
# Another person of the speaker's, where nothing stands between the two: "我姐夫", "妻は"
BEGINS_WITH_RELATIVE: Final = compile_later(
    r"^(?:我们?(?:的)?|(?!老板|房东|客户|学生|孩子|对象|先生))(?P<of>[男女]?朋友|同事|室友|邻居|儿子|女儿|孩子|[大小表堂]?[哥弟姐妹]{1,2}夫?|爸爸?|妈妈?|父亲|母亲|爷爷|奶奶|叔叔?|舅舅?|姑姑?|阿?姨"
    r"|嫂子?|岳[父母]|公公|婆婆|老公|老婆|爱人|丈夫|妻子|太太|先生|对象|侄[子女]|外甥女?|外[婆公]|孙[子女]|老板|房东|客户|学生)"
    r"|^(?:私の|うちの)?(?P<whose>妻|夫|息子|娘|父|母|兄|弟|姉|妹|義理の.{1,2}|友人|友達|同僚|隣人|彼女|彼氏|彼|主人|旦那|祖[父母]|叔[父母])(?=[はがもの])"
)
# Of a key: one has several of it at a time.
MANY_VALUES: Final = compile_later(
    _any_of(
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
# One may be a member of many
MEMBER: Final = compile_later(
    _any_of(
        r"members? of|mitglied\w{0,3}|membres?|miembros?|soci[oa]s?|membr[oi]|lid van|член\w{0,3}",
        "成员|会员|メンバー|会員",
    )
)
TITLED: Final = compile_later("さん|先生|氏|老师|医生|先生|女士|经理")
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
CHANGES: Final = (lexicon.CUE, lexicon.ENDED, TURNED, STOPPED)
ADDS: Final = (lexicon.ADDS, ADDED)
ENDS: Final = (lexicon.ENDED, STOPPED)
UNSURE: Final = (REPORTS, SUPPOSES, EXCEPT)


def without_in_the(text: str) -> str:
    """Return a folded text without the "in the" of Portuguese: "no dia 5" denies nothing."""
    return text if PORTUGUESE.search(text) is None else IN_THE.sub(" ", text)
