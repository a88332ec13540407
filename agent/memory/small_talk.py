"""What somebody says without saying anything: a greeting, thanks, praise, a row of emoji. Pure.

Rules
  Learning from a message costs a call of a model, so it is not begun for words from which nothing can be learned.
  In doubt there is something: a message is small talk only if each of its words is in the list, and it is short.
  "yes" and "no" are not in it, because they may answer a question.
"""

import re
from collections.abc import Iterable
from typing import Final

MAX_CHARS: Final = 80
"""Whoever greets in more says something with it."""

_TEXT: Final = """
hi hello hey hiya howdy yo greetings welcome there everyone everybody all folks again
good morning afternoon evening night day weekend
thanks thank you thx ty cheers very much so a lot many indeed for the your help
great nice cool perfect awesome amazing excellent wonderful brilliant super wow lovely well done
ok okay okey k fine alright sure got it understood
bye goodbye cya see you later soon tomorrow take care
lol haha hahaha hehe hmm oh ah
how are doing what's whats up is going
hallo moin servus guten morgen tag abend nacht danke vielen dank schön sehr bitte tschüss tschüs klasse prima toll gut
hola buenos buenas días dias tardes noches gracias muchas adiós adios vale genial perfecto
bonjour bonsoir salut merci beaucoup au revoir parfait
ciao buongiorno buonasera grazie mille
olá ola obrigado obrigada
hoi bedankt dank je
"""
_WORDS: Final = frozenset(_TEXT.split())
_CJK: Final = re.compile(
    r"(?:你好|您好|大家好|早上好|晚上好|早安|晚安|谢谢|謝謝|多谢|感谢|再见|再見|拜拜|好的|您|你|啊|了"
    r"|こんにちは|こんばんは|おはよう|ございます|ありがとう|どうも|さようなら|おやすみ|なさい|了解|です|안녕하세요|안녕|감사합니다)+"
)
_WORD: Final = re.compile(r"\w+(?:['’]\w+)*")


def is_small_talk(text: str) -> bool:
    """Whether nothing at all can be learned from this."""
    if len(text) > MAX_CHARS:
        return False
    words = _WORD.findall(text.casefold().replace("’", "'"))
    return all(word in _WORDS or _CJK.fullmatch(word) is not None for word in words)


def may_teach(texts: Iterable[str]) -> bool:
    """Whether one of these may say something of the person who wrote them."""
    return not all(map(is_small_talk, texts))
