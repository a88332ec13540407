"""Cells of HTML tables stay in their columns."""

import time

import bs4
import pytest

from bot.chat.attachments.html_tables import MAX_ADDED, with_all_cells
from bot.chat.attachments.reader import ReadAs, Reader
from tests.patience import PATIENCE_S, cpu_s


@pytest.mark.slow
async def test_a_row_below_a_cell_that_goes_on_keeps_its_columns() -> None:
    rows = "<tr><th rowspan=2>Boats</th><td>blue</td></tr><tr><td>red</td></tr><tr><td>a</td><td rowspan=2>b</td></tr>"
    page = f"<html><body><table>{rows}<tr><td>c</td></tr></table></body></html>"
    told = await Reader(PATIENCE_S, niceness=0).text(ReadAs.HTML, page.encode())
    assert told.text.endswith("| Boats | blue |\n|  | red |\n| a | b |\n| c |  |")


def test_a_cell_over_several_columns_goes_on_in_all_of_them() -> None:
    head = "<tr><th rowspan=2 colspan=2>Boats</th><td>blue</td></tr>"
    inner = "<table><tr><td>inner</td></tr></table>"
    page = f"<table><thead>{head}</thead><tbody><tr><td>{inner}</td></tr><tr><td>a</td></tr></tbody></table>"
    filled = page.replace(f"<tr><td>{inner}", f"<tr><td></td><td></td><td>{inner}").replace("=2", '="2"')
    assert with_all_cells(page.encode(), bs4).decode() == filled.replace(
        'rowspan="2" colspan="2"', 'colspan="2" rowspan="2"'
    )


def test_a_page_without_such_cells_stays_as_it_is() -> None:
    page = b"<p>rowspan</p><table><tr><td rowspan=x>a</td><td rowspan=1>b</td></tr></table>"
    assert with_all_cells(page, bs4) == page


@pytest.mark.parametrize(
    "page",
    [
        "<table><tr>" + "<td rowspan=99999 colspan=99999>" * 1_000,
        "<table><tr>" + "<td rowspan=100>x</td>" * 200 + "</tr>" + "<tr></tr>" * 2_000 + "</table>",
        "<table><tr><td rowspan=2>" * 1_500,
    ],
)
def test_cells_that_go_on_everywhere_take_no_time(page: str) -> None:
    began = time.process_time()
    filled = with_all_cells(page.encode(), bs4)
    assert time.process_time() - began < cpu_s(2)
    assert filled.count(b"<td></td>") <= 2 * MAX_ADDED
