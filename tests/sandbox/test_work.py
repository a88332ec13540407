"""What code can do in the sandbox: the work that people ask for, and what it says when the code is wrong."""

import io
import zipfile

import pytest

from bot.chat.attachments.kinds import picture_type
from bot.chat.attachments.picture_headers import picture_size
from bot.python.engine import RunEnded, RunFile
from bot.python.result_files import result_files
from bot.python.sandbox import Sandbox
from bot.python.traceback_text import shorten_error

SALES = RunFile("sales.csv", b"month,sum\n" + b"".join(b"%d,%d\n" % (row % 12 + 1, row) for row in range(1_000)))
SUMS = 'import pandas as pd\nsums = pd.read_csv("/files/sales.csv").groupby("month")["sum"].sum()\n'


async def run(sandbox: Sandbox, code: str) -> RunEnded:
    ended = await sandbox.run(code, [SALES], "ann")
    assert not ended.failed, ended.error
    return ended


async def test_a_table_is_computed_and_a_last_expression_printed(sandbox: Sandbox) -> None:
    assert (await run(sandbox, f"{SUMS}int(sums[1])")).output == f"{sum(range(0, 1_000, 12))}\n"


async def test_a_chart_is_a_picture_that_the_model_sees_too(sandbox: Sandbox) -> None:
    ended = await run(sandbox, f'{SUMS}axes = sums.plot.bar(title="Sales")\naxes.figure.savefig("chart.png")')
    (chart,) = ended.files
    assert chart.name == "chart.png"
    assert picture_type(chart.data) == "image/png"
    assert picture_size(chart.data) == (640, 480)
    assert len(result_files(ended.files).seen) == 1


async def test_a_picture_has_the_titles_of_its_figure_as_its_words(sandbox: Sandbox) -> None:
    code = """
import io
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
figure, (left, right) = plt.subplots(1, 2)
figure.suptitle("Größe\\nby month")
left.set_title("July")
right.set_title("July")
figure.savefig("titled.png")
figure.savefig("plain", format="png")
figure.savefig(io.BytesIO())
figure.savefig("own.png", metadata={"Title": "Mine"})
plt.close("all")
plt.plot([1, 2])
plt.savefig("bare.png")
"""
    ended = await run(sandbox, code)
    alts = {file.name: file.alt for file in result_files(ended.files).files}
    titled = "Größe by month; July"
    assert alts == {"titled.png": titled, "plain.png": titled, "own.png": "Mine", "bare.png": ""}


async def test_a_figure_that_is_only_shown_is_saved_too(sandbox: Sandbox) -> None:
    draws = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
    shown = await run(sandbox, f"{draws}plt.show()")
    assert [file.name for file in shown.files] == ["figure-1.png"]
    assert shown.error == ""
    saved = await run(sandbox, f'{draws}plt.savefig("mine.png")\nplt.show()')
    assert [file.name for file in saved.files] == ["mine.png"]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (f'{SUMS}sums.to_frame().to_excel("/out/sales.xlsx")', "sales.xlsx"),
        (f'{SUMS}sums.to_csv("sales.csv")', "sales.csv"),
        (f'{SUMS}sums.plot().figure.savefig("sales.svg")', "sales.svg"),
        (f'{SUMS}sums.plot().figure.savefig("sales.pdf")', "sales.pdf"),
        ('import os\nos.makedirs("2026/july")\nopen("2026/july/notes.md", "w").write("# Boats")', "notes.md"),
    ],
)
async def test_files_of_the_common_kinds_go_to_people(sandbox: Sandbox, code: str, name: str) -> None:
    found = result_files((await run(sandbox, code)).files)
    assert [file.name for file in found.files] == [name]
    assert found.left_out == ()


async def test_a_workbook_can_be_opened_again(sandbox: Sandbox) -> None:
    code = (
        f'{SUMS}sums.to_frame().to_excel("/out/sales.xlsx")\n'
        'print(pd.read_excel("/out/sales.xlsx")["sum"].sum() == sums.sum())'
    )
    ended = await run(sandbox, code)
    assert ended.output == "True\n"
    with zipfile.ZipFile(io.BytesIO(ended.files[0].data)) as package:
        assert package.testzip() is None


async def test_files_are_written_appended_renamed_and_removed_as_usual(sandbox: Sandbox) -> None:
    code = """
import os, tempfile, shutil
with open("a.txt", "w") as file: file.write("one")
with open("a.txt", "a") as file: file.write(" two")
with open("a.txt", "r+") as file:
    file.seek(4); file.write("TWO")
os.rename("a.txt", "b.txt")
shutil.copy("b.txt", "c.txt")
os.remove("c.txt")
os.mkdir("d"); os.rmdir("d")
with tempfile.TemporaryDirectory() as folder:
    open(os.path.join(folder, "x"), "w").write("x")
with tempfile.NamedTemporaryFile() as file: file.write(b"x")
print(sorted(os.listdir("/out")), os.listdir("/tmp"), open("b.txt").read())
"""
    ended = await run(sandbox, code)
    assert ended.output == "['b.txt'] [] one TWO\n"
    assert ended.files == (RunFile("b.txt", b"one TWO"),)


async def test_an_error_shows_the_line_of_the_code(sandbox: Sandbox) -> None:
    ended = await sandbox.run('import pandas as pd\n\npd.read_csv("/files/none.csv")', [SALES], "ann")
    assert ended.failed
    assert ended.limit is None
    lines = shorten_error(ended.error).splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == '  File "/code.py", line 3, in <module>'
    assert lines[2].strip() == 'pd.read_csv("/files/none.csv")'
    assert lines[-1].startswith("FileNotFoundError")
    assert len(lines) <= 6


@pytest.mark.parametrize("code", ["print(", "x = 1\n  y = 2", "\0", "return 1", "\ud800", "'" * 3])
async def test_code_that_is_none_is_an_error_too(sandbox: Sandbox, code: str) -> None:
    ended = await sandbox.run(code, [], "ann")
    assert ended.failed
    assert "Error" in ended.error


@pytest.mark.parametrize(("code", "failed"), [("exit()", False), ("import sys\nsys.exit(3)", True), ("", False)])
async def test_an_exit_ends_the_run(sandbox: Sandbox, code: str, failed: bool) -> None:
    ended = await sandbox.run(code, [], "ann")
    assert ended.failed is failed
    assert ended.limit is None


async def test_a_run_finds_nothing_of_the_one_before(sandbox: Sandbox) -> None:
    await run(
        sandbox, 'import builtins\nbuiltins.x = 1\nopen("/out/x", "w").write("x")\nopen("/tmp/x", "w").write("x")'
    )
    ended = await run(sandbox, 'import builtins, os\n(hasattr(builtins, "x"), os.listdir("/out"), os.listdir("/tmp"))')
    assert ended.output == "(False, [], [])\n"
