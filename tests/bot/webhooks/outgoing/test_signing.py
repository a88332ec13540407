"""Signatures are those of Standard Webhooks, with one secret or with two."""

import base64

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import InvalidWebhookSignatureError, OpenAI

from agent.machine import CLOCK
from bot.webhooks.outgoing.signing import MAX_SECRET, MIN_SECRET, NO_SECRET, PREFIX, parse_secret, signed_headers
from tests.examples import examples

# The example of the specification and of its libraries.
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID = "msg_p5jXN8AQM9LWM0D4loKWxJek"
TIMESTAMP = 1614265330
BODY = b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_the_example_of_the_specification_gets_its_signature() -> None:
    assert signed_headers([parse_secret(SECRET)], ID, TIMESTAMP, BODY) == {
        "webhook-id": ID,
        "webhook-timestamp": str(TIMESTAMP),
        "webhook-signature": SIGNATURE,
    }


def text_of(key: bytes) -> str:
    return PREFIX + base64.b64encode(key).decode()


VERIFIER = OpenAI(api_key="none").webhooks  # It implements the same specification
KEYS = st.binary(min_size=MIN_SECRET, max_size=MAX_SECRET)


@settings(max_examples=examples(60), deadline=None)
@given(KEYS, KEYS, st.text(max_size=50))
def test_a_vendors_library_verifies_with_the_new_and_the_old_secret_and_with_no_other(
    new: bytes, old: bytes, text: str
) -> None:
    body, now = text.encode("utf-8", "replace"), int(CLOCK.now().timestamp())
    headers = signed_headers([parse_secret(text_of(new)), parse_secret(text_of(old))], "evt_1", now, body)
    for key in (new, old):
        VERIFIER.verify_signature(body, headers, secret=text_of(key))
    other = bytes(byte ^ 1 for byte in new)
    if other != old:
        with pytest.raises(InvalidWebhookSignatureError):
            VERIFIER.verify_signature(body, headers, secret=text_of(other))
    with pytest.raises(InvalidWebhookSignatureError):
        VERIFIER.verify_signature(body + b" ", headers, secret=text_of(new))


@settings(max_examples=examples(60), deadline=None)
@given(KEYS)
def test_a_secret_is_read_as_it_is_written_and_not_shown(key: bytes) -> None:
    secret = parse_secret(text_of(key))
    assert (secret.key, secret.text) == (key, text_of(key))
    assert text_of(key) not in repr(secret)
    assert repr(key) not in repr(secret)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "whsec_",
            "secret",
            SECRET.removeprefix("whsec_"),
            "whsec_!!!",
            SECRET + "ä",
            f"{SECRET[:20]} {SECRET[20:]}",
        ),
        *(text_of(b"x" * (MIN_SECRET - 1)), text_of(b"x" * (MAX_SECRET + 1))),
    ],
)
def test_a_secret_of_another_form_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ValueError, match="must be whsec_") as refused:
        parse_secret(text)
    assert str(refused.value) == NO_SECRET
