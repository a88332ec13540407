"""A `systemctl --user` that starts the program of `cogency.service` as systemd would: with nothing of the environment
but what the unit says. It runs as an executable of its own, without this package: only the standard library is here.
"""

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

HOME = Path(os.environ["HOME"])  # noqa: TID251 -- a program's own
UNIT = HOME / ".config/systemd/user/cogency.service"
RUNNING = HOME / "cogency.pid"


def start() -> int:
    """Start the unit's program. Returns 1 if it ends at once."""
    lines = [line.partition("=") for line in UNIT.read_text(encoding="utf-8").splitlines()]
    unit = {name: value for name, _, value in lines if value}
    words = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(unit["ExecStart"])]
    name, _, path = shlex.split(unit["Environment"])[0].partition("=")
    with (HOME / "cogency.log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 -- the unit that was written
            words,
            cwd=unit["WorkingDirectory"].replace("%%", "%"),
            env={"HOME": str(HOME), "LANG": "C.UTF-8", name: path},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    RUNNING.write_text(str(process.pid), encoding="utf-8")
    return 0 if process.poll() is None else 1


def stop() -> None:
    if RUNNING.exists():
        os.kill(int(RUNNING.read_text(encoding="utf-8")), signal.SIGTERM)
        RUNNING.unlink()


def main(arguments: list[str]) -> int:
    if arguments[:1] != ["--user"]:
        return 1  # as for somebody who may not manage the system's services
    match arguments[1]:
        case "restart":
            stop()
            return start()
        case "disable":
            stop()
            return 0
        case _:
            return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
