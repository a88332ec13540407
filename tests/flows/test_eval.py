"""`cogency eval`: an exam for a whole bot, on a database of its own."""

import asyncio
import json
import os
import resource
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from agent.errors import SettingsError
from bot.app.settings import load_settings
from bot.chat.exit_codes import Exit
from bot.evals.starter import starter_text
from bot.setup.arguments import Subcommand, parser
from bot.setup.cli_eval import COMMANDS
from store.engine import Store, open_store
from tests.bot.evals.test_page import starter_row, yaml_blocks
from tests.contracts.test_feedback import SHARED, WRONG, disliked
from tests.fakes.incoming import said
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, Wait, head, text, whole
from tests.fakes.ready_process import COMMAND, ReadyProcess
from tests.flows.test_setup import cogency
from tests.patience import PATIENCE_S, until

# What the rehearsal model cannot do: it follows a few fixed rules, and reads no facts that it did not search for.
BEYOND_THE_REHEARSAL = {
    "does-not-repeat-the-old-value",
    "keeps-facts-of-two-things-apart",
    "uses-a-known-fact",
    "calls-a-tool",
    "cites-a-tools-source",
    "compares-two-results",
    "needs-no-tool",
    "passes-a-number",
    "says-that-it-cannot-call-someone",
}
ONE = yaml_blocks()[0]
OTHER = "keeps-the-boat-from-ben"
JUDGED = """\
judge: openai:m-judge
questions:
  - name: polite
    ask: Good morning!
    expect:
      judged: The answer greets back.
"""
ASKED = """\
places: {general: {}, plans: {members: [ann]}}
tools:
  send:
    description: Send it.
    effect: acts
    arguments: {to: string}
    answers: [{when: {to: kim}, result: It is on its way.}, {error: nobody is called that}]
questions:
  - name: asks-back
    ask: 'use ask_user {"question": "Which boat?", "options": ["red", "blue"]}'
    expect: {contains: "Which boat?"}
  - name: denied
    ask: 'use send {"to": "kim"}'
    expect: {does_not_run: send, does_not_contain: on its way}
  - name: approved
    approve: true
    ask: 'use send {"to": "kim"}'
    expect: {calls: {tool: send, with: {to: Kim}}, contains: on its way, costs_at_most: 0, within_seconds: 60}
  - name: failed
    approve: true
    ask: 'use send {"to": "lee"}'
    expect: {does_not_run: send, contains: nobody is called that}
  - name: thread
    in: plans
    thread: trip
    before:
      - {say: "@Cogency remember that the trip goes to Porto.", thread: trip}
      - {say: Five of us will come., thread: trip}
    ask: What did I say about the trip?
    expect: {contains: Porto, remembers: Porto}
  - name: alone
    in: plans
    thread: trip
    memory: [{of: ann, text: My boat is red.}]
    ask: What did I say about the trip?
    expect: {does_not_contain: Porto, does_not_remember: Porto, does_not_reveal: Five of us, remembers: red}
"""
MANY = "questions:\n" + "".join(
    f"  - {{name: q{number}, ask: Show me some code, expect: {{contains: def}}}}\n" for number in range(200)
)


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Store]:
    store = await open_store(f"sqlite:///{folder / 'bot.db'}")
    try:
        yield store
    finally:
        await store.close()


BY_WORDS = {"COGENCY_EMBEDDINGS": "off"}  # To load the model for embeddings takes a second of CPU


def files_in(folder: Path) -> list[Path]:
    return [*folder.iterdir()]


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    """Where the processes of a test put temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@pytest.mark.slow
async def test_the_rehearsal_model_gets_what_it_gets_in_the_starter_file(tmp_path: Path, temporary: Path) -> None:
    settings = {"TMPDIR": f"{temporary}", **BY_WORDS}
    code, printed, complained = await cogency(tmp_path, "eval", "--starter", "--json", "--parallel", "16", **settings)
    report = json.loads(printed)
    failed = {result["question"] for result in report["results"] if result["status"] == "failed"}
    assert failed == BEYOND_THE_REHEARSAL, complained
    assert {result["status"] for result in report["results"]} == {"passed", "failed"}
    groups = {"memory": [0, 0], "audience": [0, 0], "tools": [0, 0], "refusal": [0, 0]}
    for result in report["results"]:
        groups[result["group"]][0] += result["status"] == "passed"
        groups[result["group"]][1] += 1
    assert [f"{passed}/{asked}" for passed, asked in groups.values()] == starter_row("rehearsal")[:-1], "docs/models.md"
    assert starter_row("rehearsal")[-1] == f"{report['models'][0]['passed']}/40"
    assert report["cost_usd"] == 0
    assert code == Exit.FAILED
    assert complained.count("\n") >= 1 + 40, "a line for each question, as it is answered"
    assert not files_in(temporary), "the database is removed"


async def test_a_run_writes_all_reports_and_stores_only_names_and_counts(tmp_path: Path) -> None:
    (tmp_path / "exam.yaml").write_text(ONE)
    reports = ("--html", "report.html", "--junit", "report.xml")
    code, printed, complained = await cogency(tmp_path, "eval", "exam.yaml", *reports)
    assert (code, complained) == (Exit.OK, "")
    assert printed.startswith("exam.yaml: 2 questions. Model: rehearsal.\n[1/2]  passed  ")
    assert printed.endswith("\nThe threshold of 100% was reached.\n")
    (suite,) = ET.fromstring((tmp_path / "report.xml").read_text()).findall("testsuite")  # noqa: S314 -- our own
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")
    assert "Vermilion" in (tmp_path / "report.html").read_text()
    async with opened(tmp_path) as store:
        (run,) = await store.eval_runs.newest(9)
        stored = await store.eval_runs.of(run.id)
        assert stored is not None
        assert (run.file, run.has_passed, stored.answers) == ("exam.yaml", True, ())
        assert [(each.name, each.passed) for each in run.questions] == [("knows-the-boat", (1,)), (OTHER, (1,))]
        assert await store.conversations.threads("eval:1:ann", limit=9) == []
        assert await store.facts.readable("eval:1:ann", frozenset({"person:eval:1:ann"})) == []
    code, _, _ = await cogency(tmp_path, "eval", "exam.yaml", "--only", OTHER, "--store-answers", **BY_WORDS)
    assert code == Exit.OK
    async with opened(tmp_path) as store:
        newest = await store.eval_runs.of(run.id + 1)
    assert newest is not None
    assert [(each.question, each.status) for each in newest.answers] == [(OTHER, "passed")]
    assert "boat" in newest.answers[0].asked


async def test_a_file_that_has_no_room_is_not_left_there_in_part(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    options = vars(parser().parse_args(["eval", "--write-starter", str(tmp_path / "my.yaml")]))
    given = {name: value for name, value in options.items() if name not in {"command", "config"}}
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(SettingsError, match="the file would exceed a size limit of the disk or process"):
            await COMMANDS[Subcommand.EVAL](load_settings({}), **given)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not (tmp_path / "my.yaml").exists()


async def test_a_file_is_checked_without_any_model(tmp_path: Path) -> None:
    no_model = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}
    code, printed, complained = await cogency(tmp_path, "eval", "--write-starter", "my.yaml")
    assert (code, printed, complained) == (Exit.OK, "Wrote 40 example questions to my.yaml.\n", "")
    assert (tmp_path / "my.yaml").read_text() == starter_text()
    code, printed, complained = await cogency(tmp_path, "eval", "--check", "my.yaml", **no_model)
    assert (code, complained) == (Exit.OK, "")
    assert printed.startswith("my.yaml is valid: 40 questions, ")
    (tmp_path / "my.yaml").write_text(ONE.replace("ask:", "aks:", 1))
    code, printed, complained = await cogency(tmp_path, "eval", "--check", "my.yaml", **no_model)
    assert (code, printed) == (Exit.SETTINGS, "")
    assert complained == ("cogency: my.yaml, line 4: questions[1].aks is not a known field. Did you mean `ask`?\n")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        ((), Exit.ARGUMENTS, "Name a file, or use --starter to run the built-in questions."),
        (("exam.yaml", "--starter"), Exit.ARGUMENTS, "Use either a file or --starter."),
        (("none.yaml",), Exit.SETTINGS, "none.yaml does not exist. To write an example to start from, run `"),
        (("--write-starter", "exam.yaml"), Exit.ARGUMENTS, "exam.yaml already exists. Choose another name."),
        (
            ("exam.yaml", "--only", "bout"),
            Exit.SETTINGS,
            "--only names `bout`, which is neither a question nor a group",
        ),
        (("exam.yaml", "--model", "rehearsal", "--model", "Rehearsal"), Exit.SETTINGS, "rehearsal is named twice."),
        (("exam.yaml", "--threshold", "101"), Exit.ARGUMENTS, "must be a number from 0 to 100"),
        (("exam.yaml", "--html", "no/where.html"), Exit.ARGUMENTS, "its folder does not exist"),
        (("exam.yaml", "--budget", "much"), Exit.ARGUMENTS, "argument --budget"),
        (("judged.yaml", "--judge", "rehearsal"), Exit.SETTINGS, "The rehearsal model cannot judge answers."),
    ],
)
async def test_arguments_that_make_no_run_are_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], code: Exit, sentence: str
) -> None:
    (tmp_path / "exam.yaml").write_text(ONE)
    (tmp_path / "judged.yaml").write_text(JUDGED)
    ended, printed, complained = await cogency(tmp_path, "eval", *arguments)
    assert (ended, printed) == (code, "")
    assert sentence in complained


async def test_questions_are_asked_as_the_file_says_and_none_sees_what_was_said_in_another(tmp_path: Path) -> None:
    (tmp_path / "exam.yaml").write_text(ASKED)
    code, printed, complained = await cogency(tmp_path, "eval", "exam.yaml", "--repeat", "2", **BY_WORDS)
    assert (code, complained) == (Exit.OK, ""), printed


async def test_a_model_that_hangs_is_an_error_of_its_question_after_the_timeout(tmp_path: Path) -> None:
    (tmp_path / "exam.yaml").write_text("questions: [{name: slow, ask: Hello, expect: {contains: hi}}]")

    def hang(request: Request) -> Reply:
        return whole(404, {}) if request.method == "GET" else [head(), text("Hm"), Wait(asyncio.Event().wait)]

    async with ModelServer(hang) as server:
        settings = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": server.url, **BY_WORDS}
        code, printed, complained = await cogency(tmp_path, "eval", "exam.yaml", "--timeout", "1", **settings)
    assert (code, complained) == (Exit.FAILED, "")
    assert "[1/1]  ERROR   slow\n        no answer within 1 s\n" in printed


async def test_models_are_compared_and_judged_by_another_whose_cost_is_shown(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        model, messages = request.json["model"], json.dumps(request.json["messages"])
        if model == "m-judge":
            passes = "Good morning to you" in messages
            return [head(), text(json.dumps({"passes": passes, "reason": "It does not greet."})), DONE]
        return [head(), text("Good morning to you!" if model == "m-kind" else "What?"), DONE]

    (tmp_path / "exam.yaml").write_text(JUDGED)
    async with ModelServer(lambda request: whole(404, {}) if request.method == "GET" else answer(request)) as server:
        settings = {"COGENCY_MODEL": "openai:m-other", "OPENAI_BASE_URL": server.url, **BY_WORDS}
        named = ("--model", "openai:m-kind", "--model", "openai:m-rude")
        async with opened(tmp_path):  # as a running bot has it open
            code, printed, complained = await cogency(tmp_path, "eval", "exam.yaml", *named, **settings)
        asked = {request.json["model"] for request in server.requests if request.method == "POST"}
    assert (code, complained) == (Exit.FAILED, "")
    assert asked == {"m-kind", "m-rude", "m-judge"}, "no other model answers in place of one that is named"
    assert "exam.yaml: 1 question. Model: openai:m-kind, openai:m-rude. openai:m-judge judges 1 question." in printed
    assert "the judge says: It does not greet." in printed
    assert "\npolite        passed         FAILED\n" in printed
    assert "Judge: openai:m-judge. Cost of judging: no list price." in printed
    _, usage, _ = await cogency(tmp_path, "usage", "--by", "model", "--json")
    spent = {total["key"]: total["calls"] for total in json.loads(usage)["totals"]}
    assert spent == {"openai:m-kind": 1, "openai:m-rude": 1, "openai:m-judge": 2}, "the operator's bill has it all"


async def test_a_database_that_cannot_be_used_is_reported_before_anything_is_spent(tmp_path: Path) -> None:
    (tmp_path / "exam.yaml").write_text("questions: [{name: one, ask: Hello, expect: {contains: hi}}]")
    (tmp_path / "bot.db").write_text("This is no database. " * 500)
    async with ModelServer(lambda _: [head(), text("Hi!"), DONE]) as server:
        settings = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": server.url, **BY_WORDS}
        code, printed, complained = await cogency(tmp_path, "eval", "exam.yaml", **settings)
    assert (code, printed, complained.count("\n")) == (Exit.UNAVAILABLE, "", 1)
    assert not [request for request in server.requests if request.method == "POST"]


async def test_answers_are_reported_also_if_what_they_cost_cannot_be_stored(tmp_path: Path) -> None:
    (tmp_path / "exam.yaml").write_text("questions: [{name: one, ask: Hello, expect: {contains: hi}}]")

    def answer(request: Request) -> Reply:
        if request.method == "GET":
            return whole(404, {})
        (tmp_path / "bot.db").write_text("This is no database any more. " * 500)
        return [head(), text("Hi!"), DONE]

    async with ModelServer(answer) as server:
        settings = {"COGENCY_MODEL": "openai:m-1", "OPENAI_BASE_URL": server.url, **BY_WORDS}
        code, printed, complained = await cogency(tmp_path, "eval", "exam.yaml", "--junit", "report.xml", **settings)
    assert code == Exit.UNAVAILABLE
    assert "[1/1]  passed  one" in printed
    assert "The threshold of 100% was reached." in printed
    assert complained.startswith("cogency eval: The cost and the result of this run were not stored. ")
    (suite,) = ET.fromstring((tmp_path / "report.xml").read_text()).findall("testsuite")  # noqa: S314 -- our own
    assert suite.get("tests") == "1"


def start(tmp_path: Path, temporary: Path, *arguments: str) -> ReadyProcess:
    """Start a command whose output goes into the files `out` and `err`."""
    environment = {
        "TMPDIR": f"{temporary}",
        "PATH": os.environ["PATH"],  # noqa: TID251 -- a process needs one
        "HOME": str(tmp_path),
        "COGENCY_DATABASE_URL": f"sqlite:///{tmp_path / 'bot.db'}",
        "COGENCY_MODEL": "rehearsal",
        **BY_WORDS,
    }
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err, Path(os.devnull).open() as nothing:
        return ReadyProcess(COMMAND, (nothing.fileno(), out.fileno(), err.fileno()), environment, tmp_path, arguments)


async def test_ctrl_c_leaves_a_report_of_what_was_finished(tmp_path: Path, temporary: Path) -> None:
    (tmp_path / "exam.yaml").write_text(MANY)
    reports = ("--json", "--junit", "report.xml")
    process = start(tmp_path, temporary, "eval", "exam.yaml", "--parallel", "2", *reports)
    await until(lambda: "passed" in (tmp_path / "err").read_text(), look_s=0.05)
    process.send_signal(signal.SIGINT)
    assert await asyncio.to_thread(process.wait, PATIENCE_S) == Exit.INTERRUPTED
    report = json.loads((tmp_path / "out").read_text())
    counts = report["models"][0]
    assert report["stopped"] == "interrupted"
    assert counts["passed"] >= 1
    assert counts["not_run"] >= 1
    assert counts["passed"] + counts["not_run"] == 200
    (suite,) = ET.fromstring((tmp_path / "report.xml").read_text()).findall("testsuite")  # noqa: S314 -- our own
    assert suite.get("skipped") == f"{counts['not_run']}"
    assert not files_in(temporary)


async def test_shared_feedback_becomes_a_file_that_can_be_asked(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await disliked(store, said("What is my secret boat called?", conversation="other"), "ann", WRONG)
    code, printed, complained = await cogency(tmp_path, "eval", "--from-feedback", "feedback.yaml")
    assert (code, printed, complained.count("\n")) == (Exit.ARGUMENTS, "", 1)
    async with opened(tmp_path) as store:
        await disliked(store, said("What is my boat called?"), "ann", SHARED)
    code, printed, complained = await cogency(tmp_path, "eval", "--from-feedback", "feedback.yaml")
    assert (code, complained) == (Exit.OK, "")
    assert printed == "Wrote 1 question to feedback.yaml. To run them, name a judge with --judge.\n"
    written = tmp_path / "feedback.yaml"
    assert "secret" not in written.read_text(), "what was not shared stays where it is"
    assert written.stat().st_mode & 0o777 == 0o600
    code, printed, _ = await cogency(tmp_path, "eval", "--check", "feedback.yaml")
    assert (code, printed) == (Exit.OK, "feedback.yaml is valid: 1 question, 1 check.\n")
    code, _, complained = await cogency(tmp_path, "eval", "feedback.yaml")
    assert code == Exit.SETTINGS
    assert "is judged by a model. Name the model with --judge" in complained
