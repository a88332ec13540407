"""Recognises sentences by which a person only tells an assistant what to write, or how to answer. Pure.

Such a sentence is over once it is answered: quoted in another conversation, a small model follows it again, and learned
as a fact it is wrong ("number of lines about the sea: 40"). In doubt a sentence is none: one in which people speak of
themselves, or ask to keep something in mind, may state what holds.
"""

from typing import Final

from agent.memory.attribution import REQUESTS
from agent.memory.statements import sentences
from agent.patterns import compile_later

READ_CHARS: Final = 1_000  # Of one sentence: a longer one is pasted text

_LEAD: Final = (
    r"\W{0,9}(?:(?:and|now|then|so|ok|okay|hey|hi|hello|please|kindly|just|first|next|also|always|never|only|bitte|und|jetzt"
    r"|dann|nur|immer|s['’]il (?:te|vous) pla[iî]t|et|por favor|y|ahora|e|agora|пожалуйста|теперь)\b\W{1,3}"
    r"|(?:can|could|will|would) you\s(?:please\s)?|(?:kannst|könntest) du\s(?:mir\s)?(?:bitte\s)?"
    r"|i want you to\s|i['’]d like you to\s|(?:你|您)?(?:能|可以)?(?:请|請)\s?){0,4}"
)
# Verbs of writing and answering, each with what follows only where it is meant for the assistant.
_VERBS: Final = (
    r"(?:(?:answer|reply|respond|repeat|rephrase|rewrite|summari[sz]e|translate|explain|describe|compose|draft|generate"
    r"|spell|recite|pretend|roleplay|role-play|print|output|count (?:from|to|up|down)"
    r"|act (?:as|like)|(?:say|write)(?! ?,| down)"
    r"|(?:tell|show|give|send) (?:me|us)|(?:give|show|name|list) (?:one|two|three|four|five|ten|an?|the|all|some|\d+)"
    r"|make (?:me|us)? ?a (?:list|table|poem|story|joke|haiku)"
    # German
    r"|schreib(?:e|en sie)?(?! (?:dir )?auf)|sag(?:e|en sie)?|nenn(?:e|en sie)?|antworte?|übersetz(?:e|en sie)?"
    r"|erklär(?:e|en sie)?|zeig(?:e|en sie)? (?:mir|uns)|gib (?:mir|uns)|wiederhol(?:e|en sie)?"
    r"|zähl(?:e|en sie)? (?:von|bis)|fass(?:e|en sie)? .{1,200} zusammen|tu so"
    # French
    r"|écri(?:s|vez)|di(?:s|tes)|donne[sz]?[- ](?:moi|nous)|répond(?:s|ez)|explique[sz]?|montre[sz]?-moi"
    r"|tradui(?:s|sez)|compte[sz]? (?:de|jusqu)|répète[sz]?|résume[sz]?"
    # Spanish, Portuguese
    r"|escrib[ea]|d[ií](?:me|ga|game|(?= (?:que|algo|hola|lo)\b))|dame"
    r"|responde|explica(?:me)?|muéstrame|traduce|cuenta (?:de|hasta)|repite|resume"
    r"|escrev[ae]|diga|dê-me|me dê|responda|explique|mostre|traduza|conte (?:de|até)|repita|resuma"
    # Russian
    r"|(?:напиши|скажи|назови|ответь|отвечай|объясни|покажи|переведи|посчитай|повтори|перескажи)(?:те)?)\b"
    # "Draft is due on Friday": a noun.
    r"(?!(?: \w{1,40}){0,2} (?:is|are|was|were|will|has|have|had|ist|war|est|está|es|é)\b)"
    r"|写|寫|说(?!过)|說|给我|列出|回答|解释|翻译|重复|总结|介绍|用[^，。]{1,12}(?:介绍|回答|解释))"
)
_ORDER: Final = compile_later(rf"{_LEAD}{_VERBS}")
# Japanese has the verb at the end, so an order is known there and not at the beginning.
_JAPANESE: Final = compile_later(
    r"(?:書い|言っ|答え|説明し|翻訳し|教え|列挙し|要約し|繰り返し)て(?:ください|下さい|くれ|ほしい)?[。！!\s]*$"
)
# What tries to change how the assistant works, wherever it stands in the sentence.
_TAKES_OVER: Final = compile_later(
    r"\b(?:ignor\w{1,4}|disregard|forget|vergiss|vergesst|oublie[sz]?|olvida|esqueça)\b.{0,60}"
    r"\b(?:instructions?|prompts?|anweisungen|vorgaben|instrucciones|instruções|rules|regeln|above|messages?)\b"
    r"|\byou (?:are now|(?:must|will|shall|should|may|can)? ?(?:now |only |always |never ){0,2}"
    r"(?:answer|reply|respond|say|write|speak|call|print|output))\b"
    r"|\bfrom now on,? (?:you|answer|reply|respond|say|write|speak|call)\b|\b(?:developer|jailbreak|god) mode\b"
    r"|\bdu (?:bist (?:jetzt|nun|ab)|antwortest|sagst|schreibst)\b|\bsystem prompt\b|忽略.{0,20}(?:指令|指示|提示)"
)
# A sentence about its writer is a fact that may be learned, also where it begins like an order.
_OF_THEMSELVES: Final = compile_later(
    r"\b(?:i|i['’](?:m|ve|d|ll)|we|my|our|mine|ich|wir|mein\w{0,2}|unser\w{0,2}|je|j['’]\w{1,20}|nous|mon|ma|mes|notre|nos|yo"
    r"|mis?|nuestr[oa]s?|eu|meus?|minhas?|nosso|я|мы|мо[йяёи]|мою|наш\w{0,3})\b|我(?!写|说)|私|僕|俺"
)
_WANTS: Final = compile_later(r"\bi (?:want|['’]d like|would like) you to\b|\bi['’]d like you to\b")


def is_order(sentence: str) -> bool:
    """Return whether a sentence only says what an assistant should write, or how it should answer."""
    text = sentence[:READ_CHARS].lower()
    if _TAKES_OVER.search(text):
        return True
    if not (_ORDER.match(text) or _JAPANESE.search(text)) or REQUESTS.search(text):
        return False
    return not _OF_THEMSELVES.search(_WANTS.sub("", text))


def without_orders(text: str) -> str:
    """Return the text without such sentences; as it is if it has none."""
    parts = sentences(text)
    kept = [part for part in parts if not is_order(part)]
    return text if len(kept) == len(parts) else "\n".join(kept)
