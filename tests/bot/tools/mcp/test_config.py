"""`mcp.json` is parsed, or refused with a sentence that never shows a value."""

import json
import re
from pathlib import Path

import pytest

from agent.errors import SettingsError
from agent.ports.tools import ToolEffect
from benchmarks.house_code import ROOT
from bot.app.settings import Settings, load_settings
from bot.tools.mcp.config import AccountKind, HttpReach, McpServerConfig, OAuthClientConfig, StdioReach, parse_file
from bot.tools.mcp.settings import McpSettings, mcp_file

HIDDEN = "hunter2hunter2"
FILE = Path("/srv/bot/mcp.json")


def read(servers: object, **variables: str) -> tuple[McpServerConfig, ...]:
    given = {"PATH": "/bin", "OPENAI_API_KEY": HIDDEN, **variables}
    return parse_file(json.dumps({"mcpServers": servers}), FILE, given).servers


def refusal(servers: object, **variables: str) -> str:
    with pytest.raises(SettingsError) as refused:
        read(servers, **variables)
    assert HIDDEN not in str(refused.value)
    return str(refused.value)


def test_the_page_about_mcp_servers_shows_a_file_that_can_be_read() -> None:
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    (block,) = (one for one in re.findall(r"```json\n(.*?)```", page, re.DOTALL) if '"wiki"' in one)
    time, wiki = parse_file(block, FILE, {"WIKI_TOKEN": HIDDEN}).servers
    assert time.reach == StdioReach("uvx", ("mcp-server-time",), {}, FILE.parent)
    assert isinstance(wiki.reach, HttpReach)
    assert wiki.reach.headers == {"Authorization": f"Bearer {HIDDEN}"}
    assert wiki.for_team
    assert wiki.secrets == (HIDDEN,)
    assert HIDDEN not in repr(wiki)


def test_a_process_is_given_what_programs_need_and_what_is_named_and_none_of_our_keys() -> None:
    (server,) = read(
        {"s": {"command": "x", "env": {"KEY": "${THEIRS}", "WHERE": "${ELSEWHERE:-here}"}}}, THEIRS="theirs"
    )
    assert isinstance(server.reach, StdioReach)
    assert server.reach.env == {"PATH": "/bin", "KEY": "theirs", "WHERE": "here"}


@pytest.mark.parametrize(
    ("pattern", "tool", "effect"),
    [
        ({"*": "reads"}, "get", ToolEffect.READS),
        ({"*": "reads", "delete_*": "irreversible"}, "delete_all", ToolEffect.IRREVERSIBLE),
        ({"delete_*": "irreversible", "*": "reads"}, "delete_all", ToolEffect.IRREVERSIBLE),
        ({"*": "acts outward", "get_*": "reads"}, "get_page", ToolEffect.READS),
        ({"*_a": "reads", "b_*": "acts outward"}, "b_a", ToolEffect.ACTS_OUTWARD),
        ({"get_*": "reads"}, "set_page", ToolEffect.ACTS_OUTWARD),
        ({}, "get", ToolEffect.ACTS_OUTWARD),
    ],
)
def test_the_pattern_with_most_letters_counts_and_of_two_the_worse(
    pattern: dict[str, str], tool: str, effect: ToolEffect
) -> None:
    (server,) = read({"s": {"command": "x", "effects": pattern}})
    assert server.effect_of(tool) is effect


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({}, 'needs either "command"'),
        ({"command": "x", "url": "https://a.example"}, 'needs either "command"'),
        ({"url": "ftp://a.example"}, "begins with https"),
        ({"url": "https://[a"}, "begins with https"),
        ({"url": "https://a.example", "type": "sse"}, "no longer supported"),
        ({"url": "https://a.example", "headers": {"X": "a\nb"}}, "printable ASCII"),
        ({"command": "x", "args": "y"}, "list of strings"),
        ({"command": "x", "args": [1]}, "only strings"),
        ({"command": "x", "env": {"A": "${NOT_THERE}"}}, "NOT_THERE"),
        ({"command": "x", "env": {"A": 1}}, "only strings"),
        ({"command": "x", "effects": {"*": "safe"}}, '"get_*": "reads"'),
        ({"command": "x", "effects": ["*"]}, "must be an object"),
        ({"command": "x", "effect": {"*": "reads"}}, 'the closest one is "effects"'),
        ({"comand": "x"}, 'the closest one is "command"'),
        ({"command": "x", "header": {}}, 'the closest one is "headers"'),
        ({"command": "x", "audience": "all"}, '"asker" or "team"'),
        ({"command": "x", "timeout_s": 0}, "number of seconds"),
        ({"command": "x", "timeout_s": True}, "number of seconds"),
        ("x", "must be an object"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(entry: object, problem: str) -> None:
    said = refusal({"wiki": entry})
    assert "/srv/bot/mcp.json, server 'wiki'" in said
    assert problem in said


@pytest.mark.parametrize("name", ["", "a b", "a.b", "a__b", "-a", "a-", "x" * 25, "ä", "a\n"])
def test_a_server_has_a_name_that_a_model_can_call(name: str) -> None:
    assert "its name can contain only" in refusal({name: {"command": "x"}})


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"mcpServers": []}', "[" * 100_000])
def test_a_file_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"/srv/bot/mcp\.json"):
        parse_file(text, FILE, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {\n  "wiki": {"url": "https://a.example"},\n}}', "line 2 ends with a comma before }"),
        ('{"mcpServers": {"a": {"command": "a", "args": [\n"b",\n\n]}}}', "line 2 ends with a comma before ]"),
        ('{\n // servers\n "mcpServers": {}}', "line 2 is a comment"),
        ('{"mcpServers": {"a": {"command": "a"}\n "b": {}}}', "line 1 has a missing comma at its end"),
        ("{'mcpServers': {}}", "line 1 has a name without double quotes"),
        ('{"mcpServers": {}}\n}', "line 2 has text after the end"),
        ('{"mcpServers": {\n', "is where the file ends too early"),
        ("", "is where the file ends too early"),
        ('{"mcpServers": {"a": {"command": "C:\\dir"}}}', "line 1 has a single \\ in a string"),
        ('{"mcpServers": yes}', "line 1 has an invalid value"),
        ('{"mcpServers": {"a": {"command": "a\n"}}}', "line 1 has an unclosed string"),
    ],
)
def test_a_file_that_is_no_json_is_told_with_its_line_and_what_to_do(text: str, said: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse_file(text, Path("/etc/mcp.json"), {})
    assert str(refused.value).startswith("/etc/mcp.json is not valid JSON: ")
    assert said in str(refused.value)


def test_a_disabled_server_and_what_other_clients_keep_there_are_passed_over() -> None:
    assert read({"a": {"disabled": True}, "b": {"command": "x", "alwaysAllow": ["y"], "type": "stdio"}})[0].name == "b"


def settings(folder: Path, environ: dict[str, str], dotenv: str = "") -> Settings:
    (folder / ".env").write_text(dotenv)
    (folder / ".env").chmod(0o600)
    return load_settings(environ, folder / ".env")


def test_the_setting_names_the_file_whose_secrets_stay_out_of_logs(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"w": {"url": "https://w.example", "headers": {"K": "${W}"}}}}')
    read = settings(tmp_path, {}, f"COGENCY_MCP={file}\nW={HIDDEN}\n")
    assert [server.name for server in mcp_file(read.mcp, read.mcp_variables).servers] == ["w"]
    assert HIDDEN in read.secrets()
    assert HIDDEN not in repr(read)


def test_a_file_that_others_may_write_is_not_run(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {}}')
    file.chmod(0o666)
    with pytest.raises(SettingsError, match=r"chmod go-w mcp\.json"):
        mcp_file(McpSettings(file=str(file)), {})
    not_there = str(tmp_path / "none.json")
    for name, why in ((not_there, "none.json, which does not exist\\."), ("~nobody-of-that-name/mcp.json", "be read")):
        with pytest.raises(SettingsError, match=why):
            mcp_file(McpSettings(file=name), {})


def test_a_dotenv_starts_no_program_beside_keys_of_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {}}')
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        settings(tmp_path, {"OPENAI_API_KEY": HIDDEN}, f"COGENCY_MCP={file}\n")
    assert settings(tmp_path, {"OPENAI_API_KEY": HIDDEN, "COGENCY_MCP": str(file)}).mcp.file == str(file)
    with pytest.raises(SettingsError, match=r"^COGENCY_PLUGINS is set in .* OPENAI_API_KEY"):
        settings(tmp_path, {"OPENAI_API_KEY": HIDDEN}, f"COGENCY_PLUGINS={tmp_path}\n")
    beside = f"COGENCY_DATABASE_URL=sqlite:///{tmp_path}/bot.db\n"
    assert settings(tmp_path, {"OPENAI_API_KEY": HIDDEN}, beside).plugin_list == tmp_path / "plugins.txt"
    (tmp_path / "plugins.txt").write_text(f"{tmp_path}\n")
    with pytest.raises(SettingsError, match=r"^COGENCY_DATABASE_URL is set in .* OPENAI_API_KEY"):
        settings(tmp_path, {"OPENAI_API_KEY": HIDDEN}, beside)


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        ({"command": "uvx", "args": ["mcp-server-time"]}, "`uvx mcp-server-time`"),
        ({"command": "x", "args": ["--api-key", HIDDEN, "a"]}, "`x --api-key … a`"),
        ({"command": "x", "args": [f"--token={HIDDEN}", "-H", f"Authorization: {HIDDEN}"]}, "`x --token=… -H …`"),
        ({"command": "x\x1b[2J", "args": ["${THEIRS}"]}, "`x?[2J ${THEIRS}`"),
        ({"url": f"https://me:{HIDDEN}@x.example/{HIDDEN}"}, "https://x.example"),
        ({"url": f"http://me:{HIDDEN}@127.0.0.1:9/{HIDDEN}"}, "http://127.0.0.1:9"),
    ],
)
def test_what_a_server_runs_is_shown_as_it_is_written_without_secrets(entry: dict[str, object], shown: str) -> None:
    (server,) = read({"s": entry}, THEIRS=HIDDEN)
    assert (server.runs, server.origin) == (shown, str(FILE))
    assert HIDDEN not in server.sentence


def test_what_is_said_of_plugins_servers_is_checked_as_strictly() -> None:
    with pytest.raises(SettingsError, match='"command" is not valid here'):
        parse_file('{"plugins": {"a": {"command": "x"}}}', FILE, {})
    with pytest.raises(SettingsError, match="one of reads"):
        parse_file('{"plugins": {"a": {"effects": {"*": "everything"}}}}', FILE, {})


def test_whose_account_a_server_is_used_with() -> None:
    page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    (block,) = (one for one in re.findall(r"```json\n(.*?)```", page, re.DOTALL) if '"account"' in one)
    (tickets,) = parse_file(block, FILE, {}).servers
    assert (tickets.account, tickets.for_team) == (AccountKind.PERSON, False)
    url = "https://x.example/mcp"
    kinds = [
        ({"url": url}, AccountKind.NONE),
        ({"url": url, "headers": {"X-Key": "k"}}, AccountKind.SHARED),
        ({"command": "x", "env": {"KEY": "k"}}, AccountKind.SHARED),
        ({"command": "x"}, AccountKind.NONE),
    ]
    assert [read({"s": entry})[0].account for entry, _ in kinds] == [kind for _, kind in kinds]
    named = {
        "url": url,
        "account": "person",
        "oauth": {"client_id": "ours", "client_secret": "${HUSH}", "scope": "all"},
    }
    (server,) = read({"s": named}, HUSH=HIDDEN)
    assert (server.oauth, server.secrets) == (OAuthClientConfig("ours", HIDDEN, "all"), (HIDDEN,))
    assert HIDDEN not in repr(server)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"account": "mine"}, '"account" must be one of none, shared, person'),
        ({"account": "person", "audience": "team"}, "belong to the person"),
        ({"account": "person", "url": "http://x.example/mcp"}, "https://"),
        ({"account": "person", "url": "http://127.0.0.1.evil.example/mcp"}, "https://"),
        ({"account": "person", "headers": {"AUTHORIZATION": "Bearer x"}}, "shared"),
        ({"account": "shared", "oauth": {"client_id": "x"}}, '"account": "person"'),
        ({"account": "person", "oauth": {"clientId": "x"}}, 'no field "clientId"'),
        ({"account": "person", "oauth": {"client_id": 7}}, "only strings"),
    ],
)
def test_an_account_that_would_not_be_each_persons_own_is_refused(entry: dict[str, object], problem: str) -> None:
    assert problem in refusal({"s": {"url": "https://x.example/mcp", **entry}})


def test_nobody_signs_in_at_a_process() -> None:
    assert "that begins with https://" in refusal({"s": {"command": "x", "account": "person"}})
