"""How this program was installed: the command that adds an extra to it, and how its own commands are typed.

Installers leave a file in the environment: uv's tools a receipt, pipx its metadata, our image a marker. Any other
environment has `direct_url.json`, which says what the package was installed from: a folder, a file or a repository
(packaging.python.org, *Recording the Direct URL Origin of installed distributions*).
"""

import json
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, assert_never, cast
from urllib.parse import urlsplit

DISTRIBUTION: Final = "cogency-bot"
IMAGE_MARKER: Final = "cogency-image"  # The Dockerfile puts this file into the environment
IMAGE_EXTRAS: Final = ("mcp", "otel")  # Which every image has: requirements/image.txt
_THROWN_AWAY: Final = re.compile(
    r"(?:archive|environments)-v\d+"
)  # Folders of uv's cache in which `uvx` starts programs
_WITH_EXTRAS: Final = re.compile(r"(?P<source>.+?)\[(?P<extras>[\w.,\s-]+)\]$", re.DOTALL)


class Way(Enum):
    IMAGE = auto()
    UV_TOOL = auto()
    UVX = auto()
    PIPX = auto()
    UV = auto()  # an environment without pip
    PIP = auto()


@dataclass(frozen=True, slots=True)
class InstallationFacts:
    """What the environment says of itself. Texts are the files' contents, "" for a file that is not there.

    `prefix`: as `sys.prefix`; `python`: as `sys.executable`.
    """

    prefix: Path
    python: str
    direct_url: str = ""
    uv_receipt: str = ""
    pipx_metadata: str = ""
    is_image: bool = False
    has_pip: bool = True


@dataclass(frozen=True, slots=True)
class Installation:
    """`source`: what the package was installed from, without extras: a path, "git+https://…" or its name in a registry.

    `extras`: those that were asked for, as far as the installer noted them; `beside`: packages that uv added to a tool.
    """

    way: Way
    python: str
    source: str
    is_editable: bool = False
    extras: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()


def installation_of(facts: InstallationFacts) -> Installation:
    """Return how the program was installed. A file that cannot be parsed counts as missing. Pure."""
    source, is_editable = _direct_source(_json(facts.direct_url))
    if facts.is_image:
        return Installation(Way.IMAGE, facts.python, source, extras=IMAGE_EXTRAS)
    if facts.uv_receipt:
        return _uv_tool(facts, source, is_editable=is_editable)
    if facts.pipx_metadata:
        main = _object(_json(facts.pipx_metadata).get("main_package"))
        named = str(main.get("package_or_url") or source)
        match = _WITH_EXTRAS.match(named)
        named, extras = (match["source"], _names(match["extras"])) if match else (named, ())
        return Installation(Way.PIPX, facts.python, named.rstrip(), is_editable, extras)
    without_pip = Way.UVX if any(map(_THROWN_AWAY.fullmatch, facts.prefix.parts)) else Way.UV
    return Installation(Way.PIP if facts.has_pip else without_pip, facts.python, source, is_editable)


def _uv_tool(facts: InstallationFacts, source: str, *, is_editable: bool) -> Installation:
    import tomllib  # noqa: PLC0415 -- loaded where a command is shown, not at each start

    try:
        tool = _object(tomllib.loads(facts.uv_receipt).get("tool"))
    except tomllib.TOMLDecodeError:
        tool = _object(None)
    requirements = [_object(each) for each in _list(tool.get("requirements"))]
    extras = tuple(
        str(extra) for each in requirements if each.get("name") == DISTRIBUTION for extra in _list(each.get("extras"))
    )
    beside = tuple(str(each["name"]) for each in requirements if each.get("name") not in {DISTRIBUTION, None})
    return Installation(Way.UV_TOOL, facts.python, source, is_editable, extras, beside)


def extra_command(installation: Installation, extra: str) -> str:
    """Return the command that adds an extra, as a person types it in a shell. Extras that are there stay. Pure."""
    extras = ",".join(sorted({*installation.extras, extra}))
    package = shlex.quote(_requirement(installation.source, extras))
    editable = "-e " if installation.is_editable else ""
    match installation.way:
        case Way.IMAGE:
            return f"docker build --build-arg EXTRAS={extras} -t cogency ."
        case Way.UV_TOOL:
            beside = "".join(f" --with {shlex.quote(name)}" for name in installation.beside)
            return f"uv tool install {editable}{package}{beside}"
        case Way.UVX:
            return f"uvx --from {package} cogency"
        case Way.PIPX:
            return f"pipx install --force {editable.replace('-e', '--editable')}{package}"
        case Way.UV:
            return f"uv pip install --python {shlex.quote(installation.python)} {editable}{package}"
        case Way.PIP:
            return f"{shlex.quote(installation.python)} -m pip install {editable}{package}"
        case _:
            assert_never(installation.way)


def _requirement(source: str, extras: str) -> str:
    """The package with extras: a path takes them at its end, an address stands behind the name (PEP 508)."""
    return f"{DISTRIBUTION}[{extras}] @ {source}" if "://" in source else f"{source}[{extras}]"


def _direct_source(direct_url: Mapping[str, object]) -> tuple[str, bool]:
    """What the package was installed from, and whether as editable (PEP 610)."""
    url = direct_url.get("url")
    if not isinstance(url, str):
        return DISTRIBUTION, False
    if (vcs := _object(direct_url.get("vcs_info"))) and vcs.get("vcs"):
        revision = vcs.get("requested_revision")
        return f"{vcs['vcs']}+{url}{f'@{revision}' if revision else ''}", False
    if urlsplit(url).scheme != "file":
        return url, False
    from urllib.request import url2pathname  # noqa: PLC0415 -- loaded where a command is shown, not at each start

    return url2pathname(urlsplit(url).path), _object(direct_url.get("dir_info")).get("editable") is True


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


def _object(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _json(text: str) -> Mapping[str, Any]:
    try:
        return _object(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def this_installation() -> Installation:
    """Return how the running program was installed. Reads the files that installers leave in its environment."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 -- loaded where a command is shown

    prefix = Path(sys.prefix)
    try:
        direct_url = distribution(DISTRIBUTION).read_text("direct_url.json") or ""
    except (OSError, UnicodeDecodeError):
        direct_url = ""
    except PackageNotFoundError:  # it runs from a folder that was never installed
        direct_url = json.dumps({"url": Path(__file__).parents[2].as_uri(), "dir_info": {"editable": True}})
    return installation_of(
        InstallationFacts(
            prefix,
            sys.executable,
            direct_url,
            _read(prefix / "uv-receipt.toml"),
            _read(prefix / "pipx_metadata.json"),
            is_image=(prefix / IMAGE_MARKER).exists(),
            has_pip=find_spec("pip") is not None,
        )
    )


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def program_as_typed(program: Path, on_path: str | None, folder: Path, python: str) -> str:
    """Return how a person in `folder` types the program: "cogency" where PATH leads to it. Pure but for links.

    `program`: the script in this environment; `on_path`: the file that a shell starts for "cogency".
    """
    if on_path is not None and Path(on_path).resolve() == program.resolve():
        return program.stem
    if not program.exists():
        return f"{shlex.quote(python)} -m bot"
    return shlex.quote(str(program.relative_to(folder) if program.is_relative_to(folder) else program))


def typed_command(words: str) -> str:
    """Return a command of the running program as it can be typed in the present folder, such as "cogency init"."""
    program = Path(sys.executable).with_name("cogency.exe" if sys.platform == "win32" else "cogency")
    try:
        folder = Path.cwd()
    except OSError:  # it was removed
        folder = Path("/")
    return f"{program_as_typed(program, shutil.which('cogency'), folder, sys.executable)} {words}"


def command_for(extra: str) -> str:
    """Return the command that adds an extra to the running program."""
    return extra_command(this_installation(), extra)
