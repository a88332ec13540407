"""Slack's side of events over HTTP: signed requests to the bot, each to one of its processes, repeated after a failure.

It follows the documentation: three seconds for an answer. An event without an answer, or with one other than 200, is
sent again at once, after a minute and after five, with headers for the number and the reason of the attempt. Commands
and interactions are not repeated.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from itertools import count
from typing import Any, TypeAlias
from urllib.parse import urlencode

from aiohttp import ClientError, ClientSession, ClientTimeout
from slack_sdk.signature import SignatureVerifier

from agent.ports.clock import Clock
from tests.fakes.slack_things import APP, SIGNING_SECRET, FakeApp

Object: TypeAlias = dict[str, Any]

PATIENCE_S = 3.0
RETRY_AFTER_S = (0.0, 60.0, 300.0)


@dataclass(frozen=True)
class Attempt:
    """`status` is 0 if there was no answer."""

    envelope: str
    number: int
    port: int
    status: int


@dataclass
class Posts:
    """`ports` are the bot's processes behind the load balancer; `answered` is called with each answer."""

    clock: Clock
    answered: Callable[[str, Object], None]
    apps: dict[str, FakeApp] = field(default_factory=lambda: {APP: FakeApp()})  # By their ids
    ports: list[int] = field(default_factory=list[int])
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    _turn: "count[int]" = field(default_factory=count)
    _under_way: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def deliver(self, envelope: Object, process: int | None, attempt: int) -> None:
        """Start the delivery; `process` is the load balancer's first choice, None for the next in turn."""
        task = asyncio.create_task(self._deliver(envelope, process, attempt))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        for task in [*self._under_way]:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def healthy(self, port: int) -> bool:
        """The health check of the load balancer."""
        try:
            async with ClientSession() as session, session.get(f"http://127.0.0.1:{port}/health") as response:
                return response.status == 200
        except ClientError:
            return False

    async def post(
        self, body: bytes, headers: Mapping[str, str], process: int | None = None, path: str = FakeApp.path
    ) -> tuple[int, bytes]:
        """Send one request; return the status and the body of the answer. Raises ClientError and TimeoutError."""
        return await self._post(body, headers, self._port(process), path)

    async def _post(
        self, body: bytes, headers: Mapping[str, str], port: int, path: str = FakeApp.path
    ) -> tuple[int, bytes]:
        async with (
            ClientSession(timeout=ClientTimeout(total=PATIENCE_S)) as session,
            session.post(f"http://127.0.0.1:{port}{path}", data=BytesIO(body), headers=headers) as response,
        ):
            return response.status, await response.read()

    def signed(self, body: bytes, kind: str = "application/json", secret: str = SIGNING_SECRET) -> dict[str, str]:
        """Return the headers for a body."""
        time = str(int(self.clock.now().timestamp()))
        signature = SignatureVerifier(secret).generate_signature(timestamp=time, body=body) or ""
        return {"Content-Type": kind, "X-Slack-Request-Timestamp": time, "X-Slack-Signature": signature}

    async def _deliver(self, envelope: Object, process: int | None, attempt: int) -> None:
        body, kind = _encoded(envelope)
        app = self.apps[envelope["payload"].get("api_app_id", APP)]
        pauses = RETRY_AFTER_S if envelope["type"] == "events_api" else ()
        reason = "http_timeout" if attempt else ""
        for number, pause in enumerate((None, *pauses), start=attempt):
            if pause is not None:
                await self.clock.sleep(pause)
            retry = {"X-Slack-Retry-Num": str(number), "X-Slack-Retry-Reason": reason} if number else {}
            port = self._port(process)
            status, answer, reason = await self._try(body, self.signed(body, kind, app.secret) | retry, port, app.path)
            self.attempts.append(Attempt(envelope["envelope_id"], number, port, status))
            if status == 200:
                self.answered(envelope["envelope_id"], _acknowledged(envelope["envelope_id"], answer))
                return
            process = None

    async def _try(self, body: bytes, headers: Mapping[str, str], port: int, path: str) -> tuple[int, bytes, str]:
        try:
            status, answer = await self._post(body, headers, port, path)
        except TimeoutError:
            return 0, b"", "http_timeout"
        except ClientError:
            return 0, b"", "connection_failed"
        return status, answer, "http_error"

    def _port(self, process: int | None) -> int:
        """Nothing listens at port 9."""
        if not self.ports:
            return 9
        return self.ports[next(self._turn) % len(self.ports) if process is None else process]


def _encoded(envelope: Object) -> tuple[bytes, str]:
    """Encode as Slack does: events as JSON, commands as a form, the rest as JSON in a form."""
    payload: Object = envelope["payload"]
    if envelope["type"] == "events_api":
        return json.dumps(payload).encode(), "application/json"
    form = payload if envelope["type"] == "slash_commands" else {"payload": json.dumps(payload)}
    return urlencode(form).encode(), "application/x-www-form-urlencoded"


def _acknowledged(envelope: str, answer: bytes) -> Object:
    """Return the answer as it would be sent through a socket."""
    if not answer:
        return {"envelope_id": envelope}
    try:
        return {"envelope_id": envelope, "payload": json.loads(answer)}
    except ValueError:
        return {"envelope_id": envelope, "payload": {"text": answer.decode()}}
