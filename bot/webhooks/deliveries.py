"""Reads one delivery: from the bytes of a request to the event that it reports, or why it is refused. Pure.

Rule: what identifies a delivery is signed. So a request that was recorded and is sent again is a duplicate, whatever
unsigned header of it was changed. Where only a token proves the sender, or a time that a retry renews, the same body
counts as a duplicate for NEAR alone: an alert that is still firing hours later is news.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, TypeAlias

from agent.messages import Json, is_too_deep
from bot.webhooks import texts
from bot.webhooks.config import Hook
from bot.webhooks.signatures import Headers, Refusal, Scheme, Verified, body_digest, verify

NEAR: Final = timedelta(minutes=10)  # In which senders repeat a delivery that they take for lost
RELEVANT_HEADER: Final = 200  # Characters of the kind of an event


@dataclass(frozen=True, slots=True)
class Event:
    """What a delivery reports.

    `ids`: the names of this delivery, the first of which is stored; it is a duplicate if any of them is known. `text`:
    Markdown. `key`: a digest of what it is about, "" if it is about nothing that lasts. `closes`: its thread is
    complete with it.
    """

    hook: str
    ids: tuple[str, ...]
    text: str
    key: str = ""
    closes: bool = False


@dataclass(frozen=True, slots=True)
class Ignored:
    """A genuine delivery from which nothing follows.

    `ids`: as those of an event, where an unsigned header says its kind: under another kind it might be posted. Else ().
    """

    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """`status`: of the response. `why`: for the log, `told`: for the sender; each a sentence without its full stop."""

    status: int
    why: str
    told: str
    is_old: bool = False


Reading: TypeAlias = Event | Ignored | Refused
# Names a delivery. Called with the id that the hook's template finds in its payload.
IdsOf: TypeAlias = Callable[[str], Sequence[str]]


def read(hook: Hook, headers: Headers, body: bytes, now: datetime) -> Reading:
    """Check and read a delivery to this hook."""
    from bot.webhooks.templates import TemplateFailed  # noqa: PLC0415 -- loaded with the file of hooks, if there is one

    verified = verify(hook.scheme, hook.revealed, headers, body, now)
    if isinstance(verified, Refusal):
        return Refused(401, verified.value, texts.TOLD_SIGNATURE, is_old=verified is Refusal.OLD)
    try:
        payload = payload_of(body)
    except ValueError as error:
        return Refused(400, str(error), str(error))
    event = headers.get(hook.event_header, "")[:RELEVANT_HEADER] if hook.event_header else ""
    try:
        return event_of(hook, payload, event, lambda named: delivery_ids(hook, verified, named, body, now))
    except TemplateFailed as error:
        return Refused(422, texts.TEMPLATE_FAILED.format(error=error), texts.TOLD_TEMPLATE)


def payload_of(body: bytes) -> Json:
    """Parse a body. Raises ValueError whose text is a sentence without its full stop."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(texts.TOLD_NO_JSON) from None
    if is_too_deep(text):
        raise ValueError(texts.TOLD_TOO_DEEP)
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ValueError(texts.TOLD_NO_JSON) from None


def event_of(hook: Hook, payload: Json, event: str, ids_of: IdsOf) -> Event | Ignored:
    """Read a genuine payload. Raises TemplateFailed."""
    from bot.webhooks.templates import trimmed  # noqa: PLC0415 -- as above

    fields = {"payload": trimmed(payload), "event": event}
    text = hook.text.render(fields)
    ids = tuple(ids_of(hook.delivery.render(fields)))
    if not text:
        return Ignored(ids if hook.event_header else ())
    key = hook.key.render(fields)
    digest = sha256(f"{hook.name}\n{key}".encode()).hexdigest()[:32] if key else ""
    return Event(hook.name, ids, text, digest, bool(hook.closes.render(fields)))


def delivery_ids(hook: Hook, verified: Verified, named: str, body: bytes, now: datetime) -> tuple[str, ...]:
    """Return the names of a delivery; see `Event.ids`."""
    if verified.id:
        return (_digest("id", verified.id),)
    if verified.signs_body and named:
        return (_digest("named", named),)
    digest = body_digest(body)
    if verified.signs_body and hook.scheme is not Scheme.SLACK:
        return (_digest("body", digest),)
    slot = int(now.timestamp() // NEAR.total_seconds())
    return (_digest("near", f"{slot} {digest}"), _digest("near", f"{slot - 1} {digest}"))


def _digest(kind: str, value: str) -> str:
    return f"{kind}:{sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"


def _no_constant(name: str) -> None:
    raise ValueError(name)
