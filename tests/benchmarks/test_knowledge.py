"""The benchmark of documents, on a file that the test writes."""

import json
from pathlib import Path

from benchmarks.knowledge import Fts5Baseline, measure, read_told, recall_at

FERRY = "The ferry to Kiel leaves at seven in the morning, and takes four hours. "
HOTEL = "A hotel may cost up to 120 euros a night in Vienna. "


def squad(folder: Path) -> Path:
    context = f"# Trips\n\n{FERRY * 20}\n\n# Hotels\n\n{HOTEL * 20}"
    asked = [
        {"id": n, "question": question, "answers": [{"text": answer, "answer_start": context.index(answer)}]}
        for n, (question, answer) in enumerate(
            [
                ("When does the ferry to Kiel leave?", "seven"),
                ("What may a hotel cost?", "120 euros"),
                ("Xyzzy?", "Kiel"),
            ]
        )
    ]
    file = folder / "told.json"
    file.write_text(json.dumps({"data": [{"title": "t", "paragraphs": [{"context": context, "qas": asked}]}]}))
    return file


async def test_shares_are_in_percent_of_the_questions_beside_plain_full_text_search(tmp_path: Path) -> None:
    told = read_told(squad(tmp_path), 9)
    metrics = await measure("sqlite://", "sqlite://", told, (50, 3))
    assert round(metrics["recall_at_1"], 1) == round(metrics["recall_at_10"], 1) == 66.7
    assert (metrics["passages"], metrics["questions"]) == (50, 3)
    plain = Fts5Baseline(told)
    assert recall_at([plain.find(one.question, 10) for one in told.asked], told.asked)["recall_at_10"] > 60
