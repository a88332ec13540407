"""Keeps the bot running: the file for this machine's service manager, and the commands that start it.

Rules
  A file and its commands are plain values (`service_of`, pure), so that a person sees all of it before it is done.
  It names the program and the settings' file by absolute paths, has no secret, and runs as the person who set it up.
  A manager is offered only if it answers here: many containers have `systemctl`, and nothing that listens to it.
"""

import asyncio
import json
import os
import plistlib
import shlex
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final, assert_never

from agent.errors import SettingsError
from agent.path_errors import unwritable_reason
from bot.settings.installation import Way, this_installation
from bot.setup import texts as setup_texts

NAME: Final = "cogency"
PROBE_S: Final = 5.0  # A manager answers at once, or hangs because nothing listens
COMMAND_S: Final = 600.0  # Building an image fetches its packages; systemd itself gives up on a start after 90 s
MAX_OUTPUT_CHARS: Final = 2_000  # Of a command that failed: the end says why

Command = tuple[str, ...]


class Manager(StrEnum):
    SYSTEMD_USER = "systemd-user"
    SYSTEMD = "systemd"
    LAUNCHD = "launchd"
    COMPOSE = "compose"


@dataclass(frozen=True, slots=True)
class ServiceFacts:
    """What the file says of this machine. `program`: the words that start `cogency`; `user`: the number of who runs it;
    `clone`: the folder with the Dockerfile, None if there is none; `is_postgresql`: whether data is stored on a server.
    """

    program: Command
    dotenv: Path
    home: Path
    user: int
    path: str
    clone: Path | None = None
    is_postgresql: bool = False


@dataclass(frozen=True, slots=True)
class Service:
    """`commands` run one after the other; the first that fails ends it, apart from `optional` ones, which may fail.

    `log`, `stop`: commands for people.
    """

    manager: Manager
    file: Path
    content: str
    commands: Sequence[Command]
    log: str
    stop: str
    optional: frozenset[Command] = frozenset()


def service_of(manager: Manager, facts: ServiceFacts) -> Service:
    """Return what keeps the bot running. Pure."""
    match manager:
        case Manager.SYSTEMD_USER:
            return _systemd(manager, facts, ("systemctl", "--user"), facts.home / ".config/systemd/user")
        case Manager.SYSTEMD:
            return _systemd(manager, facts, ("systemctl",), Path("/etc/systemd/system"))
        case Manager.LAUNCHD:
            return _launchd(facts)
        case Manager.COMPOSE:
            return _compose(facts)
        case _:
            assert_never(manager)


def _run_words(facts: ServiceFacts) -> Command:
    return (*facts.program, "run", "--config", str(facts.dotenv))


_UNIT: Final = """\
# Written by `cogency init`.
[Unit]
Description=Cogency, an AI agent for Slack and Discord
{after}StartLimitIntervalSec=0

[Service]
Type=notify
ExecStart={command}
Environment={path}
WorkingDirectory={folder}

# Restart the bot when it crashes or stops responding, but not when a setting is wrong (exit code 78).
WatchdogSec=30
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=78
TimeoutStopSec=20

NoNewPrivileges=yes
UMask=0077
{hardening}
[Install]
WantedBy={target}
"""
_AFTER_NETWORK: Final = "Wants=network-online.target\nAfter=network-online.target\n"
# For a service of root, which needs none of root's powers: files of its own account, and connections.
_HARDENING: Final = """\
CapabilityBoundingSet=
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictSUIDSGID=yes
LockPersonality=yes
"""


def _systemd(manager: Manager, facts: ServiceFacts, systemctl: Command, folder: Path) -> Service:
    is_system = manager is Manager.SYSTEMD
    unit = _UNIT.format(
        after=_AFTER_NETWORK if is_system else "",
        command=" ".join(_unit_word(word.replace("$", "$$")) for word in _run_words(facts)),
        path=_unit_word(f"PATH={facts.path}"),
        folder=str(facts.dotenv.parent).replace("%", "%%"),
        hardening=_HARDENING if is_system else "",
        target="multi-user.target" if is_system else "default.target",
    )
    linger = ("loginctl", "enable-linger")  # else it ends with the person's last session
    steps = [(*systemctl, "daemon-reload"), (*systemctl, "enable", NAME), (*systemctl, "restart", NAME)]
    journal = "journalctl" if is_system else "journalctl --user"
    return Service(
        manager,
        folder / f"{NAME}.service",
        unit,
        steps if is_system else [linger, *steps],
        f"{journal} -u {NAME} -f",
        f"{' '.join(systemctl)} disable --now {NAME}",
        frozenset() if is_system else frozenset({linger}),
    )


def _unit_word(word: str) -> str:
    """Quote a word for a unit file (systemd.syntax(7)): "%" begins a specifier, and a backslash an escape."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("\n", "\\n")
    return f'"{escaped}"' if any(character in escaped for character in " '\"\\;\t") else escaped


def _launchd(facts: ServiceFacts) -> Service:
    log = facts.home / "Library/Logs/cogency.log"
    file = facts.home / f"Library/LaunchAgents/{NAME}.plist"
    content = plistlib.dumps(
        {
            "Label": NAME,
            "ProgramArguments": list(_run_words(facts)),
            "EnvironmentVariables": {"PATH": facts.path},
            "WorkingDirectory": str(facts.dotenv.parent),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": 10,
            "Umask": 0o077,
            "StandardOutPath": str(log),
            "StandardErrorPath": str(log),
        }
    ).decode()
    domain = f"gui/{facts.user}"
    stop = ("launchctl", "bootout", f"{domain}/{NAME}")  # one that runs: bootstrap refuses to load it twice
    return Service(
        Manager.LAUNCHD,
        file,
        content,
        [stop, ("launchctl", "bootstrap", domain, str(file))],
        f"tail -f {shlex.quote(str(log))}",
        " ".join(stop),
        frozenset({stop}),
    )


_COMPOSE: Final = """\
# Written by `cogency init`.
name: cogency
services:
  cogency:
    build: {clone}
    image: cogency:local
    env_file: {dotenv}
{environment}    # With the host's network, the bot reaches models and databases on this machine.
    network_mode: host
    volumes:
      - data:/data
    read_only: true
    tmpfs:
      - /tmp
    cap_drop: [ALL]
    security_opt:
      - no-new-privileges:true
    stop_grace_period: 15s
    restart: unless-stopped
    logging:
      options:
        max-size: 10m
        max-file: "3"
volumes:
  data:
"""


def _compose(facts: ServiceFacts) -> Service:
    file = facts.dotenv.parent / "cogency.compose.yaml"
    own_file = "    environment:\n      COGENCY_DATABASE_URL: sqlite:////data/cogency.db\n"
    content = _COMPOSE.format(
        clone=_yaml(str(facts.clone)),
        dotenv=_yaml(str(facts.dotenv)),
        environment="" if facts.is_postgresql else own_file,
    )
    compose = ("docker", "compose", "-f", str(file))
    typed = shlex.join(compose)
    return Service(
        Manager.COMPOSE,
        file,
        content,
        [(*compose, "up", "--build", "--detach")],
        f"{typed} logs -f",
        f"{typed} down",
    )


def _yaml(text: str) -> str:
    """Quote a text for Compose, which reads "$" as the beginning of a variable."""
    return json.dumps(text.replace("$", "$$"), ensure_ascii=False)


# This machine.


@dataclass(frozen=True, slots=True)
class Services:
    """The service managers of this machine. `environ`: of their commands; `platform`: as `sys.platform`."""

    program: Command
    home: Path
    user: int
    environ: Mapping[str, str] = field(repr=False)
    platform: str = sys.platform
    clone: Path | None = None

    def facts(self, dotenv: Path, database_url: str) -> ServiceFacts:
        is_postgresql = not database_url.startswith("sqlite")
        path = self.environ.get("PATH", os.defpath)
        return ServiceFacts(self.program, dotenv.absolute(), self.home, self.user, path, self.clone, is_postgresql)

    async def available(self) -> list[Manager]:
        """Return the managers that answer, the best first."""
        probes: dict[Manager, Command] = {}
        if self.platform == "linux" and not self.user:
            probes[Manager.SYSTEMD] = ("systemctl", "show-environment")
        if self.platform == "linux":
            probes[Manager.SYSTEMD_USER] = ("systemctl", "--user", "show-environment")
        if self.platform == "darwin":
            probes[Manager.LAUNCHD] = ("launchctl", "print", f"gui/{self.user}")
        if self.clone is not None and self.platform != "win32":
            probes[Manager.COMPOSE] = ("docker", "compose", "version")
        answers = await asyncio.gather(*(self._run(probe, PROBE_S) for probe in probes.values()))
        return [
            manager for manager, answer in zip(probes, answers, strict=True) if answer is not None and not answer[0]
        ]

    async def install(self, service: Service) -> str:
        """Write the file and start the service; return why that failed, "" if it did not. Raises SettingsError if the
        file cannot be written.
        """
        try:
            service.file.parent.mkdir(parents=True, exist_ok=True)
            service.file.write_text(service.content, encoding="utf-8")
        except OSError as error:
            raise SettingsError(
                setup_texts.SERVICE_UNWRITABLE.format(file=service.file, reason=unwritable_reason(error, service.file))
            ) from None
        for command in service.commands:
            ended = await self._run(command, COMMAND_S)
            if command in service.optional or (ended is not None and ended[0] == 0):
                continue
            said = ended[1].strip()[-MAX_OUTPUT_CHARS:] if ended else setup_texts.SERVICE_NO_ANSWER
            return f"{shlex.join(command)}\n{said}"
        return ""

    async def _run(self, command: Command, patience_s: float) -> tuple[int, str] | None:
        """Return how a command ended, and what it printed; None if it is not there or does not end in time."""
        program = shutil.which(command[0], path=self.environ.get("PATH", os.defpath))
        if program is None:
            return None
        process = await asyncio.create_subprocess_exec(
            program, *command[1:], stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, env=self.environ
        )
        try:
            async with asyncio.timeout(patience_s):
                said, _ = await process.communicate()
            return process.returncode or 0, said.decode(errors="replace")
        except TimeoutError:
            return None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()


def services_here(environ: Mapping[str, str]) -> Services | None:
    """Return the service managers of this machine, for the running program; None for a program that is thrown away, as
    in a container, or by `uvx`.
    """
    installation = this_installation()
    if installation.way in (Way.IMAGE, Way.UVX):
        return None
    script = Path(sys.executable).with_name(NAME)
    program = (str(script),) if script.exists() else (sys.executable, "-m", "bot")
    source = Path(installation.source)
    clone = source if (source / "Dockerfile").is_file() and (source / "requirements").is_dir() else None
    user = os.getuid() if sys.platform != "win32" else 1
    return Services(program, Path.home(), user, environ, clone=clone)
