"""Plug-ins: folders in the format *Agent Plugins 1.0.0*, with skills and MCP servers.

Rules.
- With an invalid `plugin.json`, nothing of the folder is used. Without one, a folder with `skills/` or `mcp.json` is
  also a plug-in, named like the folder; its `mcp.json` is then in the format of other clients.
- Every other error affects only its own skill, server or kind of component. It is reported with file and line.
- The schemas of the format ship with us (`bot/tools/plugins/schemas`); none is downloaded.
- A server gets the two folders of the format, and no other value of the environment. The effects of its tools come from
  the operator's own file, else from the plug-in: `extensions."dev.cogency".servers`, or the server's entry in the
  format of other clients.
- Plug-ins come from `COGENCY_PLUGINS` and from the list that `cogency plugins add` writes. Their names are unique.
"""

import json
import os
import re
import stat
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator, ValidationError

from agent.errors import SettingsError
from agent.messages import Json, JsonObject
from agent.providers.catalog import is_loopback
from agent.tools.skill import MAX_SKILLS, Skill
from bot.chat.texts.formatting import counted
from bot.tools import texts as tool_texts
from bot.tools.mcp.config import (
    MAX_NAME,
    MAX_SERVERS,
    OURS,
    McpFile,
    McpServerConfig,
    ServerEntry,
    StdioReach,
    base_environment,
    from_folders,
)
from bot.tools.plugins.files import (
    SKILLS,
    JsonPath,
    PluginFault,
    PluginFolder,
    find_skills,
    line_of,
    refuse,
    unique_names,
)

MANIFEST: Final = "plugin.json"
SERVERS: Final = "mcp.json"
SCHEMA_BASE: Final = "https://agent-plugins.org/schemas/1.0.0/"
MAX_JSON_BYTES: Final = 200_000
MAX_PLUGINS: Final = 50
MAX_LIST_BYTES: Final = 100_000
_TRANSPORTS: Final = {"stdio": "stdioServer", "streamable-http": "streamableHttpServer", "sse": "sseServer"}
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9.-]+")
_LETTERS: Final = re.compile(r"[A-Za-z0-9]+")
_BETWEEN: Final = re.compile(r"([-.])[-.]*")
OUR_EXTENSION: Final = "dev.cogency"
_FOLDER: Final = re.compile(r"\$\{(PLUGIN_ROOT|PLUGIN_DATA)\}")
_WITHIN: Final = re.compile(r"(?:\.|\$\{PLUGIN_ROOT\})(?:/(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class PluginServer:
    """An entry of `mcpServers`. `is_portable`: in the format of plug-ins, already checked; else in other clients'."""

    plugin: str
    name: str
    entry: JsonObject = field(repr=False)
    is_portable: bool
    settings: JsonObject = field(default_factory=dict[str, Json], repr=False)
    """The manifest's settings for this server, such as the effects of its tools."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """`faults`: parts that are not used, and why. `notes`: parts that are ignored, without harm."""

    name: str
    root: Path
    version: str = ""
    skills: tuple[Skill, ...] = ()
    servers: tuple[PluginServer, ...] = ()
    faults: tuple[PluginFault, ...] = ()
    notes: tuple[PluginFault, ...] = ()
    settings: JsonObject = field(default_factory=dict[str, Json], repr=False)
    """The manifest's settings for each of its servers, by name."""

    @property
    def summary(self) -> str:
        """Such as "office: 2 skills, 1 server"."""
        parts = [counted(len(self.skills), "skill", "skills"), counted(len(self.servers), "server", "servers")]
        return f"{self.name}: {', '.join(parts)}"

    @property
    def sentences(self) -> tuple[str, ...]:
        """A sentence for each fault, then for each note."""
        return tuple(f"{self.name}: {fault}" for fault in (*self.faults, *self.notes))

    @property
    def report(self) -> tuple[str, ...]:
        """The sentences, and the summary, unless nothing of it can be used."""
        is_usable = bool(self.skills or self.servers or not self.faults)
        return (*self.sentences, self.summary) if is_usable else self.sentences


def load_plugin(path: Path) -> Plugin:
    """Load the plug-in in a folder. Errors are in its `faults`."""
    try:
        folder = PluginFolder(path)
    except PluginFault as fault:
        return Plugin(_default_name(path.name), path, faults=(fault,))
    plugin = Plugin(_default_name(folder.root.name), folder.root)
    try:
        names = folder.names()
        if MANIFEST in names:
            plugin = _read_manifest(plugin, folder)
        elif not {SKILLS, SERVERS} & set(names):
            refuse(str(path), f"is not a plug-in: it contains no {MANIFEST}, {SKILLS}/ or {SERVERS}")
    except PluginFault as fault:
        return replace(plugin, faults=(fault,))
    skills, faults, notes = find_skills(folder, plugin.name)
    servers: list[PluginServer] = []
    if SERVERS in names:
        try:
            servers, server_faults, server_notes = _read_servers(folder, plugin, is_portable=MANIFEST in names)
            faults, notes = [*faults, *server_faults], [*notes, *server_notes]
        except PluginFault as fault:
            faults.append(fault)
    return replace(
        plugin, skills=tuple(skills), servers=tuple(servers), faults=tuple(faults), notes=(*plugin.notes, *notes)
    )


def _default_name(name: str) -> str:
    """Make a plug-in's name from a folder's. The format allows a-z, 0-9 and single - and . between them."""
    plain = _BETWEEN.sub(r"\1", _NOT_IN_NAMES.sub("-", name.lower()))
    return plain[:64].strip("-.") or "plugin"


# plugin.json


def _read_manifest(plugin: Plugin, folder: PluginFolder) -> Plugin:
    value, lines = folder.json(MANIFEST, MAX_JSON_BYTES)
    manifest = _require_object(value, MANIFEST)
    _require_schema(manifest, lines, MANIFEST, "plugin.schema.json")
    known = cast("Mapping[str, object]", schema("plugin.schema.json")["properties"])
    notes = [
        PluginFault(MANIFEST, f"{key[:40]!r} is unknown and ignored", line_of(lines, (key,)))
        for key in manifest
        if key not in known
    ]
    used = {key: value for key, value in manifest.items() if key in known}
    if not isinstance(used.get("extensions", {}), dict):
        notes.append(
            PluginFault(MANIFEST, "'extensions' is not an object and is ignored", line_of(lines, ("extensions",)))
        )
        del used["extensions"]
    settings = _as_object(_as_object(_as_object(used.get("extensions")).get(OUR_EXTENSION)).get("servers"))
    if isinstance(extensions := used.get("extensions"), dict):  # the contents of extensions are not checked
        used["extensions"] = {name: value if not isinstance(value, dict) else {} for name, value in extensions.items()}
    _check(used, schema("plugin.schema.json"), lines, MANIFEST, ())
    version = str(used.get("version", ""))[:40]
    return replace(plugin, name=str(used["name"]), version=version, notes=tuple(notes), settings=settings)


# mcp.json


def _read_servers(
    folder: PluginFolder, plugin: Plugin, *, is_portable: bool
) -> tuple[list[PluginServer], list[PluginFault], list[PluginFault]]:
    """Return the servers, the faults of others, and notes. Raises PluginFault if the whole file is invalid."""
    if not folder.is_file(SERVERS):
        raise PluginFault(SERVERS, "is not a regular file, so no servers were loaded")
    value, lines = folder.json(SERVERS, MAX_JSON_BYTES)
    entries = _require_object(value, SERVERS)
    if is_portable:
        _require_schema(entries, lines, SERVERS, "mcp.schema.json")
        if unknown := sorted(entries.keys() - {"$schema", "mcpServers"}):
            raise PluginFault(SERVERS, f"{unknown[0][:40]!r} is not a valid field", line_of(lines, (unknown[0],)))
    if not isinstance(servers := entries.get("mcpServers"), dict):
        raise PluginFault(SERVERS, 'needs an object "mcpServers"', line_of(lines, ("mcpServers",)))
    if len(servers) > MAX_SERVERS:
        raise PluginFault(SERVERS, f"names {len(servers):,} servers; the limit is {MAX_SERVERS}")
    usable: list[PluginServer] = []
    faults: list[PluginFault] = []
    notes: list[PluginFault] = []
    for name, entry in servers.items():
        path: JsonPath = ("mcpServers", name)
        try:
            server = _portable_entry(entry, path, lines, folder) if is_portable else _client_entry(entry, path, lines)
        except PluginFault as fault:
            faults.append(fault)
            continue
        if server.get("type") == "sse":
            problem = f"server {name[:40]!r} is left out: its transport, sse, is not supported"
            notes.append(PluginFault(SERVERS, problem, line_of(lines, path)))
        else:
            usable.append(PluginServer(plugin.name, name, server, is_portable, _as_object(plugin.settings.get(name))))
    return usable, faults, notes


def _portable_entry(entry: Json, path: JsonPath, lines: Mapping[JsonPath, int], folder: PluginFolder) -> JsonObject:
    """Check an entry in the format of plug-ins. Raises PluginFault."""
    if not isinstance(entry, dict):
        raise PluginFault(SERVERS, f"server {str(path[-1])[:40]!r} must be an object", line_of(lines, path))
    kind = entry.get("type")
    if not isinstance(kind, str) or kind not in _TRANSPORTS:
        problem = f"server {str(path[-1])[:40]!r} needs a type: {', '.join(_TRANSPORTS)}"
        raise PluginFault(SERVERS, problem, line_of(lines, (*path, "type")))
    definitions = schema("mcp.schema.json")["$defs"]
    _check(entry, {"$defs": definitions, "$ref": f"#/$defs/{_TRANSPORTS[kind]}"}, lines, SERVERS, path)
    if kind == "stdio":
        _check_process(entry, path, lines, folder)
    else:
        _check_address(entry, path, lines)
    return entry


def _check_process(
    entry: Mapping[str, Json], path: JsonPath, lines: Mapping[JsonPath, int], folder: PluginFolder
) -> None:
    command, cwd = str(entry["command"]), str(entry.get("cwd", "./"))
    try:
        if command.startswith("./"):
            if not folder.is_file(command[2:].replace("//", "/")):
                refuse(command, "is not a regular file")
        elif "/" in command or "\\" in command or command in ("", ".", ".."):
            refuse(command, "must be a bare name or a path that begins with ./")
    except PluginFault as fault:
        raise PluginFault(SERVERS, f"the command {fault}"[:300], line_of(lines, (*path, "command"))) from None
    try:
        if (within := _WITHIN.fullmatch(cwd)) is not None:
            below = "/".join(filter(None, (within[1] or "").split("/")))
            if not folder.is_folder(below):
                refuse(cwd, "is not a folder")
        elif ".." in cwd.split("/"):
            refuse(cwd, "points outside its data folder")
    except PluginFault as fault:
        raise PluginFault(SERVERS, f"the cwd {fault}"[:300], line_of(lines, (*path, "cwd"))) from None


def _check_address(entry: Mapping[str, Json], path: JsonPath, lines: Mapping[JsonPath, int]) -> None:
    try:
        split = urlsplit(str(entry["url"]))
        host, is_safe = split.hostname or "", split.scheme == "https"
        is_address = bool(host) and split.scheme in ("http", "https") and "@" not in split.netloc and not split.fragment
        is_safe = is_safe or is_loopback(host)
    except ValueError:
        is_address = is_safe = False
    if not is_address or not is_safe:
        problem = "the url must begin with https:// (http:// only on this machine), without a username or #"
        raise PluginFault(SERVERS, problem, line_of(lines, (*path, "url")))
    headers = entry.get("headers", {})
    names = list(headers) if isinstance(headers, dict) else []
    if len({name.lower() for name in names}) != len(names):
        raise PluginFault(SERVERS, "two headers have the same name", line_of(lines, (*path, "headers")))


def _client_entry(entry: Json, path: JsonPath, lines: Mapping[JsonPath, int]) -> JsonObject:
    """Check an entry in the format of other clients; `ServerEntry` checks the rest. Raises PluginFault."""
    if not isinstance(entry, dict) or ("command" in entry) == ("url" in entry):
        problem = f"server {str(path[-1])[:40]!r} needs either a command or a url"
        raise PluginFault(SERVERS, problem, line_of(lines, path))
    return entry


# The configurations of servers


@dataclass(frozen=True, slots=True)
class PluginServers:
    """`problems`: a sentence without a full stop for each server, or setting of one, that has no effect."""

    configs: tuple[McpServerConfig, ...]
    problems: tuple[str, ...] = ()


def servers_of(
    plugins: Sequence[Plugin], own: McpFile, data: Path, variables: Mapping[str, str], *, is_complete: bool = True
) -> PluginServers:
    """Return the servers of plug-ins, with unique names. `own`: the operator's file, whose servers keep their names.

    `data`: the folder in which each plug-in has its data folder. `is_complete`: whether `plugins` are all plug-ins.
    """
    taken = {config.name.lower() for config in own.servers}
    configs: list[McpServerConfig] = []
    problems: list[str] = []
    for plugin in plugins:
        for server in plugin.servers:
            if len(own.servers) + len(configs) == MAX_SERVERS:
                problems.append(
                    f"{plugin.name}: server {server.name[:40]!r} is left out: the limit is {MAX_SERVERS} servers "
                    "for all plug-ins together"
                )
                break
            name = safe_name(plugin.name, server.name, taken)
            taken.add(name.lower())
            try:
                config = _config(plugin, server, name, own.of_plugins.get(name), data / plugin.name, variables)
            except (SettingsError, PluginFault) as error:
                problems.append(str(error).rstrip("."))
            else:
                configs += [config] if config is not None else []
    unknown = [name for name in own.of_plugins if name.lower() not in taken] if is_complete else []
    problems += [
        f'the COGENCY_MCP file has settings for {name!r} under "plugins", but no plug-in in use has such a server'
        for name in unknown
    ]
    return PluginServers(tuple(configs), tuple(problems))


def safe_name(plugin: str, server: str, taken: Collection[str]) -> str:
    """Return our name of a plug-in's server: the format allows any text, but vendors only few characters.

    The name depends on `taken`, the other names in lower case, only if it is among them.
    """
    has_prefix = server.lower() == plugin or server.lower().startswith((f"{plugin}-", f"{plugin}.", f"{plugin}_"))
    name = "-".join(_LETTERS.findall(server if has_prefix else f"{plugin}-{server}"))
    name = name if name[:1].isalpha() else f"p-{name}"
    tries = 0
    short = name
    while len(short) > MAX_NAME or short.lower() in taken:
        digest = sha256(f"{plugin}\0{server}\0{tries}".encode()).hexdigest()[:4]
        short, tries = f"{name[: MAX_NAME - 5].rstrip('-')}-{digest}", tries + 1
    return short


def _config(
    plugin: Plugin,
    server: PluginServer,
    name: str,
    own: JsonObject | None,
    data: Path,
    variables: Mapping[str, str],
) -> McpServerConfig | None:
    """Return the configuration; None if it is disabled. `own`: the operator's settings, which replace those of the
    plug-in. Raises SettingsError and PluginFault.
    """
    folders = {"PLUGIN_ROOT": plugin.root, "PLUGIN_DATA": data.absolute()}
    where = f"plug-in {plugin.name} ({plugin.root / SERVERS})"
    content, expand = dict(server.entry), from_folders(folders)
    if server.is_portable:
        ServerEntry(where, name, server.settings, str).check_settings()
        content, expand = _to_client_format(PluginFolder(plugin.root), server, folders) | dict(server.settings), str
    if own is not None:
        content = {key: value for key, value in content.items() if key not in OURS} | dict(own)
    entry = ServerEntry(where, name, content, expand)
    if entry.is_disabled:
        return None
    config = entry.read(plugin.root, base_environment(variables))
    for path in (plugin.root, plugin.root / SERVERS):
        # Whoever can write there decides what this process starts. Windows has no such bit.
        if sys.platform != "win32" and path.stat().st_mode & stat.S_IWOTH:
            raise PluginFault(
                str(path),
                "can be changed by every user of this machine, who could then run programs as the bot: run `chmod o-w` "
                "on it",
            )
    if not isinstance(config.reach, StdioReach):
        return config
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        if config.reach.cwd is not None and config.reach.cwd.is_relative_to(os.path.realpath(data)):
            config.reach.cwd.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise PluginFault(str(data), f"the plug-in's data folder could not be created: {error.strerror}") from None
    env = {key: str(folder) for key, folder in folders.items()}
    return replace(config, reach=replace(config.reach, env={**config.reach.env, **env}))


def _to_client_format(folder: PluginFolder, server: PluginServer, folders: Mapping[str, Path]) -> dict[str, Json]:
    """Convert an entry from the format of plug-ins to that of other clients, with its folders expanded."""
    entry = dict(server.entry)
    if entry.pop("type") != "stdio":
        return entry

    def expand(text: Json) -> str:
        return _FOLDER.sub(lambda match: str(folders[match[1]]), str(text))

    command, args, env = str(entry["command"]), entry.get("args"), entry.get("env")
    cwd = Path(os.path.realpath(folder.root / expand(entry.get("cwd", "./"))))
    within = folders["PLUGIN_DATA"] if str(entry.get("cwd")).startswith("${PLUGIN_DATA}") else folder.root
    if not cwd.is_relative_to(os.path.realpath(within)):
        raise PluginFault(SERVERS, f"server {server.name[:40]!r} has a cwd outside the plug-in's folder")
    return {
        "command": str(folder.resolve(command[2:].replace("//", "/"))) if command.startswith("./") else command,
        "args": [expand(arg) for arg in args] if isinstance(args, list) else [],
        "env": {name: expand(value) for name, value in _as_object(env).items()},
        "cwd": str(cwd),
    }


# Validation by the schemas


@cache
def schema(name: str) -> Mapping[str, Any]:
    """Return a schema of the format, which ships with us."""
    return json.loads((Path(__file__).parent / "schemas" / name).read_text(encoding="utf-8"))


def _as_object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _require_object(value: Json, file: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise PluginFault(file, "must contain an object", 1)
    return value


def _require_schema(value: Mapping[str, Json], lines: Mapping[JsonPath, int], file: str, name: str) -> None:
    if (uri := value.get("$schema")) != SCHEMA_BASE + name:
        found = f"{uri[:100]!r} is not supported" if isinstance(uri, str) else "is missing"
        problem = f'"$schema" {found}: it must be "{SCHEMA_BASE}{name}"'
        raise PluginFault(file, problem, line_of(lines, ("$schema",)))


def _check(
    value: Mapping[str, Json], rules: Mapping[str, Any], lines: Mapping[JsonPath, int], file: str, path: JsonPath
) -> None:
    """Validate `value` by the schema `rules`. Raises PluginFault with the first error."""
    problems = sorted(
        (line_of(lines, (*path, *error.absolute_path)), _problem(error))
        for error in cast("Iterator[ValidationError]", Draft202012Validator(rules).iter_errors(value))  # pyright: ignore[reportUnknownMemberType] -- a deprecated overload is untyped
    )
    if problems:
        raise PluginFault(file, problems[0][1], problems[0][0])


def _problem(error: ValidationError) -> str:
    where = error.json_path.removeprefix("$").removeprefix(".")
    if where == "name" and error.validator == "pattern":
        return "the name can contain only a-z and 0-9, with single hyphens and periods between them"
    message = " ".join(str(error.message).split())[:200]
    return f"{where[:80]}: {message}" if where else message


# All plug-ins


def load_plugins(folders: Sequence[Path]) -> tuple[Plugin, ...]:
    """Load the plug-ins, in order. Of several with one name, only the first is used."""
    plugins: list[Plugin] = []
    for path in folders[:MAX_PLUGINS]:
        plugin = load_plugin(path)
        first = next((other for other in plugins if other.name == plugin.name), None)
        if first is not None and first.root == plugin.root:
            continue
        if first is not None:
            fault = PluginFault(str(plugin.root), f"is not used: {first.root} already has the name {first.name!r}")
            plugin = Plugin(plugin.name, plugin.root, faults=(fault,))
        plugins.append(plugin)
    if len(folders) > MAX_PLUGINS:
        fault = PluginFault(
            str(folders[MAX_PLUGINS]), f"is not used, nor are those after it: the limit is {MAX_PLUGINS} plug-ins"
        )
        plugins.append(Plugin(_default_name(folders[MAX_PLUGINS].name), folders[MAX_PLUGINS], faults=(fault,)))
    return tuple(plugins)


def skills_of(plugins: Sequence[Plugin]) -> tuple[tuple[Skill, ...], tuple[str, ...]]:
    """Return the skills of all plug-ins, with unique names, and a sentence for each that was renamed."""
    named = list(unique_names([skill for plugin in plugins for skill in plugin.skills]))
    renamed = [
        f"{skill.plugin}: its skill {first.name!r} was renamed to {skill.name!r}, because {first.plugin} already has "
        "a skill with that name"
        for skill, first in named
        if first is not None
    ]
    if len(named) > MAX_SKILLS:
        renamed.append(
            f"some skills are left out ({len(named) - MAX_SKILLS}): the limit is {MAX_SKILLS} for all plug-ins together"
        )
    return tuple(skill for skill, _ in named[:MAX_SKILLS]), tuple(renamed)


@dataclass(frozen=True, slots=True)
class PluginList:
    """The folders in use: those of the setting, and those of the list, a file with a path on each line."""

    from_setting: tuple[Path, ...]
    file: Path

    def folders(self) -> tuple[Path, ...]:
        """Raises SettingsError if the list cannot be read."""
        return (*self.from_setting, *self.listed())

    def listed(self) -> tuple[Path, ...]:
        try:
            if not self.file.is_file():
                return ()
            is_short = self.file.stat().st_size <= MAX_LIST_BYTES
            lines = self.file.read_text(encoding="utf-8").splitlines() if is_short else None
        except (OSError, UnicodeDecodeError):
            lines = None
        if lines is None:
            raise SettingsError(tool_texts.PLUGIN_LIST_UNREADABLE.format(file=self.file))
        return tuple(Path(line.strip()) for line in lines if line.strip())

    def write(self, folders: Sequence[Path]) -> None:
        """Replace the list atomically. Raises SettingsError."""
        new = self.file.with_name(f"{self.file.name}.{os.getpid()}.new")
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            new.write_text("".join(f"{folder}\n" for folder in folders), encoding="utf-8")
            new.replace(self.file)
        except OSError as error:
            raise SettingsError(tool_texts.PLUGIN_LIST_UNWRITABLE.format(file=self.file, why=error.strerror)) from None


def as_json(plugins: Sequence[Plugin]) -> Json:
    """Return the plug-ins for the output in JSON."""
    return [
        {
            "name": plugin.name,
            "path": str(plugin.root),
            "version": plugin.version,
            "skills": [{"name": skill.name, "description": skill.description} for skill in plugin.skills],
            "servers": [server.name for server in plugin.servers],
            "faults": [{"where": fault.where, "what": fault.what} for fault in plugin.faults],
            "notes": [{"where": fault.where, "what": fault.what} for fault in plugin.notes],
        }
        for plugin in plugins
    ]
