"""A chart in a real browser: code runs in the sandbox, and the page shows the picture."""

import json
import os
import re
from pathlib import Path
from typing import Final

from playwright.async_api import FilePayload, expect

from bot.python.sandbox import Sandbox
from tests.browser import WAIT_MS, open_browser, open_page, overflows, violations
from tests.fakes.play_people import labels, playing
from tests.fakes.play_sides import sides
from tests.patience import PATIENCE_S

PICTURES: Final = os.environ.get("PLAY_PICTURES", "")  # noqa: TID251 -- of whoever looks at them
CHART: Final = """
import pandas as pd
sums = pd.Series([3, 4, 6], index=["July", "August", "September"])
sums.plot.bar(title="Sales", rot=0).figure.savefig("chart.png")
sums.to_csv("sums.csv")
int(sums.sum())
"""
SHOWN: Final = "element => element.complete && element.naturalWidth > 100"


async def test_a_chart_is_shown_on_the_page_and_its_files_can_be_saved(sandbox: Sandbox, tmp_path: Path) -> None:
    assert sandbox  # it is compiled
    async with (
        open_browser() as browser,
        open_page(browser) as opened,
        playing(tmp_path, COGENCY_PYTHON="on") as here,
    ):
        await opened.page.goto(here.address)
        ann, ben = sides(opened)
        await ann.say(f"@Cogency use python {json.dumps({'code': CHART})}")
        answer = ann.column.locator("article:not(.grows)", has_text="The tool answered")
        await expect(answer).to_contain_text("13", timeout=PATIENCE_S * 1_000)
        for side in (ann, ben):
            picture = side.column.get_by_role("img", name="Sales")
            await expect(picture).to_be_visible(timeout=WAIT_MS)
            assert await picture.evaluate(SHOWN)
        async with opened.page.expect_download() as download:
            await ann.column.get_by_role("link", name="sums.csv").click()
        saved = await (await download.value).path()
        assert saved.read_text(encoding="utf-8").splitlines()[1:] == ["July,3", "August,4", "September,6"]
        if PICTURES:
            await opened.page.screenshot(path=Path(PICTURES) / "chart.png")
        assert await violations(opened.page) == []
        assert not await overflows(opened.page)
        assert opened.wrong == []


SAVES: Final = 'open("/out/clean.csv", "w").write("quetzal,35\\n")\nNone'
CONTINUES: Final = 'print("months:", open("/out/clean.csv").read().strip().upper())'
MARK: Final = b"quetzal"  # In the saved file, and in the question that saves it


async def test_a_question_continues_from_what_another_saved_and_forgetting_leaves_nothing(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    assert sandbox  # it is compiled
    async with playing(tmp_path, COGENCY_PYTHON="on") as here:
        ann = await here.page("ann")
        question = await ann.say("dm-ann", f"use python {json.dumps({'code': SAVES})}")
        assert question["type"] == "done"
        await ann.shown("The tool answered")
        await ann.say("dm-ann", f"use python {json.dumps({'code': CONTINUES})}")
        await ann.shown("months: QUETZAL,35")
        assert MARK in stored(tmp_path)
        await ann.say("dm-ann", "/forget everything")
        asks = await ann.shown("file saved by Python code")
        await ann.press(asks, next(label for label in labels(asks) if label.startswith("Forget")))
        receipt = await ann.shown("Forgotten:")
        assert "1 file saved by Python code" in receipt["html"]
    assert MARK not in stored(tmp_path)


def stored(folder: Path) -> bytes:
    """All bytes of the bot's database; what people wrote in play stands in a file of its own, as on a platform."""
    return b"".join(path.read_bytes() for path in (folder / "play.db", folder / "play.db-wal") if path.exists())


async def test_the_chart_of_the_table_that_comes_with_play_has_words_numbers_and_code(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    assert sandbox  # it is compiled
    async with (
        open_browser() as browser,
        open_page(browser) as opened,
        playing(tmp_path, COGENCY_PYTHON="on") as here,
    ):
        await opened.page.goto(here.address)
        ann, _ = sides(opened)
        await ann.say("@Cogency show me a chart")
        answer = ann.column.locator("article:not(.grows)", has_text="Here is a sample table")
        await expect(answer).to_be_visible(timeout=PATIENCE_S * 1_000)
        picture = ann.column.get_by_role("img", name="Bar chart: Boats in the harbor. Sailing boats: May: 12")
        await expect(picture).to_be_visible(timeout=WAIT_MS)
        assert await picture.evaluate(SHOWN)
        await ann.column.get_by_role("button", name="Show numbers").click()
        await expect(ann.column.get_by_role("cell", name="31").last).to_be_visible(timeout=WAIT_MS)
        if PICTURES:
            await opened.page.screenshot(path=Path(PICTURES) / "chart_of_play.png")
        assert await violations(opened.page) == []
        assert opened.wrong == []


SALES: Final = b"day,sum\n2026-07-01,3\n2026-07-20,4\n2026-08-02,6\n"
DRAWS: Final = """
import pandas as pd
sales = pd.read_csv("/files/sales.csv", parse_dates=["day"])
sales["quetzal"] = 1
sales.to_csv("/out/clean.csv", index=False)
sales.plot(x="day", y="sum", title="Sales by day").figure.savefig("/out/days.png")
"""
BY_MONTH: Final = """
import pandas as pd
sales = pd.read_csv("/out/clean.csv", parse_dates=["day"])
sums = sales.groupby(sales["day"].dt.month_name())["sum"].sum()
sums.plot.bar(title="Sales by month", rot=0).figure.savefig("/out/months.png")
print("by month:", *(f"{month} {total};" for month, total in sums.items()))
"""


async def test_a_table_is_attached_drawn_drawn_by_month_and_forgotten(sandbox: Sandbox, tmp_path: Path) -> None:
    """As a person does it in a browser. The rehearsal model runs the code that the message holds."""
    assert sandbox  # it is compiled
    async with (
        open_browser() as browser,
        open_page(browser) as opened,
        playing(tmp_path, COGENCY_PYTHON="on") as here,
    ):
        await opened.page.goto(here.address)
        ann, _ = sides(opened)
        await ann.open("Cogency")
        table = FilePayload(name="sales.csv", mimeType="text/csv", buffer=SALES)
        await ann.column.locator("input[type=file]").set_input_files([table])
        await expect(ann.column.get_by_role("list", name="Files to send")).to_contain_text("sales.csv")
        await ann.say(f"use python {json.dumps({'code': DRAWS})}")
        await expect(ann.column.get_by_role("list", name="Files to send")).to_be_hidden()
        days = ann.column.get_by_role("img", name="Sales by day", exact=True)
        await expect(days).to_be_visible(timeout=PATIENCE_S * 1_000)
        assert await days.evaluate(SHOWN)
        await ann.say(f"use python {json.dumps({'code': BY_MONTH})}")
        answer = ann.column.locator("article:not(.grows)", has_text="by month: August 6; July 7;")
        await expect(answer).to_be_visible(timeout=PATIENCE_S * 1_000)
        months = ann.column.get_by_role("img", name="Sales by month", exact=True)
        await expect(months).to_be_visible(timeout=WAIT_MS)
        assert await months.evaluate(SHOWN)
        if PICTURES:
            await opened.page.screenshot(path=Path(PICTURES) / "chart_by_month.png")
        assert await violations(opened.page) == []
        assert not await overflows(opened.page)
        assert MARK in stored(tmp_path)
        await ann.say("/forget everything")
        asks = await ann.sees("files saved by Python code")
        await asks.get_by_role("button", name=re.compile("^Forget")).click()
        receipt = await ann.sees("Forgotten:")
        await expect(receipt).to_contain_text("files saved by Python code")
        await expect(days).to_have_count(0)
        await expect(months).to_have_count(0)
        assert opened.wrong == []
    for piece in (MARK, b"2026-07-20"):
        assert piece not in stored(tmp_path)
