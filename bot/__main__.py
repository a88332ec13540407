"""`cogency`: reads what was written behind it. Help, a version and a mistyped word take nothing but this to answer, so
what the commands need is loaded behind that.
"""

import gc
import sys
from collections.abc import Sequence

from bot.arguments import parser
from bot.exits import Exit


def main() -> None:
    gc.disable()  # until what a command needs is loaded: `bot.cli`
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> Exit:
    """Run one command; its exit code."""
    if not arguments:
        parser().print_help(sys.stderr)
        return Exit.ARGUMENTS
    options = vars(parser().parse_args(arguments))
    command = options.pop("command")
    if None in (sys.stdin, sys.stdout):
        print("cogency: Standard input and output must be open.", file=sys.stderr)  # noqa: T201 -- silent if None
        return Exit.USAGE
    from bot.cli import carry_out  # noqa: PLC0415 -- half a second, which nobody should wait for help

    return carry_out(command, options)


if __name__ == "__main__":
    main()
