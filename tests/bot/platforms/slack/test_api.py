"""Any answer becomes one of the errors that callers expect; the token is sent only to Slack's file addresses."""

from urllib.parse import unquote, urlsplit

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer
from hypothesis import given
from hypothesis import strategies as st

from bot.platforms.slack.api import (
    DEFAULT_RETRY_AFTER_S,
    MAX_RETRY_AFTER_S,
    SlackApi,
    SlackDown,
    SlackLimited,
    SlackRefused,
    file_url,
    web_client,
)
from bot.platforms.slack.options import Method
from bot.settings.secret import Secret

SLACK = "https://slack.com/api"
OWN = "http://127.0.0.1:8080/api/"


@pytest.mark.parametrize("said", ["[1]", "null", '"ok"', "1", "{}", "<html>", ""])
async def test_an_answer_that_is_not_slacks_is_a_failure_of_slack(said: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=said, content_type="application/json")

    app = web.Application()
    app.router.add_route("*", "/{method}", answer)
    async with TestServer(app) as server, ClientSession() as session:
        api = SlackApi(web_client(str(server.make_url("")), session, "xoxb-token"), session)
        with pytest.raises(SlackDown):
            await api.call(Method.PUBLISH_VIEW, user_id="U1", view={})


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("30", 30.0), ("1.5", 1.5), ("0", 0.0), ("99999999", MAX_RETRY_AFTER_S), ("9" * 400, DEFAULT_RETRY_AFTER_S)]
    + [(odd, DEFAULT_RETRY_AFTER_S) for odd in ("inf", "nan", "-5", "1e9", "soon", "Wed, 21 Oct 2026 07:28:00 GMT")],
)
async def test_a_wait_that_slack_asks_for_is_bounded(said: str, seconds: float) -> None:
    """Whatever stands in the header, no queue is held for hours."""

    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers={"Retry-After": said})

    app = web.Application()
    app.router.add_route("*", "/{method}", answer)
    async with TestServer(app) as server, ClientSession() as session:
        api = SlackApi(web_client(str(server.make_url("")), session, "xoxb-token"), session)
        with pytest.raises(SlackLimited) as limited:
            await api.call(Method.USER, user="U1")
    assert limited.value.retry_after_s == seconds


@pytest.mark.parametrize(
    "url",
    [
        "https://files.slack.com/files-pri/T1-F1/download/boat.png",
        "https://files.slack.com/files-pri/T1-F1/download/b%C3%B6t.png?origin_team=T2",
        "https://files.slack.com:443/files-pri/T1-F1/boat..png",
        "HTTPS://Files.Slack.com/files-tmb/T1-F1-abc/boat_360.png",
        "https://ca-1.slack-files.com/files-pri/T1-F1/boat.png",
    ],
)
@pytest.mark.parametrize("base", [SLACK, OWN])
def test_slacks_own_addresses_of_files_are_asked(url: str, base: str) -> None:
    assert file_url(url, base) is not None


@pytest.mark.parametrize(
    "url",
    [
        "https://slack.com/api/conversations.history?channel=C1",
        "https://slack.com/files-pri/T1-F1/boat.png",
        "https://files.slack.com/api/auth.revoke",
        "https://files.slack.com/files-pri",
        "https://files.slack.com/files-pri/",
        "https://files.slack.com/files-private/T1-F1/boat.png",
        "https://files.slack.com/files-pri/../api/auth.revoke",
        "https://files.slack.com/files-pri/./../api/auth.revoke",
        "https://files.slack.com/files-pri/T1/..",
        "https://files.slack.com/files-pri/%2e%2e/api/auth.revoke",
        "https://files.slack.com/files-pri/%2E./api/auth.revoke",
        "https://files.slack.com/files-pri/%252e%252e/api/auth.revoke",
        "https://files.slack.com/files-pri/..%2fapi/auth.revoke",
        "https://files.slack.com/files-pri/..%5capi/auth.revoke",
        "https://files.slack.com/files-pri\\..\\api/auth.revoke",
        "https://files.slack.com/files-pri/%0d%0aHost:%20x",
        "https://files.slack.com/files-pri//T1",
        "https://files.slack.com//files-pri/T1",
        "https://files.slack.com/files-pri/T1%",
        "https://files.slack.com/files-pri/T1#/api",
        "https://files.slack.com/Files-Pri/T1/boat.png",
        "https://files.slack.com:8443/files-pri/T1/boat.png",
        "https://files.slack.com./files-pri/T1/boat.png",
        "https://me:you@files.slack.com/files-pri/T1/boat.png",
        "https://files.slack.com@evil.example/files-pri/T1/boat.png",
        "https://evil.example\\@files.slack.com/files-pri/T1/boat.png",
        "https://evil.example/files-pri/T1/boat.png",
        "https://evil.slack.com/files-pri/T1/boat.png",
        "https://slack-files.com.evil.example/files-pri/T1/boat.png",
        "https://evilslack-files.com/files-pri/T1/boat.png",
        "https://files.slack.com.evil.example/files-pri/T1/boat.png",
        "https://files．slack．com/files-pri/T1/boat.png",
        "http://files.slack.com/files-pri/T1/boat.png",
        "ftp://files.slack.com/files-pri/T1/boat.png",
        "//files.slack.com/files-pri/T1/boat.png",
        " https://files.slack.com/files-pri/T1/boat.png",
        "https://files.slack.com/files-pri/T1/boat.png\n",
        "http://127.0.0.1:8080/api/auth.revoke",
        "http://127.0.0.1:8080/files-pri/../api/auth.revoke",
        "http://127.0.0.1:8081/files-pri/T1/boat.png",
        "https://127.0.0.1:8080/files-pri/T1/boat.png",
        "",
    ],
)
@pytest.mark.parametrize("base", [SLACK, OWN])
def test_no_other_address_is_asked(url: str, base: str) -> None:
    assert file_url(url, base) is None


def test_a_base_url_of_ones_own_has_its_files_beside_the_api_and_nobody_elses() -> None:
    own = "http://127.0.0.1:8080/files-pri/T1-F1/boat.png"
    assert file_url(own, OWN) is not None
    assert file_url(own, SLACK) is None


_WORDS = (
    "https:// http:// files.slack.com slack.com x.slack-files.com evil.example 127.0.0.1:8080 @ / // \\ ? # :443 :80 "
    ". .. %2e %2E%2E %2f %5c %25 %00 % files-pri files-tmb api T1-F1 boat.png auth.revoke ． é"
)
_PIECES = st.sampled_from([*_WORDS.split(), " ", "\t", "\n"])


@pytest.mark.slow
@given(st.lists(_PIECES, min_size=1, max_size=12).map("".join), st.sampled_from([SLACK, OWN]))
def test_whatever_is_asked_lies_under_the_files_of_a_known_host(url: str, base: str) -> None:
    found = file_url(url, base)
    if found is None:
        return
    parts = urlsplit(str(found))
    assert (parts.scheme, parts.hostname) in {
        ("https", "files.slack.com"),
        ("https", "x.slack-files.com"),
        *({("http", "127.0.0.1")} if base == OWN else set()),
    }
    assert "@" not in parts.netloc
    path = parts.path
    for _ in range(3):
        assert path.startswith(("/files-pri/", "/files-tmb/"))
        assert not {".", ".."} & {*path.replace("\\", "/").split("/")}
        path = unquote(path)


async def test_the_token_does_not_follow_a_redirect() -> None:
    met: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        met.append(request.path)
        return web.Response(status=302, headers={"Location": "/api/auth.revoke"})

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    async with TestServer(app) as server, ClientSession() as session:
        api = SlackApi(web_client(str(server.make_url("/api/")), session, "xoxb-token"), session)
        with pytest.raises(SlackRefused):
            await api.download(str(server.make_url("/files-pri/T1-F1/a.txt")), Secret("xoxb-token"), 10)
        with pytest.raises(SlackRefused):
            await api.download(str(server.make_url("/api/auth.revoke")), Secret("xoxb-token"), 10)
    assert met == ["/files-pri/T1-F1/a.txt"]
