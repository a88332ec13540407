"""Between Slack's way of writing a message and plain text. Pure.

Above: `inbound`, `threads`, `surface`, `forms`. Below: nothing.

The rules. Inwards, what Slack marks up as `<…>` becomes what a person reads: names instead of ids. Outwards, nothing
that a model writes can ping anybody: what would be a mention keeps its length, and shows as the same word in other
characters. (A replacement, not an addition: a page that fits must still fit.)
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_TOKEN = re.compile(r"<([^<>\n]*)>")
_USER = re.compile(r"<@([UWB][A-Z0-9]+)(?:\|[^<>]*)?>")
_LEADING_USER = re.compile(r"\s*<@([^<>|\s]+)(?:\|[^<>]*)?>[\s,:]*")
_CHANNEL = re.compile(r"<#([CG][A-Z0-9]+)\|?>")
_PERMALINK = re.compile(
    r"https?://[^\s<>|/]{1,255}/archives/(?P<channel>[CDG][A-Z0-9]+)/p(?P<seconds>\d{10})(?P<fraction>\d{6})"
    r"(?:\?[^\s<>|]{0,99}?thread_ts=(?P<root>\d{10}\.\d{6}))?"
)
_AT = r"@|&commat;|&#0{0,5}64;|&#x0{0,4}40;"
_CALL = r"!|&excl;|&#0{0,5}33;|&#x0{0,4}21;"
_GROUP = r"channel|here|everyone|group|subteam"
_OPENING = re.compile(
    rf"(?:<|&lt;?|&#0{{0,5}}60;?|&#x0{{0,4}}3c;?)(?=\\?(?:{_AT}|(?:{_CALL})\\?(?:{_GROUP}|&)))", re.IGNORECASE
)
_NAMED = re.compile(rf"(?:(?<!\w)@|(?!@)(?:{_AT}))(?=(?:{_GROUP})\b)", re.IGNORECASE)
_UNDECIDED = re.compile(r"[<&@][<&@!\\#;\w]{0,47}\Z")
"""What may still become a ping at the end of a text that grows; the longest that is one has 40 characters."""
_WORD = re.compile(r"\w\Z")


@dataclass(frozen=True, slots=True)
class MessageLink:
    """A link to a message. `root` is the thread that it lies in, as far as the link says."""

    channel: str
    ts: str
    root: str


def mentioned_users(text: str) -> tuple[str, ...]:
    """The ids of the users that a message of Slack mentions, each once."""
    return tuple(dict.fromkeys(_USER.findall(text)))


def mentioned_channels(text: str) -> tuple[str, ...]:
    """The ids of the channels that a message of Slack mentions without saying their names, each once."""
    return tuple(dict.fromkeys(_CHANNEL.findall(text)))


def readable(text: str, names: Mapping[str, str]) -> str:
    """A message of Slack as a person reads it; `names` by the ids of users and channels, an unknown id stays an id."""
    return _unescaped(_TOKEN.sub(lambda token: _shown(token[1], names), text)).strip()


def without_mention(text: str, user: str) -> str:
    """A message of Slack without the mentions of `user` that it begins with."""
    end = 0
    while (found := _LEADING_USER.match(text, end)) and found[1] == user:
        end = found.end()
    return text[end:]


def message_links(text: str) -> tuple[MessageLink, ...]:
    """The messages that a message of Slack links to, each once."""
    found = [
        MessageLink(link["channel"], f"{link['seconds']}.{link['fraction']}", link["root"] or "")
        for link in _PERMALINK.finditer(text)
    ]
    return tuple(dict.fromkeys(found))


def neutral(text: str) -> str:
    """Markdown that pings nobody, of the same length: "<@U1>" becomes "‹@U1>", "@here" becomes "＠here"."""
    text = _OPENING.sub(lambda found: _in_its_place("‹", found[0]), text)
    return _NAMED.sub(lambda found: _in_its_place("＠", found[0]), text)


def settled(text: str) -> str:
    """The beginning of `neutral(text)` that stays as it is, whatever is added to the text: what may be sent of a text
    that can only be appended to. The rest reads the same alone as behind it: it never begins with what a word ends.
    """
    undecided = _UNDECIDED.search(text)
    shown = neutral(text)[: undecided.start() if undecided else len(text)]
    return shown[:-1] if _WORD.search(shown) else shown


def quoted(text: str) -> str:
    """The text as a quotation in Markdown."""
    return "\n".join(f"> {line}" for line in text.splitlines())


def _in_its_place(sign: str, mark: str) -> str:
    return sign.ljust(len(mark), "\u2060")


def _shown(token: str, names: Mapping[str, str]) -> str:
    target, _, label = token.partition("|")
    match target[:1]:
        case "@":
            return f"@{names.get(target[1:]) or label or target[1:]}"
        case "#":
            return f"#{label or names.get(target[1:]) or target[1:]}"
        case "!":
            return label or f"@{target[1:].partition('^')[0]}"
        case _:
            return _link(target, label)


def _link(target: str, label: str) -> str:
    bare = target.removeprefix("mailto:")
    if not label or label in (bare, bare.partition("://")[2]):
        return bare
    return f"[{label}]({target})"


def _unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
