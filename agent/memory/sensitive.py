"""Personal data that nobody should learn in passing: health, belief, politics, origin, sexuality, offences. Pure.

Above: `agent.memory.synthesizer`, stated. Below: nothing.

Rules
  The kinds are those of GDPR, articles 9 and 10. They are learned only where the person asked for it ("remember …").
  A model is told the same; this list holds where the model does not heed it. It errs towards not learning: whoever
  wants such a thing known says "remember".
"""

import re
from collections.abc import Sequence
from typing import Final

_WORDS: Final = """
diagnos* disease* illness* cancer tumo?r* diabet* asthma* allerg* depression depressed anxiety adhd autis* bipolar
schizophren* dementia epilep* hiv covid pregnan* miscarriage* abortion* menopaus* therapist* psychiatr* psychotherap*
medication* antidepress* insulin surgery chemotherap* disability disabilities disabled wheelchair* addiction* addicted
alcoholi* obes* insomnia burnout biometric* biopsy genetic_test* blood_pressure blood_sugar sick_leave mental_health
religio* church mosque synagogue christian* catholic* protestant* muslim* islam* jewish judaism hindu* buddhis* atheis*
mormon* ramadan kosher halal baptis* prays praying
political* votes_for voted republican* democrat democrats socialist* communist* labour_party party_member*
trade_union* union_member* labor_union*
ethnic* racial skin_colo?r immigration_status asylum refugee*
gay lesbian* bisexual* transgender* homosexual* heterosexual* queer sexual* sex_life gender_identity
convicted conviction criminal_record* arrested imprisoned on_parole
krankheit* krebs depressionen schwanger* gewerkschaft* konfession embaraz* enfermedad* enceinte maladie* sindicato
"""
_CJK: Final = "病気 妊娠 宗教 信仰 うつ病 障害 持病 癌 がん 生病 疾病 怀孕 懷孕 抑郁 憂鬱 残疾 殘疾 政党 임신 종교 질병"


def _pattern(word: str) -> str:
    """A word of the list: `*` stands for any ending, `?` for the letter before it or none, `_` for a blank."""
    return word.replace("*", r"\w*").replace("_", r"[\s-]+")


def _grouped(words: Sequence[str]) -> str:
    """An expression for any of the words, by their first letters: at most places of a text none of them begins."""
    found = {word[0]: [_pattern(one[1:]) for one in words if one[0] == word[0]] for word in words}
    return "|".join(f"{letter}(?:{'|'.join(rests)})" for letter, rests in found.items())


_SENSITIVE: Final = re.compile(rf"\b(?:{_grouped(_WORDS.split())})\b|{'|'.join(_CJK.split())}", re.IGNORECASE)
_ASKED: Final = re.compile(
    r"\b(?:remember|memori[sz]e|don'?t forget|do not forget|keep in mind|make a note|note down|note that"
    r"|merk\w* dir|vergiss nicht|recuerda|no olvides|acuérdate|retiens|souviens-toi|n'oublie pas|ricorda|lembre|onthoud"
    r"|запомни)\b|覚えて|記憶して|忘れないで|记住|記住|记得|記得|기억해",
    re.IGNORECASE,
)


def is_sensitive(text: str) -> bool:
    """Does the text say something of these kinds?"""
    return _SENSITIVE.search(text) is not None


def asks_to_remember(text: str) -> bool:
    """Does the person ask for something to be remembered?"""
    return _ASKED.search(text) is not None
