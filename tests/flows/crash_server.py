"""What processes that are killed are forked from: all modules are loaded, and the statements of a turn are compiled.

Half of what such a process takes is what it compiles and touches first; here it is done once, before the forks. The
server of `tests.fakes.ready_process` loads this module when it starts, and nobody else does.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

import tests.flows.platform_process  # noqa: F401 -- to be there  # pyright: ignore[reportUnusedImport]
from tests.fakes.compiled_statements import share_compiled_statements
from tests.fakes.new_database import new_database
from tests.flows import crash_process

share_compiled_statements()
with TemporaryDirectory() as folder:
    asyncio.run(new_database(Path(folder) / "bot.db"))
    crash_process.main(Path(folder), None, joins=True)
