"""Other distributions whose modules have the names of ours."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bot.settings.installation import DISTRIBUTION
from bot.setup import texts as setup_texts

PACKAGES: Final = ("agent", "bot", "store")


def shared_modules(path: Iterable[str]) -> str:
    """Return a warning if another distribution has modules with our names, "" if none has. `path`: as `sys.path`.

    It reads the distributions' lists of files directly: `importlib.metadata` takes ten times as long for all of them.
    """
    modules_of: dict[str, set[str]] = {}
    for folder in map(Path, path):
        for entry in _distributions(folder):
            distribution = entry.name.partition("-")[0].replace("_", "-").lower()
            if distribution != DISTRIBUTION:
                files, listed = b"\n" + _read(entry / "RECORD"), _read(entry / "top_level.txt").split()
                modules_of[distribution] = {
                    name for name in PACKAGES if name.encode() in listed or f"\n{name}/__init__.py,".encode() in files
                }
    others = sorted(name for name, modules in modules_of.items() if modules)
    names = ", ".join(package for package in PACKAGES if any(package in modules for modules in modules_of.values()))
    return setup_texts.MODULES_SHARED.format(others=", ".join(others), modules=names) if others else ""


def _distributions(folder: Path) -> list[Path]:
    try:
        return [*folder.glob("*.dist-info")]
    except OSError:  # a folder that this user may not see
        return []


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
