"""How the fake Discord answers any request: it validates it against Discord's own description, records it, applies rate
limits, and fails it if a test asks for that.
"""

import asyncio
import json
import math
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias

from aiohttp import web

from agent.ports.clock import Clock
from tests.fakes.discord_spec import problems
from tests.fakes.discord_world import Payload

API = "/api/v10"
TOKEN = "token-of-the-bot"

Handler: TypeAlias = Callable[[web.Request, Any], Awaitable[object]]


@dataclass(frozen=True)
class Call:
    """One request, as it arrived and as it was answered."""

    time: float
    method: str
    path: str
    body: Payload
    status: int


@dataclass
class Fault:
    """The next `times` requests that match are answered with `status`; `lost`: they take effect nevertheless. With
    `delay_s` alone they succeed, but late. With `hangs` they are never answered. `holds`: a part of the body of those
    that match.
    """

    method: str
    path: str
    status: int
    code: int = 0
    times: int = 1
    lost: bool = False
    delay_s: float = 0.0
    hangs: bool = False
    holds: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: Payload = field(default_factory=dict[str, Any])


class Refused(Exception):
    """The request is answered with this status and Discord's error code."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


class Requests:
    """`calls` is the record. A bucket belongs to a route and a channel: `allowance` requests in `window_s` seconds.

    `rates`: other allowances and windows, by the end of a route's path ("/threads").
    """

    def __init__(self, clock: Clock, allowance: int, window_s: float) -> None:
        self.calls: list[Call] = []
        # Requests that do not fit Discord's description; the test that serves the fake checks it at the end.
        self.violations: list[str] = []
        self.faults: list[Fault] = []
        self.rates: dict[str, tuple[int, float]] = {}
        self.hanging: list[str] = []  # The paths of requests that are not answered
        self.changed: Callable[[], None] = lambda: None
        self._clock = clock
        self._allowance, self._window_s = allowance, window_s
        self._buckets: dict[str, tuple[float, int]] = defaultdict(lambda: (float("-inf"), 0))

    def fail(self, method: str, path: str, status: int, code: int = 0, **more: Any) -> None:
        """Let the next request of this method whose path matches the expression fail."""
        self.faults.append(Fault(method, path, status, code, **more))

    def hang(self, method: str, path: str, *, times: int = 1, lost: bool = False) -> None:
        """Never answer the next requests that match. `lost`: they take effect."""
        self.faults.append(Fault(method, path, 0, times=times, lost=lost, hangs=True))

    def handler(self, handle: Handler) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Answer a request, around its own handler."""

        async def answer(request: web.Request) -> web.Response:
            payload, files = await _body(request)
            body = {**payload, "files": files} if files else payload
            path = request.path.removeprefix(API)
            headers: dict[str, str] = {}
            try:
                self._hold(request, path, payload)
                response = await self._answer(request, body, handle, headers)
            except Refused as refused:
                error = {"code": refused.code, "message": refused.message}
                response = _json(error, refused.status, headers)
            self.calls.append(Call(self._clock.monotonic(), request.method, path, body, response.status))
            self.changed()
            return response

        return answer

    def _hold(self, request: web.Request, path: str, payload: object) -> None:
        """Validate against Discord's description. Raises Refused."""
        if wrong := problems(request.method, path, payload, request.query):
            self.violations += wrong
            raise Refused(400, 50035, f"Invalid Form Body: {wrong[0]}")

    async def _answer(
        self,
        request: web.Request,
        body: Payload,
        handle: Handler,
        headers: dict[str, str],
    ) -> web.Response:
        needs_token = not request.path.removeprefix(API).startswith(("/webhooks/", "/interactions/"))
        if needs_token and request.headers.get("Authorization") != f"Bot {TOKEN}":
            raise Refused(401, 0, "401: Unauthorized")
        fault = self._fault(request, body)
        if fault is not None and fault.delay_s:
            await self._clock.sleep(fault.delay_s)
            fault = fault if fault.status else None
        if fault is not None and fault.hangs:
            if fault.lost:
                await handle(request, body)
            self.hanging.append(request.path.removeprefix(API))
            self.changed()
            await asyncio.Event().wait()  # until the client or the test ends
        if fault is not None and not fault.lost:
            return _failed(fault)
        if (limited := self._count(request, headers)) is not None:
            return limited
        answer = await handle(request, body)
        if fault is not None:
            return _failed(fault)
        return web.Response(status=204, headers=headers) if answer is None else _json(answer, 200, headers)

    def _fault(self, request: web.Request, body: Payload) -> Fault | None:
        for fault in self.faults:
            held = not fault.holds or fault.holds in json.dumps(body)
            if held and fault.method == request.method and re.search(fault.path, request.path):
                fault.times -= 1
                if fault.times == 0:
                    self.faults.remove(fault)
                return fault
        return None

    def _count(self, request: web.Request, headers: dict[str, str]) -> web.Response | None:
        """Take one from the bucket of this route and channel; return the answer if it was empty."""
        resource = request.match_info.route.resource
        channel = request.match_info.get("channel")
        if channel is None or resource is None:
            return None
        key = f"{request.method} {resource.canonical} {channel}"
        usual = self._allowance, self._window_s
        rates = (rate for end, rate in self.rates.items() if resource.canonical.endswith(end))
        allowance, window_s = next(rates, usual)
        now = self._clock.monotonic()
        began, used = self._buckets[key]
        if now - began >= window_s:
            began, used = now, 0
        after = f"{math.ceil((began + window_s - now) * 1000) / 1000:.3f}"  # rounded up
        over = used >= allowance
        self._buckets[key] = (began, used if over else used + 1)
        headers |= {
            "X-RateLimit-Limit": str(allowance),
            "X-RateLimit-Remaining": str(max(0, allowance - used - 1)),
            "X-RateLimit-Reset-After": after,
            "X-RateLimit-Bucket": sha256(f"{request.method} {resource.canonical}".encode()).hexdigest()[:32],
            "Via": "1.1 google",
        }
        if not over:
            return None
        headers |= {"Retry-After": after, "X-RateLimit-Scope": "user"}
        return _json(
            {"message": "You are being rate limited.", "retry_after": float(after), "global": False}, 429, headers
        )


async def _body(request: web.Request) -> tuple[Any, dict[str, str]]:
    """Return the JSON of a request, and the files beside it by their names: bytes that are no text are surrogates."""
    if request.content_type != "multipart/form-data":
        return json.loads(await request.text() or "{}"), {}
    form = await request.post()
    parts = [part for part in form.values() if isinstance(part, web.FileField)]
    files = {part.filename: part.file.read().decode(errors="surrogateescape") for part in parts}
    return json.loads(str(form["payload_json"])), files


def _failed(fault: Fault) -> web.Response:
    return _json(fault.body or {"code": fault.code, "message": "It was made to fail"}, fault.status, fault.headers)


def _json(data: object, status: int, headers: dict[str, str]) -> web.Response:
    # Exactly this content type: with a charset, clients read the body as text.
    return web.Response(body=json.dumps(data).encode(), content_type="application/json", status=status, headers=headers)
