"""Deliveries are accepted if their hook's secret signed them just now, and never otherwise."""

import os
from base64 import b64encode
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.webhooks.signatures import TOLERANCE, Refusal, Scheme, Verified, fault_of, new_secret, sign, verify

NOW = datetime(2026, 11, 29, 9, tzinfo=UTC)
BODY = b'{"a": 1}'
SECRETS = {
    Scheme.STANDARD: f"whsec_{b64encode(b'k' * 24).decode()}",
    Scheme.BASIC: "alerts:0123456789abcdef",
}
SCHEMES = st.sampled_from(list(Scheme))
TIMED = (Scheme.STANDARD, Scheme.SLACK, Scheme.STRIPE)
SIGNING = (*TIMED, Scheme.GITHUB, Scheme.PAGERDUTY, Scheme.SENTRY)


def secret_of(scheme: Scheme) -> str:
    return SECRETS.get(scheme, "0123456789abcdef0123")


def other_secret(scheme: Scheme) -> str:
    return new_secret(scheme, lambda count: b"\x07" * count, "other")


# The examples of the vendors' own documentation.
SLACK_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar"
    b"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com"
    b"%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a1"
    b"4d10d2c447fce8b6703c"
)
VECTORS = {
    Scheme.GITHUB: (
        "It's a Secret to Everybody",
        b"Hello, World!",
        {"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"},
        0,
    ),
    Scheme.SLACK: (
        "8f742231b10e8888abcd99yyyzzz85a5",
        SLACK_BODY,
        {
            "x-slack-request-timestamp": "1531420618",
            "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        },
        1531420618,
    ),
    Scheme.STANDARD: (
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        b'{"test": 2432232314}',
        {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        },
        1614265330,
    ),
}


@pytest.mark.parametrize("scheme", VECTORS)
def test_the_examples_of_vendors_are_accepted(scheme: Scheme) -> None:
    secret, body, headers, time = VECTORS[scheme]
    now = datetime.fromtimestamp(time, UTC)
    assert isinstance(verify(scheme, [secret], headers, body, now), Verified)
    assert verify(scheme, [secret], headers, body + b" ", now) is Refusal.WRONG


@given(SCHEMES, st.binary(max_size=200), st.integers(-299, 299))
def test_what_the_secret_signed_is_accepted_with_clocks_that_differ_a_little(
    scheme: Scheme, body: bytes, off: int
) -> None:
    headers = sign(scheme, secret_of(scheme), body, NOW + timedelta(seconds=off), "msg_1")
    verified = verify(scheme, [other_secret(scheme), secret_of(scheme)], headers, body, NOW)
    assert isinstance(verified, Verified)
    assert verified.signs_body == (scheme in SIGNING)
    assert verified.id == ("msg_1" if scheme is Scheme.STANDARD else "")


@given(SCHEMES, st.binary(max_size=50))
def test_another_secret_signs_nothing(scheme: Scheme, body: bytes) -> None:
    headers = sign(scheme, other_secret(scheme), body, NOW, "msg_1")
    assert verify(scheme, [secret_of(scheme)], headers, body, NOW) is Refusal.WRONG


@pytest.mark.parametrize("scheme", SIGNING)
@given(st.binary(min_size=1, max_size=50), st.integers(0, 49), st.integers(1, 255))
def test_a_changed_byte_of_the_body_is_noticed(scheme: Scheme, body: bytes, where: int, bits: int) -> None:
    headers = sign(scheme, secret_of(scheme), body, NOW, "msg_1")
    changed = bytearray(body)
    changed[where % len(body)] ^= bits
    assert verify(scheme, [secret_of(scheme)], headers, bytes(changed), NOW) is Refusal.WRONG


@pytest.mark.parametrize("scheme", TIMED)
@pytest.mark.parametrize(
    "off", [-TOLERANCE - timedelta(seconds=1), TOLERANCE + timedelta(seconds=1), timedelta(days=9)]
)
def test_an_old_or_future_time_is_refused_although_it_is_signed(scheme: Scheme, off: timedelta) -> None:
    headers = sign(scheme, secret_of(scheme), BODY, NOW + off, "msg_1")
    assert verify(scheme, [secret_of(scheme)], headers, BODY, NOW) is Refusal.OLD


@pytest.mark.parametrize("scheme", TIMED)
def test_the_time_is_signed(scheme: Scheme) -> None:
    old = sign(scheme, secret_of(scheme), BODY, NOW - timedelta(hours=1), "msg_1")
    fresh = sign(scheme, secret_of(scheme), BODY, NOW, "msg_1")
    time = {name: value for name, value in fresh.items() if "timestamp" in name}
    stripe = (
        {"stripe-signature": old["stripe-signature"].replace("t=", f"t={int(NOW.timestamp())},x=")} if not time else {}
    )
    assert verify(scheme, [secret_of(scheme)], old | time | stripe, BODY, NOW) is Refusal.WRONG


def test_the_id_of_a_standard_webhook_is_signed() -> None:
    headers = sign(Scheme.STANDARD, secret_of(Scheme.STANDARD), BODY, NOW, "msg_1") | {"webhook-id": "msg_2"}
    assert verify(Scheme.STANDARD, [secret_of(Scheme.STANDARD)], headers, BODY, NOW) is Refusal.WRONG


NAMES = sorted({name for scheme in Scheme for name in sign(scheme, secret_of(scheme), BODY, NOW, "msg_1")})
VALUES = st.one_of(
    st.text(max_size=80),
    st.sampled_from(["v1,", "v1=", "sha256=", "t=,v1=", "v0=", "Bearer ", "Basic ", "Bearer", "v1,é", "x" * 5_000]),
)


@given(SCHEMES, st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_no_other_header_is_accepted_and_none_fails(scheme: Scheme, headers: dict[str, str]) -> None:
    assert isinstance(verify(scheme, [secret_of(scheme)], headers, BODY, NOW), Refusal)


@pytest.mark.parametrize("scheme", list(Scheme))
def test_without_a_header_it_is_unsigned(scheme: Scheme) -> None:
    assert verify(scheme, [secret_of(scheme)], {}, BODY, NOW) is Refusal.UNSIGNED


def test_one_of_several_signatures_is_enough_but_not_beyond_the_first_few() -> None:
    secret = secret_of(Scheme.PAGERDUTY)
    good = sign(Scheme.PAGERDUTY, secret, BODY, NOW, "")["x-pagerduty-signature"]
    others = [f"v1={'0' * 64}"]
    few = {"x-pagerduty-signature": ",".join([*others, good])}
    many = {"x-pagerduty-signature": ",".join([*others * 30, good])}
    assert isinstance(verify(Scheme.PAGERDUTY, [secret], few, BODY, NOW), Verified)
    assert verify(Scheme.PAGERDUTY, [secret], many, BODY, NOW) is Refusal.WRONG


@pytest.mark.parametrize("scheme", list(Scheme))
def test_a_new_secret_is_one_that_is_accepted(scheme: Scheme) -> None:
    assert fault_of(scheme, new_secret(scheme, os.urandom, "alerts")) is None


@pytest.mark.parametrize(
    ("scheme", "secret", "why"),
    [
        (Scheme.BEARER, "short", "at least 16"),
        (Scheme.BEARER, "ä" * 20, "ASCII"),
        (Scheme.BASIC, "0123456789abcdef", "user:password"),
        (Scheme.BASIC, ":0123456789abcdef", "user:password"),
        (Scheme.STANDARD, "0123456789abcdef", "whsec_"),
        (Scheme.STANDARD, "whsec_!!!!!!!!!!!!!!!", "base64"),
        (Scheme.STANDARD, "whsec_MDEyMzQ1Njc4OWFiY2Rl", "at least 16 bytes"),
        (Scheme.STANDARD, "whsec_MDEyMzQ1Ng==", "at least 16 bytes"),
    ],
)
def test_a_weak_or_malformed_secret_has_a_fault(scheme: Scheme, secret: str, why: str) -> None:
    fault = fault_of(scheme, secret)
    assert fault is not None
    assert why in fault
    assert secret not in fault
