"""Faults of requests to a model, and the sentence for each that says what to do. Pure.

Rules. A sentence names the setting to change or the step to take; persons who cannot change settings receive another
sentence. It never contains a key or the vendor's text, which may repeat the question. That text is passed separately,
shortened and without the key, for those who may read it.
"""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Protocol, TypeAlias

from agent import texts
from agent.certificates import certificate_sentence
from agent.errors import (
    ContextTooLong,
    KeyTrouble,
    ProviderError,
    ProviderRefused,
    ProviderSilent,
    ProviderUnavailable,
    StreamBroken,
)
from agent.providers.bedrock_refusals import BedrockRefusal, bedrock_sentence
from agent.providers.catalog import BEDROCK, Endpoint, KnownRefusal
from agent.providers.wire import as_list, as_object, as_text, parse_json

QUOTE_CHARS = 200  # The limit of the quoted text of a vendor


class FaultKind(StrEnum):
    UNREACHABLE = "unreachable"
    """No connection: refused, unknown host, failed TLS."""
    UNTRUSTED = "untrusted"
    """No connection, because the certificate was not accepted; `message` says why."""
    SLOW = "slow"
    """Connected, but no data for too long."""
    CUT = "cut"
    """The connection was lost before the end of the answer. The model may have worked on it."""
    EMPTY = "empty"
    """The response was good, and had nothing in it."""
    UNREADABLE = "unreadable"
    """The response is not an answer of a model."""
    ANSWERED = "answered"
    """The service reported an error, by status or by an error object in the stream."""
    NO_CREDENTIALS = "no_credentials"
    """Nothing was sent, because there are no credentials now; `message` is the sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed request. `status` is the HTTP status, or the one that an error object implies; 0 if there is none.

    `retry_after_s` and `should_retry` are what the service asked for, or None. `waited_s`: how long no data came.
    `renewed`: the credentials were refused, and there are others now, with which the request is sent again at once.
    """

    kind: FaultKind
    status: int = 0
    code: str = ""
    param: str = ""
    message: str = ""
    retry_after_s: float | None = None
    should_retry: bool | None = None
    waited_s: float = 0.0
    renewed: bool = False

    @property
    def bad_request(self) -> bool:
        return self.status in {400, 422}

    def names_field(self, field: str) -> bool:
        return self.bad_request and (self.param.startswith(field) or field in self.message)

    def mentions(self, *words: str) -> bool:
        """Return whether the service's message contains any of these words, which must be in lower case."""
        return any(word in self.message.lower() for word in words)

    @property
    def of_pictures(self) -> bool:
        """Whether a picture may be the reason: any refusal of the request that names no other one.

        Servers without support for pictures refuse them with various statuses and in any words.
        """
        if self.mentions("image", "picture", "content must be a string"):
            return self.status not in RETRIED
        is_other = self.bad_key or self.no_credit or (self.too_long and self.status != 413)
        return 400 <= self.status < 500 and self.status not in {*RETRIED, 402} and not is_other

    @property
    def bad_key(self) -> bool:
        refused = self.bad_request and self.mentions("incorrect api key")
        disabled = self.status == 403 and _DISABLED_KEY.search(self.message[:SEARCHED_CHARS]) is not None
        return self.status == 401 or self.code == "API_KEY_INVALID" or refused or disabled

    @property
    def no_credit(self) -> bool:
        words = f"{self.code} {self.message}".lower()
        return self.status == 402 or "insufficient_quota" in words or "credit balance" in words

    @property
    def key_trouble(self) -> KeyTrouble | None:
        """What is wrong with the key that was sent; None if the fault has another cause."""
        # In this order: services report an empty account with the status of a wrong key or of a limit.
        if self.no_credit:
            return KeyTrouble.NO_CREDIT
        if self.bad_key:
            return KeyTrouble.REFUSED
        return KeyTrouble.LIMITED if self.status == 429 else None

    @property
    def of_free_tier(self) -> bool:
        """Whether the request was limited by a free plan."""
        return self.status == 429 and self.mentions("free_tier", "freetier", "free-models-per-")

    @property
    def model_unknown(self) -> bool:
        if self.code == "model_not_found" or (self.bad_request and self.mentions("invalid model", "not a valid model")):
            return True
        if self.code == "DeploymentNotFound":
            return True
        return self.status == 404 and self.mentions("model")

    @property
    def too_long(self) -> bool:
        """Whether the service says that the prompt does not fit into the model's context."""
        if self.status in {401, 402, 403, 429}:
            return False
        return self.status == 413 or _TOO_LONG.search(f"{self.code} {self.message}"[:SEARCHED_CHARS]) is not None

    @property
    def of_memory(self) -> bool:
        """Whether the machine of a local server has too little memory for the model: asking again does not help.

        In the words of Ollama and llama.cpp: a vendor whose machine is short of memory may answer the next time.
        """
        return self.status >= 500 and self.mentions("more system memory", "cudamalloc failed")

    @property
    def is_unexplained(self) -> bool:
        """Whether the request was refused for no reason that is known here."""
        known = self.bad_key or self.no_credit or self.model_unknown or self.too_long
        return self.kind is FaultKind.ANSWERED and self.bad_request and not known


SEARCHED_CHARS = 4_000  # A message is short; a server that repeats the whole prompt puts its reason first

# What vendors say with a 403 of a key itself, and not of what it may do. The last two are Amazon Bedrock's.
_BAD = r"\b(?:not valid|invalid|incorrect|leaked|revoked|expired|disabled|deactivated|deleted|blocked)\b"
_DISABLED_KEY = re.compile(
    rf"\bkey\b[^.;\n]{{0,60}}?{_BAD}|{_BAD}[^.;\n]{{0,30}}?\bkey\b"
    r"|make sure your api key is valid|bearer token has expired",
    re.IGNORECASE,
)

# What vendors and servers say of a prompt that is too long. They agree on no code and no status, but all of them name
# the thing that is measured, and near it that it is too large. A limit on the answer (`max_tokens`) has other words.
_TOO_LARGE = (
    r"(?:too (?:long|large|many)|exceed\w*|longer than|greater than|overflow\w*|larger than|surpass\w*"
    r"|reduce the (?:length|size|number)|cannot fit|does(?: not|n't) fit)"
)
# The thing measured and "too large" stand in either order, near each other and within one sentence.
_TOO_LONG = re.compile(
    rf"context[ _-]?(?:length|window|size|limit)|too many (?:input |prompt )?tokens|exceed_context|tokens_limit_reached"
    rf"|maximum (?:prompt|input|model|context) length|model token limit|request (?:body )?too large"
    rf"|\b(?:prompt|input|context|messages|conversation)\b[^.;\n]{{0,80}}?\b{_TOO_LARGE}"
    rf"|\b{_TOO_LARGE}\b[^.;\n]{{0,40}}?\b(?:prompt|input|context|messages|conversation)\b"
    r"|(?<!completion )(?<!output )\btokens?\b[^.;\n]{0,40}?\bexceed(?:s|ed)?\b"
    r"|sequence length|\bcontext (?:is full|shift)|\bkv[ -]cache\b"
    # Ollama leaves out what does not fit, with it the question, and its template misses that then.
    r"|no user query found"
    rf"|`?inputs`?[^.;\n]{{0,60}}must (?:be <=|have less than)|range of input length|超长|过长|超出|超过",
    re.IGNORECASE,
)

_STATUS_OF = {
    "insufficient_quota": 429,
    "billing": 402,
    "rate_limit": 429,
    "resource_exhausted": 429,
    "overloaded": 529,
    "unavailable": 503,
    "deadline_exceeded": 504,
    "authentication": 401,
    "unauthenticated": 401,
    "permission": 403,
    "not_found": 404,
    "invalid": 400,
    "context_length": 400,
}


def read_fault(status: int, body: bytes) -> Fault:
    """Read the response to a failed request. A body of unknown form is used as the message."""
    text = body.decode("utf-8", "replace").strip()
    value = parse_json(text)
    fault = read_error(text if value is None else value, status)
    return replace(fault, message="" if text.startswith("<") else fault.message or text)


def read_error(error: object, status: int = 0) -> Fault:
    """Read an error object of any form. A stream has no status: it is derived from code and type, else 500.

    Gateways wrap the error of the service behind them, as an object or as its JSON text. The inner one says more.
    """
    layers = list(_layers(error))
    names = [name for layer in reversed(layers) for name in _names(layer)]
    details = [as_object(detail) for layer in layers for detail in as_list(layer.get("details"))]
    if not status:
        numbers = (number for layer in layers for number in map(_status, map(layer.get, _STATUS_FIELDS)) if number)
        words = " ".join(names).lower()
        named = (number for word, number in _STATUS_OF.items() if word in words)
        status = next(numbers, 0) or next(named, 500)
    return Fault(
        FaultKind.ANSWERED,
        status,
        code=next(filter(None, names), ""),
        param=next((param for layer in reversed(layers) if (param := _param(layer))), ""),
        message=next((message for layer in reversed(layers) if (message := _message(layer))), ""),
        retry_after_s=next(filter(None, map(_retry_delay_s, details)), None),
    )


MAX_LAYERS = 6  # Of wrapped errors: a gateway behind a gateway has three

_STATUS_FIELDS = ("code", "status", "status_code", "error_code")
_NAME_FIELDS = ("code", "type", "error_code", "error_type", "__type", "status", "reason")
_MESSAGE_FIELDS = (
    "message",
    "msg",
    "error_msg",
    "error_message",
    "status_msg",
    "Message",
    "detail",
    "error_description",
)
_INNER_FIELDS = ("error", "errors", "innererror", "inner_error", "base_resp", "detail", "cause", "message", "msg")


def _layers(error: object) -> Iterator[dict[str, object]]:
    """Yield the error object and those that it wraps, outermost first. A text that is no JSON is its own message."""
    for _ in range(MAX_LAYERS):
        if not (fields := _object_in(error)):
            if message := as_text(error):
                yield {"message": message}
            return
        yield fields
        inner = [as_object(fields.get("metadata")).get("raw"), *map(fields.get, _INNER_FIELDS)]
        error = next(filter(_object_in, inner), None)


def _object_in(value: object) -> dict[str, object]:
    """Return the object, the first of a list, or the one that a JSON text has; else an empty one."""
    if isinstance(value, str):
        value = parse_json(value) if value.lstrip()[:1] in {"{", "["} else None
    return as_object(next(iter(as_list(value)), value))


def _names(layer: Mapping[str, object]) -> list[str]:
    details = [as_text(as_object(detail).get("reason")) for detail in as_list(layer.get("details"))]
    code, kind, *others = (as_text(layer.get(name)) for name in _NAME_FIELDS)
    return [code, kind, *details, *others]


def _status(value: object) -> int:
    number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) == 3 else value
    return number if isinstance(number, int) and 400 <= number <= 599 else 0


def _param(layer: Mapping[str, object]) -> str:
    """Return the field that an error names: `param`, or the path of a server that checks the request by a schema."""
    path = [as_text(step) for step in as_list(layer.get("loc"))]
    return as_text(layer.get("param")) or ".".join(step for step in path if step not in {"", "body"})


def _message(layer: Mapping[str, object]) -> str:
    texts_of = (as_text(layer.get(name)) for name in _MESSAGE_FIELDS)
    return next((text for text in texts_of if text and not _object_in(text)), "")


def _retry_delay_s(detail: Mapping[str, object]) -> float | None:
    """Return the delay of Google's RetryInfo ("3.5s"), or None."""
    try:
        seconds = float(as_text(detail.get("retryDelay")).removesuffix("s"))
    except ValueError:
        return None
    return seconds if 0 <= seconds < math.inf else None


# A prompt of about a thousand tokens, half of the smallest context that local servers are started with. If a larger one
# is refused without a known reason, its length may be the reason.
LARGE_PROMPT_CHARS = 4_000


class HidingCredentials(Protocol):
    """Credentials that are no fixed key: see `agent.providers.credentials`."""

    def hide(self, text: str) -> str:
        """Return a service's text without their secrets."""
        ...


AnyKey: TypeAlias = str | HidingCredentials | None


def provider_error(
    fault: Fault, endpoint: Endpoint, model: str, key: AnyKey, *, begun: bool, prompt_chars: int = 0
) -> ProviderError:
    """Return the error to raise: StreamBroken if the answer had begun, else refused, unavailable or silent.

    `prompt_chars` is the length of the prompt: see `ContextTooLong.stated`.
    """
    error = _error_of(fault, endpoint, model, key, begun=begun, prompt_chars=prompt_chars)
    error.key_trouble, error.retry_after_s = fault.key_trouble, fault.retry_after_s or 0.0
    return error


def _error_of(
    fault: Fault, endpoint: Endpoint, model: str, key: AnyKey, *, begun: bool, prompt_chars: int
) -> ProviderError:
    if begun:
        return StreamBroken(texts.ANSWER_BROKE_OFF.format(label=endpoint.label, why=_why(fault)))
    match fault.kind:
        case FaultKind.UNREACHABLE:
            sentence = texts.UNREACHABLE.format(
                label=endpoint.label, address=endpoint.address, remedy=_remedy(endpoint)
            )
            return ProviderUnavailable(sentence, person=texts.ASK_OPERATOR)
        case FaultKind.UNTRUSTED:
            sentence = certificate_sentence(fault.message, endpoint.label, endpoint.address)
            return ProviderUnavailable(sentence, person=texts.ASK_OPERATOR)
        case FaultKind.SLOW:
            late = f"{endpoint.label} did not start to answer{_within(fault)}; ask again later"
            return ProviderSilent(texts.OR_FASTER_MODEL.format(late=late), person=f"{late}.")
        case FaultKind.CUT:
            return ProviderSilent(texts.CLOSED_CONNECTION.format(label=endpoint.label))
        case FaultKind.EMPTY:
            sentence = texts.EMPTY_REPLY.format(label=endpoint.label)
            check = texts.IF_IT_STAYS_EMPTY.format(
                sentence=sentence, address=endpoint.address, setting=_setting(endpoint)
            )
            return ProviderUnavailable(check, person=f"{sentence}.")
        case FaultKind.UNREADABLE:
            return ProviderRefused(
                texts.NO_STREAM.format(address=endpoint.address, setting=_setting(endpoint)),
                person=texts.ASK_OPERATOR,
            )
        case FaultKind.NO_CREDENTIALS:
            return ProviderUnavailable(fault.message, person=texts.ASK_OPERATOR)
        case FaultKind.ANSWERED:
            return _service_error(fault, endpoint, model, key, prompt_chars)


def _service_error(fault: Fault, endpoint: Endpoint, model: str, key: AnyKey, prompt_chars: int) -> ProviderError:
    label, status = endpoint.label, fault.status
    if (known := _known_refusal(fault, endpoint, key)) is not None:
        setting = endpoint.key_setting
        said = {"label": label, "status": status, "model": endpoint.name_for(model), "address": endpoint.address}
        return ProviderRefused(known.sentence.format(**said, setting=setting), person=known.person)
    if (misconfiguration := _configuration_error(fault, endpoint, model, key)) is not None:
        return ProviderRefused(misconfiguration, person=texts.ASK_OPERATOR)
    if fault.too_long:
        too_long = texts.QUESTION_TOO_LONG.format(model=model)
        too_small = texts.CONTEXT_TOO_SMALL.format(model=model, remedy=endpoint.widen)
        return ContextTooLong(too_small if endpoint.widen else too_long, person=too_long)
    if status == 429:
        limited = texts.RATE_LIMITED.format(label=label, status=status, later=_later(fault))
        note = texts.FREE_TIER if fault.of_free_tier else endpoint.on_limit
        return ProviderUnavailable(f"{limited} {note}" if note else limited, person=limited)
    if status in {408, 409} or status >= 500:
        return ProviderUnavailable(texts.SERVER_PROBLEM.format(label=label, status=status, later=_later(fault)))
    refused, quoted = texts.REQUEST_REFUSED.format(label=label, status=status), _quoted(fault, key)
    if fault.is_unexplained and prompt_chars >= LARGE_PROMPT_CHARS:
        return ContextTooLong(refused, quoted=quoted, person=texts.QUESTION_REFUSED, stated=False)
    return ProviderRefused(refused, quoted=quoted, person=texts.QUESTION_REFUSED)


def _known_refusal(fault: Fault, endpoint: Endpoint, key: AnyKey) -> KnownRefusal | None:
    is_fixed = isinstance(key, str)
    text = f"{fault.code} {fault.message}"[:SEARCHED_CHARS].lower()
    for known in endpoint.refusals:
        fits = known.with_key is None or known.with_key is is_fixed
        if fits and fault.status in known.statuses and (not known.words or any(word in text for word in known.words)):
            return known
    return None


def _configuration_error(fault: Fault, endpoint: Endpoint, model: str, key: AnyKey) -> str | None:
    """Return the sentence for a fault that the operator has to correct, or None for other faults."""
    label, status = endpoint.label, fault.status
    setting = endpoint.key_setting or "COGENCY_MODEL"
    if endpoint.name == BEDROCK.name:
        is_signed = not isinstance(key, str)
        refusal = BedrockRefusal(status, fault.code, fault.message, model, endpoint.region, signed=is_signed)
        if (sentence := bedrock_sentence(refusal)) is not None:
            return sentence
    # Before the key: services answer 401, 402, 403 or 429 where the account is empty, and say so only in the text.
    if fault.no_credit:
        return texts.NO_CREDIT.format(label=label)
    # Without a key a 403 means the missing key; with one, the account's rights.
    if fault.bad_key or (status == 403 and not key):
        return texts.KEY_REFUSED.format(label=label, status=status, setting=setting) if key else _no_key(endpoint)
    if status == 403:
        return texts.NOT_PERMITTED.format(label=label, status=status, setting=setting)
    # A prompt that is too long is the turn's fault, though some services answer 404 for the model then.
    if fault.too_long:
        return None
    if fault.of_memory and endpoint.is_self_hosted:
        return texts.NO_MEMORY.format(label=label, model=model)
    if fault.model_unknown:
        fetch = f"{endpoint.fetch.format(model=model)}, or " if endpoint.fetch else ""
        return texts.MODEL_UNKNOWN.format(label=label, model=model, fetch=fetch)
    if status == 404 or status < 400:
        return texts.NO_MODEL_SERVED.format(address=endpoint.address, status=status, setting=_setting(endpoint))
    return None


def _setting(endpoint: Endpoint) -> str:
    """Return the setting that decides where the requests go."""
    return endpoint.url_setting or "COGENCY_MODEL"


def _no_key(endpoint: Endpoint) -> str:
    return texts.KEY_NEEDED.format(label=endpoint.label, setting=endpoint.key_setting or "OPENAI_API_KEY")


def _remedy(endpoint: Endpoint) -> str:
    if endpoint.start:
        return f"{endpoint.start}, or set {endpoint.url_setting}"
    return f"check the network{f' and {endpoint.url_setting}' if endpoint.url_setting else ''}"


def _why(fault: Fault) -> str:
    match fault.kind:
        case FaultKind.SLOW:
            return f", because nothing more came{_seconds(fault)}"
        case FaultKind.ANSWERED:
            return f" with an error ({fault.status})"
        case (
            FaultKind.CUT
            | FaultKind.UNREACHABLE
            | FaultKind.UNTRUSTED
            | FaultKind.EMPTY
            | FaultKind.UNREADABLE
            | FaultKind.NO_CREDENTIALS
        ):
            return ""


def _seconds(fault: Fault) -> str:
    return f" for {fault.waited_s:g} s" if fault.waited_s else ""


def _within(fault: Fault) -> str:
    return f" within {fault.waited_s:g} s" if fault.waited_s else ""


def _later(fault: Fault) -> str:
    return f" in {fault.retry_after_s:.0f} s" if fault.retry_after_s and fault.retry_after_s >= 1 else " in a moment"


def _quoted(fault: Fault, key: AnyKey) -> str:
    words = " ".join(fault.message.split())
    if key:
        words = words.replace(key, "…") if isinstance(key, str) else key.hide(words)
    quote = words[:QUOTE_CHARS].rstrip(" .")
    return f"{quote}…" if len(words) > QUOTE_CHARS else quote


# The retry policy. Pure: randomness and the time are arguments.
#
# Rules. A request is retried only before the first event: a visible answer is never restarted. It is retried only if
# the service did not work on it: it was refused, or there was no connection. After any other failure the request may be
# running, and the person decides. The service's wishes (`retry-after`, `x-should-retry`) are followed; if the delay is
# longer than our limit, there is no retry.

RETRIED = frozenset({408, 409, 429})


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    max_retries: int = 2
    """The number of the vendors' own clients."""
    first_delay_s: float = 0.5
    max_delay_s: float = 8.0
    max_total_wait_s: float = 30.0
    """After a longer delay a person prefers an error."""
    jitter: float = 0.25
    """The share of a delay that is random, so that many clients do not retry at the same time."""
    waits_for_limits: bool = True
    """Whether a rate limit is waited for. Not where another key can be used at once."""

    def delay_s(self, fault: Fault, retries: int, waited_s: float, chance: float) -> float | None:
        """Return the seconds until the next attempt, or None for no further one.

        `retries` and `waited_s` are the retries and the delays so far; `chance` is a random number in [0, 1).
        """
        if retries >= self.max_retries or not _is_retryable(fault):
            return None
        if fault.key_trouble is KeyTrouble.LIMITED and not self.waits_for_limits:
            return None
        delay = fault.retry_after_s
        if delay is None:
            delay = min(self.first_delay_s * 2**retries, self.max_delay_s) * (1 - self.jitter * chance)
        return delay if waited_s + delay <= self.max_total_wait_s else None


def _is_retryable(fault: Fault) -> bool:
    match fault.kind:
        case FaultKind.ANSWERED if fault.should_retry is not None:
            return fault.should_retry
        case FaultKind.ANSWERED:
            is_lasting = fault.no_credit or fault.too_long or fault.of_memory
            return (fault.status in RETRIED or fault.status >= 500) and not is_lasting
        case FaultKind.UNREACHABLE:
            return fault.should_retry is True
        case FaultKind.EMPTY:
            return True  # the reply is over, so nothing works on the question any more
        case FaultKind.UNTRUSTED | FaultKind.SLOW | FaultKind.CUT | FaultKind.UNREADABLE | FaultKind.NO_CREDENTIALS:
            return False


def should_retry(headers: Mapping[str, str]) -> bool | None:
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").lower())


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the delay that the service asks for in `retry-after-ms` or `retry-after` (seconds or a date), or None.

    The names of `headers` are in lower case; `now` is timezone-aware.
    """
    if (seconds := asked_wait_s(headers)) is not None:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(headers["retry-after"]) - now).total_seconds())
    except (KeyError, ValueError, TypeError, OverflowError):
        return None


def asked_wait_s(headers: Mapping[str, str]) -> float | None:
    """Like `retry_after_s`, for numbers only: for headers inside of an event of a stream."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    return None
