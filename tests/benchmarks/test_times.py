"""The benchmark of times reads specifications, and judges what was read of them."""

import json
from datetime import UTC, date, datetime, time
from pathlib import Path

import pytest

from benchmarks.report import Options
from benchmarks.times import ASKED, ZONE, LeftOut, Meant, OnDay, Past, Phrase, Repeats, judge, read_phrases, run
from bot.schedules.phrases.reading import read_when

NOW = datetime(2016, 11, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "meant", "verdict"),
    [
        ("tomorrow at 8:00am", datetime(2016, 11, 8, 8, tzinfo=UTC), "right"),
        ("tomorrow at 8:00am", datetime(2016, 11, 8, 9, tzinfo=UTC), "wrong"),
        ("tomorrow at 3", datetime(2016, 11, 8, 15, tzinfo=UTC), "right"),
        ("tomorrow", OnDay(date(2016, 11, 8)), "right"),
        ("tomorrow", OnDay(date(2016, 11, 9)), "asked"),
        ("at seven", time(7), "right"),
        ("at 7pm", time(7), "wrong"),
        ("every Monday at 4pm", Repeats("XXXX-WXX-1T16"), "right"),
        ("every Monday at 4pm", Repeats("XXXX-WXX-2T16"), "wrong"),
        ("every 2 weeks", Repeats("P2W"), "right"),
        ("every morning", Repeats("TMO"), "right"),
        ("tomorrow at 8:00am", Past(), "wrong"),
        ("in the fullness of time", datetime(2016, 11, 8, tzinfo=UTC), "asked"),
        ("tomorrow at 8:00am the brown", datetime(2016, 11, 8, 8, tzinfo=UTC), "wrong"),
    ],
)
def test_a_phrase_is_right_if_it_means_its_time_or_asks_for_what_it_leaves_open(
    text: str, meant: Meant, verdict: str
) -> None:
    assert judge(Phrase("en", text, NOW, meant), read_when(f"{text} {ASKED}", NOW, ZONE)) == verdict


def entry(given: str, marked: str, kind: str, resolved: str, timex: str = "") -> dict[str, object]:
    value = {"Timex": timex, "FutureResolution": {kind: resolved}}
    result = {"Text": marked, "Start": given.index(marked), "Value": value}
    return {"Input": given, "Context": {"ReferenceDateTime": "2016-11-07T00:00:00"}, "Results": [result]}


def test_specifications_are_read_with_what_is_left_out_and_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    specified = [
        entry("back at 8:00 today", "8:00 today", "dateTime", "2016-11-07 08:00:00"),
        entry("I went yesterday", "yesterday", "date", "2016-11-06"),
        entry("back now", "now", "dateTime", "2016-11-07 00:00:00", "PRESENT_REF"),
    ]
    (tmp_path / "English").mkdir()
    (tmp_path / "English" / "DateTimeParser.json").write_text(json.dumps(specified), "utf-8-sig")
    now, *rest = sorted(read_phrases(tmp_path), key=lambda one: isinstance(one, Phrase))
    assert isinstance(now, LeftOut)
    assert rest == [
        Phrase("en", "at 8:00 today", NOW, datetime(2016, 11, 7, 8, tzinfo=UTC)),
        Phrase("en", "yesterday", NOW, Past()),
    ]
    run(Options(quick=False, json=True, data=tmp_path))
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["benchmark"] == "times"
    assert {name: report["metrics"][f"{name}_en"] for name in ("right", "asked", "wrong")} == {
        "right": 100,
        "asked": 0,
        "wrong": 0,
    }
    with pytest.raises(SystemExit):
        run(Options(quick=False, json=True, data=None))
