"""What a real model gets for the starter questions of `cogency eval`, beside the rehearsal model (`make eval-model`).

    OPENAI_BASE_URL=http://127.0.0.1:8080/v1 make eval-model
    python -m benchmarks.starter --base-url http://127.0.0.1:8080/v1 [--model NAME] [--repeat N] [--only NAMES]

The server is any with Chat Completions, such as llama-server, Ollama or vLLM. Without `--model`, the first model of its
list answers. The questions are asked by the command itself, in a folder and on a database of their own. Only the
settings in the environment count, such as COGENCY_TOOLS_FORM. One question is asked at a time, so that a small machine
answers each as fast as it can.

The last lines are rows of the table in docs/models.md. It runs where a server is given, not in CI: a model's answers
differ from one machine to the next. Questions without a complete answer are named before them; small models have some,
as they repeat a call until they are stopped. The exit code is 1 if no question has a complete answer, and 2 if no model
could be asked.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import httpx

from agent.providers.catalog import OPENAI, Endpoint

ADDRESS: Final = "OPENAI_BASE_URL"
GROUPS: Final = ("memory", "audience", "tools", "refusal")
TIMEOUT_S: Final = 600  # Of one answer: small models on small machines are slow
LIST_S: Final = 10.0
NO_SERVER: Final = f"""\
No model is tried, because no server is named. Set {ADDRESS} to a server with Chat Completions, as in \
{ADDRESS}=http://127.0.0.1:8080/v1 make eval-model."""
NO_ADDRESS: Final = f"{ADDRESS} must be an address that begins with http:// or https://."
NOT_REACHED: Final = "{address} did not return a list of its models ({reason}). Start the server, or correct {name}."
NO_MODEL: Final = "{address} lists no model. Name one with --model."
REPORT_LACKS: Final = "`cogency eval` ended with exit code {code} and without a report."


class NotTried(Exception):
    """No model can be asked; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class StarterRow:
    """What a model got. `passed` and `asked`: answers by group."""

    model: str
    passed: Mapping[str, int]
    asked: Mapping[str, int]

    @property
    def cells(self) -> list[str]:
        shares = [f"{self.passed[group]}/{self.asked[group]}" for group in GROUPS if self.asked[group]]
        return [*shares, f"{sum(self.passed.values())}/{sum(self.asked.values())}"]

    def __str__(self) -> str:
        return f"| {' | '.join([self.model, *self.cells])} |"


def rows_of(report: Mapping[str, Any]) -> list[StarterRow]:
    """Return a row for each model of a report of `cogency eval --json`, in its order."""
    rows: list[StarterRow] = []
    for model in (str(each["model"]) for each in report["models"]):
        results = [result for result in report["results"] if result["model"] == model]
        asked = Counter(str(result["group"]) for result in results)
        passed = Counter(str(result["group"]) for result in results if result["status"] == "passed")
        rows.append(StarterRow(model, passed, asked))
    return rows


def unanswered(report: Mapping[str, Any]) -> list[str]:
    """Return the questions without a complete answer, and why."""
    rest = (result for result in report["results"] if result["status"] not in {"passed", "failed"})
    return [f"{each['question']} ({each['model']}): {'; '.join(each['problems'])}" for each in rest]


def server_at(address: str) -> Endpoint:
    """Raises NotTried."""
    if not address:
        raise NotTried(NO_SERVER)
    if not address.startswith(("http://", "https://")):
        raise NotTried(NO_ADDRESS)
    return OPENAI.at(address)


def first_model(server: Endpoint, key: str | None) -> str:
    """Return the name of the server's first model. Raises NotTried."""
    address = server.address
    try:
        answer = httpx.get(f"{server.base_url}/models", headers=server.authorisation(key), timeout=LIST_S)
        answer.raise_for_status()
        listed = cast("list[dict[str, Any]]", answer.json()["data"])
        names = [str(each["id"]) for each in listed]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError) as error:
        reason = f"{error}" or type(error).__name__
        raise NotTried(NOT_REACHED.format(address=address, reason=reason, name=ADDRESS)) from None
    if not names:
        raise NotTried(NO_MODEL.format(address=address))
    return names[0]


def asked(address: str, model: str, arguments: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Ask all questions of the model and of the rehearsal. Returns the report. Raises NotTried."""
    named = ("--model", f"openai:{model}", "--model", "rehearsal")
    options = ("--starter", "--json", "--threshold", "0", "--parallel", "1", "--timeout", str(TIMEOUT_S), *arguments)
    with TemporaryDirectory(prefix="cogency-starter-") as folder:
        nothing = Path(folder, "none.env")
        nothing.touch(mode=0o600)
        own = {ADDRESS: address, "COGENCY_DATABASE_URL": f"sqlite:///{folder}/cogency.db"}
        command = [sys.executable, "-m", "bot", "--config", str(nothing), "eval", *options, *named]
        ran = subprocess.run(command, env={**environment, **own}, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode != 0 or not ran.stdout.strip():
        raise NotTried(REPORT_LACKS.format(code=ran.returncode))
    return cast("dict[str, Any]", json.loads(ran.stdout))


def main(arguments: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Returns the exit code. `environment`: of the process by default."""
    around = dict(os.environ) if environment is None else environment  # noqa: TID251 -- the entry point of a command
    parser = argparse.ArgumentParser(description="What a real model gets for the starter questions.")
    parser.add_argument("--base-url", default=around.get(ADDRESS, ""), help=f"of the server; default: {ADDRESS}")
    parser.add_argument("--model", help="the model's name on that server; default: the first of its list")
    parser.add_argument("--repeat", help="how often to ask each question")
    parser.add_argument("--only", help="names of questions and groups")
    parser.add_argument("--report", type=Path, help="write the whole report to this file, as JSON")
    options = parser.parse_args(arguments)
    more = [each for name in ("repeat", "only") if (value := getattr(options, name)) for each in (f"--{name}", value)]
    try:
        server = server_at(options.base_url)
        model = options.model or first_model(server, around.get("OPENAI_API_KEY"))
        report = asked(server.base_url, model, more, around)
    except NotTried as why:
        print(why, file=sys.stderr)
        return 2
    if options.report:
        options.report.write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")
    left = unanswered(report)
    for line in left:
        print(f"no answer: {line}")
    print(f"{report['time']}, {report['seconds']} s")
    for row in rows_of(report):
        print(row)
    return 1 if len(left) * 2 == len(report["results"]) else 0  # half of the results are the rehearsal's


if __name__ == "__main__":
    sys.exit(main())
