"""How a delivery proves who sent it. Pure.

Rules
  A secret is compared in constant time, and with each secret of the hook, so that the time shows neither how much of it
  matched nor which one did.
  Where the scheme signs a time, it must lie within TOLERANCE of ours, on either side.
  Only what is signed identifies a delivery: GitHub's X-GitHub-Delivery is not, so whoever recorded a request could send
  it again under another id. There the signed body itself is the id (`Verified.signs_body`).

Headers come with names in lowercase. One that is repeated comes joined with commas, as HTTP has it, and fits no scheme.
"""

import binascii
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Final, TypeAlias, assert_never

TOLERANCE: Final = timedelta(minutes=5)  # The usual one: clocks differ, and a retry is signed again
MAX_SIGNATURES: Final = 10  # In one header: senders list a few while they change a secret
MAX_HEADER: Final = 4_000  # Characters of a header that is read
MIN_SECRET: Final = 16  # Characters, or bytes of a key in base64; those that senders generate have 20 and more
STANDARD_PREFIX: Final = "whsec_"

Headers: TypeAlias = Mapping[str, str]


class Scheme(StrEnum):
    """How a sender signs. The values are those of `hooks.toml`."""

    STANDARD = "standard"
    """Standard Webhooks: webhook-id, webhook-timestamp and webhook-signature."""
    GITHUB = "github"
    """X-Hub-Signature-256, and X-Hub-Signature of Jira, which has the same form."""
    SLACK = "slack"
    """X-Slack-Signature "v0=…", over the time and the body."""
    PAGERDUTY = "pagerduty"
    """X-PagerDuty-Signature, which may list several "v1=…"."""
    STRIPE = "stripe"
    """Stripe-Signature "t=…,v1=…", over the time and the body."""
    SENTRY = "sentry"
    """Sentry-Hook-Signature."""
    GITLAB = "gitlab"
    """X-Gitlab-Token, which is the secret itself."""
    BEARER = "bearer"
    """Authorization: Bearer, with the secret."""
    BASIC = "basic"
    """Authorization: Basic; the secret is "user:password"."""


@dataclass(frozen=True, slots=True)
class Verified:
    """`id`: the signed id of the delivery, "" where the scheme has none. `signs_body`: the body itself is signed."""

    id: str = ""
    signs_body: bool = False


class Refusal(StrEnum):
    """Why a delivery was refused, for the log and for operators. The sender does not learn it."""

    UNSIGNED = "it has no signature"
    WRONG = "its signature is wrong"
    OLD = "its signature is too old, or from the future"


def verify(scheme: Scheme, secrets: Sequence[str], headers: Headers, body: bytes, now: datetime) -> Verified | Refusal:
    """Check a delivery against the secrets of its hook."""
    match scheme:
        case Scheme.STANDARD:
            return _standard(secrets, headers, body, now)
        case Scheme.GITHUB:
            given = _header(headers, "x-hub-signature-256") or _header(headers, "x-hub-signature")
            return _of_body(secrets, body, _listed(given, "sha256"))
        case Scheme.PAGERDUTY:
            return _of_body(secrets, body, _listed(_header(headers, "x-pagerduty-signature"), "v1"))
        case Scheme.SENTRY:
            given = _header(headers, "sentry-hook-signature")
            return _of_body(secrets, body, (given.lower(),) if given else ())
        case Scheme.SLACK:
            time = _header(headers, "x-slack-request-timestamp")
            given = _listed(_header(headers, "x-slack-signature"), "v0")
            return _with_time(secrets, f"v0:{time}:".encode() + body, time, given, now)
        case Scheme.STRIPE:
            header = _header(headers, "stripe-signature")
            time = next(iter(_listed(header, "t")), "")
            return _with_time(secrets, f"{time}.".encode() + body, time, _listed(header, "v1"), now)
        case Scheme.GITLAB:
            return _token(secrets, _header(headers, "x-gitlab-token"))
        case Scheme.BEARER:
            return _token(secrets, _credentials(headers, "bearer"))
        case Scheme.BASIC:
            encoded = [b64encode(secret.encode()).decode() for secret in secrets]
            return _token(encoded, _credentials(headers, "basic"))
        case _:
            assert_never(scheme)


def sign(scheme: Scheme, secret: str, body: bytes, now: datetime, id_: str) -> dict[str, str]:
    """Return the headers with which a sender of this scheme would send the body: to test a hook."""
    time = str(int(now.timestamp()))

    def digest(signed: bytes) -> str:
        return hmac.digest(secret.encode(), signed, "sha256").hex()

    match scheme:
        case Scheme.STANDARD:
            signature = hmac.digest(standard_key(secret), f"{id_}.{time}.".encode() + body, "sha256")
            signed = f"v1,{b64encode(signature).decode()}"
            return {"webhook-id": id_, "webhook-timestamp": time, "webhook-signature": signed}
        case Scheme.GITHUB:
            return {"x-hub-signature-256": f"sha256={digest(body)}"}
        case Scheme.PAGERDUTY:
            return {"x-pagerduty-signature": f"v1={digest(body)}"}
        case Scheme.SENTRY:
            return {"sentry-hook-signature": digest(body)}
        case Scheme.SLACK:
            signature_ = digest(f"v0:{time}:".encode() + body)
            return {"x-slack-request-timestamp": time, "x-slack-signature": f"v0={signature_}"}
        case Scheme.STRIPE:
            return {"stripe-signature": f"t={time},v1={digest(f'{time}.'.encode() + body)}"}
        case Scheme.GITLAB:
            return {"x-gitlab-token": secret}
        case Scheme.BEARER:
            return {"authorization": f"Bearer {secret}"}
        case Scheme.BASIC:
            return {"authorization": f"Basic {b64encode(secret.encode()).decode()}"}
        case _:
            assert_never(scheme)


def standard_key(secret: str) -> bytes:
    """Return the key of a secret of Standard Webhooks. Raises ValueError if it is none."""
    if not secret.startswith(STANDARD_PREFIX):
        raise ValueError(f"must begin with {STANDARD_PREFIX}")
    try:
        key = b64decode(secret.removeprefix(STANDARD_PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(f"must be base64 after {STANDARD_PREFIX}") from None
    if len(key) < MIN_SECRET:
        raise ValueError(f"must be at least {MIN_SECRET} bytes in base64 after {STANDARD_PREFIX}")
    return key


def fault_of(scheme: Scheme, secret: str) -> str | None:
    """Return what is wrong with a secret, as the end of a sentence that does not show it; None if nothing is."""
    if len(secret) < MIN_SECRET:
        return f"must have at least {MIN_SECRET} characters"
    if not secret.isascii() or not secret.isprintable():
        return "must consist of letters, digits and other ASCII characters"
    if scheme is Scheme.BASIC and not all(secret.partition(":")):
        return "must have the form user:password"
    if scheme is Scheme.STANDARD:
        try:
            standard_key(secret)
        except ValueError as error:
            return str(error)
    return None


def new_secret(scheme: Scheme, random: Callable[[int], bytes], name: str) -> str:
    """Return a new secret for the hook of this name. `random`: returns so many random bytes."""
    if scheme is Scheme.STANDARD:
        return f"{STANDARD_PREFIX}{b64encode(random(32)).decode()}"
    token = random(24).hex()
    return f"{name}:{token}" if scheme is Scheme.BASIC else token


def body_digest(body: bytes) -> str:
    return sha256(body).hexdigest()


def _standard(secrets: Sequence[str], headers: Headers, body: bytes, now: datetime) -> Verified | Refusal:
    id_, time = _header(headers, "webhook-id"), _header(headers, "webhook-timestamp")
    given = [
        value
        for version, comma, value in (part.partition(",") for part in _header(headers, "webhook-signature").split())
        if version == "v1" and comma
    ][:MAX_SIGNATURES]
    if not (id_ and time and given):
        return Refusal.UNSIGNED
    signed = f"{id_}.{time}.".encode() + body
    expected = [b64encode(hmac.digest(standard_key(secret), signed, "sha256")).decode() for secret in secrets]
    if not _any_equal(expected, given):
        return Refusal.WRONG
    return Verified(id_, signs_body=True) if _is_recent(time, now) else Refusal.OLD


def _of_body(secrets: Sequence[str], body: bytes, given: Sequence[str]) -> Verified | Refusal:
    if not given:
        return Refusal.UNSIGNED
    return Verified(signs_body=True) if _any_equal(_digests(secrets, body), given) else Refusal.WRONG


def _with_time(
    secrets: Sequence[str], signed: bytes, time: str, given: Sequence[str], now: datetime
) -> Verified | Refusal:
    if not (time and given):
        return Refusal.UNSIGNED
    if not _any_equal(_digests(secrets, signed), given):
        return Refusal.WRONG
    return Verified(signs_body=True) if _is_recent(time, now) else Refusal.OLD


def _token(secrets: Sequence[str], given: str) -> Verified | Refusal:
    if not given:
        return Refusal.UNSIGNED
    return Verified() if _any_equal(secrets, [given]) else Refusal.WRONG


def _digests(secrets: Sequence[str], signed: bytes) -> list[str]:
    return [hmac.digest(secret.encode(), signed, "sha256").hex() for secret in secrets]


def _any_equal(expected: Sequence[str], given: Sequence[str]) -> bool:
    """Compare all pairs, whichever of them match."""
    pairs = [hmac.compare_digest(_bytes(one), _bytes(other)) for one in expected for other in given]
    return any(pairs)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _is_recent(time: str, now: datetime) -> bool:
    if not (time.isascii() and time.isdecimal() and len(time) <= 12):
        return False
    return abs(int(time) - now.timestamp()) <= TOLERANCE.total_seconds()


def _header(headers: Headers, name: str) -> str:
    value = headers.get(name, "").strip()
    return value if len(value) <= MAX_HEADER else ""


def _listed(header: str, key: str) -> tuple[str, ...]:
    """Return the values of this key in a list "key=value,key=value"."""
    pairs = (part.strip().partition("=") for part in header.split(",")[: 2 * MAX_SIGNATURES])
    return tuple(value for name, equals, value in pairs if name == key and equals and value)[:MAX_SIGNATURES]


def _credentials(headers: Headers, kind: str) -> str:
    scheme, _, value = _header(headers, "authorization").partition(" ")
    return value.strip() if scheme.lower() == kind else ""
