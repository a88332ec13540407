"""Code in the terminal: `cogency chat` computes, writes the files that come back, and shows the code with `/code`."""

import asyncio
import json
import os
import re
import subprocess
from pathlib import Path

from bot.chat.attachments.picture_headers import PNG
from bot.python.sandbox import Sandbox
from tests.fakes.new_database import new_database
from tests.fakes.ready_process import command

SALES = "month,sum\njuly,3\naugust,4\n"
CHART = """import pandas as pd
sums = pd.read_csv("/files/sales.csv").set_index("month")["sum"]
sums.plot.bar(title="Sales").figure.savefig("chart.png")
print("total", sums.sum())
"""


async def test_a_table_is_drawn_into_a_file_and_its_code_shown(sandbox: Sandbox, tmp_path: Path) -> None:
    assert sandbox  # it is compiled
    await new_database(tmp_path / "chat.db")
    (tmp_path / "sales.csv").write_text(SALES, encoding="utf-8")
    typed = f"/file sales.csv use python {json.dumps({'code': CHART})}\n/code\n"
    ran = await asyncio.to_thread(chat, tmp_path, typed)
    assert (ran.returncode, "total 7" in ran.stdout) == (0, True), ran.stderr
    shown = re.search(r"File: `(?P<path>[^`]+chart\.png)`", ran.stdout)
    assert shown is not None, ran.stdout
    assert (await asyncio.to_thread(Path(shown["path"]).read_bytes)).startswith(PNG)
    assert ran.stdout.rstrip().endswith(f"```python\n{CHART.strip()}\n```"), ran.stdout


def chat(folder: Path, typed: str) -> subprocess.CompletedProcess[str]:
    """Type this into `cogency chat`, whose sandbox is the user's."""
    environment = {
        **{name: os.environ[name] for name in ("HOME", "XDG_CACHE_HOME") if name in os.environ},  # noqa: TID251 -- where it is compiled
        "COGENCY_MODEL": "rehearsal",
        "COGENCY_PYTHON": "on",
        "COGENCY_DATABASE_URL": f"sqlite:///{folder / 'chat.db'}",
        "TMPDIR": str(folder),
    }
    return command(folder, environment, "chat", typed=typed)
