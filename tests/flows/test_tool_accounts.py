"""A server of tools with sign-in, used as an operator sets it up: one real process, Slack and Discord, real browsers.

The link is seen by its person alone, each person's tools work with their own account, and what is forgotten is over.
"""

import json
import re
from pathlib import Path

import pytest

from agent.machine import CLOCK
from bot.chat.exit_codes import Exit
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, seen
from tests.fakes.oauth_server import tool_service
from tests.fakes.sign_in_world import KEY, Browser, free_port
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER, FakeEphemeral
from tests.flows.test_service import on_discord, on_slack, service
from tests.flows.test_terminal import cogency
from tests.patience import until

pytestmark = [pytest.mark.server, pytest.mark.slow]
USE = "use wiki.notes {}"
ENDED = re.compile("the notes of|unknown tool")


def settings(folder: Path, url: str, *, pages: bool = True) -> dict[str, str]:
    entry = {"url": url, "account": "person", "effects": {"*": "reads"}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"wiki": entry}}))
    port = free_port()
    address = {"COGENCY_SIGN_IN_ADDRESS": f"http://127.0.0.1:{port}", "COGENCY_SIGN_IN_HTTP": f"127.0.0.1:{port}"}
    needed = {"COGENCY_MCP": "mcp.json", "COGENCY_ACCOUNT_KEY": KEY, "COGENCY_MODEL": "rehearsal"}
    return needed | (address if pages else {})


def link_in(said: str) -> str:
    found = re.search(r"\((http[^)\s]+)\)|<(http[^|>\s]+)", said)
    assert found is not None, said
    return (found[1] or found[2]).replace("&amp;", "&")


async def ephemeral_answer(slack: FakeSlack, user: str, words: str) -> FakeEphemeral:
    """What a command answers to its user."""
    before = len(slack.state.ephemerals)
    await slack.command(user, slack.state.channel("general"), "/tools", words)
    await until(lambda: len(slack.state.ephemerals) > before)
    (said,) = slack.state.ephemerals[before:]
    assert said.user == user
    return said


async def asked_in_slack(slack: FakeSlack, user: str) -> str:
    general = slack.state.channel("general")
    asked = await slack.say(user, general, f"<@{BOT_USER}> {USE}")
    await until(lambda: any(ENDED.search(one.text) for one in slack.state.answers(general, asked.ts)))
    return " ".join(one.text for one in slack.state.answers(general, asked.ts))


async def test_in_slack_each_person_signs_in_by_a_link_of_their_own_and_forgets_it(tmp_path: Path) -> None:
    async with FakeSlack(CLOCK) as slack, tool_service() as wiki:
        wiki.notes = {"ann": ["buy bread"], "bob": ["sell boat"]}
        ann, bob = slack.state.user("ann"), slack.state.user("bob")
        async with service(tmp_path, **on_slack(slack), **settings(tmp_path, wiki.url)):
            await slack.connected(2)
            assert "buy bread" not in await asked_in_slack(slack, ann)
            for user, name in ((ann, "ann"), (bob, "bob")):
                done = await Browser(name).agree(link_in((await ephemeral_answer(slack, user, "sign in wiki")).text))
                assert (done.status_code, f"<b>{name} on Slack (T" in done.text) == (200, True)
            assert "the notes of ann: buy bread" in await asked_in_slack(slack, ann)
            assert "the notes of bob: sell boat" in await asked_in_slack(slack, bob)
            assert "you are signed in" in (await ephemeral_answer(slack, ann, "")).text
            tokens = [*wiki.authorization.access, *wiki.authorization.refresh]
            await forget_everything(slack, ann)
            assert wiki.authorization.users() == {"bob"}
            assert "buy bread" not in await asked_in_slack(slack, ann)
            assert "the notes of bob: sell boat" in await asked_in_slack(slack, bob)
        assert not [token for token in tokens if token.encode() in (tmp_path / "bot.db").read_bytes()]


async def forget_everything(slack: FakeSlack, user: str) -> None:
    general, before = slack.state.channel("general"), len(slack.state.ephemerals)
    await slack.command(user, general, "/forget", "everything")
    await until(lambda: len(slack.state.ephemerals) > before)
    await slack.click(user, slack.state.ephemerals[-1], "Forget")
    await until(lambda: "Forgotten: " in slack.state.ephemerals[-1].text)
    assert "1 sign-in to a tool" in slack.state.ephemerals[-1].text


async def told_in_discord(discord: FakeDiscord, person: str, words: str) -> str:
    interaction = await discord.command(person, "tools", words=words)
    messages = discord.world.messages
    await until(lambda: interaction.original in messages and seen(messages[interaction.original]))
    return seen(messages[interaction.original])


async def asked_in_discord(discord: FakeDiscord, person: str) -> str:
    asked = await discord.say(person, f"<@{BOT}> {USE}")
    await until(lambda: any(map(ENDED.search, discord.world.shown(asked["id"]))))
    return " ".join(discord.world.shown(asked["id"]))


async def test_in_discord_each_person_signs_in_by_a_link_of_their_own_and_out_again(tmp_path: Path) -> None:
    async with running_discord(CLOCK) as discord, tool_service() as wiki:
        wiki.notes = {"ann": ["buy bread"], "bo": ["sell boat"]}
        async with service(tmp_path, **on_discord(discord), **settings(tmp_path, wiki.url)):
            await discord.until(lambda: discord.identified and discord.rest.commands)
            for person, name in ((ANN, "ann"), (BO, "bo")):
                done = await Browser(name).agree(link_in(await told_in_discord(discord, person, "sign in wiki")))
                assert done.status_code == 200
            assert "the notes of ann: buy bread" in await asked_in_discord(discord, ANN)
            assert "the notes of bo: sell boat" in await asked_in_discord(discord, BO)
            assert "has revoked my access" in await told_in_discord(discord, ANN, "sign out wiki")
            assert wiki.authorization.users() == {"bo"}
            assert "buy bread" not in await asked_in_discord(discord, ANN)


async def test_what_is_pasted_signs_in_and_is_revoked_also_when_the_operator_has_taken_the_server_away(
    tmp_path: Path,
) -> None:
    async with FakeSlack(CLOCK) as slack, tool_service() as wiki:
        wiki.notes = {"ann": ["buy bread"]}
        ann = slack.state.user("ann")
        with_server = settings(tmp_path, wiki.url, pages=False)
        async with service(tmp_path, **on_slack(slack), **with_server):
            await slack.connected(2)
            browser, link = Browser("ann"), link_in((await ephemeral_answer(slack, ann, "sign in wiki")).text)
            back = await browser.follow(await browser.open(link), until="http://127.0.0.1:33418/")
            pasted = back.headers["location"].replace("&", "&amp;")  # as Slack writes it
            assert "You are signed in" in (await ephemeral_answer(slack, ann, f"sign in wiki {pasted}")).text
            assert "the notes of ann: buy bread" in await asked_in_slack(slack, ann)
        assert wiki.authorization.users() == {"ann"}
        without = {name: value for name, value in with_server.items() if name != "COGENCY_MCP"}
        async with service(tmp_path, **on_slack(slack), **without):
            await slack.connected(2)
            await forget_everything(slack, ann)
        assert wiki.authorization.users() == set()


@pytest.mark.parametrize(
    ("oauth", "warns"),
    [
        ({"client_id": "ours", "client_secret": "hush"}, True),
        ({"client_id": "ours", "client_secret": "hush", "issuer": "https://login.example"}, False),
        ({"client_id": "ours"}, False),
    ],
)
def test_the_doctor_warns_of_a_secret_that_goes_to_whichever_service_a_server_names(
    tmp_path: Path, oauth: dict[str, str], warns: bool
) -> None:
    given = settings(tmp_path, "http://127.0.0.1:1/mcp")
    file = tmp_path / given["COGENCY_MCP"]
    servers = json.loads(file.read_text("utf-8"))
    servers["mcpServers"]["wiki"]["oauth"] = oauth
    file.write_text(json.dumps(servers), "utf-8")
    said = cogency(tmp_path, "doctor", **given).stdout
    assert ("wiki can choose which sign-in service receives the `client_secret`" in said) == warns
    assert "hush" not in said


def test_the_doctor_says_how_people_sign_in_and_what_is_missing_for_that(tmp_path: Path) -> None:
    complete = settings(tmp_path, "http://127.0.0.1:1/mcp")
    assert "each person signs in with `/tools`, on pages at http" in cogency(tmp_path, "doctor", **complete).stdout
    without = {name: value for name, value in complete.items() if name != "COGENCY_ACCOUNT_KEY"}
    key = tmp_path / "key"
    key.write_text(KEY)
    key.chmod(0o644)
    for given, said in (
        (without, "openssl rand -base64 32"),
        (without | {"COGENCY_ACCOUNT_KEY_FILE": str(key)}, "chmod 600"),
        (complete | {"COGENCY_ACCOUNT_KEY": "short"}, "COGENCY_ACCOUNT_KEY must contain 32 random bytes"),
        (complete | {"COGENCY_SIGN_IN_ADDRESS": "http://bot.example"}, "must start with https://"),
        (complete | {"COGENCY_SIGN_IN_HTTP": ""}, "Set both COGENCY_SIGN_IN_HTTP"),
    ):
        ran = cogency(tmp_path, "doctor", **given)
        assert (ran.returncode, said in ran.stdout) == (Exit.FAILED, True), ran.stdout
        started = cogency(tmp_path, "ask", "hello", **given)
        assert (started.returncode, said in started.stderr) == (Exit.SETTINGS, True), started.stderr
