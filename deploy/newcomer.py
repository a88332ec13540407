"""Walks each way from nothing to a first answer, as somebody new would, and says how long it takes: `make newcomer`.

Each way is walked with each Python from 3.11 on that this machine has, in a folder of its own, with an empty home and
an environment that says only where programs lie and how this machine reaches the registries. What a person does is
counted; what they would see is waited for. The model, Slack and Discord are the doubles of the tests; all else is what
is released: the clone, the wheel, the commands. The wheel is walked in a company's network, where Slack and Discord are
reached through a proxy that shows certificates of its own, and ends as a service that knows nothing but its file; the
clone is walked without either.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agent.machine import CLOCK
from tests.fakes.company_network import company_network
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.discord_world import ANN, BOT
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, Wait, head, text, whole
from tests.fakes.service_managers import ServiceManagers
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN, BOT_USER
from tests.fakes.terminal import FakeTerminal

ROOT: Final = Path(__file__).parents[1]
MOST_S: Final = 600.0  # For one step: the first one of a clone fetches sixty packages, over whatever network there is
# That of the environment in which this runs.
PYTHON: Final = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")
# Where installers put further ones, below the home.
INSTALLED: Final = (".local/bin", ".local/share/uv/python/*/bin", ".pyenv/versions/*/bin")
# What a machine may need for reaching the registries at all.
REACH: Final = (
    "SSL_CERT_FILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "PIP_CERT",
    "PIP_INDEX_URL",
    "UV_DEFAULT_INDEX",
)
ANSWER: Final = [f"This is sentence {number} of an answer that grows while you read it. " for number in range(1, 25)]
END: Final = ANSWER[-1].strip()
BETWEEN_S: Final = 0.15  # Between two pieces of an answer, as models on small machines write
GROWS: Final = 3  # Versions of a reply that were seen, from which on it has grown before its reader's eyes
NAME: Final = "a-model"


@dataclass(frozen=True, slots=True)
class Step:
    """`done`: how often its person did something: a command, an answer, a key."""

    way: str
    what: str
    done: int
    seconds: float


@dataclass(slots=True)
class Walk:
    """`python`: the one that is walked with; `clock`: seconds of one that goes forward only; `steps`: in order."""

    way: str
    python: Path = PYTHON
    clock: Callable[[], float] = time.perf_counter
    steps: list[Step] = field(default_factory=list[Step])

    @contextmanager
    def step(self, what: str, done: int = 1) -> Generator[None]:
        began = self.clock()
        try:
            yield
        except (AssertionError, TimeoutError, subprocess.SubprocessError) as error:
            raise Stumbled(f"{self.way}: {what}\n{_why(error)}") from error
        self.steps.append(Step(self.way, what, done, self.clock() - began))


class Stumbled(Exception):
    """A newcomer would be stuck here."""


def _why(error: Exception) -> str:
    if isinstance(error, subprocess.CalledProcessError):
        return f"{error.stdout or ''}{error.stderr or ''}\nIt ended with {error.returncode}."
    return str(error) or type(error).__name__


def table(steps: Sequence[Step]) -> str:
    """Each step with what was done and how long it took, and what each way takes together."""
    lines = [f"{'Way':<12}{'Step':<62}{'Done':>6}{'Seconds':>9}"]
    for way in dict.fromkeys(one.way for one in steps):
        theirs = [one for one in steps if one.way == way]
        lines += [f"{way:<12}{one.what:<62}{one.done:>6}{one.seconds:>9.1f}" for one in theirs]
        done, seconds = sum(one.done for one in theirs), sum(one.seconds for one in theirs)
        lines.append(f"{way:<12}{'together':<62}{done:>6}{seconds:>9.1f}\n")
    return "\n".join(lines)


def is_python(file: Path, version: str) -> bool:
    """Whether it starts, and is of that version: pyenv has a `python3.12` in PATH also where it is switched off."""
    if not file.is_file():
        return False
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([file, "-c", asked], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 -- a Python
    except (OSError, subprocess.SubprocessError):
        return False
    return done.stdout.strip() == version


def pythons(path: str, home: Path) -> dict[str, Path]:
    """Each Python of this machine that Cogency supports, by its version: of PATH, or where installers put them."""
    folders = [*map(Path, path.split(os.pathsep)), *(folder for form in INSTALLED for folder in home.glob(form))]
    found = {version: [folder / f"python{version}" for folder in folders] for version in VERSIONS}
    first = {
        version: next((file for file in files if is_python(file, version)), None) for version, files in found.items()
    }
    return {version: file for version, file in first.items() if file is not None}


def bare(home: Path, python: Path = PYTHON, **more: str) -> dict[str, str]:
    """The environment of somebody whose home is empty. `more`: what they set themselves."""
    ours = os.environ  # noqa: TID251 -- only how registries are reached is taken from it
    programs = os.pathsep.join([str(python.parent), os.defpath])
    reach = {name: ours[name] for name in REACH if ours.get(name)}
    return {"PATH": programs, "HOME": str(home), "LANG": "C.UTF-8", **reach, **more}


def run(*command: object, cwd: Path, env: Mapping[str, str]) -> str:
    """What a command prints. Raises CalledProcessError."""
    words = [*map(str, command)]
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=True, timeout=MOST_S)  # noqa: S603 -- ours
    return done.stdout


def at_a_terminal(folder: Path, command: Sequence[object], environ: Mapping[str, str]) -> FakeTerminal:
    """A command at a terminal, as a shell in that folder would start it."""
    words = [*map(str, command)]
    program = f"import os\nos.chdir({str(folder)!r})\nos.execvpe({words[0]!r}, {words!r}, {dict(environ)!r})\n"
    return FakeTerminal(program, 100, 40, True, **environ)  # noqa: FBT003 -- a new interpreter, which becomes the command


# The ways.


def clone(walk: Walk, here: Path) -> None:
    """A clone, `make demo`, something that is remembered beyond its thread, and `cogency init`."""
    environ = bare(here, walk.python, TERM="xterm-256color", PROMPT_TOOLKIT_NO_CPR="1")
    with walk.step("git clone"):
        run("git", "clone", "--quiet", ROOT, "cogency", cwd=here, env=environ)
    with at_a_terminal(here / "cogency", ["make", "demo", f"PYTHON={walk.python}"], environ) as terminal:
        with walk.step("make demo, until it can be written to"):
            terminal.until("Ctrl-D to leave.", MOST_S)
            terminal.until(">")
        with walk.step("something to remember"):
            terminal.type("remember that my boat is blue\r")
            terminal.until("To undo this, write")
            terminal.until(">")
        with walk.step("a new thread, which finds it", done=2):
            terminal.type("/new\r")
            terminal.until(">")
            terminal.type("what did I say about my boat?\r")
            terminal.until("my boat is blue")
            terminal.until("real one")
            terminal.until(">")
        with walk.step("leaving it"):
            terminal.type("/quit\r")
            code = terminal.ended()
            assert code == 0, f"It ended with {code}."
    asyncio.run(set_up(walk, here / "cogency", [".venv/bin/cogency", "init"], bare(here, walk.python)))


def built(walk: Walk, here: Path) -> tuple[Path, Path]:
    """uv, from the registry into an environment of its own; and the wheel, as a release is built."""
    environ = bare(here, walk.python)
    with walk.step("pip install uv"):
        run(walk.python, "-m", "venv", here / "tools", cwd=here, env=environ)
        run(here / "tools/bin/pip", "install", "--quiet", "uv", cwd=here, env=environ)
    uv = here / "tools/bin/uv"
    with walk.step("the wheel is built (a release does it)", done=0):
        run(uv, "build", "--quiet", "--wheel", "--out-dir", here / "dist", ROOT, cwd=here, env=environ)
    [wheel] = (here / "dist").glob("*.whl")
    return uv, wheel


def uvx(walk: Walk, here: Path) -> None:
    """`uvx`, in an environment that is thrown away."""
    uv, wheel = built(walk, here)
    command = [uv, "tool", "run", "--isolated", "--python", walk.python, "--from", wheel, "cogency"]
    for what in ("uvx cogency ask hello", "the same again"):
        with walk.step(what):
            _answers(run(*command, "ask", "hello", cwd=here, env=bare(here, walk.python, COGENCY_MODEL="rehearsal")))
    with walk.step("uvx cogency --version"):
        said = run(*command, "--version", cwd=here, env=bare(here, walk.python))
        assert said.strip() == f"cogency {wheel.name.split('-')[1]}", said


def pipx(walk: Walk, here: Path) -> None:
    """`pipx install`."""
    _, wheel = built(walk, here)
    with walk.step("pip install pipx"):
        run(here / "tools/bin/pip", "install", "--quiet", "pipx", cwd=here, env=bare(here, walk.python))
    with walk.step("pipx install"):
        run(here / "tools/bin/pipx", "install", "--python", walk.python, wheel, cwd=here, env=bare(here, walk.python))
    with walk.step("cogency ask hello"):
        _answers(
            run(
                here / ".local/bin/cogency",
                "ask",
                "hello",
                cwd=here,
                env=bare(here, walk.python, COGENCY_MODEL="rehearsal"),
            )
        )


def _answers(said: str) -> None:
    assert said.strip(), "It printed nothing."


def init(walk: Walk, here: Path) -> None:
    """The wheel as a tool, `cogency init` in a company's network, and a service that answers on both platforms."""
    uv, wheel = built(walk, here)
    environ = bare(here, walk.python)
    with walk.step("uv tool install"):
        run(uv, "tool", "install", "--quiet", "--python", walk.python, wheel, cwd=here, env=environ)
    (here / "bot").mkdir()
    asyncio.run(set_up_service(walk, here / "bot", [here / ".local/bin/cogency", "init"], environ))


def typing(request: Request) -> Reply:
    """A model on this machine, as Ollama offers it: free, and slow enough to be watched."""
    if request.path.endswith("/models"):
        return whole(200, {"object": "list", "data": [{"id": NAME, "object": "model"}]})
    pieces = [[text(piece), Wait(lambda: asyncio.sleep(BETWEEN_S))] for piece in ANSWER]
    return [head(), *(step for piece in pieces for step in piece), DONE]


async def set_up(walk: Walk, folder: Path, command: Sequence[object], environ: Mapping[str, str]) -> None:
    """Answer what `cogency init` asks, and then ask the bot that it starts, on each platform."""
    async with FakeSlack(CLOCK) as slack, running_discord(CLOCK) as discord, ModelServer(typing) as model:
        managers = ServiceManagers(Path(environ["HOME"], "managers"))
        for name in ("systemctl", "launchctl", "docker"):
            managers.add(name, {"": (1, "It does not run here.")})
        where = {
            **_before(environ, managers.folder),
            "OLLAMA_BASE_URL": model.url,
            "SLACK_API_BASE_URL": slack.url,
            "DISCORD_API_BASE_URL": discord.api_base_url,
            "DISCORD_GATEWAY_URL": discord.gateway_url,
            "BROWSER": "true",
        }
        with at_a_terminal(folder, command, where) as terminal:
            await _answer(walk, terminal, {**QUESTIONS, "cogency init: the start": [("Start the bot now", "")]})
            await _asked(walk, slack, discord)
            with walk.step("Ctrl-C"):
                terminal.type("\x03")
                await asyncio.to_thread(terminal.ended)
            _assert_nothing_leaked(terminal, environ)


async def set_up_service(walk: Walk, folder: Path, command: Sequence[object], environ: Mapping[str, str]) -> None:
    """The same in a company's network, with a service in the end."""
    async with FakeSlack(CLOCK) as slack, running_discord(CLOCK) as discord, ModelServer(typing) as model:
        managers = ServiceManagers(Path(environ["HOME"], "managers"))
        managers.add_systemd()
        of_slack = slack.url.removeprefix("http://").removesuffix("/api")
        hosts = {"slack.test": of_slack, "socket.test": of_slack, "discord.test": discord.address}
        slack.socket_url, discord.rest.gateway_url = "wss://socket.test/link", "wss://discord.test/gateway"
        async with company_network(Path(environ["HOME"]), hosts, "ann:secret") as proxy:
            where = {
                **_before(environ, managers.folder),
                "OLLAMA_BASE_URL": model.url,
                "SLACK_API_BASE_URL": "https://slack.test/api",
                "DISCORD_API_BASE_URL": discord.api_base_url.replace(
                    f"http://{discord.address}", "https://discord.test"
                ),
                "DISCORD_GATEWAY_URL": "wss://discord.test/gateway",
                "HTTPS_PROXY": f"http://ann:secret@{proxy.address}",
                "SSL_CERT_FILE": str(proxy.authority),
                "BROWSER": "true",
            }
            with at_a_terminal(folder, command, where) as terminal:
                await _answer(walk, terminal, {**QUESTIONS, "cogency init: the service": SERVICE_QUESTIONS})
                with walk.step("until the service is started", done=0):
                    await asyncio.to_thread(terminal.until, "The bot is running.")
                    await asyncio.to_thread(terminal.ended)
                _assert_nothing_leaked(terminal, environ)
            try:
                await _asked(walk, slack, discord)
            finally:
                with walk.step("the service is stopped"):
                    stop = [managers.folder / "systemctl", "--user", "disable", "--now", "cogency"]
                    await asyncio.to_thread(run, *stop, cwd=folder, env=environ)
        reached = {authority.partition(":")[0] for authority in proxy.asked}
        assert reached == {*hosts}, f"Only {reached} were reached through the proxy."


def _before(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The environment with a folder of programs that go before others."""
    return {**environ, "PATH": f"{folder}{os.pathsep}{environ['PATH']}"}


async def _answer(walk: Walk, terminal: FakeTerminal, questions_of: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    for what, questions in questions_of.items():
        with walk.step(what, len(questions)):
            for question, answer in questions:
                await asyncio.to_thread(terminal.until, question)
                terminal.type(f"{answer}\r")


async def _asked(walk: Walk, slack: FakeSlack, discord: FakeDiscord) -> None:
    with walk.step("until it is connected to both", done=0):
        await slack.connected(2)
        await discord.until(lambda: discord.identified and discord.rest.commands)
    await _asked_in_slack(walk, slack)
    await _asked_in_discord(walk, discord)


def _assert_nothing_leaked(terminal: FakeTerminal, environ: Mapping[str, str]) -> None:
    assert BOT_TOKEN not in terminal.shown, "What is secret was shown."
    assert "Traceback" not in terminal.shown, terminal.shown
    settings = Path(environ["HOME"], ".config/cogency/.env")
    assert settings.stat().st_mode & 0o777 == 0o600, "Others can read .env."


QUESTIONS: Final[Mapping[str, Sequence[tuple[str, str]]]] = {
    "cogency init: which model (Ollama is found)": [("provider:name [1]:", "")],
    "cogency init: the app of Slack": [
        ("do you want to connect the bot to a workspace (y or n)? [y]:", ""),
        ("Press Enter to open the page:", ""),
        ("SLACK_APP_TOKEN:", APP_TOKEN),
        ("SLACK_BOT_TOKEN:", BOT_TOKEN),
    ],
    "cogency init: the application of Discord": [
        ("do you want to connect the bot to servers (y or n)? [n]:", "y"),
        ("Press Enter to open the page:", ""),
        ("DISCORD_TOKEN:", TOKEN),
    ],
    "cogency init: where data lies, and who can ask": [
        ("4. Storage", ""),
        ("5. Access", ""),
        ("Your own user ID", ""),
        ("6. Webhooks", ""),
    ],
}
SERVICE_QUESTIONS: Final[Sequence[tuple[str, str]]] = [
    ("7. Service", "y"),
    ("The service does not use this terminal's environment", "y"),
    ("Write the file and run the commands", "y"),
]


async def _asked_in_slack(walk: Walk, slack: FakeSlack) -> None:
    ann, general = slack.state.user("ann"), slack.state.channel("general")
    with walk.step("a mention in Slack, until words of its answer stand there"):
        asked = await slack.say(ann, general, f"<@{BOT_USER}> how does an answer grow?")
        await slack.until(lambda: any(ANSWER[0] in one.text for one in slack.state.answers(general, asked.ts)))
    with walk.step("until all of it does, growing", done=0):
        await slack.until(lambda: any(END in one.text for one in slack.state.answers(general, asked.ts)))
        [reply] = [one for one in slack.state.answers(general, asked.ts) if END in one.text]
        sizes = {len(version) for _, version in reply.versions}
        assert len(sizes) >= GROWS, f"It came at once: {sizes}"


async def _asked_in_discord(walk: Walk, discord: FakeDiscord) -> None:
    with walk.step("a mention in Discord, until words of its answer stand there"):
        said = await discord.say(ANN, f"<@{BOT}> how does an answer grow?")  # in a thread of the message, by its id
        await discord.until(lambda: any(ANSWER[0] in one for one in discord.world.shown(said["id"])))
    with walk.step("until all of it does, growing", done=0):
        await discord.until(lambda: any(END in one for one in discord.world.shown(said["id"])))
        written = [call.body.get("content") or "" for call in discord.calls if call.method == "PATCH"]
        sizes = {len(one) for one in written if ANSWER[0] in one}
        assert len(sizes) >= GROWS, f"It came at once: {sizes}"


WAYS: Final[Mapping[str, Callable[[Walk, Path], None]]] = {"clone": clone, "uvx": uvx, "pipx": pipx, "init": init}


def main(arguments: Sequence[str]) -> int:
    there = pythons(os.environ.get("PATH", os.defpath), Path.home())  # noqa: TID251 -- where Pythons are
    read = argparse.ArgumentParser(prog="python -m deploy.newcomer", description=(__doc__ or "").partition("\n")[0])
    read.add_argument("ways", nargs="*", metavar="WAY", help=f"some of {', '.join(WAYS)} (all)")
    read.add_argument("--python", choices=there, action="append", help="one of the Pythons here (all)")
    options = read.parse_args(arguments)
    chosen: list[str] = options.ways or [*WAYS]
    if unknown := {*chosen} - WAYS.keys():
        read.error(f"there is no way {', '.join(sorted(unknown))}")
    stuck = list[Stumbled]()
    for version in options.python or [*there]:
        for way in chosen:
            walk = Walk(f"{way} {version}", there[version])
            with tempfile.TemporaryDirectory(prefix="newcomer-") as here:
                try:
                    WAYS[way](walk, Path(here))
                except Stumbled as error:
                    stuck.append(error)
            sys.stdout.write(f"{table(walk.steps)}\n")
            sys.stdout.flush()
    missing = [version for version in VERSIONS if version not in there]
    if missing:
        sys.stdout.write(f"Not on this machine: Python {', '.join(missing)}.\n")
    sys.stderr.write("".join(f"A newcomer stumbles. {error}\n" for error in stuck))
    return 1 if stuck else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
