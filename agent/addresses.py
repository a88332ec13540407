"""Which addresses a call sends out, and which of them somebody other than the bot has written. Pure.

Theory. Who looks an address up tells it to whoever owns it; so an address that a model puts together can carry out
anything that the model knows. An address carries nothing that its reader did not know if it stands, letter for letter,
in what somebody else wrote: the person's messages, those of others, their files, pages and results. The rules decide
about letters and never about what a text means, and whatever they do not know counts as put together.

What is looked at (`addresses_in`)
  Every text at every depth of a call's arguments, names of fields and JSON in texts, too. A text is an address with or
  without a scheme ("https://a.example", "view-source:…", "//a.example", "a.example/b", "10.0.0.5:80"), or prose that
  holds some. Names of files ("notes.txt") and two words with a dot in prose ("node.js") are none.
  Whatever stands in an argument whose name says an address ("host", "baseUrl", "server_name") is one, also a single
  word or a number. Signs that are written out ("%2e", "&period;") are read as what they say, again and again.
  If one argument is an address, the tool may put it together with the others ("host" and "path"), so that each other
  text and number counts like one, except those that the tool's own schema names. They have to stand in one and the
  same text that was read: the host of a page and a word of the person's make an address that nobody wrote.

What counts as read (`AddressesRead`)
  The text that would be sent, as it stands and whole: not a part of a longer address. A scheme may be put before an
  address that stands without one, or be the other one of http and https, and a site's name may end with a slash or be
  in small letters: models write addresses so, and that says nothing. `web_fetch` never sends what follows a "#".
  Texts count in their order: what a call was given before it was read stays unread, as a result may repeat its call's
  arguments. Only the addresses that a search names as found are above that.
  The bot's own texts make no address read: neither its messages, also where a tool finds them again or somebody quotes
  them, nor summaries, facts, profiles and the words of schedules, which a model wrote.
"""

import json
import re
from base64 import b64decode
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv6Address
from typing import Final
from unicodedata import normalize
from urllib.parse import unquote

import regex

from agent.citations import FETCH
from agent.messages import (
    UNSEEN,
    Json,
    JsonObject,
    ResultStatus,
    ToolCall,
    ToolResult,
    is_too_deep,
    normalisable,
    read_references,
)
from agent.progress import Progress

MAX_LINKS: Final = 200  # Addresses that are looked up; a chat shows no more, and each look-up scans the whole context
# Of one call. A call with more counts as put together, as the choice, the order and the number of texts carry data,
# although each of them was read: a page may list a word for each letter. So do texts that stand in others by chance,
# and true, false and null.
MAX_ADDRESSES: Final = 4
MAX_SHORT: Final = 3
SHORT_CHARS: Final = 4
MAX_IPV6_CHARS: Final = 100  # With the name of a zone, or the length of a prefix
MAX_NAME_CHARS: Final = 200  # Of an argument; a longer name is a text
MAX_UNESCAPED: Final = 4  # How often a text is unescaped; one that could be still longer counts as an address
SCHEDULE: Final = "schedule"  # The tool whose argument `check` is a call that will be made later, unasked

_DOT: Final = ".\u3002\uff0e\uff61"  # As names of hosts may have them
# A host is known without a scheme, too, by a last part of letters: messengers make links of those. What stands before
# its first dot may be any sign ("a!.evil.example"), as browsers take such names.
_HOST: Final = re.compile(
    rf"(?<![\w-])(?<![\w-][{_DOT}])(?:0?\d{{1,3}}(?:\.0?\d{{1,3}}){{3}}|(?:[\w-]{{1,63}}[{_DOT}])+(?:[^\W\d_]{{2,63}}|xn--[\w-]+))"
    rf"(?![\w-])"
)
# Anything may follow a scheme (a drive has one letter) or its slashes. Two slashes begin an address, too, and so do
# backslashes.
_SCHEME: Final = re.compile(
    r"(?<![A-Za-z0-9+.-])[A-Za-z0-9+.-]{2,}:[/\\]|(?<![\w:/\\])[/\\]{2,}[\w\[]"
    r"|\b(?i:data|javascript|mailto|sip|sips|tel):\S"
    # An IPv4 address in fewer than four numbers, the last of which is larger than a byte
    r"|(?<![\w.])(?:\d{8,12}|(?:\d{1,4}\.){1,2}(?:\d{4,9}|25[6-9]|2[6-9]\d|[3-9]\d\d)|(?:0[xX][0-9a-fA-F]{1,8}\.){0,3}0[xX][0-9a-fA-F]{1,8})[/?#]"
    r"|(?<![\w.-])(?i:localhost)[:/\\]"
    # An IPv6 address in brackets, also of letters alone
    r"|(?<!\w)\[(?=[^\]:]{0,45}:[^\]:]{0,45}:)[0-9A-Fa-f:.]{2,45}(?:%[^\]\s]{0,30})?\][:/?#]"
)
# Browsers take names with signs and pictures, and many languages write marks on letters and dots between words.
_IN_NAMES: Final = regex.compile("(?V1)[[\\p{M}\\p{S}\\p{Cn}\\p{Co}\u00b7\u05f3\u05f4\u30fb]--[\\x00-\\x7f]]")
_GOES_ON: Final = frozenset("/\\?#:%@")  # After a host in prose: it is an address, and no abbreviation
_WEB: Final = re.compile(r"\Ahttps?://", re.IGNORECASE)
_BREAKS: Final = re.compile(r"[\t\r\n]")  # Programs that read an address leave them out, wherever they stand
# Ends of names of files. Those in the second set are also ends of hosts, so that only "notes.md" is a file.
_FILES: Final = frozenset(
    (
        *("bz2", "cfg", "conf", "cpp", "css", "csv", "dll", "doc", "docx", "env", "exe", "gif", "gz", "html", "htm"),
        *("ini", "ipynb", "java", "jpeg", "jpg", "js", "json", "jsx", "log", "lock", "mp3", "odp", "ods", "odt"),
        *("pdf", "php", "png", "ppt", "pptx", "rb", "rtf", "sql", "svg", "tar", "tgz", "toml", "ts", "tsv", "tsx"),
        *("txt", "wav", "webp", "whl", "xls", "xlsx", "xml", "yaml", "yml"),
    )
)
_FILES_OR_HOSTS: Final = frozenset({"cc", "md", "mov", "pl", "py", "rs", "sh", "so", "zip"})
_BRACKETS: Final = "<>()[]{}\"'`*_.,;!|"


@dataclass(frozen=True, slots=True)
class Leaving:
    """What a call sends. `is_joined`: the tool may put its texts together, so that they count only together."""

    texts: list[str]
    is_joined: bool = False


def addresses_in(call: ToolCall, known: Collection[str] = ()) -> list[str]:
    """Return the texts of a call that have to be compared. `known`: the texts that the tool's schema names."""
    return leaving(call, known).texts


def leaving(call: ToolCall, known: Collection[str] = ()) -> Leaving:
    """As `addresses_in`, and whether the tool may put the texts together."""
    values = _values_sent(call)
    if call.name == FETCH:
        return Leaving([str(value) for value in values])
    values += _parsed(values)
    texts = [text for value in values for text in texts_in(value) if text not in known]
    joined = [text for items in _lists_in(values) if (text := _joined(items))]
    unbroken = [_BREAKS.sub("", text) for text in texts if _BREAKS.search(text) is not None]
    if any(map(_says_address, values)) or any(map(_is_address, (*texts, *joined, *unbroken))):
        return Leaving(texts, is_joined=True)
    return Leaving([address for text in texts for address in _addresses_in_prose(text)])


def carries_by_number(call: ToolCall, addresses: Collection[str]) -> bool:
    """Return whether a call that sends these texts (`addresses_in`) may tell something by their order and number."""
    if not addresses or call.name == FETCH:
        return False
    short = sum(len(text) < SHORT_CHARS for text in addresses) + sum(map(_flags_in, _values_sent(call)))
    return len(addresses) > MAX_ADDRESSES or short > MAX_SHORT


def _flags_in(value: Json) -> int:
    """Return the number of true, false and null at every depth."""
    number, stack = 0, [value]
    while stack:
        match stack.pop():
            case bool() | None:
                number += 1
            case list() as items:
                stack += items
            case dict() as fields:
                stack += fields.values()
            case _:
                pass
    return number


def _values_sent(call: ToolCall) -> list[Json]:
    if call.name == FETCH:
        return [str(call.args.get("url", ""))]
    if call.name != SCHEDULE:
        return [dict(call.args)]
    check = call.args.get("check")
    return [check] if check is not None else []


def texts_of_schema(schema: JsonObject) -> frozenset[str]:
    """Return the texts that a tool's schema names: its fields, and the values among which a call chooses."""
    return frozenset(texts_in({name: value for name, value in schema.items() if name != "description"}))


def texts_in(value: Json) -> Iterator[str]:
    """Yield the texts and numbers at every depth, in order, also names of fields."""
    stack: list[Json] = [value]  # no recursion, as the depth is foreign
    while stack:
        match stack.pop():
            case str(text):
                if text.strip():
                    yield text.strip()
            case bool() | None:
                pass
            case int() | float() as number:
                yield json.dumps(number)
            case list() as items:
                stack += reversed(items)
            case dict() as fields:
                stack += [part for name, item in reversed(fields.items()) for part in (item, name)]


def _parsed(values: Sequence[Json]) -> list[Json]:
    """Return the arrays and objects that texts at any depth hold as JSON, up to MAX_UNESCAPED in one another."""
    found, last = list[Json](), [*values]
    for _ in range(MAX_UNESCAPED):
        last = [value for text in _json_texts(last) if isinstance(value := _json_of(text), list | dict)]
        found += last
    return found


def _json_texts(values: Sequence[Json]) -> list[str]:
    return [text for value in values for text in texts_in(value) if text[:1] in "[{" and text[-1:] in "]}"]


def _json_of(text: str) -> Json:
    try:
        return None if is_too_deep(text) else json.loads(text)
    except ValueError:
        return None


def _lists_in(values: Sequence[Json]) -> Iterator[list[Json]]:
    stack = [*values]
    while stack:
        match stack.pop():
            case list() as items:
                yield items
                stack += items
            case dict() as fields:
                stack += fields.values()
            case _:
                pass


# A word in the name of an argument that holds an address, or the end of a name in one word ("baseurl").
_ADDRESS_WORDS: Final = frozenset(
    (
        *("host", "hostname", "url", "uri", "href", "link", "domain", "subdomain", "fqdn", "tld", "netloc", "address"),
        *("addr", "ip", "ipv", "endpoint", "server", "nameserver", "resolver", "site", "website", "webhook", "proxy"),
        *("port", "callback", "dsn", "redirect", "referer", "referrer", "broker", "upstream"),
    )
)
_NAME_WORDS: Final = re.compile(r"[A-Z]+s?(?![a-z])|[A-Z]?[a-z]+")
_ADDRESS_END: Final = re.compile(r"(?:url|uri|host|hostname|domain|endpoint|webhook|address|website)s?\Z")
_NAME_FIELDS: Final = frozenset({"name", "key", "field", "header", "param", "parameter", "argument", "option"})


def _says_address(value: Json) -> bool:
    """Return whether a name at any depth says that an address stands behind it, and a text or a number does."""
    stack: list[Json] = [value]
    while stack:
        match stack.pop():
            case list() as items:
                stack += items
            case dict() as fields:
                named = [name for key, name in fields.items() if key.lower() in _NAME_FIELDS and isinstance(name, str)]
                held = [item for name, item in fields.items() if _is_name_of_address(name)]
                if any(map(_is_name_of_address, named)) or any(_has_text(item) for item in held):
                    return True
                stack += fields.values()
            case _:
                pass
    return False


def _has_text(value: Json) -> bool:
    return next(texts_in(value), None) is not None


def _is_name_of_address(name: str) -> bool:
    if len(name) > MAX_NAME_CHARS:
        return False
    words = [word.lower() for word in _NAME_WORDS.findall(name)]
    return any(
        word.removesuffix("es") in _ADDRESS_WORDS or word.removesuffix("s") in _ADDRESS_WORDS for word in words
    ) or (_ADDRESS_END.search(name.lower()) is not None)


def _joined(items: Sequence[Json]) -> str:
    """Return a list's texts as one, as a tool may put an address together from them; "" for fewer than two."""
    texts = [item for item in items if isinstance(item, str)]
    return "".join(texts) if len(texts) > 1 else ""


def _seen(text: str) -> str:
    """Return a text as programs may read it that take it for an address: without what is unseen, in plain letters, and
    with an x for what is no letter and may yet stand in the name of a host.
    """
    return text if text.isascii() else _IN_NAMES.sub("x", normalize("NFKC", normalisable(UNSEEN.sub("", text))))


def _readings(text: str) -> list[str]:
    """Return a text as programs may read it: as it stands, and with signs that are written out."""
    seen = _seen(text)
    plain = _unescaped(seen)
    if plain == seen:
        return [seen]
    for _ in range(MAX_UNESCAPED):
        before, plain = plain, _seen(_unescaped(plain))
        if plain == before:
            return [seen, _BREAKS.sub("", plain)]
    return [seen, "https://"]  # nobody writes a text so but to hide it


def _is_address(text: str) -> bool:
    """Return whether the whole text is an address, or begins with one: what follows a blank may be sent with it."""
    return any(map(_reads_as_address, _readings(text)))


def _reads_as_address(text: str) -> bool:
    first, *rest = text.split(maxsplit=1) or [""]
    if not rest:
        return _SCHEME.search(first) is not None or _is_ipv6(first) or any(not _is_file(host) for host in _hosts(first))
    host = _HOST.match(first)
    return _SCHEME.match(first) is not None or (host is not None and first[host.end() :][:1] in _GOES_ON - {":"})


def _addresses_in_prose(text: str) -> Iterator[str]:
    """Yield the words of a text that are addresses."""
    for word in text.split():
        bare = word.strip(_BRACKETS)
        if any(map(_holds_address, (*_readings(bare), *(_readings(word) if "[" in word else ())))):
            yield bare


def _holds_address(word: str) -> bool:
    hosts = (host for host in _hosts(word) if not _is_file(host))
    return _SCHEME.search(word) is not None or _is_ipv6(word) or any(_is_certain(host, word) for host in hosts)


def _is_ipv6(word: str) -> bool:
    """Return whether a word is an IPv6 address without brackets. Those of the internet and of networks hold a digit, so
    that names with two colons ("std::vector", "dead::beef") are none.
    """
    if word.count(":") < 2 or len(word) > MAX_IPV6_CHARS or not any(map(str.isdigit, word)):
        return False
    try:
        IPv6Address(word.partition("/")[0])
    except ValueError:
        return False
    return True


def hosts_in(text: str) -> list[str]:
    """Return each word of a text that may be an address, also "node.js" and "notes.zip": for words that will count as
    read later, and for links.
    """
    words = (word.strip(_BRACKETS) for word in text.split())
    return [word for word in words if any(map(_may_hold_address, _readings(word)))]


def _may_hold_address(word: str) -> bool:
    return _SCHEME.search(word) is not None or _is_ipv6(word) or not all(map(_is_only_file, _hosts(word)))


def _hosts(word: str) -> Iterator["re.Match[str]"]:
    """Yield what may be a host: what follows a single slash is a part of a path."""
    for host in _HOST.finditer(word):
        before = word[max(0, host.start() - 2) : host.start()]
        if not before.endswith(("/", "\\")) or (len(before) > 1 and before[0] in "/\\"):
            yield host


def _is_certain(host: "re.Match[str]", word: str) -> bool:
    goes_on = word[host.end() : host.end() + 1]
    before = word[max(0, host.start() - 2) : host.start()]
    is_longer = before[1:] in {*_DOT} and before[0] not in _DOT  # by a part that ends with another sign
    return is_longer or bool(goes_on and goes_on in _GOES_ON) or sum(map(host[0].count, _DOT)) > 1


def _is_only_file(host: "re.Match[str]") -> bool:
    """As `_is_file`, but not for a name that may be a host, too ("notes.zip")."""
    return _is_file(host) and _DOTS.split(host[0].casefold())[-1] in _FILES


def _is_file(host: "re.Match[str]") -> bool:
    """Return whether it is the name of a file and nothing that is sent follows it."""
    if host.string[host.end() : host.end() + 1] in _GOES_ON - {":"} and host.end() < len(host.string):
        return False
    parts = _DOTS.split(host[0].casefold())
    return parts[-1] in _FILES or (len(parts) == 2 and parts[-1] in _FILES_OR_HOSTS)


@dataclass(slots=True)
class _Given:
    """What calls were given. Both forms are made when they are first needed: most calls name nothing that is sent."""

    text: str
    _plain: str | None = None
    _letters: str | None = None

    @property
    def plain(self) -> str:
        if self._plain is None:
            self._plain = self.text.casefold()
        return self._plain

    @property
    def letters(self) -> str:
        if self._letters is None:
            self._letters = _given_letters(self.text)
        return self._letters


@dataclass(slots=True)
class AddressesRead:
    """The addresses that a turn has read. The answer for an address never changes, because texts only come after."""

    _texts: list[str | _Given] = field(default_factory=list[str | _Given])
    """Texts that were read, and what calls were given, in order."""
    _found: set[str] = field(default_factory=set[str])
    _answers: dict[str, bool] = field(default_factory=dict[str, bool])

    def read(self, texts: Iterable[str]) -> None:
        """Add texts that others than the bot wrote."""
        self._texts += texts

    def read_result(self, result: ToolResult) -> None:
        """Add a result. What a search found counts as read although its question may name parts of it."""
        self.read(result.read_texts)
        self._found.update(reference.address for reference in result.references if not reference.is_read)

    def give(self, calls: Iterable[ToolCall]) -> None:
        """Add calls before their results."""
        self._texts += (_Given("\n".join(texts_in(dict(call.args)))) for call in calls)

    def __call__(self, address: str) -> bool:
        """Return whether the address was read exactly so."""
        if address not in self._answers:
            if len(self._answers) >= MAX_LINKS:
                return False
            places = self._read_first(address, address, [address])
            self._answers[address] = next(places, None) is not None
        return self._answers[address]

    def may_leave(self, text: str, *, fetched: bool = False) -> bool:
        """Return whether a text that would be sent carries no added data. `fetched`: by `web_fetch`."""
        text = text.strip()
        if fetched:
            text = text.partition("#")[0]
        return not text or next(self._places_of(text, fetched=fetched), None) is not None

    def may_leave_together(self, texts: Iterable[str]) -> bool:
        """Return whether all that would be sent at once stands in one text that was read."""
        common: set[int] | None = None
        for text in filter(None, map(str.strip, texts)):
            places = {*self._places_of(text)}
            common = places if common is None else common & places
        return common is None or bool(common)

    def _places_of(self, text: str, *, fetched: bool = False) -> Iterator[int]:
        """Yield the texts that hold what would be sent, each by its place in their order."""
        if not text.strip("/"):
            return
        bare = _WEB.sub("", text)
        forms = [text, *([bare] if bare != text else [])]
        site = bare.removesuffix("/")
        if _HOST.fullmatch(site) is not None:
            forms = [text, bare, site, site.removeprefix("www.")]
            if fetched or site.islower():  # the case of a name that is fetched is not sent
                forms = [form.lower() for form in forms]
                yield from self._read_first(text, site.lower(), forms, lower=True, fetched=fetched)
                return
        yield from self._read_first(text, bare, forms, fetched=fetched)

    def _read_first(
        self, sent: str, address: str, forms: Collection[str], *, lower: bool = False, fetched: bool = False
    ) -> Iterator[int]:
        """Yield the texts that hold a form of the address and were read before a call was given its letters."""
        core, host, rest = _core(address)
        is_found = sent in self._found
        for place, text in enumerate(self._texts):
            if isinstance(text, _Given):
                if not is_found and _is_given(text, address, core, host, rest):
                    return
            elif any(_stands_whole(form, text.lower() if lower else text, fetched=fetched) for form in forms):
                yield place
        if is_found:
            yield len(self._texts)


MIN_CORE: Final = 8  # Letters and digits of an address; fewer stand in texts by chance


def _core(address: str) -> tuple[str, str, str]:
    """Return the letters and digits of an address, of its host and of the rest: a result may repeat what its call was
    given in other case, put together from two arguments, or with escapes written out.
    """
    bare = _WEB.sub("", address)
    host, slash, rest = bare.partition("/")
    return _folded(bare), _folded(host), _folded(rest) if slash else ""


def _folded(text: str) -> str:
    return "".join(filter(str.isalnum, _unescaped(text).casefold()))


# As programs write characters out: JSON, Python and C, and mail.
_ESCAPE: Final = re.compile(r"\\{1,4}u\{?(?:00)?([0-9A-Fa-f]{2})\}?|\\{1,4}x([0-9A-Fa-f]{2})|=([0-9A-F]{2})")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX: Final = re.compile(r"(?:[0-9A-Fa-f]{2}){8,}")


def _unescaped(text: str) -> str:
    text = _ESCAPE.sub(lambda escape: chr(int(escape[1] or escape[2] or escape[3], 16)), text)
    return read_references(unquote(unquote(text)))


def _given_letters(given: str) -> str:
    """Return the letters and digits of what a call was given, and of what its words in base64 or hexadecimal say."""
    decoded = [_from_base64(word) for word in _BASE64.findall(given)]
    decoded += [bytes.fromhex(word).decode("latin-1") for word in _HEX.findall(given)]
    return " ".join(map(_folded, (given, *filter(None, decoded))))


def _from_base64(word: str) -> str:
    bare = word.rstrip("=").translate(_URL_SAFE)
    try:
        return b64decode(bare + "=" * (-len(bare) % 4)).decode("ascii")
    except ValueError:
        return ""  # a word of another kind


_URL_SAFE: Final = str.maketrans("-_", "+/")


def _is_given(given: _Given, address: str, core: str, host: str, rest: str) -> bool:
    if address.casefold() in given.plain:
        return True
    if len(core) < MIN_CORE:
        return False
    return core in given.letters or (bool(rest) and host in given.letters and rest in given.letters)


_BEFORE: Final = re.compile(rf"[\w{_DOT}@%~-]")
_DOTS: Final = re.compile(f"[{_DOT}]")
_BEFORE_BARE: Final = re.compile(r"(?<![A-Za-z0-9+.-])https?://\Z", re.IGNORECASE)
# What may end a sentence or close a bracket: an address goes on only if more of it follows.
_SOFT: Final = frozenset(".,;:!?)]}*_")
_HARD: Final = frozenset("%~=&+@/?#-($![")


def _stands_whole(address: str, text: str, *, fetched: bool) -> bool:
    """Return whether the text holds the address other than as a part of a longer one."""
    at = text.find(address)
    while at >= 0:
        if _begins(address, text, at) and _ends(address, text, at + len(address), fetched=fetched):
            return True
        at = text.find(address, at + 1)
    return False


def _begins(address: str, text: str, at: int) -> bool:
    before = text[at - 1 : at]
    if not before or not address[0].isalnum():
        return True
    if _BEFORE.match(before):
        return False
    if before not in "/\\:" or _WEB.match(address):
        return True
    return _BEFORE_BARE.search(text[max(0, at - 9) : at]) is not None


def _ends(address: str, text: str, end: int, *, fetched: bool) -> bool:
    is_site = _HOST.fullmatch(_WEB.sub("", address)) is not None
    if is_site and text[end : end + 1] == "/":
        end += 1
    for at in range(end, min(len(text), end + 20)):
        char = text[at]
        if char in _SOFT:
            if text.startswith(("http://", "https://"), at + 1):
                return True
            continue
        return (char == "#" and fetched) or not (char in _HARD or (char.isascii() and char.isalnum()))
    return len(text) <= end + 20


def addresses_read(progress: Progress, texts: Iterable[str]) -> AddressesRead:
    """Return the addresses that a turn has read. `texts`: those of its context that others than the bot wrote."""
    addresses = AddressesRead()
    addresses.read(texts)
    for step in progress.steps:
        addresses.give(step.calls)
        for inner in step.inner:
            addresses.give([inner.call])
            if inner.result.status is ResultStatus.SUCCESS:
                addresses.read_result(inner.result)
        for result in step.results:
            if result is not None and result.status is ResultStatus.SUCCESS:
                addresses.read_result(result)
        addresses.read(message.text for message in step.joined if message.own)
    return addresses
