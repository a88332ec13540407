"""Questions to all in a channel, which the bot may answer unasked."""

import re
from typing import Final

# Whether a message that does not address the bot looks like a question to everyone. Pure; in doubt the answer is no,
# and a model examines the messages that remain.

MIN_CHARS: Final = 8
MIN_WORDS: Final = 3
MAX_CHARS: Final = 1_500  # People ask questions in passing in fewer words
# A question mark at the end of a sentence, but not one within an address.
_ASKS: Final = re.compile(r"[?？؟][\s)\]\"'”»*_~`]{0,20}(?:\Z|\n)|[?？؟]\s")
# Scripts that write words without blanks between them.
_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_ENDS_ASKING: Final = re.compile(r"(?:ですか|ますか|でしょうか|吗|呢)[。．.！!]?\s{0,9}\Z")
# With one of these words, a question needs no question mark.
_ANYONE: Final = re.compile(
    r"\b(?:any(?:one|body)|does someone|can someone|jemand|quelqu['’]un|alguien|alguém|qualcuno|iemand|ktoś|któś|"
    r"кто-нибудь|кто-то|någon|nogen|noen|birisi|biri)\b",
    re.IGNORECASE,
)
# A person or a channel is mentioned, or another person's words are quoted.
_ADDRESSED: Final = re.compile(r"<[@!#]|(?<![\w@])@\w|\A\s{0,9}>|```")
# "Ann, can you …" and "Hi Ann - …" are for Ann alone, so nobody else should answer.
_GREETED: Final = re.compile(
    r"\A\s{0,9}(?:(?:hi|hey|hello|hallo|moin|servus|bonjour|salut|hola|ciao|olá|oi|cześć|hej|привет)[\s,!]{1,5})?"
    r"(?P<name>[^\W\d_]{2,20})\s?(?:[,:]\s|[-–—]\s)",
    re.IGNORECASE,
)
_CALLED: Final = re.compile(r",\s{0,3}(?P<name>[^\W\d_]{2,20})\s?[?!.]{0,5}\s{0,9}\Z")
# Words that look like a name at the beginning or the end of a message, but are none.
_NOT_NAMES: Final = re.compile(
    "all|alle|allen|everyone|everybody|folks|guys|people|team|channel|friends|leute|zusammen|kollegen|miteinander|tous|"
    "toutes|monde|equipe|équipe|todos|todas|tutti|ragazzi|pessoal|galera|gente|equipo|iedereen|mensen|wszyscy|ребята|"
    "всем|коллеги|hi|hey|hello|hallo|moin|bonjour|salut|hola|ciao|olá|oi|hej|привет|question|frage|pregunta|domanda|"
    "pergunta|vraag|pytanie|вопрос|quick|also|so|well|ok|okay|btw|fyi|ps|sorry|please|bitte|por|merci|danke|gracias|"
    "grazie|obrigado|nochmal|kurz|curious|thanks|help|hilfe",
    re.IGNORECASE,
)


def is_open_question(text: str) -> bool:
    """Return whether it looks like a question to everyone in the channel; in linear time."""
    text = text.strip()
    if not MIN_CHARS <= len(text) <= MAX_CHARS or _ADDRESSED.search(text) is not None:
        return False
    if len(text.split()) < MIN_WORDS and _UNSPACED.search(text) is None:
        return False
    asks = _ASKS.search(text) is not None or _ENDS_ASKING.search(text) is not None
    if not asks and _ANYONE.search(text) is None:
        return False
    names = (_GREETED.match(text), _CALLED.search(text))
    return not any(found is not None and _is_name(found["name"]) for found in names)


def _is_name(word: str) -> bool:
    """Whether it begins with a capital, or in a script without capitals, and does not address everyone."""
    return _NOT_NAMES.fullmatch(word) is None and not word[0].islower()
