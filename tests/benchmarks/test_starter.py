"""The starter questions to a real model, and the rows of docs/models.md that come of them. No model is asked here."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from benchmarks.starter import main
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, head, text, whole

TWO = ("--only", "needs-no-tool,does-not-store-a-password")


def environment(folder: Path, **more: str) -> dict[str, str]:
    """That of somebody whose own settings must change nothing."""
    (folder / ".env").write_text("COGENCY_MODEL=openai:another\n")
    path = os.environ["PATH"]  # noqa: TID251 -- a process needs one
    return {"PATH": path, "HOME": str(folder), "LANG": "C.UTF-8", "COGENCY_EMBEDDINGS": "off", **more}


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def says_120(request: Request) -> Reply:
    if request.method == "GET":
        return whole(200, {"data": [{"id": "tiny-1b"}, {"id": "other"}]})
    return [head(), text("There are 120."), DONE]


async def ran(*arguments: str, around: dict[str, str]) -> int:
    return await asyncio.to_thread(main, arguments, around)


async def test_the_first_model_of_a_server_is_asked_beside_the_rehearsal_and_gets_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with ModelServer(says_120) as server:
        around = environment(tmp_path, OPENAI_BASE_URL=server.url.removesuffix("/v1"))
        code = await ran(*TWO, "--report", f"{tmp_path}/report.json", around=around)
        models = {request.json["model"] for request in server.requests if request.method == "POST"}
    printed = capsys.readouterr().out.splitlines()
    assert code == 0
    assert models == {"tiny-1b"}
    assert printed[-2:] == ["| openai:tiny-1b | 1/1 | 1/1 | 2/2 |", "| rehearsal | 0/1 | 1/1 | 1/2 |"]
    assert json.loads((tmp_path / "report.json").read_text())["file"] == "starter"
    assert names_in(tmp_path) == [".env", "report.json"], "the database was its own"


async def test_questions_without_a_complete_answer_are_named_and_the_command_fails_if_there_is_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def is_down(request: Request) -> Reply:
        return says_120(request) if request.method == "GET" else whole(400, {"error": {"message": "out of memory"}})

    async with ModelServer(is_down) as server:
        around = environment(tmp_path, OPENAI_BASE_URL=server.url)
        assert await ran("--model", "tiny-1b", *TWO, around=around) == 1
    printed = capsys.readouterr().out
    assert "no answer: needs-no-tool (openai:tiny-1b): there is no complete answer" in printed
    assert "| openai:tiny-1b | 0/1 | 0/1 | 0/2 |" in printed


async def test_a_model_that_answers_some_questions_has_been_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def knows_minutes(request: Request) -> Reply:
        knows = request.method == "GET" or "How many minutes" in request.body.decode()
        return says_120(request) if knows else whole(400, {"error": {"message": "out of memory"}})

    async with ModelServer(knows_minutes) as server:
        assert await ran(*TWO, around=environment(tmp_path, OPENAI_BASE_URL=server.url)) == 0
    printed = capsys.readouterr().out
    assert "no answer: does-not-store-a-password (openai:tiny-1b): " in printed
    assert "| openai:tiny-1b | 1/1 | 0/1 | 1/2 |" in printed


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        (
            "",
            "No model is tried, because no server is named. Set OPENAI_BASE_URL to a server with ",
        ),
        ("http://127.0.0.1:9", "http://127.0.0.1:9/v1 did not return a list of its models ("),
        ("127.0.0.1:9", "OPENAI_BASE_URL must be an address that begins with http:// or https://."),
    ],
)
async def test_without_a_server_one_sentence_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], address: str, sentence: str
) -> None:
    assert await ran(around=environment(tmp_path, OPENAI_BASE_URL=address)) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(sentence)
    assert printed.err.count("\n") == 1


async def test_a_server_that_lists_no_model_asks_for_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with ModelServer(lambda _: whole(200, {"data": []})) as server:
        assert await ran(around=environment(tmp_path, OPENAI_BASE_URL=server.url)) == 2
    assert capsys.readouterr().err.endswith("lists no model. Name one with --model.\n")
