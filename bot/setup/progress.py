"""What a command that takes long shows meanwhile, if standard error is a terminal."""

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from bot.setup import texts as setup_texts


@contextmanager
def progress() -> Generator[Callable[[str, int, int], None]]:
    """Show a progress bar for each step on standard error, if that is a terminal."""
    from rich.console import Console  # noqa: PLC0415 -- few commands take long
    from rich.progress import Progress, TaskID  # noqa: PLC0415 -- few commands take long

    steps: dict[str, TaskID] = {}
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True) as bar:

        def tell(what: str, done: int, of: int) -> None:
            if what not in steps:
                steps[what] = bar.add_task(what, total=of)
            bar.update(steps[what], completed=done, total=of)

        yield tell


@contextmanager
def waiting() -> Generator[Callable[[Sequence[str]], None]]:
    """Show a status line with what is being examined on standard error, if that is a terminal."""
    from rich.console import Console  # noqa: PLC0415 -- few commands take long

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(setup_texts.LOOKING_AT.format(names="settings and files")) as line:
        yield lambda names: line.update(setup_texts.LOOKING_AT.format(names=", ".join(names)))
