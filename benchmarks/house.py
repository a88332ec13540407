"""The structure of the code, and how much of it one mention in Slack goes through; counted on the code itself.

    python -m benchmarks.house [--quick] [--json]
    python -m benchmarks.house --list NAME          the items of one figure: `--list duplicate_class_names`

modules                of `agent`, `bot` and `store`, without migrations and without an empty `__init__.py`
modules_60             those of at most 60 lines
max_lines              of the longest module
head_share             percent of all lines above the first line of code: docstring, imports, blanks
files_per_mention      files of which a function is entered between a mention's arrival and the storing of its answer
functions_per_mention  the functions; the real `cogency run` on the tests' Slack and SQLite, `agent/providers` left out
calls_to_store         how deep the functions are nested from the adapter's event handler to the INSERT of the message,
                       across tasks and threads
calls_core_to_thread   the part of it below the platform's folder and above the database's thread
duplicate_class_names  classes of one name in more than one module
duplicate_file_names   files of one name, apart from those at the same path in several platforms' folders
one_importer_modules   modules that exactly one module imports
product_lines          of all modules, with blanks and docstrings

Baseline: the bounds that this project has set, under the same names; and httpx, a library whose code is a model for
ours, counted in the same way (per 100 modules where the number of modules matters). A figure without a bound is shown
beside its value before the code was restructured (…_before). `--quick` traces one mention instead of three.
"""

import argparse
import asyncio
import gc
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import httpx

from benchmarks.house_code import Call, Code, read_code
from benchmarks.mention_path import MentionPath, mention_path
from benchmarks.report import print_report, read_options

BOUNDS: Final[Mapping[str, float]] = {
    "modules": 280,
    "modules_60": 40,
    "max_lines": 600,
    "head_share": 9,
    "files_per_mention": 75,
    "calls_to_store": 8,
    "duplicate_class_names": 0,
    "duplicate_file_names": 0,
    "product_lines": 42_000,
}
BEFORE: Final[Mapping[str, float]] = {"functions_per_mention_before": 504, "one_importer_modules_before": 160}
PER_100: Final = ("modules_60", "duplicate_class_names", "duplicate_file_names", "one_importer_modules")
RUNS: Final = 3
LONGEST: Final = 20  # The number of modules listed by length


def code_metrics(code: Code) -> dict[str, float]:
    return {
        "modules": len(code.modules),
        "modules_60": len(code.small),
        "max_lines": max(module.lines for module in code.modules),
        "head_share": code.head_share,
        "duplicate_class_names": len(code.duplicate_classes()),
        "duplicate_file_names": len(code.duplicate_files()),
        "one_importer_modules": len(code.one_importer()),
        "product_lines": code.lines,
    }


def mention_metrics(path: MentionPath) -> dict[str, float]:
    return {
        "files_per_mention": len(path.files),
        "functions_per_mention": len(path.functions),
        "calls_to_store": len(path.chain),
        "calls_core_to_thread": len(path.core_to_thread),
    }


def library(name: str, folder: Path) -> dict[str, float]:
    """Return the figures of a library, counted in the same way."""
    code = read_code(folder, [name])
    counted = code_metrics(code)
    return {
        f"head_share_{name}": counted["head_share"],
        f"max_lines_{name}": counted["max_lines"],
        **{f"{key}_per_100_{name}": 100 * counted[key] / counted["modules"] for key in PER_100},
    }


def ratios(metrics: Mapping[str, float]) -> str:
    """Format each figure beside its bound."""
    lines = [
        f"  {name:<22} {metrics[name]:>7.6g} of {bound:>6.6g}  {_ratio(metrics[name], bound)}"
        for name, bound in BOUNDS.items()
    ]
    return "\n".join(["beside their bounds", *lines, "what stands behind a figure: --list NAME"])


def _ratio(value: float, bound: float) -> str:
    return f"{value / bound:.2f} times" if bound else "kept" if value <= bound else "too many"


CODE_LISTS: Final[Mapping[str, Callable[[Code], Iterable[str]]]] = {
    "modules": lambda code: (f"{module.lines:>5}  {module.path}" for module in code.modules),
    "modules_60": lambda code: (f"{module.lines:>5}  {module.path}" for module in code.small),
    "max_lines": lambda code: (
        f"{module.lines:>5}  {module.path}"
        for module in sorted(code.modules, key=lambda module: module.lines, reverse=True)[:LONGEST]
    ),
    "head_share": lambda code: (
        f"{module.head_lines:>5} of {module.lines:>5}  {module.path}"
        for module in sorted(code.modules, key=lambda module: module.head_lines, reverse=True)
    ),
    "duplicate_class_names": lambda code: _named(code.duplicate_classes()),
    "duplicate_file_names": lambda code: _named(code.duplicate_files()),
    "one_importer_modules": lambda code: (f"{name}  only by {by}" for name, by in code.one_importer().items()),
    "product_lines": lambda code: (f"{lines:>6}  {folder}" for folder, lines in code.lines_by_folder().items()),
}
MENTION_LISTS: Final[Mapping[str, Callable[[MentionPath], Iterable[str]]]] = {
    "files_per_mention": lambda path: path.files,
    "functions_per_mention": lambda path: map(_called, path.functions),
    "calls_to_store": lambda path: map(_called, path.chain),
    "calls_core_to_thread": lambda path: map(_called, path.core_to_thread),
}


def _named(found: Mapping[str, Iterable[object]]) -> Iterable[str]:
    return (f"{name}: {', '.join(map(str, paths))}" for name, paths in found.items())


def _called(call: Call) -> str:
    return f"{call.file}:{call.line}  {call.function}"


def listed(name: str, runs: int) -> Iterable[str]:
    """Return the items of one figure, a line each."""
    if name in CODE_LISTS:
        return CODE_LISTS[name](read_code())
    return MENTION_LISTS[name](asyncio.run(mention_path(runs)))


def main() -> None:
    choosing = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    choosing.add_argument("--list", choices=[*CODE_LISTS, *MENTION_LISTS])
    chosen, others = choosing.parse_known_args()
    options = read_options("How the code is cut. --list NAME prints what stands behind one figure.", others)
    runs = 1 if options.quick else RUNS
    if chosen.list:
        with suppress(BrokenPipeError):  # the reader closed the pipe, as `head` does
            print("\n".join(listed(chosen.list, runs)), flush=True)
        return
    gc.disable()  # searching syntax trees for garbage, of which they have none, takes three times as long as parsing
    metrics = code_metrics(read_code()) | mention_metrics(asyncio.run(mention_path(runs)))
    baseline = dict(BOUNDS) | BEFORE | library("httpx", Path(httpx.__file__).parents[1])
    print_report("house", metrics, baseline, options, ratios(metrics))


if __name__ == "__main__":
    main()
