"""Which files `make check` checks the types of: those that changed since it last found nothing wrong, and those that
import them.

    python -m tests.unchecked           prints them
    python -m tests.unchecked --note    records that pyright found nothing wrong in them

Pyright has no cache, and takes a minute for the whole product. What a module infers from a change that it does not
import itself is found by `make lint` and CI, which check everything.
"""

import json
import sys
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

import grimp

ROOT: Final = Path(__file__).parents[1]
PRODUCT: Final = ("agent", "bot", "store")
# If one of these changes, everything is checked.
SETUP: Final = ("pyproject.toml", "requirements/dev.txt", "tests/node/package.json")
CHECKED: Final = ROOT / ".venv/types.json"  # The hashes of the product when pyright last found nothing wrong
CHECKING: Final = ROOT / ".venv/types.checking.json"  # Those of what it checks now


def to_check(
    now: Mapping[str, str], checked: Mapping[str, str], importers: Callable[[str], Collection[str]]
) -> set[str]:
    """Return the Python files to check. `now`, `checked`: the hash of each file, now and when nothing was wrong;
    `importers`: returns the files that import a file.
    """
    product = {file for file in now if file not in SETUP}
    if checked.keys() - now or any(now[file] != checked.get(file) for file in SETUP):
        return product  # of a file that is gone, nobody knows any more who imported it
    changed = {file for file in product if now[file] != checked.get(file)}
    return changed.union(*map(importers, changed)) & product


def _files() -> list[str]:
    return [file.relative_to(ROOT).as_posix() for package in PRODUCT for file in ROOT.joinpath(package).rglob("*.py")]


def _importers() -> Callable[[str], Collection[str]]:
    graph = grimp.build_graph(*PRODUCT, cache_dir=None)
    files = {_module(file): file for file in _files()}

    def importers(file: str) -> Collection[str]:
        module = _module(file)
        if module not in graph.modules:  # a file in a folder without __init__.py, which nothing imports
            return ()
        return {files[one] for one in graph.find_modules_that_directly_import(module)}

    return importers


def _module(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def main() -> None:
    if "--note" in sys.argv:
        CHECKING.replace(CHECKED)
        return
    now = {file: sha256(ROOT.joinpath(file).read_bytes()).hexdigest() for file in [*SETUP, *_files()]}
    checked: dict[str, str] = json.loads(CHECKED.read_bytes()) if CHECKED.exists() else {}
    CHECKING.write_text(json.dumps(now), encoding="utf-8")
    sys.stdout.writelines(f"{file}\n" for file in sorted(to_check(now, checked, _importers())))


if __name__ == "__main__":
    main()
