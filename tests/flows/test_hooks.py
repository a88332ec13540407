"""Hooks, as docs/hooks.md shows them: the real service on both platforms, and all bytes that reach a model."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from agent.machine import CLOCK
from bot.chat.exit_codes import Exit
from tests.fakes.discord_gateway import running_discord
from tests.fakes.discord_world import ANN, BOT
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, head, text, whole
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.flows.test_service import ROOT, by_model, on_discord, on_slack, service
from tests.flows.test_terminal import cogency
from tests.patience import until

PAGE = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
PERSONAL_DATA, WORD, PROGRAM = (part.partition("```")[0] for part in PAGE.split("```python\n")[1:])
SENTENCE = "I can't discuss that project. Ask the security team."
MAIL, PHONE = "ann.lee@example.com", "+49 431 1234567"
TOOLS = '''
from pathlib import Path
from agent import tool

@tool(effect="reads")
async def look_up(who: str) -> str:
    """Look somebody up."""
    Path({seen!r}).write_text(who)
    return "Found ben@example.com for " + who
'''
LONG = "The harbour of Kiel has seven berths and a crane. " * 60


def answers(request: Request, says: Callable[[str], list[str]]) -> Reply:
    """A vendor of both kinds of models. `says`: what it streams to a conversation's newest message."""
    if request.path.endswith("/embeddings"):
        given = cast("list[str]", request.json["input"])
        return whole(200, {"data": [{"index": at, "embedding": [1.0, 0.5]} for at in range(len(given))]})
    if request.method == "GET":
        return whole(404, {})
    messages = cast("list[object]", request.json["messages"])
    return [head(), *map(text, says(json.dumps(messages[-1], ensure_ascii=False))), DONE]


def tells_by_a_tool(newest: str) -> list[str]:
    """It looks up whom the question names, in pieces that cut the placeholder, and says so; all else is a summary."""
    if "Who is" in newest:
        return ['<execute>[{"name": "look_up", "args": {"who": "[EMA', 'IL-1]"}}]</execute>']
    if "What did I say" in newest:
        return ['<execute>[{"name": "recall", "args": {"query": "[EMAIL-1]"}}]</execute>']
    if "Found" in newest:
        return ["She is [EM", "AI", "L-1], or [EMAIL-2]; call ", "[PHONE-", "1]."]
    return ['{"goal": "berths"}' if "JSON" in newest else "It is noted."]


async def test_personal_data_reaches_no_model_and_comes_back_on_both_platforms(tmp_path: Path) -> None:
    (tmp_path / "my_hooks.py").write_text(PERSONAL_DATA)
    (tmp_path / "my_tools.py").write_text(TOOLS.format(seen=str(tmp_path / "seen")))
    settings = {
        "COGENCY_HOOKS": "my_hooks.py",
        "COGENCY_TOOLS": "my_tools.py",
        "COGENCY_EMBEDDINGS": "openai:text-embedding-3-small",
        "COGENCY_HISTORY_TOKENS": "500",
        "OPENAI_API_KEY": "sk-1",
    }
    told = f"She is {MAIL}, or ben@example.com; call {PHONE}."
    async with (
        FakeSlack(CLOCK) as slack,
        running_discord(CLOCK) as discord,
        ModelServer(lambda request: answers(request, tells_by_a_tool)) as model,
    ):
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with service(tmp_path, **on_slack(slack), **on_discord(discord), **by_model(model), **settings):
            await slack.connected(2)
            await discord.until(lambda: discord.identified and discord.rest.commands)
            asked = await slack.say(ann, general, f"<@{BOT_USER}> Who is {MAIL}, {PHONE}?")
            await until(lambda: any(told in page.text for page in slack.state.answers(general, asked.ts)))
            assert (tmp_path / "seen").read_text() == MAIL
            for number, words in enumerate([f"{LONG} {MAIL}", f"And {MAIL}?"], 2):  # a summary is due with the second
                await slack.say(ann, general, f"<@{BOT_USER}> {words}", asked.ts)
                await until(lambda: len(done(slack, asked)) == number)  # noqa: B023 -- it is waited for at once
            elsewhere = await slack.say(ann, general, f"<@{BOT_USER}> What did I say of {MAIL}?")
            await until(lambda: done(slack, elsewhere))
            there = await discord.say(ANN, f"<@{BOT}> Who is {MAIL}, {PHONE}?")
            await until(lambda: any(told in page for page in discord.world.shown(there["id"])))
            await until(lambda: {kind_of(request) for request in model.requests} >= {"turn", "summary", "embedding"})
    sent = b"\n".join(request.body for request in model.requests)
    assert b"@example" not in sent
    assert b"1234567" not in sent
    assert sent.count(b"[EMAIL-1]") > 4


def done(slack: FakeSlack, asked: FakeMessage) -> list[str]:
    pages = slack.state.answers(asked.channel, asked.ts)
    return [page.text for page in pages if "noted" in page.text or "call" in page.text]


def kind_of(request: Request) -> str:
    if request.path.endswith("/embeddings"):
        return "embedding"
    return "turn" if b"look_up" in request.body else "summary"


def lets_it_slip(newest: str) -> list[str]:
    if "plans" in newest:
        return ['<execute>[{"name": "look_up", "args": {"who": "Bluefin"}}]</execute>']
    return ["The boat is fine."] if "boat" in newest else ["I think that Blue-Fin is ", "late. " * 30]


async def test_a_word_leaves_neither_to_a_model_nor_to_a_tool_nor_in_an_answer(tmp_path: Path) -> None:
    (tmp_path / "my_hooks.py").write_text(WORD)
    (tmp_path / "my_tools.py").write_text(TOOLS.format(seen=str(tmp_path / "seen")))
    settings = {"COGENCY_HOOKS": "my_hooks.py", "COGENCY_TOOLS": "my_tools.py"}
    async with FakeSlack(CLOCK) as slack, ModelServer(lambda request: answers(request, lets_it_slip)) as model:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with service(tmp_path, **on_slack(slack), **by_model(model), **settings):
            await slack.connected(2)

            async def shown(words: str, thread: str = "") -> str:
                asked = await slack.say(ann, general, f"<@{BOT_USER}> {words}", thread)
                under = thread or asked.ts
                before = len(slack.state.answers(general, under))
                await until(lambda: len(slack.state.answers(general, under)) > before)
                page = slack.state.answers(general, under)[-1]
                await until(lambda: SENTENCE in page.text or "fine" in page.text)
                return under

            refused = await shown("How is BlueFin?")
            assert model.requests == []
            await shown("How is the boat?", refused)
            await slack.say(ann, general, "Bluefin is late, again.")
            await shown("Which plans do you know?")
            assert not (tmp_path / "seen").exists()
        everything = [page.text for page in slack.state.answers(general)]
    assert b"blue" not in b"".join(request.body for request in model.requests).lower()
    assert not any("blue" in page.lower() for page in everything)


def named(folder: Path, module: str, **settings: str) -> dict[str, str]:
    path = os.pathsep.join([str(folder), str(ROOT)])
    return {"PYTHONPATH": path, "COGENCY_HOOKS": module, "COGENCY_MODEL": "rehearsal", **settings}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_hooks.py").write_text(WORD)
    (tmp_path / "my_hooks.py").chmod(0o600)
    return tmp_path


def test_in_the_terminal_a_question_is_refused_and_doctor_and_audit_say_what_there_is(folder: Path) -> None:
    asked = cogency(folder, "ask", "How is Bluefin?", **named(folder, "my_hooks"))
    assert SENTENCE in asked.stderr
    looked = cogency(folder, "doctor", **named(folder, "my_hooks"))
    assert "the bot calls before_question, before_call, before_model, after_answer" in looked.stdout
    audited = cogency(folder, "audit", **named(folder, "my_hooks")).stdout
    assert "before_question" in audited
    assert "refused (hook)" in audited
    assert "Bluefin" not in audited


def test_a_file_of_hooks_is_named_where_a_file_of_tools_may_be(folder: Path) -> None:
    (folder / ".env").write_text("COGENCY_HOOKS=my_hooks.py\nCOGENCY_MODEL=rehearsal\n")
    (folder / ".env").chmod(0o600)
    assert SENTENCE in cogency(folder, "ask", "How is Bluefin?").stderr
    ran = cogency(folder, "ask", "hello", OPENAI_API_KEY="sk-of-the-environment")
    assert (ran.returncode, "COGENCY_HOOKS is set in" in ran.stderr) == (Exit.SETTINGS, True), ran.stderr
    (folder / "my_hooks.py").chmod(0o666)
    ran = cogency(folder, "ask", "hello")
    assert (ran.returncode, "my_hooks.py can be written by other users" in ran.stderr) == (Exit.SETTINGS, True)


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        ("import nowhere_at_all", "COGENCY_HOOKS: bad_hooks cannot be imported"),
        ("x = 1", "COGENCY_HOOKS: bad_hooks does not contain any hooks"),
        ("def before_call(call): return call", "before_call in bad_hooks must be an async function"),
    ],
)
def test_what_cannot_be_loaded_stops_the_start_and_doctor_says_why(folder: Path, module: str, sentence: str) -> None:
    (folder / "bad_hooks.py").write_text(module)
    asked = cogency(folder, "ask", "hello", **named(folder, "bad_hooks"))
    assert (asked.returncode, sentence in asked.stderr, asked.stderr.count("\n")) == (Exit.SETTINGS, True, 1)
    looked = cogency(folder, "doctor", **named(folder, "bad_hooks"))
    assert (looked.returncode, sentence in looked.stdout) == (Exit.FAILED, True)


def test_the_pages_program_gives_hooks_to_an_agent(folder: Path) -> None:
    assert "hooks=my_hooks" in PROGRAM
    compile(PROGRAM, "hooks.md", "exec")
    assert folder
