"""What a folder must hold to be a plug-in, and how little fails with what is wrong in it."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent.errors import SettingsError
from bot.settings import load_settings
from bot.tools.plugins import NOT_STARTED, PluginList, as_json, load_plugin, load_plugins, schema, skills_of
from tests.fakes.plugin_folders import FORM, SECRET, manifest, servers, skill, write

NEITHER = "is neither a bare name nor a path that begins with ./"
LEAVES = "leads out of the plug-in's folder, so it is not read"
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
    assert [note.what for note in plugin.notes] == [NOT_STARTED]
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
        ("[]", "plugin.json:1: must hold an object"),
        ('{"name": "x"}', f'plugin.json:1: "$schema" is missing: it must be "{FORM}plugin.schema.json"'),
        (
            '{\n"$schema": "x.json"}',
            f'plugin.json:2: "$schema" \'x.json\' is not known here: it must be "{FORM}plugin.schema.json"',
        ),
        (
            manifest("Has--two"),
            "plugin.json:3: the name may hold a-z, 0-9, and single hyphens and points between them only",
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
        "plugin.json:4: 'hooks' is not known, and passed over",
        "plugin.json:5: 'extensions' is no object, and passed over",
    ]


def test_a_manifest_outside_of_the_folder_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, {"manifest.json": manifest("stolen")})
    root = write(tmp_path / "p", {"skills/report/SKILL.md": skill("report")})
    (root / "plugin.json").symlink_to(tmp_path / "manifest.json")
    plugin = load_plugin(root)
    assert (plugin.name, plugin.skills) == ("p", ())
    assert [fault.what for fault in plugin.faults] == ["leads out of the plug-in's folder, so it is not read"]


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
        (STDIO | {"command": "./../../run"}, "mcp.json:6: the command ../../run: there is no such file"),
        (STDIO | {"command": "./out"}, f"mcp.json:6: the command out: {LEAVES}"),
        (STDIO | {"cwd": "data"}, None),
        (STDIO | {"cwd": "./.."}, "mcp.json:7: the cwd ..: there is no such file"),
        (STDIO | {"cwd": "${PLUGIN_ROOT}/../x"}, "mcp.json:7: the cwd ../x: there is no such file"),
        (
            STDIO | {"cwd": "${PLUGIN_DATA}/../x"},
            "mcp.json:7: the cwd ${PLUGIN_DATA}/../x: leads out of the folder for its data",
        ),
        ({"type": "streamable-http", "url": "http://x.example"}, None),
        ({"type": "streamable-http", "url": "https://me@x.example"}, None),
        ({"type": "streamable-http", "url": "https://x.example/#a"}, None),
        ({"type": "streamable-http", "url": "http://[::"}, None),
        (
            {"type": "streamable-http", "url": "https://x.example", "headers": {"A": "1", "a": "2"}},
            "mcp.json:7: two headers have one name",
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
    assert [note.what for note in plugin.notes] == ["server 'old' is left out: its transport, sse, is not spoken here"]


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": {}}', servers(time=STDIO).replace("1.0.0", "2.0.0")])
def test_servers_that_cannot_be_read_leave_the_skills(tmp_path: Path, text: str) -> None:
    files = {"plugin.json": manifest(), "mcp.json": text, "skills/report/SKILL.md": skill("report")}
    plugin = load_plugin(write(tmp_path / "p", files))
    assert (len(plugin.skills), plugin.servers, len(plugin.faults)) == (1, (), 1)


def test_a_kind_that_is_no_folder_or_file_leaves_the_other(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"plugin.json": manifest(), "skills": "none", "mcp.json/x": ""})
    assert [str(fault) for fault in load_plugin(root).faults] == [
        "skills: is no folder, so there are no skills",
        "mcp.json: is no regular file, so there are no servers",
    ]


def test_what_is_no_plugin_says_so(tmp_path: Path) -> None:
    write(tmp_path, {"file": "x", "empty/README.md": "x"})
    for path, says in (("gone", "there is no such folder"), ("file", "is no folder"), ("empty", "is no plug-in: ")):
        (fault,) = load_plugin(tmp_path / path).faults
        assert fault.what.startswith(says)


def test_no_two_plugins_and_no_two_skills_have_one_name(tmp_path: Path) -> None:
    roots = [
        write(tmp_path / name, {"skills/report/SKILL.md": skill("report"), "plugin.json": manifest(named)})
        for name, named in (("a", "one"), ("b", "one"), ("c", "two"))
    ]
    plugins = load_plugins([*roots, roots[0]])
    assert [(plugin.name, len(plugin.skills)) for plugin in plugins] == [("one", 1), ("one", 0), ("two", 1)]
    assert plugins[1].faults[0].what == f"is not used: {roots[0]} has the name 'one' already"
    skills, renamed = skills_of(plugins)
    assert [one.name for one in skills] == ["report", "two/report"]
    assert renamed == ("two: its skill is called 'two/report' here, as one has one of that name",)


def test_the_schemas_are_those_of_the_form() -> None:
    for name in ("plugin.schema.json", "mcp.schema.json"):
        assert schema(name)["$id"] == FORM + name


def test_the_list_lies_beside_the_database_and_one_that_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    settings = load_settings({"COGENCY_PLUGINS": f" {tmp_path}/a , {tmp_path}/b,"}, data_folder=tmp_path)
    assert settings.plugins == (tmp_path / "a", tmp_path / "b")
    for wrong in ("plugins", "~nobody-of-that-name/x", ","):
        with pytest.raises(SettingsError, match=r"^COGENCY_PLUGINS must be whole paths of folders"):
            load_settings({"COGENCY_PLUGINS": wrong}, data_folder=tmp_path)
    listing = PluginList(settings.plugins, settings.plugin_list)
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
