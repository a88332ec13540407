"""`cogency person` and `cogency place` as an operator types them, also while `cogency run` answers in Slack."""

import asyncio
import json
from functools import partial
from pathlib import Path
from subprocess import CompletedProcess

from agent.machine import CLOCK
from bot.chat.exit_codes import Exit
from tests.fakes.model_server import ModelServer
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER
from tests.fakes.terminal import FakeTerminal
from tests.flows.forgetting_bot import holds
from tests.flows.test_service import answer, by_model, half_an_answer, is_whole, on_slack, service
from tests.flows.test_terminal import cogency, environment
from tests.patience import until

ANNA = "terminal:anna"


async def commanded(folder: Path, *arguments: str, **settings: str) -> CompletedProcess[str]:
    """While the bot runs."""
    return await asyncio.to_thread(partial(cogency, folder, *arguments, **settings))


async def test_a_person_is_erased_by_an_operator_while_the_bot_answers_them(tmp_path: Path) -> None:
    async with FakeSlack(CLOCK) as slack, ModelServer([answer(), half_an_answer(), answer()]) as model:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with service(tmp_path, **on_slack(slack), **by_model(model)):
            await slack.connected(2)
            first = await slack.say(ann, general, f"<@{BOT_USER}> my boat is Zanzibarquince")
            await until(lambda: is_whole([page.text for page in slack.state.answers(general, first.ts)]))
            open_one = await slack.say(ann, general, f"<@{BOT_USER}> where is my Zanzibarquince?")
            await until(lambda: slack.state.answers(general, open_one.ts))
            assert holds(tmp_path, "Zanzibarquince")
            listed = await commanded(tmp_path, "person", "find", "--json")
            [person] = json.loads(listed.stdout)
            export = await commanded(tmp_path, "person", "export", person["id"], "-")
            erased = await commanded(tmp_path, "person", "erase", person["id"], "--yes")
            assert (erased.returncode, erased.stderr) == (Exit.OK, "")
            assert not holds(tmp_path, "Zanzibarquince")
            await until(lambda: not slack.state.answers(general, open_one.ts))
            audit = await commanded(tmp_path, "audit")
            again = await commanded(tmp_path, "person", "export", person["id"])
            after = await slack.say(ann, general, f"<@{BOT_USER}> hello again")
            await until(lambda: is_whole([page.text for page in slack.state.answers(general, after.ts)]))
    assert "Zanzibarquince" in json.loads(export.stdout)["messages"][0]["text"]
    assert "Forgotten: " in erased.stdout
    assert "no trace of them is left in the database files." in erased.stdout
    assert "erase person  alone (operator)  success" in audit.stdout
    assert person["id"] not in audit.stdout
    assert again.returncode == Exit.FAILED
    assert "It was erased on" in again.stderr


async def test_a_folder_is_learned_for_a_channel_while_the_bot_answers_there(tmp_path: Path) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    (folder / "boats.md").write_text("Our boats are blue.")
    (folder / "broken.pdf").write_text("no PDF")
    async with FakeSlack(CLOCK) as slack, ModelServer([answer()]) as model:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with service(tmp_path, **on_slack(slack), **by_model(model)):
            await slack.connected(2)
            unknown = await commanded(tmp_path, "learn", str(folder), "--place", "slack:T1:C0")
            first = await slack.say(ann, general, f"<@{BOT_USER}> hello")
            await until(lambda: is_whole([page.text for page in slack.state.answers(general, first.ts)]))
            [place] = json.loads((await commanded(tmp_path, "place", "find", "--json")).stdout)
            learned = await commanded(tmp_path, "learn", str(folder), "--place", place["id"])
            named = await commanded(tmp_path, "place", "find", "#general", **on_slack(slack))
            again = await commanded(
                tmp_path, "learn", str(folder / "boats.md"), "--place", "general", **on_slack(slack)
            )
            exported = await commanded(tmp_path, "place", "export", place["id"], "-")
    assert (unknown.returncode, "first mention the bot there" in unknown.stderr) == (Exit.FAILED, True)
    assert learned.returncode == Exit.FAILED  # a script sees that a file was refused
    assert "learned handbook/boats.md (1 passage)\nrefused handbook/broken.pdf: " in learned.stderr
    assert f"Documents for {place['id']}: 1 learned, 1 refused. Full members can ask" in learned.stdout
    assert (again.returncode, again.stderr) == (Exit.OK, "learned boats.md (1 passage)\n")
    assert named.stdout.startswith(f"{place['id']}  #general, team  ")
    documents = [(document["name"], document["text"]) for document in json.loads(exported.stdout)["documents"]]
    assert documents == [(name, ["Our boats are blue."]) for name in ("handbook/boats.md", "boats.md")]


def test_two_operators_export_and_erase_at_a_shell(tmp_path: Path) -> None:
    cogency(tmp_path, "chat", typed="remember that my boat is blue\n")
    both = {"COGENCY_TWO_OPERATORS": "export,erase"}
    wanted = cogency(tmp_path, "person", "export", ANNA, "--operator", "ann", **both)
    assert "Nothing has happened yet" in wanted.stdout
    alone = cogency(tmp_path, "person", "confirm", "2", "out.json", "--operator", "ann", **both)
    assert (alone.returncode, "ann made this request" in alone.stderr) == (Exit.FAILED, True)
    assert not (tmp_path / "out.json").exists()
    given = cogency(tmp_path, "person", "confirm", "2", "out.json", "--operator", "ben", **both)
    assert given.stdout == f"Wrote the stored data of {ANNA} to out.json. Audit entry: #3.\n"
    assert (tmp_path / "out.json").stat().st_mode & 0o777 == 0o600
    told = json.loads((tmp_path / "out.json").read_text())
    assert [fact["text"] for fact in told["facts"]] == ["my boat is blue"]
    assert [call["tool"] for call in told["tool_calls"]] == ["remember"]
    unasked = cogency(tmp_path, "person", "erase", ANNA, **both)
    assert (unasked.returncode, "Add --yes" in unasked.stderr) == (Exit.ARGUMENTS, True)


def test_at_a_terminal_its_id_has_to_be_typed_before_anything_is_erased(tmp_path: Path) -> None:
    cogency(tmp_path, "chat", typed="remember that my boat is blue\n")
    program = f"from bot.__main__ import run; raise SystemExit(run(['person', 'erase', {ANNA!r}]))"
    with FakeTerminal(program, **environment(tmp_path)) as terminal:
        terminal.until(f"Type {ANNA} to erase it: ")
        terminal.type("yes\n")
        terminal.until("Nothing was erased.")
    assert holds(tmp_path, "my boat is blue")
    with FakeTerminal(program, 200, **environment(tmp_path)) as terminal:
        terminal.until(f"Type {ANNA} to erase it: ")
        terminal.type(f"{ANNA}\n")
        terminal.until("To verify this, run ")
    assert not holds(tmp_path, "my boat is blue")
