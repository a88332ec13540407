"""What makes a folder a plug-in, and how little fails because of an error in it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SettingsError
from agent.ports.tools import ToolEffect
from bot.app.settings import load_settings
from bot.tools.mcp.config import MAX_NAME, HttpReach, McpFile, StdioReach, parse_file
from bot.tools.plugins.plugins import (
    PluginList,
    PluginServers,
    as_json,
    load_plugin,
    load_plugins,
    safe_name,
    schema,
    servers_of,
    skills_of,
)
from tests.fakes.plugin_folders import FORM, SECRET, manifest, servers, skill, write

NEITHER = "must be a bare name or a path that begins with ./"
LEAVES = "points outside the plug-in's folder, so it is not read"
STDIO = {"type": "stdio", "command": "uvx"}


def test_a_whole_plugin_has_its_skills_and_servers(tmp_path: Path) -> None:
    http = {"type": "streamable-http", "url": "https://x.example/mcp"}
    files = {
        "plugin.json": manifest("acme.office", version="1.2", author={"name": "A"}, extensions={"com.x": {"y": [1]}}),
        "skills/report/SKILL.md": skill("report"),
        "mcp.json": servers(time=STDIO, wiki=http),
        "com.x/hooks.json": "{",
    }
    plugin = load_plugin(write(tmp_path / "Some Folder", files))
    assert (plugin.name, plugin.version, plugin.faults) == ("acme.office", "1.2", ())
    assert plugin.notes == ()
    assert plugin.summary == "acme.office: 1 skill, 2 servers"
    assert [(one.plugin, one.name, one.is_portable) for one in plugin.servers] == [
        ("acme.office", "time", True),
        ("acme.office", "wiki", True),
    ]


@pytest.mark.parametrize(
    "files",
    [{"skills/report/SKILL.md": skill("report")}, {"mcp.json": '{"mcpServers": {"time": {"command": "uvx"}}}'}],
)
def test_the_smallest_plugin_is_a_folder_with_either_kind_named_like_it(tmp_path: Path, files: dict[str, str]) -> None:
    plugin = load_plugin(write(tmp_path / "My  Plug--in!", files))
    assert (plugin.name, plugin.faults) == ("my-plug-in", ())
    assert len(plugin.skills) + len(plugin.servers) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "plugin.json:1: must contain an object"),
        ('{"name": "x"}', f'plugin.json:1: "$schema" is missing: it must be "{FORM}plugin.schema.json"'),
        (
            '{\n"$schema": "x.json"}',
            f'plugin.json:2: "$schema" \'x.json\' is not supported: it must be "{FORM}plugin.schema.json"',
        ),
        (
            manifest("Has--two"),
            "plugin.json:3: the name can contain only a-z and 0-9, with single hyphens and periods between them",
        ),
        (manifest("ok", keywords=["a", 1]), "plugin.json:4: keywords[1]: 1 is not of type 'string'"),
        (manifest("ok", author={"phone": "1"}), None),
        (manifest("ok", extensions={"com.x": 1}), "plugin.json:5: extensions['com.x']: 1 is not of type 'object'"),
    ],
)
def test_with_a_manifest_that_is_wrong_nothing_is_used(tmp_path: Path, text: str, says: str | None) -> None:
    plugin = load_plugin(write(tmp_path / "p", {"plugin.json": text, "skills/report/SKILL.md": skill("report")}))
    assert (plugin.skills, plugin.servers, len(plugin.faults)) == ((), (), 1)
    assert says is None or str(plugin.faults[0]) == says


def test_unknown_fields_and_extensions_that_are_no_object_are_passed_over(tmp_path: Path) -> None:
    files = {"plugin.json": manifest("ok", hooks={}, extensions=3), "skills/report/SKILL.md": skill("report")}
    plugin = load_plugin(write(tmp_path / "p", files))
    assert (len(plugin.skills), plugin.faults) == (1, ())
    assert [str(note) for note in plugin.notes] == [
        "plugin.json:4: 'hooks' is unknown and ignored",
        "plugin.json:5: 'extensions' is not an object and is ignored",
    ]


def test_a_manifest_outside_of_the_folder_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"manifest.json": manifest("stolen")})
    root = write(tmp_path / "p", {"skills/report/SKILL.md": skill("report")})
    (root / "plugin.json").symlink_to(tmp_path / "manifest.json")
    plugin = load_plugin(root)
    assert (plugin.name, plugin.skills) == ("p", ())
    assert [fault.what for fault in plugin.faults] == ["points outside the plug-in's folder, so it is not read"]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (1, "mcp.json:4: server 'bad' must be an object"),
        ({"command": "uvx"}, "mcp.json:4: server 'bad' needs a type: stdio, streamable-http, sse"),
        ({"type": "stdio"}, "mcp.json:4: 'command' is a required property"),
        (STDIO | {"url": "https://x"}, "mcp.json:4: Additional properties are not allowed ('url' was unexpected)"),
        (STDIO | {"env": {"PLUGIN_ROOT": "/"}}, None),
        (STDIO | {"command": "../run"}, f"mcp.json:6: the command ../run: {NEITHER}"),
        (STDIO | {"command": "/bin/sh"}, f"mcp.json:6: the command /bin/sh: {NEITHER}"),
        (STDIO | {"command": "./../../run"}, "mcp.json:6: the command ../../run: the file does not exist"),
        (STDIO | {"command": "./out"}, f"mcp.json:6: the command out: {LEAVES}"),
        (STDIO | {"cwd": "data"}, None),
        (STDIO | {"cwd": "./.."}, "mcp.json:7: the cwd ..: the file does not exist"),
        (STDIO | {"cwd": "${PLUGIN_ROOT}/../x"}, "mcp.json:7: the cwd ../x: the file does not exist"),
        (
            STDIO | {"cwd": "${PLUGIN_DATA}/../x"},
            "mcp.json:7: the cwd ${PLUGIN_DATA}/../x: points outside its data folder",
        ),
        ({"type": "streamable-http", "url": "http://x.example"}, None),
        ({"type": "streamable-http", "url": "https://me@x.example"}, None),
        ({"type": "streamable-http", "url": "https://x.example/#a"}, None),
        ({"type": "streamable-http", "url": "http://[::"}, None),
        (
            {"type": "streamable-http", "url": "https://x.example", "headers": {"A": "1", "a": "2"}},
            "mcp.json:7: two headers have the same name",
        ),
    ],
)
def test_a_server_that_is_wrong_leaves_the_others_and_the_skills(tmp_path: Path, entry: Any, says: str | None) -> None:
    files = {
        "plugin.json": manifest(),
        "mcp.json": servers(bad=entry, good=STDIO, here={"type": "streamable-http", "url": "http://127.0.0.1:1/mcp"}),
        "skills/report/SKILL.md": skill("report"),
    }
    root = write(tmp_path / "p", files)
    (root / "out").symlink_to("/bin/sh")
    plugin = load_plugin(root)
    assert ([one.name for one in plugin.servers], len(plugin.skills)) == (["good", "here"], 1)
    (fault,) = plugin.faults
    assert fault.where.startswith("mcp.json:")
    assert says is None or str(fault) == says


def test_a_transport_that_is_not_spoken_is_a_note(tmp_path: Path) -> None:
    files = {"plugin.json": manifest(), "mcp.json": servers(old={"type": "sse", "url": "https://x.example"})}
    plugin = load_plugin(write(tmp_path / "p", files))
    assert (plugin.servers, plugin.faults) == ((), ())
    assert [note.what for note in plugin.notes] == ["server 'old' is left out: its transport, sse, is not supported"]


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": {}}', servers(time=STDIO).replace("1.0.0", "2.0.0")])
def test_servers_that_cannot_be_read_leave_the_skills(tmp_path: Path, text: str) -> None:
    files = {"plugin.json": manifest(), "mcp.json": text, "skills/report/SKILL.md": skill("report")}
    plugin = load_plugin(write(tmp_path / "p", files))
    assert (len(plugin.skills), plugin.servers, len(plugin.faults)) == (1, (), 1)


def test_a_kind_that_is_no_folder_or_file_leaves_the_other(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"plugin.json": manifest(), "skills": "none", "mcp.json/x": ""})
    assert [str(fault) for fault in load_plugin(root).faults] == [
        "skills: is not a folder, so no skills were loaded",
        "mcp.json: is not a regular file, so no servers were loaded",
    ]


def test_what_is_no_plugin_says_so(tmp_path: Path) -> None:
    write(tmp_path, {"file": "x", "empty/README.md": "x"})
    for path, says in (
        ("gone", "the folder does not exist"),
        ("file", "is not a folder"),
        ("empty", "is not a plug-in: "),
    ):
        (fault,) = load_plugin(tmp_path / path).faults
        assert fault.what.startswith(says)


def test_the_report_counts_only_what_can_be_used(tmp_path: Path) -> None:
    missing = load_plugin(tmp_path / "nowhere")
    assert missing.report == missing.sentences != ()
    write(tmp_path / "office", {"skills/good/SKILL.md": skill("good"), "skills/bad/SKILL.md": skill("other")})
    partly = load_plugin(tmp_path / "office")
    assert partly.report == (*partly.sentences, "office: 1 skill, 0 servers")


def test_no_two_plugins_and_no_two_skills_have_one_name(tmp_path: Path) -> None:
    roots = [
        write(tmp_path / name, {"skills/report/SKILL.md": skill("report"), "plugin.json": manifest(named)})
        for name, named in (("a", "one"), ("b", "one"), ("c", "two"))
    ]
    plugins = load_plugins([*roots, roots[0]])
    assert [(plugin.name, len(plugin.skills)) for plugin in plugins] == [("one", 1), ("one", 0), ("two", 1)]
    assert plugins[1].faults[0].what == f"is not used: {roots[0]} already has the name 'one'"
    skills, renamed = skills_of(plugins)
    assert [one.name for one in skills] == ["report", "two/report"]
    assert renamed == (
        ("two: its skill 'report' was renamed to 'two/report', because one already has a skill with that name"),
    )


def test_the_schemas_are_those_of_the_form() -> None:
    for name in ("plugin.schema.json", "mcp.schema.json"):
        assert schema(name)["$id"] == FORM + name


def test_the_list_lies_beside_the_database_and_one_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    settings = load_settings({"COGENCY_PLUGINS": f" {tmp_path}/a , {tmp_path}/b,"}, data_folder=tmp_path)
    assert settings.plugins.folders == (tmp_path / "a", tmp_path / "b")
    for wrong in ("plugins", "~nobody-of-that-name/x", ","):
        with pytest.raises(SettingsError, match=r"^COGENCY_PLUGINS must be a list of full folder paths"):
            load_settings({"COGENCY_PLUGINS": wrong}, data_folder=tmp_path)
    listing = PluginList(settings.plugins.folders, settings.plugin_list)
    assert listing.file == tmp_path / "plugins.txt"
    assert listing.listed() == ()
    listing.write([tmp_path / "c"])
    assert listing.folders() == (tmp_path / "a", tmp_path / "b", tmp_path / "c")
    assert [path.name for path in tmp_path.iterdir()] == ["plugins.txt"]
    listing.file.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match=r"plugins\.txt, the list of plug-ins, cannot be read"):
        listing.listed()


def test_a_report_for_programs_holds_no_content(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"skills/report/SKILL.md": skill("report", body=SECRET)})
    assert SECRET not in json.dumps(as_json([load_plugin(root)]))


def started(root: Path, said: str = "", **variables: str) -> PluginServers:
    """Return the servers of the plug-in in `root`. `said`: the operator's own file."""
    own = parse_file(said, root.parent / "mcp.json", {}) if said else McpFile()
    return servers_of([load_plugin(root)], own, root.parent / "data", {"PATH": "/bin", **variables})


def test_a_server_is_given_its_two_folders_once_and_nothing_of_the_environment(tmp_path: Path) -> None:
    args = ["${PLUGIN_ROOT}/a", "${PLUGIN_DATA}${PLUGIN_DATA}", "${HOME}", "$PLUGIN_ROOT", "${PLUGIN_ROOT:-x}"]
    files = {
        "plugin.json": manifest("acme.office"),
        "mcp.json": servers(
            run=STDIO | {"command": "./bin/run", "args": args, "cwd": "${PLUGIN_DATA}/work"},
            bare=STDIO | {"env": {"A": "${PLUGIN_DATA}", "PATH": "/mine"}},
            web={"type": "streamable-http", "url": "https://x.example/${PLUGIN_ROOT}", "headers": {"A": "${HOME}"}},
        ),
        "bin/run": "",
    }
    root = write(tmp_path / "p", files)
    found = started(root, HOME="/home/me", OPENAI_API_KEY=SECRET)
    run, bare, web = (config.reach for config in found.configs)
    data = tmp_path / "data" / "acme.office"
    assert [config.name for config in found.configs] == ["acme-office-run", "acme-office-bare", "acme-office-web"]
    assert isinstance(run, StdioReach)
    assert (run.command, run.cwd) == (str(root / "bin" / "run"), data / "work")
    assert run.args == (f"{root}/a", f"{data}{data}", "${HOME}", "$PLUGIN_ROOT", "${PLUGIN_ROOT:-x}")
    assert run.env == {"PATH": "/bin", "HOME": "/home/me", "PLUGIN_ROOT": str(root), "PLUGIN_DATA": str(data)}
    assert (data / "work").is_dir()
    assert data.stat().st_mode & 0o077 == 0
    assert isinstance(bare, StdioReach)
    assert (bare.command, bare.cwd, bare.env["A"], bare.env["PATH"]) == ("uvx", root, str(data), "/mine")
    assert web == HttpReach("https://x.example/${PLUGIN_ROOT}", {"A": "${HOME}"})


def test_text_that_a_folder_brings_in_is_not_expanded_again(tmp_path: Path) -> None:
    files = {"plugin.json": manifest(), "mcp.json": servers(x=STDIO | {"args": ["${PLUGIN_ROOT}"]})}
    (config,) = started(write(tmp_path / "${PLUGIN_DATA}", files)).configs
    assert isinstance(config.reach, StdioReach)
    assert config.reach.args == (str(tmp_path / "${PLUGIN_DATA}"),)


def test_a_link_that_leads_out_of_the_data_is_not_worked_in(tmp_path: Path) -> None:
    files = {"plugin.json": manifest(), "mcp.json": servers(x=STDIO | {"cwd": "${PLUGIN_DATA}/out"}, y=STDIO)}
    (tmp_path / "data" / "office").mkdir(parents=True)
    (tmp_path / "data" / "office" / "out").symlink_to("/")
    found = started(write(tmp_path / "p", files))
    assert [config.name for config in found.configs] == ["office-y"]
    assert found.problems == ("mcp.json: server 'x' has a cwd outside the plug-in's folder",)


def test_a_plugin_in_the_form_of_other_clients_is_given_no_key_of_ours(tmp_path: Path) -> None:
    entries: dict[str, Any] = {
        "web": {"url": "https://x.example", "headers": {"A": "${OPENAI_API_KEY}"}},
        "run": {"command": "x", "args": ["${PLUGIN_ROOT}", "${MODE:-fast}"], "effects": {"*": "reads"}},
    }
    root = write(tmp_path / "office", {"mcp.json": json.dumps({"mcpServers": entries})})
    found = started(root, OPENAI_API_KEY=SECRET, MODE=SECRET)
    (config,) = found.configs
    assert isinstance(config.reach, StdioReach)
    assert (config.name, config.reach.args) == ("office-run", (str(root), "fast"))
    assert config.effect_of("get") is ToolEffect.READS
    (problem,) = found.problems
    assert "server 'office-web'" in problem
    assert "environment variables are not expanded for plug-ins" in problem


def test_what_tools_do_says_the_operator_or_else_the_manifest(tmp_path: Path) -> None:
    def of_ours(words: object) -> str:
        return manifest(extensions={"dev.cogency": {"servers": {"wiki": words}}})

    files = {"mcp.json": servers(wiki=STDIO)}
    root = write(tmp_path / "p", files | {"plugin.json": of_ours({"effects": {"*": "reads"}})})
    (config,) = started(root).configs
    assert (config.effect_of("get"), config.for_team) == (ToolEffect.READS, False)
    own = {"plugins": {"office-wiki": {"effects": {"get": "irreversible"}, "audience": "team"}, "gone": {}}}
    found = started(root, json.dumps(own))
    assert found.configs[0].effect_of("get") is ToolEffect.IRREVERSIBLE
    assert found.configs[0].for_team
    assert found.problems == (
        "the COGENCY_MCP file has settings for 'gone' under \"plugins\", but no plug-in in use has such a server",
    )
    assert started(root, json.dumps({"plugins": {"office-wiki": {"disabled": True}}})).configs == ()
    for words, says in (({"command": "rm"}, "is not valid here"), ({"effect": "reads"}, "is not a valid field")):
        write(root, {"plugin.json": of_ours(words)})
        assert started(root).configs == ()
        assert says in started(root).problems[0]


def test_a_file_that_anybody_may_write_starts_nothing(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"plugin.json": manifest(), "mcp.json": servers(x=STDIO)})
    (root / "mcp.json").chmod(0o666)
    found = started(root)
    assert found.configs == ()
    assert "can be changed by every user of this machine" in found.problems[0]


@pytest.mark.slow
@given(st.lists(st.tuples(st.from_regex(r"[a-z0-9]+([-.][a-z0-9]+)*", fullmatch=True), st.text()), max_size=10))
def test_every_server_has_a_name_of_its_own_that_a_model_can_call(named: list[tuple[str, str]]) -> None:
    taken: set[str] = set()
    for plugin, server in named:
        name = safe_name(plugin, server, taken)
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*", name)
        assert len(name) <= MAX_NAME
        assert name.lower() not in taken
        taken.add(name.lower())


def test_a_name_is_that_of_plugin_and_server_as_far_as_it_can_be() -> None:
    assert safe_name("acme.office", "time", ()) == "acme-office-time"
    assert safe_name("github", "github", ()) == "github"
    assert safe_name("github", "github.issues", ()) == "github-issues"
    assert safe_name("t", "time", ()) == "t-time"
    long = safe_name("a." * 31 + "a", "time", ())
    assert (len(long), long == safe_name("a." * 31 + "a", "clock", ())) == (MAX_NAME, False)


def test_the_operators_own_servers_keep_their_names(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"plugin.json": manifest(), "mcp.json": servers(wiki=STDIO)})
    own = {"mcpServers": {"Office-Wiki": {"command": "x"}}}
    (config,) = started(root, json.dumps(own)).configs
    assert re.fullmatch("office-wiki-[0-9a-f]{4}", config.name)
