"""Decides whether two keys tell two things apart. Pure.

A key comes from a model, so one key is no proof that two statements are about one thing (`agent.memory.attributes`).
But of two keys with a common word, what one names and the other does not makes two things: "rent of the shop" and "rent
of the studio", "server A" and "server B", "flight to Oslo" and "flight from Oslo", "budget" and "travel budget". Only
this may differ:

    light words          "my current phone number" is "phone"
    the kind of a value  "launch" is "launch date", but "launch date" is no "launch place"
    the form of a role   "jefe" is "jefa"
    the order            "date of launch" is "launch date", but "flight Oslo Rome" is no "flight Rome Oslo"

Words that mean the same are told apart, too ("room of Ann", "office of Ann"): no list knows all of them, and what is
not replaced may still be marked as possibly outdated. Two keys without a common word may be two names of one thing
("boss", "manager"), unless they have a digit: there, the sentences have to say that they are about the same.
"""

import unicodedata
from itertools import chain
from typing import Final

from agent.memory import lexicon
from agent.memory.alignment import UNSPACED, root
from agent.memory.facts import plain_key, same_key
from agent.patterns import compile_later

KEY_CHARS: Final = 400  # Of a key, that are compared: a longer one names two things with any other
_WORD: Final = compile_later(r"[^\W_]+(?:[-‐‑][^\W_]+)*")
_HYPHENS: Final = compile_later("[-‐‑]")
_SEPARATORS: Final = compile_later(r"[-‐‑\s]")
_POSSESSIVE: Final = compile_later(r"['’]s\b")
_OF: Final = compile_later(r"(?:\b(?:of|von|vom|de|del|della|dello|dell|di|do|da|dos|das|du|des|van)\b|\bd(?=['’]))")
_LIGHT: Final = lexicon.DETERMINERS | lexicon.words(
    "its this for in at on current currently present new name number value",
    """einer meiner meinem unserer unserem unseren für im am bei beim zur zum aktuell aktuelle aktueller aktuelles
    derzeitig derzeitige neu neue neuer neues neuen nummer wert""",
    "l un dell nell son sa ses leur en au aux pour actuel actuelle nouveau nouvel nouvelle nom numéro valeur",
    "una nuestros nuestras su sus en para actual nuevo nueva nombre número valor",
    "as um uma meus minhas nossos nossas seu sua no na em atual novo nova nome",
    "i gli miei mie nostri nostre suo sua nel nella per attuale nuovo nuova numero valore",
    "voor huidig huidige nieuw nieuwe naam",
    "мои наши текущий текущая текущее новый новая новое имя номер",
)
_KINDS: Final = lexicon.words(
    "date day time hour place location address phone price cost amount size duration status",
    "datum tag zeit uhrzeit termin ort standort adresse telefon preis kosten betrag größe dauer stand",
    "jour heure lieu adresse téléphone prix coût montant taille durée statut",
    "fecha día hora lugar ubicación dirección teléfono precio coste costo importe tamaño duración estado",
    "data dia horário local endereço telefone preço custo tamanho duração",
    "giorno ora orario luogo posizione indirizzo telefono prezzo costo importo durata stato",
    "datum dag tijd plaats locatie adres telefoon prijs kosten",
    "дата день время место адрес телефон цена стоимость",
)
_LIGHT_UNSPACED: Final = compile_later(
    "我们的?|我們的?|我的?|现在的|目前的|当前|新的|名字|名称|号码|私たちの|私の|うちの|弊社の|今の|現在の|新しい|名前|番号|[的の]"
)
_KIND_UNSPACED: Final = compile_later("(?:日期|时间|地点|地址|电话|价格|费用|曜日|日時|時間|場所|住所|電話|料金|日付)$")


def name_one_thing(key: str, other: str) -> bool:
    """Return whether two keys are one, but for what may differ: "wedding date", "our wedding"."""
    if same_key(key, other):
        return True
    return (
        max(len(key), len(other)) <= KEY_CHARS
        and _share_a_word(_parts(key), _parts(other))
        and not tell_apart(key, other)
    )


def tell_apart(key: str, other: str) -> bool:
    """Return whether one key names something that the other does not. An empty key tells nothing apart."""
    if not key.strip() or not other.strip() or same_key(key, other):
        return False
    closed, other_closed = (_SEPARATORS.sub("", plain_key(each)) for each in (key, other))
    if closed == other_closed:  # "on-call", "on call"
        return False
    if max(len(key), len(other)) > KEY_CHARS:
        return True
    parts, other_parts = _parts(key), _parts(other)
    if not _share_a_word(parts, other_parts) and not any(char.isdigit() for char in key + other):
        return False
    orders = [(parts, other_parts), (parts[::-1], other_parts[::-1])]
    if len(parts) == 1 or len(other_parts) == 1:  # "date of launch", "launch date"
        orders += [(parts[::-1], other_parts)]
    return not any(_name_the_same([*chain(*said)], [*chain(*instead)]) for said, instead in orders)


def _parts(key: str) -> list[list[str]]:
    """Return the words of a key that name something, parted where it says "of"; all words if there is none else."""
    folded = unicodedata.normalize("NFKC", key[:KEY_CHARS]).casefold().replace("_", " ")
    if UNSPACED.search(folded) is not None:
        folded = _LIGHT_UNSPACED.sub("", folded) or folded
    parts = [_WORD.findall(part) for part in _OF.split(_POSSESSIVE.sub("", folded))]
    telling = [[word for word in part if word not in _LIGHT] for part in parts]
    chosen = telling if any(telling) else parts
    return [part for part in chosen if part]


def _share_a_word(parts: list[list[str]], others: list[list[str]]) -> bool:
    """Return whether they have a word, or the part of one, or a sign of Chinese or Japanese in common."""
    return not _pieces(parts).isdisjoint(_pieces(others))


def _pieces(parts: list[list[str]]) -> set[str]:
    pieces = (piece for part in parts for word in part for piece in _HYPHENS.split(word))
    return {each for piece in pieces for each in (piece if UNSPACED.search(piece) is not None else [piece])}


def _name_the_same(words: list[str], others: list[str]) -> bool:
    if _are_alike(words, others):
        return True
    plain, plain_others = _without_kinds(words), _without_kinds(others)
    is_left_out = bool(plain and plain_others) and (plain == words) is not (plain_others == others)
    return is_left_out and _are_alike(plain, plain_others)  # One of them leaves out the kind of the value


def _without_kinds(words: list[str]) -> list[str]:
    return [plain for word in words if word not in _KINDS and (plain := _KIND_UNSPACED.sub("", word))]


def _are_alike(words: list[str], others: list[str]) -> bool:
    words, others = ([_HYPHENS.sub("", word) for word in each] for each in (words, others))
    if "".join(words) == "".join(others):
        return True
    if len(words) == len(others):
        return all(map(_are_of_one_role, words, others))
    compound, parts = sorted((words, others), key=len)  # "Marketingbudget", "Budget Marketing"
    return len(compound) == 1 and len(parts) == 2 and compound[0] == "".join(reversed(parts))


def _are_of_one_role(word: str, other: str) -> bool:
    if word == other:
        return True
    short, long = sorted((word, other), key=len)
    is_role = all(lexicon.UNIQUE.fullmatch(each) is not None for each in (word, other))
    return is_role and (root(short) == root(long) or long in {f"{short}in", f"{short}r"})
