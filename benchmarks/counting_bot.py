"""`cogency run` that counts its statements of SQL, for `benchmarks.question_cost`.

python -m benchmarks.counting_bot FILE

After each statement, FILE holds how many have run so far. Statements that begin and end a transaction are not counted.
"""

import os
import sys
from itertools import count

from sqlalchemy import Engine, event

from bot.__main__ import run


def main() -> None:
    file, numbers = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o600), count(1)

    def ran(*_: object) -> None:
        os.pwrite(file, f"{next(numbers):12}".encode(), 0)

    event.listen(Engine, "after_cursor_execute", ran)
    sys.exit(run(["run"]))


if __name__ == "__main__":
    main()
