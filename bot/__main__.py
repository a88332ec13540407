"""`cogency`: parses the command line. Help, the version and a mistyped command need nothing else, so everything that
commands need is imported only after that.
"""

import gc
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from bot.chat.exit_codes import Exit
from bot.setup.arguments import parser


def main() -> None:
    gc.disable()  # until a command's modules are imported: see `bot.setup.cli`
    for stream in (sys.stdout, sys.stderr):  # a locale may lack characters of names, answers and our own texts
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> Exit:
    """Run one command, and return its exit code."""
    options = vars(parser().parse_args(arguments))
    command = options.pop("command")
    if None in (sys.stdin, sys.stdout):
        print("cogency: Standard input and output must be open.", file=sys.stderr)  # noqa: T201 -- silent if None
        return Exit.USAGE
    from bot.setup.cli import carry_out  # noqa: PLC0415 -- takes half a second, which help should not

    return carry_out(command, options)


if __name__ == "__main__":
    main()
