"""A delivery is read once, whatever is sent again, and each vendor's payloads read as a message."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.webhooks.config import Hook, no_files, parse_file
from bot.webhooks.deliveries import NEAR, Event, Ignored, Reading, Refused, read
from bot.webhooks.presets import Sample, presets, samples
from bot.webhooks.signatures import Scheme, sign

NOW = datetime(2026, 11, 29, 9, tzinfo=UTC)
SECRET = "0123456789abcdef-secret"
NOTHING: Mapping[str, str] = {}
WHSEC = "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="


def hook_of(preset: str, more: str = "") -> Hook:
    text = f'[hook]\npreset = "{preset}"\nsecret_env = "S"\nchannel = "slack:C0123456789"\n{more}'
    signed = presets()[preset].signed
    (hook,) = parse_file(text, "hooks.toml", {"S": WHSEC if signed is Scheme.STANDARD else SECRET}, no_files)
    return hook


def deliver(
    hook: Hook, body: bytes, event: str = "", now: datetime = NOW, id_: str = "msg_1", more: Mapping[str, str] = NOTHING
) -> Reading:
    headers = sign(hook.scheme, hook.revealed[0], body, now, id_)
    kind: Mapping[str, str] = {hook.event_header: event} if hook.event_header else {}
    return read(hook, {**headers, **kind, **more}, body, now)


# What a sample reads as, the start of its text; and the samples with the same key. None: nothing follows from it.
SHOWN = {
    "alertmanager/firing": "🔥 **HighLatency** is firing\n- Checkout is slow `instance=web-1` `severity=page` htt",
    "alertmanager/resolved": "✅ **HighLatency** is resolved",
    "grafana/firing": "🔥 **Disk** is firing\n- The disk is nearly full `team=web` `host=db-2` https://runbooks.e",
    "grafana/resolved": "✅ **Disk** is resolved",
    "pagerduty/triggered": "📟 **Checkout is slow** incident.triggered on Checkout, urgency high, by On-call engi",
    "pagerduty/resolved": "✅ **Checkout is slow** incident.resolved on Checkout",
    "pagerduty/annotated": "📟 **Checkout is slow** incident.annotated, by On-call engineer: Rolled back the rele",
    "pagerduty/ping": None,
    "sentry/event_alert": "🐞 **ReferenceError: total is not defined** in `cart/total.js in render` (rule New err",
    "sentry/issue": "✅ **ReferenceError: total is not defined** resolved in `cart/total.js in render` (WEB-12) h",
    "sentry/metric_alert": "🐞 **Critical: Too many errors** 1000 events in the last 10 minutes https://sentry.ex",
    "github/issues.opened": "**example/shop** issue #7 opened by octo-example: Checkout fails with two coupons h",
    "github/issues.closed": "**example/shop** issue #7 closed by octo-example",
    "github/pull_request": "**example/shop** pull request #8 merged by octo-example: Allow two coupons https://g",
    "github/workflow_run": "❌ **example/shop** Tests #31 failure on `main`: Allow two coupons https://github.com",
    "github/ping": None,
    "gitlab/issue": "**example/shop** issue #23 (open) by example: Coupons are counted twice https://gitlab.exam",
    "gitlab/merge_request": "**example/shop** merge request !4 (merge) by example: Count coupons once https://gitlab",
    "gitlab/pipeline": "❌ **example/shop** pipeline #31 failed on `main`: Count coupons once https://gitlab.exam",
    "jira/created": "**SHOP-5** created by An example: Refund the second coupon (In Progress)",
    "jira/updated": "**SHOP-5** updated by An example: Refund the second coupon (In Progress)\n- status: To Do →",
    "jira/comment": "**SHOP-5** An example wrote: Refunded by hand.",
    "stripe/invoice": "**Stripe** invoice.payment_failed (test mode): invoice `in_1Example",
    "json/text": "The nightly backup is done.",
    "json/fields": '`{"order": 17, "state": "late"}`',
}
ALL = [sample for name in presets() for sample in samples(name)]


def named(sample: Sample) -> str:
    return f"{sample.preset}/{sample.name}"


@pytest.mark.parametrize("sample", ALL, ids=named)
def test_a_payload_as_its_vendor_documents_it_reads_as_a_message(sample: Sample) -> None:
    reading, expected = deliver(hook_of(sample.preset), sample.body, sample.event), SHOWN[named(sample)]
    if expected is None:
        assert isinstance(reading, Ignored)
        return
    assert isinstance(reading, Event)
    assert reading.text.startswith(expected)
    assert "none" not in reading.text.lower()


STRIPE = [
    ({"object": "subscription", "id": "sub_1", "status": "active", "currency": "usd"}, "subscription `sub_1`, active"),
    ({"object": "customer", "id": "cus_1", "currency": "eur"}, "customer `cus_1`"),
    ({"object": "charge", "id": "ch_1", "amount": 0, "currency": "jpy"}, "charge `ch_1`, 0 JPY (in the smallest unit)"),
    (
        {"object": "price", "id": "pr_1", "unit_amount": 1200, "currency": "usd"},
        "price `pr_1`, 1200 USD (in the smallest unit)",
    ),
]


@pytest.mark.parametrize(("thing", "shown"), STRIPE)
def test_a_currency_is_shown_with_its_amount_only(thing: dict[str, object], shown: str) -> None:
    body = {"id": "evt_1", "object": "event", "type": "x.updated", "livemode": True, "data": {"object": thing}}
    reading = deliver(hook_of("stripe"), json.dumps(body).encode())
    assert isinstance(reading, Event)
    assert reading.text == f"**Stripe** x.updated: {shown}"


def test_a_status_update_of_an_incident_has_its_words() -> None:
    data = {"message": "Rolled back.", "incident": {"id": "P1", "summary": "Checkout is slow"}}
    body = {"event": {"id": "1", "event_type": "incident.status_update_published", "data": data}}
    reading = deliver(hook_of("pagerduty"), json.dumps(body).encode())
    assert isinstance(reading, Event)
    assert reading.text == "📟 **Checkout is slow** incident.status_update_published: Rolled back."


def test_every_sample_is_tested() -> None:
    assert {named(sample) for sample in ALL} == SHOWN.keys()


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("alertmanager/firing", "alertmanager/resolved"),
        ("grafana/firing", "grafana/resolved"),
        ("pagerduty/triggered", "pagerduty/resolved"),
        ("sentry/event_alert", "sentry/issue"),
        ("github/issues.opened", "github/issues.closed"),
    ],
)
def test_what_ends_an_event_has_its_key_and_closes_its_thread(first: str, last: str) -> None:
    by_name = {named(sample): sample for sample in ALL}
    begun, ended = (
        deliver(hook_of(by_name[name].preset), by_name[name].body, by_name[name].event) for name in (first, last)
    )
    assert isinstance(begun, Event)
    assert isinstance(ended, Event)
    assert begun.key == ended.key != ""
    assert (begun.closes, ended.closes) == (False, True)


def test_two_things_have_two_keys() -> None:
    keys = set[str]()
    for number in range(3):
        body = json.dumps({"status": "firing", "groupKey": f"{{}}:{number}", "alerts": []}).encode()
        reading = deliver(hook_of("alertmanager"), body)
        assert isinstance(reading, Event)
        keys.add(reading.key)
    assert len(keys) == 3


def ids(
    preset: str, body: bytes, now: datetime = NOW, id_: str = "msg_1", more: Mapping[str, str] = NOTHING
) -> frozenset[str]:
    reading = deliver(hook_of(preset, 'text = "x"\n'), body, now=now, id_=id_, more=more)
    assert isinstance(reading, Event)
    return frozenset(reading.ids)


@pytest.mark.parametrize("preset", ["github", "jira", "sentry", "pagerduty", "stripe"])
def test_a_recorded_request_is_a_duplicate_under_any_unsigned_id(preset: str) -> None:
    body = b'{"id": "evt_1", "event": {"id": "e1"}}'
    first = ids(preset, body, more={"x-github-delivery": "1", "request-id": "1"})
    assert first & ids(preset, body, NOW + timedelta(days=20), more={"x-github-delivery": "2", "request-id": "2"})
    assert not first & ids(preset, b'{"id": "evt_2", "event": {"id": "e2"}}')


def test_a_retry_whose_body_differs_is_known_by_its_signed_id() -> None:
    assert ids("stripe", b'{"id": "evt_1", "pending_webhooks": 1}') == ids(
        "stripe", b'{"id": "evt_1", "pending_webhooks": 0}'
    )
    assert ids("json", b'{"n": 1}') == ids("json", b'{"n": 2}')
    assert ids("json", b'{"n": 1}') != ids("json", b'{"n": 1}', id_="msg_2")


@given(st.integers(0, 10**6), st.integers(0, 599))
def test_a_body_with_a_token_is_a_duplicate_for_a_while_and_news_later(start: int, later: int) -> None:
    began, body = NOW + timedelta(seconds=start), b'{"alerts": []}'
    first = deliver(hook_of("alertmanager", 'text = "x"\n'), body, now=began)
    assert isinstance(first, Event)
    soon = ids("alertmanager", body, began + timedelta(seconds=later))
    assert first.ids[0] in soon
    assert first.ids[0] not in ids("alertmanager", body, began + 2 * NEAR)


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff{}", b"a=1&payload=%7B%7D", b"NaN", b"[" * 100_000, b'{"a":' * 5_000, b"9" * 10_000, b'"\\ud800'],
)
def test_a_signed_body_that_is_no_json_is_refused(body: bytes) -> None:
    reading = deliver(hook_of("json"), body)
    assert isinstance(reading, Refused)
    assert reading.status == 400


def test_a_payload_that_does_not_fit_the_template_is_refused_and_the_sender_learns_no_more() -> None:
    reading = deliver(hook_of("json", "text = '{{ \"x\" if payload.a > 3 }}'\n"), b'{"a": "SECRET"}')
    assert isinstance(reading, Refused)
    assert reading.status == 422
    assert "str" in reading.why
    assert "str" not in reading.told


@given(st.binary(max_size=200))
def test_no_body_fails(body: bytes) -> None:
    assert isinstance(deliver(hook_of("json"), body), Event | Ignored | Refused)


def test_nothing_of_an_unsigned_body_is_read() -> None:
    reading = read(hook_of("json"), {}, b"{", NOW)
    assert isinstance(reading, Refused)
    assert reading.status == 401
