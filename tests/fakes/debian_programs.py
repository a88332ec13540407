"""Programs of Debian's packages for tests, such as servers that the bot talks with.

apt downloads and verifies a package once, with the libraries that this machine lacks, into a folder of the tests:
nothing is installed. An installed program is used as it is.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from filelock import FileLock

FETCH_S: Final = 300.0  # Lists of packages are some ten megabytes
NOT_HERE: Final = (
    "{package} could not be fetched from Debian's packages, and is not installed. Its test needs it: install it "
    "(apt-get install {package}), or let apt reach its mirror.\n\n{output}"
)


def _run(package: str, *command: object) -> None:
    try:
        done = subprocess.run(  # noqa: S603 -- our own command
            [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=FETCH_S
        )
        failed, output = done.returncode != 0, done.stdout.decode(errors="replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        failed, output = True, str(error)
    assert not failed, NOT_HERE.format(package=package, output=output)


def _apt(package: str, folder: Path, *command: str) -> None:
    """Run apt with its own lists and cache: it needs no permissions on this machine, and changes nothing there."""
    settings = {
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": 1,
        "Acquire::Retries": 5,
    }
    _run(package, "apt-get", "-qq", *(f"-o{name}={value}" for name, value in settings.items()), *command)


def debian_program(package: str, program: str) -> tuple[Path, str]:
    """Return a program of a package, and the folder of its libraries. `program`: its path, "usr/sbin/pgbouncer"."""
    name = Path(program).name
    installed = shutil.which(name, path=os.pathsep.join(("/usr/sbin", "/usr/local/sbin", os.defpath)))
    if installed is not None:
        return Path(installed), ""
    fetched = Path(sys.prefix) / package
    with FileLock(f"{fetched}.lock"):
        done = fetched / "done"
        if not done.exists():
            shutil.rmtree(fetched, ignore_errors=True)
            for part in ("lists/partial", "cache/archives/partial", "files"):
                (fetched / part).mkdir(parents=True)
            _apt(package, fetched, "update")
            _apt(package, fetched, "install", "--yes", "--download-only", "--no-install-recommends", package)
            for archive in sorted((fetched / "cache" / "archives").glob("*.deb")):
                _run(package, "dpkg-deb", "-x", archive, fetched / "files")
            for part in ("lists", "cache"):
                shutil.rmtree(fetched / part)
            done.touch()
    folders = {str(path.parent) for path in (fetched / "files").rglob("*.so*")}
    return fetched / "files" / program, os.pathsep.join(sorted(folders))


def with_data(program: Path) -> tuple[str, ...]:
    """Return the command of a program that reads data of its package in /usr/share, such as templates. Those of a
    fetched package are there for this process alone, in a mount namespace of its own, which needs no permissions.
    """
    if not program.is_relative_to(sys.prefix):
        return (str(program),)
    bound = 'mount --bind "$0" /usr/share && exec "$@"'
    data = program.parents[1] / "share"
    return "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", bound, str(data), str(program)
