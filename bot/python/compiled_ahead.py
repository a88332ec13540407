"""The sandbox's interpreter, compiled when an image is built, for the first start of the bot that runs from it.

Theory. The package loads compiled code only from a folder and files that belong to the user alone, and compiles again
for another processor. An image runs as any user, maybe on a read-only root. So what was compiled in the build is
readable by all, and the first start copies it into the user's cache, which takes a second. The image is as trusted as
the bot's own code in it.

`python -m bot.python.compiled_ahead FOLDER` compiles into a folder: `Dockerfile` calls it.
"""

import asyncio
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from agent.errors import CogencyError
from bot.chat.exit_codes import Exit
from bot.chat.output import complain
from bot.python.sandbox import COMPILED, Sandbox

FOLDER: Final = "cogency-sandbox"  # Of the compiled interpreter, in the environment of an image


async def compile_into(folder: Path, cache: Path) -> None:
    """Compile the interpreter in `cache`, and put what comes of it into `folder`, readable by all. Raises
    EngineUnavailable and OSError.
    """
    sandbox = Sandbox(cache)
    async with sandbox.serving():
        await sandbox.compiled()
    await asyncio.to_thread(_publish, cache / COMPILED, folder)


def _publish(compiled: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    for file in compiled.glob("*.cwasm"):
        shutil.copyfile(file, folder / file.name)
        (folder / file.name).chmod(0o644)


def copy_compiled(ahead: Path, cache: Path) -> None:
    """Copy what was compiled ahead into a cache that lacks it. If that fails, it is compiled again."""
    with suppress(OSError):
        files = [file for file in ahead.glob("*.cwasm") if not (cache / COMPILED / file.name).exists()]
        if not files:
            return
        for folder in (cache, cache / COMPILED):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file in files:
            with TemporaryDirectory(dir=cache) as temporary:
                copy = Path(temporary, file.name)
                copy.touch(mode=0o600)
                shutil.copyfile(file, copy)
                copy.rename(cache / COMPILED / file.name)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        complain("Usage: python -m bot.python.compiled_ahead FOLDER")
        return Exit.ARGUMENTS
    try:
        with TemporaryDirectory() as cache:
            asyncio.run(compile_into(Path(arguments[0]), Path(cache)))
    except (CogencyError, OSError) as error:
        complain(f"The sandbox was not compiled: {error}")
        return Exit.FAILED
    return Exit.OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
