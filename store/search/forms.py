"""English words whose forms no ending tells: a question says "buy", the message "bought". Pure.

Above: `store.search.search`. Below: `store.search.stem`, which cuts off regular endings.
"""

from typing import Final

from store.search.stem import stem

_FORMS: Final = """
arise arose arisen, awake awoke awoken, beat beaten, become became, begin began begun, bend bent, bind bound,
bite bit bitten, bleed bled, blow blew blown, break broke broken, bring brought, build built, burn burnt, buy bought,
catch caught, choose chose chosen, cling clung, creep crept, deal dealt, dig dug, draw drew drawn, dream dreamt,
drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found,
flee fled, fly flew flown, forbid forbade forbidden, forget forgot forgotten, forgive forgave forgiven,
freeze froze frozen, give gave given, go went gone, grow grew grown, hang hung, hear heard, hide hid hidden, hold held,
keep kept, kneel knelt, know knew known, lay laid, lead led, lean leant, learn learnt, leave left, lend lent, lie lain,
light lit, lose lost, make made, mean meant, meet met, mistake mistook mistaken, pay paid, ride rode ridden,
ring rang rung, rise rose risen, run ran, see saw seen, seek sought, sell sold, send sent, sew sewn, shake shook shaken,
shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept,
slide slid, speak spoke spoken, spend spent, spill spilt, spin spun, spoil spoilt, stand stood, steal stole stolen,
stick stuck, sting stung, strike struck, swear swore sworn, sweep swept, swim swam swum, swing swung, take took taken,
teach taught, tear tore torn, think thought, throw threw thrown, understand understood, wake woke woken, wear wore worn,
weave wove woven, weep wept, win won, write wrote written,
child children, foot feet, goose geese, half halves, knife knives, man men, mouse mice, person people, shelf shelves,
tooth teeth, wife wives, wolf wolves, woman women
"""
_GROUPS: Final = {stem(form): tuple(group.split()) for group in _FORMS.split(",") for form in group.split()}


def forms(word: str) -> tuple[str, ...]:
    """The words that mean the same but for time or number, `word` among them; most have no other."""
    return _GROUPS.get(stem(word), (word,))
