"""The frame of the operators' page: sessions and headers."""

import re
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from agent.machine import new_secret
from bot.operators.pages.frame import AT_ONCE, BODY_BYTES, HEADERS, PROXIED_AT_ONCE, OperatorView, ViewAnswer, visible
from bot.operators.service import LINK_LASTS, SESSION_IDLE, SESSION_LASTS, OperatorLinks
from store.engine import Store
from tests.fakes.clock import FakeClock
from tests.fakes.operator_site import HERE, OperatorBrowser, operator_site
from tests.fakes.store import store_in_memory


@pytest.fixture
def store() -> Store:
    return store_in_memory()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def browser(store: Store, clock: FakeClock) -> OperatorBrowser:
    return OperatorBrowser(operator_site(store, clock))


async def new_link(store: Store, clock: FakeClock) -> str:
    return urlsplit(await OperatorLinks(store.operator_sessions, clock, new_secret, HERE).new()).path


def csrf(html: str) -> str:
    found = re.search('name="csrf" value="([0-9a-f]{64})"', html)
    assert found is not None
    return found[1]


async def test_nothing_is_shown_to_whoever_has_no_session(browser: OperatorBrowser) -> None:
    for path in ("/", "/detail", "/nowhere", "/enter/short"):
        answer = await browser.get(path)
        assert answer.status_code in {403, 404}
        assert "Words" not in answer.text


async def test_a_link_lets_one_browser_in_by_a_press(store: Store, clock: FakeClock, browser: OperatorBrowser) -> None:
    link, other = await new_link(store, clock), OperatorBrowser(browser.site)
    assert "Sign in here" in (await browser.get(link)).text
    assert "Sign in here" in (await browser.get(link)).text  # a preview does not use the link up
    entered = await browser.post(link)
    assert (entered.status_code, entered.headers["location"]) == (303, "/")
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert (await browser.get("/?words=these")).text.count("these") == 1
    assert (await other.post(link)).status_code == 404
    assert (await other.get("/")).status_code == 403


async def test_a_link_works_for_some_minutes(store: Store, clock: FakeClock, browser: OperatorBrowser) -> None:
    link = await new_link(store, clock)
    await clock.advance(LINK_LASTS.total_seconds())
    assert (await browser.get(link)).status_code == 404
    assert (await browser.post(link)).status_code == 404


async def test_behind_tls_the_cookie_is_for_this_host_alone(store: Store, clock: FakeClock) -> None:
    address = "https://operate.example.com"
    browser = OperatorBrowser(operator_site(store, clock, address=address), address)
    await browser.sign_in(store, clock)
    assert [*browser.cookies] == ["__Host-cogency-operator"]
    assert (await browser.get("/")).status_code == 200
    entered = await OperatorBrowser(browser.site, address).post(await new_link(store, clock))
    assert all(part in entered.headers["set-cookie"] for part in ("Secure", "Path=/", "HttpOnly"))


@pytest.mark.slow
async def test_a_session_ends_when_nobody_looks_and_after_a_day_at_work(
    store: Store, clock: FakeClock, browser: OperatorBrowser
) -> None:
    await browser.sign_in(store, clock)
    for _ in range(SESSION_LASTS // (SESSION_IDLE / 2) - 1):
        await clock.advance((SESSION_IDLE / 2).total_seconds())
        assert (await browser.get("/")).status_code == 200
    await clock.advance((SESSION_IDLE / 2).total_seconds())
    assert (await browser.get("/")).status_code == 403
    await browser.sign_in(store, clock)
    await clock.advance((SESSION_IDLE + timedelta(seconds=1)).total_seconds())
    assert (await browser.get("/")).status_code == 403


async def test_who_signs_out_ends_the_session_for_whoever_has_its_cookie(
    store: Store, clock: FakeClock, browser: OperatorBrowser
) -> None:
    await browser.sign_in(store, clock)
    stolen = OperatorBrowser(browser.site, cookies=dict(browser.cookies))
    assert (await stolen.get("/")).status_code == 200
    word = csrf((await browser.get("/")).text)
    assert (await browser.post("/sign-out", {"csrf": word})).status_code == 200
    assert (await stolen.get("/")).status_code == 403


async def test_everybody_can_be_signed_out(store: Store, clock: FakeClock, browser: OperatorBrowser) -> None:
    other = OperatorBrowser(browser.site)
    await browser.sign_in(store, clock)
    await other.sign_in(store, clock)
    word = csrf((await browser.get("/")).text)
    await browser.post("/sign-out", {"csrf": word, "all": "yes"})
    assert (await other.get("/")).status_code == 403


async def test_a_browser_that_signs_in_again_has_one_session(
    store: Store, clock: FakeClock, browser: OperatorBrowser
) -> None:
    await browser.sign_in(store, clock)
    await browser.sign_in(store, clock)
    now = clock.now()
    assert len(await store.operator_sessions.listed(now, now - SESSION_IDLE)) == 1


async def test_a_session_counts_in_each_process_and_after_a_restart(
    store: Store, clock: FakeClock, browser: OperatorBrowser
) -> None:
    await browser.sign_in(store, clock)
    beside = OperatorBrowser(operator_site(store, clock), cookies=dict(browser.cookies))
    assert (await beside.get("/")).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"sec_fetch_site": "cross-site", "origin": "https://evil.example"},
        {"sec_fetch_site": "same-site", "origin": "http://127.0.0.1:9999"},
        {"sec_fetch_site": "none", "origin": ""},
        {"sec_fetch_site": "same-origin", "origin": "https://evil.example"},
        {"sec_fetch_site": "", "origin": "https://evil.example"},
        {"sec_fetch_site": "", "origin": "null"},
        {"sec_fetch_site": "", "origin": ""},
    ],
)
async def test_no_other_site_can_press_a_button(
    store: Store, clock: FakeClock, browser: OperatorBrowser, headers: dict[str, str]
) -> None:
    link = await new_link(store, clock)
    assert (await browser.post(link, **headers)).status_code == 403
    await browser.sign_in(store, clock)
    word = csrf((await browser.get("/")).text)
    assert (await browser.post("/sign-out", {"csrf": word}, **headers)).status_code == 403
    assert (await browser.get("/")).status_code == 200
    assert (await browser.get(link)).status_code == 200


async def test_an_old_browser_that_names_its_origin_alone_is_let_in(
    store: Store, clock: FakeClock, browser: OperatorBrowser
) -> None:
    link = await new_link(store, clock)
    assert (await browser.post(link, sec_fetch_site="", origin=HERE)).status_code == 303


@pytest.mark.parametrize("word", ["", "0" * 64, "é"])
async def test_a_form_without_the_word_of_its_session_does_nothing(
    store: Store, clock: FakeClock, browser: OperatorBrowser, word: str
) -> None:
    await browser.sign_in(store, clock)
    other = OperatorBrowser(browser.site)
    await other.sign_in(store, clock)
    theirs = csrf((await other.get("/")).text)
    for tried in (word, theirs):
        assert (await browser.post("/sign-out", {"csrf": tried})).status_code == 403
    assert (await browser.get("/")).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost:80.evil", "[::2]", "127.0.0.1:x"]
)
async def test_another_name_is_not_served(store: Store, clock: FakeClock, browser: OperatorBrowser, host: str) -> None:
    await browser.sign_in(store, clock)
    answer = await browser.get("/", host=host)
    assert answer.status_code == 421
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", ["localhost:9000", "127.0.0.1", "[::1]:8090", "LOCALHOST"])
async def test_a_forwarded_port_is_served(store: Store, clock: FakeClock, browser: OperatorBrowser, host: str) -> None:
    await browser.sign_in(store, clock)
    assert (await browser.get("/", host=host)).status_code == 200


async def test_each_answer_says_what_browsers_may_do_with_it(
    store: Store, clock: FakeClock, browser: OperatorBrowser
) -> None:
    link = await new_link(store, clock)
    answers = [await browser.get("/"), await browser.get(link), await browser.post(link), await browser.get("/")]
    answers += [await browser.get("/nowhere"), await browser.get("/", host="evil"), await browser.post("/sign-out")]
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        policy = {part.strip() for part in answer.headers["Content-Security-Policy"].split(";")}
        assert policy >= {"default-src 'none'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"}
        assert "unsafe" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Frame-Options"] == "DENY"
        kept_apart = {answer.headers[f"Cross-Origin-{what}-Policy"] for what in ("Opener", "Resource")}
        assert (kept_apart, answer.headers["Cache-Control"]) == ({"same-origin"}, "no-store")
    for page in answers[:2]:
        assert not re.search(r"<script|<style|style=|\son[a-z]+=|javascript:", page.text)


async def test_the_stylesheet_is_the_only_file(browser: OperatorBrowser) -> None:
    found = re.search('href="(/static/pages[.][0-9a-f]+[.]css)"', (await browser.get("/")).text)
    assert found is not None
    styles = await browser.get(found[1])
    assert styles.headers["content-type"].startswith("text/css")
    for path in ("/static/pages.css", "/static/", "/static/../frame.py", "/static/%2e%2e/frame.py", "//etc/passwd"):
        answer = await browser.get(f"{HERE}{path}")
        assert answer.status_code == 403
        assert "import" not in answer.text


async def test_one_client_waits_when_it_asks_too_much_and_others_do_not(
    store: Store, clock: FakeClock, browser: OperatorBrowser
) -> None:
    statuses = [(await browser.get("/")).status_code for _ in range(int(AT_ONCE) + 5)]
    assert statuses == [403] * int(AT_ONCE) + [429] * 5
    other = OperatorBrowser(browser.site, client=("127.0.0.2", 1))
    assert (await other.get("/")).status_code == 403
    await clock.advance(1)
    await browser.sign_in(store, clock)


@pytest.mark.slow
async def test_links_are_not_guessed_at(store: Store, clock: FakeClock, browser: OperatorBrowser) -> None:
    link = await new_link(store, clock)
    statuses = [(await browser.get(f"/enter/{new_secret()}")).status_code for _ in range(int(AT_ONCE))]
    assert statuses == [404] * int(AT_ONCE)
    assert (await browser.get(link)).status_code == 429
    await clock.advance(1)
    assert (await browser.get(link)).status_code == 200, "tries use up no link"


ADDRESS = "https://operate.example.com"


@pytest.mark.slow
async def test_strangers_behind_the_same_proxy_do_not_keep_an_operators_link_from_working(
    store: Store, clock: FakeClock
) -> None:
    site = operator_site(store, clock, address=ADDRESS)
    operator, stranger = OperatorBrowser(site, ADDRESS), OperatorBrowser(site, ADDRESS)
    link = await new_link(store, clock)
    for number in range(int(AT_ONCE)):
        forged = f"198.51.100.{number}, 203.0.113.7"  # the proxy adds the last one
        assert (await stranger.get(f"/enter/{new_secret()}", x_forwarded_for=forged)).status_code == 404
    assert (await operator.get(link, x_forwarded_for="203.0.113.8")).status_code == 200
    assert (await stranger.get(link, x_forwarded_for="203.0.113.7")).status_code == 429


@pytest.mark.slow
async def test_a_client_cannot_name_itself_anew_with_each_request(store: Store, clock: FakeClock) -> None:
    proxied = OperatorBrowser(operator_site(store, clock, address=ADDRESS), ADDRESS)
    statuses = [
        (await proxied.get("/", x_forwarded_for=f"203.0.113.{number}")).status_code
        for number in range(int(PROXIED_AT_ONCE) + 5)
    ]
    assert statuses.count(429) == 5
    direct = OperatorBrowser(operator_site(store, clock))
    statuses = [
        (await direct.get("/", x_forwarded_for=f"203.0.113.{number}")).status_code for number in range(int(AT_ONCE) + 5)
    ]
    assert statuses.count(429) == 5, "without a proxy the header says nothing"


async def test_a_form_is_small_and_a_form(store: Store, clock: FakeClock, browser: OperatorBrowser) -> None:
    link = await new_link(store, clock)
    assert (await browser.post(link, {"a": "b" * BODY_BYTES})).status_code == 400
    assert (await browser.post(link, content_type="multipart/form-data; boundary=a")).status_code == 400
    assert (await browser.get(link)).status_code == 200


async def test_what_a_view_shows_is_escaped_and_what_nobody_sees_is_made_visible(
    store: Store, clock: FakeClock
) -> None:
    foreign = '<img src=x onerror=alert(1)>\u202egnp.exe\u200b \x1b[31m"'

    async def show(_: object) -> ViewAnswer:
        return ViewAnswer("sorry.html", {"says": ("Names", foreign)})

    browser = OperatorBrowser(operator_site(store, clock, [OperatorView("/", "Names", show)]))
    await browser.sign_in(store, clock)
    html = (await browser.get("/")).text
    assert "&lt;img src=x onerror=alert(1)&gt;\ufffdgnp.exe\ufffd \ufffd[31m&#34;" in html


def test_emoji_stay_as_they_are() -> None:
    for name in ("👩‍💻", "❤️", "1️⃣", "Zoë", "नमस्ते"):  # fmt: skip
        assert visible(name) == name
    assert visible("a\u200db") == "a\ufffdb"
    assert visible(3) == 3


async def test_a_value_that_a_template_names_and_is_not_given_is_an_error(store: Store, clock: FakeClock) -> None:
    async def show(_: object) -> ViewAnswer:
        return ViewAnswer("sorry.html")

    browser = OperatorBrowser(operator_site(store, clock, [OperatorView("/", "Words", show)]))
    await browser.sign_in(store, clock)
    with pytest.raises(Exception, match="'says' is undefined"):
        await browser.get("/")
