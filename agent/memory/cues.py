"""Words by which a sentence says how it stands to an earlier one, in the lexicon's ten languages. Data.

A sentence may change what was so ("these days", "sold"), end it ("left"), take it back ("I was wrong"), add to it
("too"), report it ("Rita thinks"), suppose it ("if"), or hold for a part of it ("except"). When something holds is in
`agent.memory.when_cues`, of whom it is in `agent.memory.whose_cues`, and how each language builds its sentences in
`agent.memory.grammar`. Each pattern is linear, and in lower case for `folded` text, as those of `agent.memory.lexicon`.
"""

from typing import Final

from agent.memory import lexicon
from agent.memory.lexicon import any_of
from agent.patterns import compile_later

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
    any_of(
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
    any_of(
        r"no more|gave up|given up|gone off|stopped|quit|aufgehört|aufgegeben|abgeschafft|nie mehr|arrêté (?:de|d)"
        r"|(?:he |hemos )?dejado de|dej(?:é|amos|ó) de|nunca más|deixei de|deixou de|deixamos de|parei de|parou de"
        r"|smesso di|gestopt met|бросил[аи]?|перестал[аи]?",
        r"戒了|停了|やめ|辞め",
    )
)
# Somebody has no longer what it names
LEFT: Final = compile_later(
    any_of(
        r"sold|left|gave up|given up|quit|dropped out|verkauft|verlassen|gekündigt|aufgegeben|abgegeben|vendue?s?"
        r"|quittée?s?"
        r"|résiliée?s?|vendid[oa]s?|vendí|dej(?:é|ado)|abandon(?:é|ado)|vendut[oaie]|lasciat[oaie]|disdett[oaie]"
        r"|vendi|deix(?:ei|ado)|larguei|verkocht|opgezegd|verlaten|продал[аи]?|бросил[аи]?",
        r"卖[了掉]|退[了掉出]|放弃|売っ|売り|辞め|やめ",
    )
)
# Somebody or something left for good, or is not what it was: besides `LEFT`, in nouns and particles, too
GONE: Final = compile_later(
    any_of(
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
    any_of(
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
# Who leaves it, leaves what somebody is or does there: "left the company", "est partie chez un concurrent"
WORKPLACE: Final = compile_later(
    any_of(
        r"company|firm|team|job|competitors?|place|role|post|duty|duties|good"
        r"|firma|unternehmen|stelle|posten|konkurrenz|entreprise|boîte|société|équipe|poste|concurrents?|concurrence"
        r"|empresa|compañía|equipo|puesto|competencia|equipe|cargo|concorrente|azienda|ditta|concorrenza|bedrijf|baan"
        r"|concurrent|компани[июя]|фирм[уые]|команд[уые]|конкурент\w{0,3}",
        "公司|团队|会社|職場",
    )
)
# Something began
BEGUN: Final = compile_later(
    any_of(
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
    any_of(
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
# It adds to what was said, and ends nothing, besides `lexicon.ADDS`.
ADDED: Final = compile_later(
    any_of(
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
        r"还(?!是)|也|又(?=[添加多买养种开学报认去玩找接拿])|添了|另外|并且|同样|再加|加えて|(?<!変)更に|それに|ほかに|他に",
    )
    + r"|(?<![でとそ])(?<!して)(?<!とて)(?<!いつ)(?<!子ど)(?<![一二三四五何])"
    r"も(?=[\u3040-\u9fff、])(?!う|し|っと|の|ら|り)(?![^。！？]{1,20}(?:ない|ません|なかった))"
)
# Somebody else says or thinks so, or it is hearsay.
REPORTS: Final = compile_later(
    any_of(
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
    any_of(
        r"if|unless|(?<![^\W\d_] )se [^\W\d_]{2,20}[aei]r"
        # A joke
        r"|kidding|joking|as a joke|scherz|war (?:nur )?spaß|je rigole|je plaisante|pour rire|(?:es|era) broma|bromeo"
        r"|scherzavo|per scherzo|brincadeira|brincando|grapje|шучу|шутка"
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
        r"|[a-zñ]{2,20}[aei]remos|quiero|queremos|planeo|planeamos|pienso|pensamos|me gustaría|busco|buscamos|sueño con"
        r"|voglio|vogliamo|vorrei|vorremmo|penso di|pensiamo di|sto pensando|conto di|spero di|cerco|cerchiamo|sogno"
        r"|quero|queremos|pretendo|pretendemos|gostaria|procuro|sonho|pensando em|a pensar em"
        r"|wil|willen|van plan|overweeg|overwegen|hoop|hopen|solliciteer|gesolliciteerd|zoek|zoeken"
        r"|хочу|хотим|планирую|планируем|собираюсь|собираемся|надеюсь|ищу|ищем|мечтаю"
        r"|если|бы|возможно|может быть|может|наверное|наверно|вероятно|допустим|предположим|думаю",
        r"开玩笑|逗你|冗談|嘘です|"
        r"如果|要是|假如|的话|可能|也许|或许|大概|万一|倘若|考虑|我想|应该|打算|希望|想[要换去搬]"
        r"|もし|たら(?=[、,])|(?:な|け|せ|れ|え|ね|べ|め)ば(?=[、,])|かもしれ|でしょう|だろう|仮に|場合|検討|つもり|かな|[いりきしちみび]たい(?:です|と|。|$)|希望",
    )
)
# It holds for a part, or for once.
EXCEPT: Final = compile_later(
    any_of(
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
# Something or somebody went to another place.
RELOCATED: Final = compile_later(
    any_of(
        r"moved|relocated|umgezogen|verlegt|gezogen|déménagé|transférée?s?|mudad[oa]|mudó|trasladad[oa]|mudou"
        r"|mudei|trasferit[oaie]|spostat[oaie]|verhuisd|verplaatst|переехал[аи]?"
        r"|перевезли",
        r"搬|迁|移り|移転|引っ越し",
    )
)
# Somebody got another one: under one key that is a change.
GIVEN: Final = compile_later(
    any_of(
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
# The way back, which is another one than the way there
RETURN: Final = compile_later(
    any_of(
        r"(?:flight|train|bus|ferry|trip|way|ride|journey|drive) (?:back|home)"
        r"|return (?:flight|train|bus|trip|ticket)"
        r"|rück(?:fahrt|flug|weg|reise)|heim(?:fahrt|flug|weg|reise)|zurück(?=.{0,20} (?:fahr|flieg|geh|nehm|komm))"
        r"|(?:du|de|au) retour|de (?:vuelta|regreso)|di ritorno|al ritorno|de volta|na volta"
        r"|terug(?:reis|weg|vlucht|rit)|обратн\w{2,3}",
        "帰り|復路|回程|返程",
    )
)
# An answer or excuse before the sentence: "No, it is Ben", "Sorry, …"
ANSWER: Final = compile_later(
    r"^\W{0,3}(?:(?:no|nein|non|não|nee|нет|sorry|oh|ah|ach|well|oops|ups|perdón|pardon|scusa|desculpa"
    r"|不是?|不对|いや|いえ|いいえ|违う)\s?[,，、.!:]\s?){1,3}"
)
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
# What was said before was wrong
MISTAKEN: Final = compile_later(
    any_of(
        r"(?:was|were|got|had|am) (?:(?:it|that|them|(?:her|his|its|my|our|the) [^\W\d_]{1,20}) )?wrong"
        r"|misspell\w{0,3}|misspelt|mistyped?|misread|mistaken"
        r"|(?:by|my) mistake|typo|i meant|mixed up|falsch (?:gesagt|geschrieben|notiert|angegeben|gemerkt|verstanden)"
        r"|vertan|verlesen|verschrieben|vertippt|verwechselt|versehentlich|mein fehler|irrtum"
        r"|stimm(?:t|te|ten) nicht"
        r"|trompée?s?|erreur de ma part|par erreur|confondu|me equivoqué|mal el (?:dato|número)|por error|me corrijo"
        r"|me confundí|sbagliat[oa]|mi correggo|letto male|errei|me enganei|enganad[oa]|por engano|dito errado"
        r"|vergist?|verkeerd|per ongeluk|ошиб(?:ся|лась|ка)|перепутал[аи]?",
        r"记错|搞错|说错|写错|弄错|間違|勘違",
    )
)
CHANGES: Final = (lexicon.CUE, lexicon.ENDED, TURNED, STOPPED)
ADDS: Final = (lexicon.ADDS, ADDED)
ENDS: Final = (lexicon.ENDED, STOPPED)
UNSURE: Final = (REPORTS, SUPPOSES, EXCEPT)
