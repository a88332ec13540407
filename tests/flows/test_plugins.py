"""Plug-ins as an operator adds them and a person uses them: real processes, a server of models, the page."""

import asyncio
import json
import re
import shutil
import sys
from pathlib import Path

from benchmarks.house_code import ROOT
from bot.chat.exit_codes import Exit
from tests.fakes.mcp_world import FAKES
from tests.fakes.model_server import DONE, ModelServer, head, text
from tests.fakes.plugin_folders import SECRET, manifest, servers, skill, write
from tests.flows.test_terminal import cogency


def snippets(page: str, title: str, language: str) -> list[str]:
    _, _, part = (ROOT / "docs" / page).read_text(encoding="utf-8").partition(f"## {title}\n")
    return re.findall(rf"```{language}\n(.*?)```", part.partition("\n## ")[0], re.DOTALL)


def call(**args: object) -> str:
    return f"<execute>{json.dumps([{'name': 'skill', 'args': args}])}</execute>"


async def asked(folder: Path, model: ModelServer, *words: str) -> str:
    settings = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": model.url, "COGENCY_LEARNING": "off"}
    ran = await asyncio.to_thread(cogency, folder, "ask", *words, **settings)
    assert ran.returncode == Exit.OK, ran.stderr
    return ran.stdout


async def test_the_pages_skill_is_added_and_read_when_a_question_is_about_it(tmp_path: Path) -> None:
    (page,) = snippets("tools.md", "A skill", "markdown")
    write(tmp_path, {"office/skills/weekly-report/SKILL.md": page})
    write(tmp_path, {"office/skills/weekly-report/references/numbers.md": "Round to thousands."})
    (add,) = snippets("tools.md", "A skill", "sh")
    ran = cogency(tmp_path, *add.splitlines()[0].split()[1:])
    assert (ran.returncode, ran.stdout) == (
        Exit.OK,
        "office: 1 skill, 0 servers. The bot uses it after the next restart.\n",
    )
    rounds = [
        [head(), text(call(name="weekly-report")), DONE],
        [head(), text(call(name="weekly-report", file="references/numbers.md")), DONE],
        [head(), text(call(name="weekly-report", file="../../../secret.txt")), DONE],
        [head(), text("Done: 3. Next: 2. Blocked: none."), DONE],
    ]
    (tmp_path / "secret.txt").write_text(SECRET)
    async with ModelServer(rounds) as model:
        assert "Done: 3." in await asked(tmp_path, model, "write the report")
        first, *_, last = [json.dumps(request.json) for request in model.requests]
    assert "- weekly-report: How we write the weekly report. Use it when" in first
    assert "Three headings" not in first
    assert "Three headings: Done, Next, Blocked." in last
    assert "Round to thousands." in last
    assert "the file does not exist" in last
    assert SECRET not in last


async def test_without_a_skill_there_is_no_such_tool(tmp_path: Path) -> None:
    async with ModelServer([[head(), text("Hi."), DONE]]) as model:
        await asked(tmp_path, model, "hi")
        (request,) = model.requests
    assert "skill(" not in json.dumps(request.json)


def test_the_pages_plugin_is_checked_listed_and_removed(tmp_path: Path) -> None:
    (written,) = snippets("plugins.md", "Plug-ins", "json")
    (commands,) = snippets("plugins.md", "Plug-ins", "sh")
    write(tmp_path / "office", {"plugin.json": written, "skills/report/SKILL.md": skill("report")})
    assert cogency(tmp_path, "plugins", "add", "office").returncode == Exit.OK
    said = [cogency(tmp_path, *line.split()[1:]) for line in commands.splitlines()]
    assert [ran.returncode for ran in said] == [Exit.OK] * 3, [ran.stderr for ran in said]
    assert [ran.stdout.splitlines()[0] for ran in said] == [
        "acme-office: 1 skill, 0 servers",
        f"acme-office: 1 skill, 0 servers  ({tmp_path / 'office'})",
        f"The bot stops using acme-office after the next restart. The folder was not deleted: {tmp_path / 'office'}",
    ]
    assert cogency(tmp_path, "plugins", "list").stdout.startswith("No plug-ins are in use")


def with_a_server(folder: Path) -> Path:
    """A plug-in whose server is `tests.fakes.mcp_raw`, of which one tool reads."""
    run = f'#!/bin/sh\nexec "{sys.executable}" -S -E "{FAKES / "mcp_raw.py"}" plain\n'
    words = {"dev.cogency": {"servers": {"raw": {"effects": {"echo": "reads", "die": "irreversible"}}}}}
    entry = {"type": "stdio", "command": "./run"}
    root = write(folder / "office", {"plugin.json": manifest(extensions=words), "mcp.json": servers(raw=entry)})
    write(root, {"run": run})
    (root / "run").chmod(0o755)
    return root


async def test_a_tool_of_a_plugins_server_is_called_in_the_first_question(tmp_path: Path) -> None:
    with_a_server(tmp_path)
    added = cogency(tmp_path, "plugins", "add", "office")
    assert added.stdout == "office: 0 skills, 1 server. The bot uses it after the next restart.\n"
    called = f"<execute>{json.dumps([{'name': 'office-raw.echo', 'args': {'word': 'boat'}}])}</execute>"
    async with ModelServer([[head(), text(called), DONE], [head(), text("It says boat."), DONE]]) as model:
        assert "It says boat." in await asked(tmp_path, model, "what does it say?")
        first, last = [json.dumps(request.json) for request in model.requests]
    assert "office-raw.echo" in first
    assert '\\\\\\"word\\\\\\": \\\\\\"boat' in last


def test_check_connects_to_what_is_in_use_and_starts_nothing_else_unasked(tmp_path: Path) -> None:
    root = with_a_server(tmp_path)
    idle = cogency(tmp_path, "plugins", "check", "office")
    assert (idle.returncode, idle.stdout.splitlines()[1:]) == (
        Exit.OK,
        ["note     Tools: 'raw' of office is not started, because the plug-in is not in use; --connect starts it."],
    )
    for more in (("office", "--connect"), ()):
        named = {} if more else {"COGENCY_PLUGINS": str(root)}
        ran = cogency(tmp_path, "plugins", "check", *more, **named)
        assert ran.returncode == Exit.OK, ran.stdout
        says = ran.stdout.splitlines()[1]
        assert says.startswith(
            f"ok       Tools: office-raw runs `{root}/run`, as defined in plug-in office ({root}/mcp.json); "
        )
        assert "it offers these tools: office-raw.echo (reads), " in says
        assert "office-raw.die (irreversible)" in says
        assert "office-raw.hang (acts outward)" in says
    (root / "run").write_text("#!/bin/sh\necho no key >&2; exit 1\n")
    failed = cogency(tmp_path, "plugins", "check", "office", "--connect")
    assert failed.returncode == Exit.FAILED
    assert "not connected: its process ended; its error output: no key." in failed.stdout


def test_check_of_one_plugin_connects_to_it_if_it_is_in_use(tmp_path: Path) -> None:
    root = with_a_server(tmp_path)
    copied = shutil.copytree(root, tmp_path / "copies" / "office")
    (tmp_path / "link").symlink_to(root)
    assert cogency(tmp_path, "plugins", "add", "office").returncode == Exit.OK
    for path in ("office", "link"):
        ran = cogency(tmp_path, "plugins", "check", path)
        assert "it offers these tools: office-raw.echo (reads), " in ran.stdout, ran.stdout
    # Of two plug-ins with one name, only the first is used: those of the setting come before those of the list.
    ran = cogency(tmp_path, "plugins", "check", "office", COGENCY_PLUGINS=str(copied))
    assert "'raw' of office is not started, because the plug-in is not in use" in ran.stdout


def test_what_is_wrong_is_said_with_its_line_by_check_doctor_and_the_log(tmp_path: Path) -> None:
    files = {"skills/good/SKILL.md": skill("good"), "skills/bad/SKILL.md": skill("other")}
    write(tmp_path / "office", files | {"plugin.json": manifest()})
    fault = "the name is 'other' but must match its folder, 'bad'"
    check = cogency(tmp_path, "plugins", "check", "office")
    assert check.returncode == Exit.FAILED
    assert check.stdout == f"office: skills/bad/SKILL.md:2: {fault}\noffice: 1 skill, 0 servers\n"
    told = json.loads(cogency(tmp_path, "plugins", "check", "office", "--json").stdout)
    assert told["plugins"][0]["faults"] == [{"where": "skills/bad/SKILL.md:2", "what": fault}]
    named = {"COGENCY_PLUGINS": str(tmp_path / "office")}
    doctor = cogency(tmp_path, "doctor", **named).stdout
    assert "ok       Plug-ins: office: 1 skill, 0 servers.\n" in doctor
    assert f"warning  Plug-ins: office: skills/bad/SKILL.md:2: {fault}." in doctor
    assert (
        f"plug-in office: skills/bad/SKILL.md:2: {fault}" in cogency(tmp_path, "chat", typed="hello\n", **named).stderr
    )


def test_what_cannot_be_added_or_removed_says_why(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write(tmp_path / folder, {"plugin.json": manifest(), "skills/good/SKILL.md": skill("good")})
    (tmp_path / "empty").mkdir()
    named = {"COGENCY_PLUGINS": str(tmp_path / "one")}
    taken = cogency(tmp_path, "plugins", "add", "two", **named)
    assert (taken.returncode, "are both named office" in taken.stdout) == (Exit.FAILED, True)
    again = cogency(tmp_path, "plugins", "add", "one", **named)
    assert (again.returncode, "is already in use as office" in again.stdout) == (Exit.OK, True)
    empty = cogency(tmp_path, "plugins", "add", "empty")
    assert (empty.returncode, "is not a plug-in" in empty.stdout) == (Exit.FAILED, True)
    setting = cogency(tmp_path, "plugins", "remove", "office", **named)
    assert (setting.returncode, "comes from COGENCY_PLUGINS" in setting.stderr) == (Exit.ARGUMENTS, True)
    unknown = cogency(tmp_path, "plugins", "remove", "nobody")
    assert (unknown.returncode, "There is no plug-in named nobody" in unknown.stderr) == (Exit.ARGUMENTS, True)
    assert not (tmp_path / "plugins.txt").exists()
