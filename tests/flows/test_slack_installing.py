"""A workspace installs the app by its page, is answered, and takes it away; its tokens are renewed by one process."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from agent.errors import SettingsError, StoreUnavailable
from agent.ports.installations import Installation, Installations
from agent.providers.scripted import ScriptedProvider
from benchmarks.skipping_loop import run_skipping
from bot.app.from_settings import slack_apps, slack_distribution
from bot.app.settings import load_settings
from bot.chat.sealing import SealingKeys
from bot.forgetting.retention import GONE
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import TIMEOUT_S
from bot.platforms.slack.installed import EARLY, LEASE, RETRY_S
from tests.fakes.kept_installations import KeptInstallations
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.fakes.sign_in_world import BAD_FORMS, KEY, OTHER_KEY, Browser
from tests.fakes.slack_faults import HANGS, Fault
from tests.fakes.slack_installs import SOURCE, InstallWorld, install_world, stored_world
from tests.fakes.slack_things import BOT_USER, TEAM
from tests.fakes.store import store_in_memory
from tests.fakes.turns_host import turns_host
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.slow

ALMOST = timedelta(hours=12) - EARLY + timedelta(minutes=1)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[InstallWorld]:
    async with stored_world(tmp_path) as one:
        yield one


def is_leaving(host: RecordingHost) -> bool:
    """Whether what was said in the workspace is to be erased."""
    return (GONE, SOURCE) in host.store.waiting_jobs


async def served(host: RecordingHost) -> None:
    await until(lambda: SOURCE in host.platforms.surfaces)


async def test_from_the_page_to_the_first_answered_mention(world: InstallWorld) -> None:
    host = turns_host(store_in_memory(), ScriptedProvider(["The boat lies in the harbour."]), world.clock)
    general = world.slack.state.channel("general")
    async with world.process(host), host.turns.serving():
        browser = Browser("ann")
        page = await browser.open(world.link)
        assert (page.status_code, "Continue to Slack" in page.text) == (200, True)
        told = await world.install(browser)
        assert "Cogency is installed in Fake" in told
        assert f"https://slack.com/app_redirect?app=A0APP&amp;team={TEAM}" in told
        await world.slack.until(lambda: SOURCE in host.platforms.sources())
        await world.slack.say("U0ANN", general, f"<@{BOT_USER}> where is my boat?")
        await world.slack.until(lambda: [one.text for one in world.slack.state.answers(general)])
        await world.slack.until(lambda: "The boat lies in the harbour." in world.slack.state.answers(general)[0].text)
    assert "chat:write" in world.installs.scopes


async def test_what_is_kept_is_sealed_and_says_who_installed_it(world: InstallWorld, tmp_path: Path) -> None:
    host = recording_host()
    async with world.process(host):
        await world.install(Browser("ann"))
        await served(host)
    tokens = await world.tokens()
    assert tokens is not None
    (row,) = await world.rows()
    assert (row.source, row.app, row.bot, row.installer) == (SOURCE, "A0APP", BOT_USER, f"{SOURCE}:U0ANN")
    files = await asyncio.to_thread(lambda: [one.read_bytes() for one in tmp_path.glob("store.db*")])
    for secret in (tokens.access, tokens.refresh, "client-secret"):
        assert not any(secret.encode() in file for file in files)
    assert tokens.access not in repr(row)


async def test_every_process_serves_what_was_installed_at_one_of_them_and_later_ones_too(world: InstallWorld) -> None:
    first, second, later = recording_host(), recording_host(), recording_host()
    async with world.process(first), world.process(second, first=False):
        await world.install(Browser("ann"))
        await served(first)
        await served(second)
    async with world.process(later):
        await served(later)


async def test_who_declines_on_slacks_page_is_told_what_to_do(world: InstallWorld) -> None:
    async with world.process(recording_host()):
        browser = Browser("ann")
        back = await browser.open(world.installs.deny(await world.begin(browser)))
    assert (back.status_code, "You did not approve" in back.text) == (400, True)
    assert await world.rows() == []


def state_in(address: str) -> str:
    return parse_qs(urlsplit(address).query)["state"][0]


async def test_what_leads_back_counts_once_in_one_browser_and_for_ten_minutes(world: InstallWorld) -> None:
    async with world.process(recording_host()):
        ann, eve = Browser("ann"), Browser("eve")
        back = world.installs.agree(await world.begin(ann))
        await eve.open(world.link)
        assert (await eve.open(back)).status_code == 403
        assert (await Browser("nobody").open(back)).status_code == 403
        assert (await ann.open(back)).status_code == 200
        assert "It works only once" in (await ann.open(back)).text
        for respelled in (state_in(back).upper(), f"{state_in(back)[:2]}+{state_in(back)[2:]}"):
            again = back.replace(state_in(back), respelled)
            assert "It works only once" in (await ann.open(again)).text, "another spelling of the same state"
        late = world.installs.agree(await world.begin(ann))
        world.pass_time(timedelta(minutes=11))
        assert (await ann.open(late)).status_code == 403
    assert len(await world.rows()) == 1


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?code=x",
        "?code=x&state=",
        "?code=x&state=00ff",
        "?code=x&state=zz&state=yy",
        "?state=" + "a" * 7_000,
        "?" + "&".join(f"a{one}=1" for one in range(100)),
        "?code=%00&state=%ff%fe",
    ],
)
async def test_what_was_made_up_leads_nowhere(world: InstallWorld, query: str) -> None:
    async with world.process(recording_host()):
        browser = Browser("eve")
        await browser.open(world.link)
        back = await browser.open(f"{world.address}/slack/oauth_redirect{query}")
    assert back.status_code == 403
    assert "location" not in back.headers


async def test_another_site_cannot_press_the_button(world: InstallWorld) -> None:
    async with world.process(recording_host()):
        ann, eve = Browser("ann"), Browser("eve")
        await ann.open(world.link)
        assert (await ann.post(world.link, {})).status_code == 403
        assert (await ann.post(world.link, {"browser": eve.cookies.get("cogency-install", "x")})).status_code == 403
        assert (await eve.post(world.link, {"browser": "é"})).status_code == 403


async def test_pages_run_nothing_are_framed_by_nobody_and_ask_no_host_header(world: InstallWorld) -> None:
    async with world.process(recording_host()):
        browser = Browser("ann")
        page = await browser.open(world.link)
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "<script" not in page.text
        assert page.headers["cache-control"] == "no-store"
        reader, writer = await asyncio.open_connection("127.0.0.1", world.distribution.delivery.port)
        kept = browser.cookies["cogency-install"]
        body = f"browser={kept}"
        writer.write(
            f"POST /slack/install HTTP/1.1\r\nHost: evil.example\r\nCookie: cogency-install={kept}\r\n"
            f"X-Forwarded-Host: evil.example\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        async with asyncio.timeout(PATIENCE_S):
            answer = (await reader.read(20_000)).decode()
        writer.close()
    assert answer.startswith("HTTP/1.1 303")
    assert "evil.example" not in answer


async def test_over_tls_the_cookie_is_kept_for_this_host_alone(world: InstallWorld) -> None:
    world.distribution = replace(world.distribution, address="https://bot.example.com")
    async with world.process(recording_host()):
        cookie = (await Browser("ann").open(world.link)).headers["set-cookie"]
    assert cookie.startswith("__Host-cogency-install=")
    assert {"Secure", "HttpOnly", "SameSite=Lax", "Path=/"} <= {part.strip() for part in cookie.split(";")}


async def test_a_workspace_that_is_not_listed_keeps_nothing_here_and_its_token_is_revoked(world: InstallWorld) -> None:
    world.installs.name = "<script>alert(1)</script>" + "x" * 500
    async with world.process(recording_host()):
        told = await world.install(Browser("eve"), "T0OTHER")
    assert "T0OTHER" in told
    assert "<script>alert" not in told
    assert "&lt;script&gt;" in told
    assert len(told) < 2_000
    assert await world.rows() == []
    assert len(world.installs.revoked) == 1


async def test_without_a_list_nobody_may_and_a_star_lets_everybody(tmp_path: Path) -> None:
    async with stored_world(tmp_path, frozenset()) as world, world.process(recording_host()):
        page = await Browser("ann").open(world.link)
        assert (page.status_code, "<button" in page.text) == (403, False)
        assert (await Browser("ann").post(world.link, {"browser": "x"})).status_code == 403
    (tmp_path / "other").mkdir()
    async with stored_world(tmp_path / "other", frozenset({"*"})) as world, world.process(recording_host()):
        assert "is installed in" in await world.install(Browser("ann"), "T0OTHER")


async def test_a_whole_organization_is_told_to_choose_a_workspace(world: InstallWorld) -> None:
    world.installs.for_organization = True
    async with world.process(recording_host()):
        assert "not in a whole organization" in await world.install(Browser("ann"))
    assert await world.rows() == []
    assert len(world.installs.revoked) == 1


async def test_slack_may_try_the_address_before_anybody_has_installed_the_app(world: InstallWorld) -> None:
    body = json.dumps({"type": "url_verification", "challenge": "3eZbrw1a", "token": "old"}).encode()
    async with world.process(recording_host()):
        assert await world.slack.posts.post(body, world.slack.posts.signed(body)) == (200, b"3eZbrw1a")
        assert (await world.slack.posts.post(body, world.slack.posts.signed(body, secret="other")))[0] != 200


async def test_what_comes_for_a_workspace_that_is_not_served_here_is_sent_again_and_not_mixed_up(
    world: InstallWorld,
) -> None:
    host = recording_host()
    async with world.process(host):
        await world.install(Browser("ann"))
        await served(host)
        event = {"type": "app_mention", "user": "U0ANN", "channel": "C1", "text": "hello", "ts": "1.1"}
        envelope = world.slack.envelope(event, team_id="T0OTHER", authorizations=[{"team_id": "T0OTHER"}])
        body = json.dumps(envelope["payload"]).encode()
        status, _ = await world.slack.posts.post(body, world.slack.posts.signed(body))
    assert status == 503
    assert host.taken == []


async def test_in_a_channel_of_two_workspaces_the_one_whose_bot_is_named_is_asked(world: InstallWorld) -> None:
    """Slack tells of it once, for whichever workspace it likes."""
    host = recording_host()
    general = world.slack.state.channel("general")
    async with world.process(host):
        await world.install(Browser("ann"))
        await served(host)
        message = world.slack.state.write("U0ANN", general, f"<@{BOT_USER}> where is my boat?")
        for event in world.slack.events_of(message):
            of_theirs: dict[str, Any] = {"authorizations": [{"team_id": "T0OTHER"}], "team_id": "T0OTHER"}
            for is_shared, status in ((False, 503), (True, 200)):  # elsewhere anybody may write the bot's id
                envelope = world.slack.envelope(event, **of_theirs, is_ext_shared_channel=is_shared)
                body = json.dumps(envelope["payload"]).encode()
                assert (await world.slack.posts.post(body, world.slack.posts.signed(body)))[0] == status
        await until(lambda: len(host.taken) == 1)


@pytest.mark.parametrize("still_valid", [True, False], ids=["the old token goes on", "the old token ends at once"])
async def test_of_two_processes_one_renews_and_both_go_on_with_what_came_of_it(
    world: InstallWorld, *, still_valid: bool
) -> None:
    world.installs.still_valid = still_valid
    first, second = recording_host(), recording_host()
    dm = world.slack.state.channel("ann", "im")
    async with world.process(first), world.process(second, first=False):
        await world.install(Browser("ann"))
        await served(first)
        await served(second)
        before = await world.tokens()
        world.pass_time(ALMOST)
        await world.until_renewed()
        await _is_kept(world, before)
        for process in (0, 1):
            message = world.slack.state.write("U0ANN", dm, f"hello {process}")
            (event,) = world.slack.events_of(message)
            await world.slack.deliver(world.slack.envelope(event), process)
        await until(lambda: first.taken)
        await until(lambda: second.taken)
        assert len(world.installs.refreshed) == 1
        assert not is_leaving(first)
        assert not is_leaving(second)


async def _is_kept(world: InstallWorld, before: object) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await world.tokens() == before:  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.01)


class Dying:
    """Installations as a process keeps them that dies after Slack's answer."""

    def __init__(self, kept: Installations) -> None:
        self._kept = kept
        self.put, self.listed, self.claim, self.remove = kept.put, kept.listed, kept.claim, kept.remove

    async def renewed(self, *_: object, **__: object) -> bool:
        raise StoreUnavailable("the process is gone")


async def test_a_kill_between_slacks_answer_and_ours_leaves_the_token_until_it_ends_and_says_so(
    world: InstallWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.installs.still_valid = True
    async with world.process(recording_host()):
        await world.install(Browser("ann"))
    whole, world.kept = world.kept, Dying(world.kept)
    world.pass_time(ALMOST)
    async with world.process(recording_host()):
        await world.until_renewed()
    world.kept = whole
    world.pass_time(LEASE)
    host = recording_host()
    async with world.process(host):
        await served(host)
        await until(lambda: "install the app again" in caplog.text.replace("install the\napp", "install the app"))
        assert SOURCE in host.platforms.surfaces
        world.pass_time(EARLY)
        await until(lambda: SOURCE not in host.platforms.surfaces)
        assert not is_leaving(host)
        assert "is installed in" in await world.install(Browser("ann"))
        await served(host)
    assert world.installs.refreshed == world.installs.refreshed[:1]


async def test_a_token_that_ended_while_nothing_ran_is_renewed_before_it_is_served(world: InstallWorld) -> None:
    async with world.process(recording_host()):
        await world.install(Browser("ann"))
    world.pass_time(timedelta(days=3))
    host = recording_host()
    async with world.process(host):
        await served(host)
    assert len(world.installs.refreshed) == 1


async def test_an_app_that_is_taken_away_stops_everywhere_and_forgetting_begins(world: InstallWorld) -> None:
    first, second = recording_host(), recording_host()
    async with world.process(first), world.process(second, first=False):
        await world.install(Browser("ann"))
        await served(first)
        await served(second)
        world.installs.uninstall()
        await world.slack.deliver(world.slack.envelope({"type": "app_uninstalled"}), 0)
        await until(lambda: SOURCE not in first.platforms.surfaces)
        await until(lambda: SOURCE not in second.platforms.surfaces)
        await until(lambda: is_leaving(first))
        await _is_removed(world)
    (row,) = await world.rows()
    assert (row.sealed, row.removed is not None) == (b"", True)
    later = recording_host()
    async with world.process(later):
        await until(lambda: "no workspace has installed" in later.platforms.troubles.get("slack", ""))
        assert "is installed in" in await world.install(Browser("ann"))
        await served(later)


async def _is_removed(world: InstallWorld) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while (await world.rows())[0].removed is None:  # noqa: ASYNC110 -- nobody tells
            await asyncio.sleep(0.01)


async def test_what_was_taken_away_while_nothing_ran_is_found_at_the_start(world: InstallWorld) -> None:
    async with world.process(recording_host()):
        await world.install(Browser("ann"))
    world.installs.uninstall()
    host = recording_host()
    async with world.process(host):
        await until(lambda: is_leaving(host))
        await _is_removed(world)


@pytest.mark.parametrize("code", ["account_inactive", "token_revoked", "invalid_auth"])
async def test_a_token_that_is_refused_for_a_moment_at_the_start_removes_nothing(
    world: InstallWorld, code: str
) -> None:
    async with world.process(recording_host()):
        await world.install(Browser("ann"))
    refusals = world.slack.faults["auth.test"]
    refusals += [Fault(error=code)] * 2  # of the sign-in, and of the check that follows
    host = recording_host()
    async with world.process(host):
        await until(lambda: not refusals)
        await served(host)
        (row,) = await world.rows()
    assert row.removed is None
    assert not is_leaving(host)


def test_whoever_installs_the_app_while_slack_never_answers_is_told_so_within_seconds() -> None:
    async def run() -> None:
        async with install_world(KeptInstallations(), speed=1.0) as world, world.process(recording_host()):
            world.slack.faults["oauth.v2.access"].append(HANGS)
            browser, began = Browser("ann"), world.clock.monotonic()
            assert platforms_texts.SLACK_SILENT in await world.install(browser)
            assert world.clock.monotonic() - began < 2 * TIMEOUT_S
            assert await world.rows() == []
            assert "is installed in" in await world.install(browser), "the next attempt"

    run_skipping(run(), lambda: 0.0)


def test_tokens_whose_renewal_slack_never_answers_for_are_renewed_later() -> None:
    async def run() -> None:
        host = recording_host()
        async with install_world(KeptInstallations(), speed=1.0) as world, world.process(host):
            await world.install(Browser("ann"))
            before = await world.tokens()
            world.slack.faults["oauth.v2.access"].append(HANGS)
            world.pass_time(ALMOST)
            await world.slack.until(lambda: not world.slack.faults["oauth.v2.access"])
            began = world.clock.monotonic()
            while await world.tokens() == before:
                await world.clock.sleep(1.0)
            assert world.clock.monotonic() - began < TIMEOUT_S + 2 * RETRY_S
            assert SOURCE in host.platforms.surfaces, "it is served meanwhile"

    run_skipping(run(), lambda: 0.0)


async def test_another_key_opens_nothing_and_is_named_and_a_new_one_goes_before_the_old(
    world: InstallWorld, caplog: pytest.LogCaptureFixture
) -> None:
    async with world.process(recording_host()):
        await world.install(Browser("ann"))
    world.keys = SealingKeys(OTHER_KEY, "KEY")
    async with world.process(recording_host()):
        await until(lambda: "COGENCY_ACCOUNT_KEY" in caplog.text)
    world.keys = SealingKeys(f"{OTHER_KEY},{KEY}", "KEY")
    host = recording_host()
    async with world.process(host):
        await served(host)


async def test_a_row_that_is_moved_to_another_workspace_opens_nothing(world: InstallWorld) -> None:
    async with world.process(recording_host()):
        await world.install(Browser("ann"))
    (row,) = await world.rows()
    moved: Installation = replace(row, source="slack:T0OTHER")
    await world.kept.put(moved)
    host = recording_host()
    async with world.process(host):
        await served(host)
        await until(lambda: "slack:t0other" in host.platforms.troubles)
        assert "slack:T0OTHER" not in host.platforms.surfaces


async def test_an_app_without_rotation_is_served_with_a_token_that_stays(world: InstallWorld) -> None:
    world.installs.rotates = False
    host = recording_host()
    async with world.process(host):
        await world.install(Browser("ann"))
        await served(host)
        world.pass_time(timedelta(days=30))
    (row,) = await world.rows()
    assert (row.expires, world.installs.refreshed) == (None, [])


@pytest.mark.parametrize("content_type", BAD_FORMS)
async def test_a_form_of_any_charset_is_answered_and_logs_no_traceback(
    world: InstallWorld, content_type: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with world.process(recording_host()), httpx2.AsyncClient(verify=NO_AUTHORITIES) as client:
        for body in (b"browser=x", b"\xff\xfe", b"--b\r\n\r\n"):
            answer = await client.post(world.link, content=body, headers={"content-type": content_type})
            assert answer.status_code in (400, 403)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info]


@pytest.mark.parametrize("encoding", ["gzip", "br", "unknown"])
async def test_a_form_that_says_that_it_is_compressed_is_not_unpacked(
    world: InstallWorld, encoding: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with world.process(recording_host()), httpx2.AsyncClient(verify=NO_AUTHORITIES) as client:
        answer = await client.post(world.link, content=b"browser=x", headers={"content-encoding": encoding})
        assert answer.status_code in (400, 403)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR or record.exc_info]


@pytest.mark.parametrize("length", ["Transfer-Encoding: chunked", "Content-Length: 5000"])
async def test_a_form_that_is_long_or_does_not_say_how_long_it_is_is_not_read(world: InstallWorld, length: str) -> None:
    async with world.process(recording_host()), asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection("127.0.0.1", world.distribution.delivery.port)
        writer.write(f"POST /slack/install HTTP/1.1\r\nHost: bot\r\n{length}\r\n\r\n1000\r\n".encode())
        assert (await reader.readline()).startswith(b"HTTP/1.1 400"), "before the body has come"
        writer.close()


async def test_many_codes_in_a_minute_are_not_all_exchanged(world: InstallWorld) -> None:
    async with world.process(recording_host()):
        browser = Browser("eve")
        page = await browser.open(world.link)
        sent = [(await browser.press(page)).headers["location"] for _ in range(30)]
        made_up = [world.installs.agree(link).replace("code=code-", "code=none-") for link in sent]
        seen = [opened.status_code for opened in await asyncio.gather(*map(browser.open, made_up))]
    assert set(seen) == {400, 429}
    assert seen.count(400) >= 20


DISTRIBUTED = {
    "SLACK_CLIENT_ID": "11.22",
    "SLACK_CLIENT_SECRET": "secret",
    "SLACK_SIGNING_SECRET": "signing",
    "COGENCY_SLACK_HTTP": "127.0.0.1:3000",
    "COGENCY_SLACK_ADDRESS": "https://bot.example.com/",
    "COGENCY_ACCOUNT_KEY": KEY,
}


def test_settings_make_a_distributed_app_that_nobody_may_install_at_first() -> None:
    one = slack_distribution(load_settings(DISTRIBUTED))
    assert one is not None
    assert (one.address, one.installers, one.client_id) == ("https://bot.example.com", frozenset(), "11.22")
    assert "app_mentions:read" in one.scopes
    assert slack_apps(load_settings(DISTRIBUTED)) == ()
    assert slack_distribution(load_settings({})) is None


@pytest.mark.parametrize("lacking", [name for name in DISTRIBUTED if name != "SLACK_CLIENT_ID"])
def test_what_a_distributed_app_lacks_is_named(lacking: str) -> None:
    given = {name: value for name, value in DISTRIBUTED.items() if name != lacking}
    with pytest.raises(SettingsError, match=lacking):
        slack_distribution(load_settings(given))


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"COGENCY_SLACK_ADDRESS": "http://bot.example.com"}, "COGENCY_SLACK_ADDRESS"),
        ({"COGENCY_SLACK_ADDRESS": "https://bot.example.com/slack/install"}, "COGENCY_SLACK_ADDRESS"),
        ({"SLACK_BOT_TOKEN": "xoxb-1"}, "SLACK_BOT_TOKEN"),
        ({"SLACK_APP_TOKEN": "xapp-1"}, "SLACK_APP_TOKEN"),
    ],
)
def test_what_does_not_go_with_a_distributed_app_is_refused(more: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        slack_distribution(load_settings({**DISTRIBUTED, **more}))
