"""Importing a library without a part of it that we do not use.

Some libraries import a command line or colors whenever the packages for these are installed, as they are here for other
purposes. An idle bot held seven megabytes of such code.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def not_installed(*modules: str) -> Generator[None]:
    """Let imports in the block fail for these modules, as if they were not installed. The importing library must allow
    for that. Modules that are already loaded stay as they are; later imports find the others again.
    """
    loaded: dict[str, ModuleType | None] = sys.modules  # pyright: ignore[reportAssignmentType] -- None: its import fails
    hidden = [module for module in modules if module not in loaded]
    loaded.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for module in hidden:
            if module in loaded and loaded[module] is None:
                del loaded[module]
