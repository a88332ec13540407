"""What `cogency feedback` prints: what was shared and nothing else, in forms that no spreadsheet runs."""

import csv
import io
import json
from datetime import timedelta
from pathlib import Path

from agent.feedback import FeedbackDetails, FeedbackReason
from agent.machine import CLOCK
from agent.shown_replies import ReplyVerdict
from bot.app.settings import load_settings
from bot.feedback.export import COLUMNS, counts_json, counts_text, csv_head, csv_text, json_lines
from bot.setup.feedback import counted, shared
from store.engine import open_store
from tests.contracts.test_feedback import TEAM, answered
from tests.fakes.incoming import said
from tests.fakes.new_database import new_database

FORMULA = '=HYPERLINK("https://evil.example","x")'


async def test_only_what_was_shared_is_exported_and_no_cell_is_a_formula(tmp_path: Path) -> None:
    url = await new_database(tmp_path / "store.db")
    store, now = await open_store(url), CLOCK.now()
    for number, is_shared in enumerate((True, False)):
        claim = await answered(store, said(f"{FORMULA}{number}", place=TEAM, conversation=f"{number}"))
        await store.replies.judge(claim.turn, "ann", ReplyVerdict.BAD, now)
        details = FeedbackDetails(FeedbackReason.WRONG, f"+1\n{number}", "@SUM(1)", is_shared)
        assert await store.feedback.explain(claim.turn, "ann", details, now)
    await store.close()
    settings = load_settings({"COGENCY_DATABASE_URL": url})
    (item,) = [item async for items in shared(settings, None) for item in items]
    assert [items async for items in shared(settings, now + timedelta(hours=1))] == []
    rows = list(csv.DictReader(io.StringIO(csv_head() + csv_text([item]))))
    assert [tuple(row) for row in rows] == [COLUMNS]
    (row,) = rows
    assert (row["question"], row["comment"], row["correction"]) == (f"'{FORMULA}0", "'+1\n0", "'@SUM(1)")
    (line,) = json_lines([item]).splitlines()
    exported = json.loads(line)
    assert (exported["question"], exported["comment"], exported["kind"]) == (f"{FORMULA}0", "+1\n0", "team")
    counts = await counted(settings, None)
    assert json.loads(counts_json(counts))["reason"] == [{"key": "wrong", "good": 0, "bad": 2}]
    assert "It is wrong: 0 good, 2 bad" in counts_text(counts)
