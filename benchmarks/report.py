"""How every benchmark is called, and how it prints.

Options: `--quick` (smaller, for a look), `--data PATH` (read input from there), `--json` (the last line is one JSON
object: {"benchmark": name, "metrics": {…}, "baseline": {…}}).
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Options:
    quick: bool
    json: bool
    data: Path | None
    engine: str = ""
    pairs: Path | None = None


def read_options(
    description: str, arguments: list[str] | None = None, engines: Sequence[str] = (), *, pairs: str = ""
) -> Options:
    """Parse the command line, or `arguments`.

    `engines`: the choices of `--engine`, the default first; `pairs`: what `--pairs FILE` reads, "" without this option.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    parser.add_argument("--data", type=Path, help="file or folder to read the input from")
    if engines:
        parser.add_argument("--engine", choices=engines, default=engines[0], help="the database to measure")
    if pairs:
        parser.add_argument("--pairs", type=Path, help=pairs)
    read = parser.parse_args(arguments)
    return Options(
        quick=read.quick,
        json=read.json,
        data=read.data,
        engine=getattr(read, "engine", ""),
        pairs=getattr(read, "pairs", None),
    )


def print_report(
    name: str, metrics: Mapping[str, float], baseline: Mapping[str, float], options: Options, notes: str = ""
) -> None:
    """Print a report for people, and with `--json` also one for programs."""
    width = max(map(len, [*metrics, *baseline]))
    print(name)
    for key, value in metrics.items():
        print(f"  {key:<{width}}  {value:.6g}")
    print("baseline")
    for key, value in baseline.items():
        print(f"  {key:<{width}}  {value:.6g}")
    if notes:
        print(notes)
    if options.json:
        print(json.dumps({"benchmark": name, "metrics": dict(metrics), "baseline": dict(baseline)}))
