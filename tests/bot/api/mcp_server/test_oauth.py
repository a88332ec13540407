"""What programs send to sign a person in: no browser goes to an address that the program did not register."""

import json
from base64 import urlsafe_b64encode
from typing import cast
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ports.api_tokens import TokenScope
from bot.api.mcp_server import oauth
from bot.api.mcp_server.oauth import OAuthError

ADDRESS = "https://bot.example.com"
BACK = "http://127.0.0.1:4000/back"
ALL = frozenset(oauth.SCOPES)


def registered(*redirects: str, name: str = "My Editor") -> str:
    body = json.dumps({"client_name": name, "redirect_uris": redirects or [BACK]}).encode()
    return cast("str", oauth.register(body)["client_id"])


def request_of(**changed: str) -> dict[str, str]:
    """What a program asks for; "" leaves a field out."""
    fields = {
        "client_id": registered(),
        "redirect_uri": BACK,
        "response_type": "code",
        "code_challenge": "c" * 43,
        "code_challenge_method": "S256",
        "state": "s",
        "scope": "recall ask",
        "resource": f"{ADDRESS}/mcp",
        **changed,
    }
    return {name: value for name, value in fields.items() if value}


def read(request: dict[str, str], allowed: frozenset[TokenScope] = ALL) -> oauth.Authorization:
    return oauth.read_authorization(request, oauth.read_client(request.get("client_id", "")), "query", ADDRESS, allowed)


@pytest.mark.parametrize(
    "redirect",
    [
        "http://127.0.0.1:4000/back",
        "http://localhost/back",
        "http://[::1]:4000/",
        "https://vscode.dev/redirect",
        "https://x.example:8443/a?b=c",
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "com.example.app://back",
    ],
)
def test_programs_on_the_web_on_this_machine_and_applications_may_register(redirect: str) -> None:
    assert oauth.read_client(registered(redirect)).redirects == (redirect,)


@pytest.mark.parametrize(
    "redirect",
    [
        "",
        "/back",
        "//x.example",
        "http://x.example/back",
        "http://127.0.0.1.x.example/",
        "http://127.0.0.1@x.example/",
        "https://user@x.example/",
        "https://x.example/#fragment",
        "https://x.example\\@y.example/",
        "https://x.example/\r\nset-cookie: a=b",
        "https://x.example/ y",
        "https://x.example; form-action *",
        "https://x.example:99999/",
        "https:/x.example",
        "HTTPS://x.example",
        "javascript:alert(1)",
        "javascript://x.example/%0aalert(1)",
        "data:text/html,x",
        "data://x",
        "file:///etc/passwd",
        "blob://x",
        "cursor:back",
        "x'y://z",
        f"https://x.example/{'y' * 500}",
    ],
)
def test_no_browser_is_sent_to_any_other_address(redirect: str) -> None:
    with pytest.raises(OAuthError, match="redirect_uris"):
        registered(redirect)
    packed = urlsafe_b64encode(json.dumps(["My Editor", redirect], separators=(",", ":")).encode()).decode()
    with pytest.raises(OAuthError, match="client_id"):
        oauth.read_client(f"app_{packed}")


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b"{}", b'{"redirect_uris": []}', b'{"redirect_uris": [1]}', b"[" * 100_000, b"\xff"],
)
def test_a_registration_without_addresses_is_refused(body: bytes) -> None:
    with pytest.raises(OAuthError):
        oauth.register(body)


@given(st.text(max_size=300))
def test_whatever_name_a_program_has_its_id_says_it_again_on_one_line(name: str) -> None:
    client = oauth.read_client(registered(name=name))
    assert client.name.isprintable()
    assert 0 < len(client.name) <= 60


@given(st.text(max_size=80) | st.binary(max_size=80).map(lambda raw: f"app_{urlsafe_b64encode(raw).decode()}"))
def test_no_text_is_the_id_of_a_program_unless_it_was_registered(id_: str) -> None:
    with pytest.raises(OAuthError):
        oauth.read_client(id_)


@given(
    st.sampled_from(["app_", ""]),
    st.recursive(st.none() | st.integers() | st.text(max_size=9), lambda inner: st.lists(inner, max_size=4)),
)
def test_an_id_with_other_content_is_refused(start: str, content: object) -> None:
    packed = json.dumps(content, separators=(",", ":")).encode()
    with pytest.raises(OAuthError):
        oauth.read_client(f"{start}{urlsafe_b64encode(packed).decode()}")


def test_a_request_is_read_with_the_scopes_that_people_may_give() -> None:
    asked = read(request_of(), frozenset({TokenScope.ASK, TokenScope.FORGET}))
    assert (asked.redirect, asked.state, asked.scopes) == (BACK, "s", {TokenScope.ASK})
    every = read(request_of(scope="", state="", resource=""))
    assert (every.state, every.scopes) == ("", ALL)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"client_id": "app_x"}, "invalid_client"),
        ({"client_id": ""}, "invalid_client"),
        ({"redirect_uri": "http://localhost:4000/back"}, "invalid_request"),
        ({"redirect_uri": "http://127.0.0.1:4001/other"}, "invalid_request"),
        ({"redirect_uri": "http://127.0.0.1:99999/back"}, "invalid_request"),
        ({"redirect_uri": "http://127.0.0.1:4001@evil.example/back"}, "invalid_request"),
        ({"redirect_uri": "http://127.0.0.1:4001.evil.example/back"}, "invalid_request"),
        ({"redirect_uri": "https://127.0.0.1:4001/back"}, "invalid_request"),
        ({"redirect_uri": f"{BACK}/more"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": ""}, "unsupported_response_type"),
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": ""}, "invalid_request"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"scope": "post admin"}, "invalid_scope"),
        ({"state": "s" * 3_000}, "invalid_request"),
    ],
)
def test_a_wrong_request_is_refused(changed: dict[str, str], code: str) -> None:
    with pytest.raises(OAuthError) as refused:
        read(request_of(**changed))
    assert refused.value.code == code


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
@pytest.mark.parametrize(("before", "now"), [("", ":5000"), (":4000", ":5000"), (":4000", "")])
def test_a_program_on_this_machine_may_listen_on_any_port(host: str, before: str, now: str) -> None:
    client, redirect = registered(f"http://{host}{before}/back?a=b"), f"http://{host}{now}/back?a=b"
    request = request_of(client_id=client, redirect_uri=redirect)
    assert read(request).redirect == redirect


@pytest.mark.parametrize("other", ["https://x.example:8444/back", "https://x.example/back"])
def test_any_other_address_keeps_its_port(other: str) -> None:
    client, redirect = registered("https://x.example:8443/back"), "https://x.example:8443/back"
    assert oauth.read_redirect({"redirect_uri": redirect}, oauth.read_client(client)) == redirect
    with pytest.raises(OAuthError):
        oauth.read_redirect({"redirect_uri": other}, oauth.read_client(client))


@pytest.mark.parametrize(
    ("redirect", "source"),
    [
        (BACK, "http://127.0.0.1:4000"),
        ("http://[::1]:4000/back", "http:"),
        ("https://x.example/a", "https://x.example"),
        ("cursor://x/y", "cursor:"),
    ],
)
def test_a_policy_names_an_address_in_a_form_that_browsers_read(redirect: str, source: str) -> None:
    assert oauth.policy_source_of(redirect) == source


@pytest.mark.parametrize("text", ["a=1&a=2", "&".join(f"f{n}=1" for n in range(50)), "a=%ff"])
def test_a_form_with_a_field_twice_or_too_many_is_refused(text: str) -> None:
    with pytest.raises(OAuthError):
        oauth.read_form(text)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"code": ""}, "invalid_request"),
        ({"code_verifier": ""}, "invalid_request"),
        ({"code_verifier": "v" * 42}, "invalid_request"),
        ({"code_verifier": "é" * 43}, "invalid_request"),
        ({"client_id": "app_x"}, "invalid_client"),
    ],
)
def test_a_wrong_exchange_is_refused(changed: dict[str, str], code: str) -> None:
    fields = {"grant_type": "authorization_code", "client_id": registered(), "code": "x", "code_verifier": "v" * 43}
    request = {**fields, **changed}
    with pytest.raises(OAuthError) as refused:
        oauth.read_exchange(request, oauth.read_client(request["client_id"]))
    assert refused.value.code == code


@given(st.text(max_size=50), st.sampled_from([BACK, "https://x.example/a?b=c", "cursor://x/y"]))
def test_a_browser_returns_to_the_programs_address_with_its_state(state: str, redirect: str) -> None:
    where = oauth.returned(redirect, ADDRESS, state, code="a&b")
    assert where.startswith(redirect)
    fields = dict(parse_qsl(urlsplit(where).query, keep_blank_values=True))
    assert (fields["code"], fields["iss"], fields.get("state", "")) == ("a&b", ADDRESS, state)
    assert where.isascii()
    assert urlencode({"x": "\r\n"}) == "x=%0D%0A"
