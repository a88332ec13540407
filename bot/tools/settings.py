"""The settings of tools: the operator's own, who may use them, and how long a call may take."""

import re

_MODULE = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*")


def modules(value: str) -> tuple[str, ...]:
    """Parse comma-separated files, which end in .py, and names of modules or entry points, in order."""
    names = tuple(dict.fromkeys(piece.strip() for piece in value.split(",") if piece.strip()))
    if not names or not all(name.endswith(".py") or _MODULE.fullmatch(name) for name in names):
        raise ValueError("must be files, modules or entry points with commas between them, as in my_tools.py")
    return names
