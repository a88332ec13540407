"""The structure of the code, and how much of it one mention in Slack goes through; counted on the code itself.

    python -m benchmarks.house [--quick] [--json]
    python -m benchmarks.house --list NAME          the items of one figure: `--list glued_modules`

names_chat_takes_from_features      imported by modules of `bot/chat`, the chat bot without features
names_between_features              imported by one feature from another
names_platforms_take_from_features  imported by the platforms; these three are left out while a module of `bot/` is in
                                    no room
glued_modules                       over 60 lines, with two or more parts of at least 50 lines that do not refer to
                                    each other
host_members                        public members of the class that platforms get
most_parameters                     of one function, without `self`
config_optionals                    most fields that may be None in one frozen dataclass …Config or …Options
turn_kind_files                     modules that read the kind of a turn from a piece of an id
functions_per_mention               functions that are entered between a mention's arrival and the storing of its
                                    answer; the real `cogency run` on the tests' Slack and SQLite, `agent/providers`
                                    left out
calls_to_store                      how deep the functions are nested from the adapter's event handler to the INSERT of
                                    the message, across tasks and threads
calls_core_to_thread                the part of it below the platform's folder and above the database's thread
uncommented_hard_functions          percent of the functions with twelve branches or more that have no comment
orphan_test_files                   test files that are named after no module

How each is counted stands in `house_rooms`, `house_parts`, `house_shapes` and `house_names`. These figures are
symptoms: one that is met by making the code harder to read is no success.

Baseline: the bounds that this project has set, under the same names; and httpx, a library whose code is a model for
ours, counted in the same way. `--quick` traces one mention instead of three.
"""

import argparse
import asyncio
import gc
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import httpx

from benchmarks.house_code import Call, Code, Module, read_code
from benchmarks.house_names import orphan_test_files, turn_kind_files
from benchmarks.house_parts import is_glued, large_parts
from benchmarks.house_rooms import RoomNames, names_between_rooms
from benchmarks.house_shapes import Measured, config_optionals, hard_functions, host_members, parameters
from benchmarks.mention_path import MentionPath, mention_path
from benchmarks.report import print_report, read_options

BOUNDS: Final[Mapping[str, float]] = {
    "names_chat_takes_from_features": 0,
    "names_between_features": 8,
    "names_platforms_take_from_features": 20,
    "glued_modules": 8,
    "host_members": 12,
    "most_parameters": 9,
    "config_optionals": 4,
    "turn_kind_files": 3,
    "functions_per_mention": 550,
    "uncommented_hard_functions": 35,
    "orphan_test_files": 10,
}
RUNS: Final = 3
LONGEST: Final = 20  # Functions that are listed by their parameters
HOMELESS: Final = "bot/ has folders or modules in no room, so names between rooms cannot be counted (see --list)"


def room_metrics(names: RoomNames) -> dict[str, float]:
    """Return no figure if something is in no room: what it takes would be missing, and 0 is the good case."""
    if names.homeless:
        return {}
    return {
        "names_chat_takes_from_features": len(names.chat),
        "names_between_features": len(names.between),
        "names_platforms_take_from_features": len(names.platforms),
    }


def shape_metrics(code: Code) -> dict[str, float]:
    """Return the figures that any code has."""
    hard, uncommented = hard_functions(code)
    return {
        "glued_modules": sum(map(is_glued, code.modules)),
        "most_parameters": max((one.figure for one in parameters(code)), default=0),
        "uncommented_hard_functions": 100 * len(uncommented) / len(hard) if hard else 0,
    }


def code_metrics(code: Code, orphans: int) -> dict[str, float]:
    """`orphans`: the number of test files without a module."""
    return {
        **room_metrics(names_between_rooms(code)),
        **shape_metrics(code),
        "host_members": len(host_members(code)),
        "config_optionals": max((one.figure for one in config_optionals(code)), default=0),
        "turn_kind_files": len(turn_kind_files(code)),
        "orphan_test_files": orphans,
    }


def mention_metrics(path: MentionPath) -> dict[str, float]:
    return {
        "functions_per_mention": len(path.functions),
        "calls_to_store": len(path.chain),
        "calls_core_to_thread": len(path.core_to_thread),
    }


def library(name: str, folder: Path) -> dict[str, float]:
    """Return the figures of a library, counted in the same way."""
    return {f"{key}_{name}": value for key, value in shape_metrics(read_code(folder, [name])).items()}


def ratios(metrics: Mapping[str, float]) -> str:
    """Format each figure beside its bound."""
    lines = [
        f"  {name:<34} {metrics[name]:>7.6g} of {bound:>6.6g}  {_ratio(metrics[name], bound)}"
        if name in metrics
        else f"  {name:<34} not measured: {HOMELESS}"
        for name, bound in BOUNDS.items()
    ]
    return "\n".join(["beside their bounds", *lines, "what stands behind a figure: --list NAME"])


def _ratio(value: float, bound: float) -> str:
    return f"{value / bound:.2f} times" if bound else "kept" if value <= bound else "too many"


def _glued(module: Module) -> str:
    parts = ", ".join(f"{part.first} {part.line} ({part.lines} lines)" for part in large_parts(module))
    return f"{module.path}: {parts}"


def _measured(found: Iterable[Measured]) -> Iterable[str]:
    return (f"{one.figure:>3}  {one.place}  {one.name}" for one in found)


def _called(call: Call) -> str:
    return f"{call.file}:{call.line}  {call.function}"


def _rooms(take: Callable[[RoomNames], Iterable[object]]) -> Callable[[Code], Iterable[str]]:
    def items(code: Code) -> Iterable[str]:
        names = names_between_rooms(code)
        return (f"in no room: bot/{one}" for one in names.homeless) if names.homeless else map(str, take(names))

    return items


CODE_LISTS: Final[Mapping[str, Callable[[Code], Iterable[str]]]] = {
    "names_chat_takes_from_features": _rooms(lambda names: names.chat),
    "names_between_features": _rooms(lambda names: names.between),
    "names_platforms_take_from_features": _rooms(lambda names: names.platforms),
    "glued_modules": lambda code: (_glued(module) for module in code.modules if is_glued(module)),
    "host_members": host_members,
    "most_parameters": lambda code: _measured(parameters(code)[:LONGEST]),
    "config_optionals": lambda code: _measured(config_optionals(code)),
    "turn_kind_files": lambda code: map(str, turn_kind_files(code)),
    "uncommented_hard_functions": lambda code: _measured(hard_functions(code)[1]),
    "orphan_test_files": lambda _: map(str, orphan_test_files()),
}
MENTION_LISTS: Final[Mapping[str, Callable[[MentionPath], Iterable[str]]]] = {
    "functions_per_mention": lambda path: map(_called, path.functions),
    "calls_to_store": lambda path: map(_called, path.chain),
    "calls_core_to_thread": lambda path: map(_called, path.core_to_thread),
}


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
    metrics = code_metrics(read_code(), len(orphan_test_files())) | mention_metrics(asyncio.run(mention_path(runs)))
    baseline = dict(BOUNDS) | library("httpx", Path(httpx.__file__).parents[1])
    print_report("house", metrics, baseline, options, ratios(metrics))


if __name__ == "__main__":
    main()
