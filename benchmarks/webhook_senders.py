"""The senders of `benchmarks.webhooks`, in a process of their own: all deliver at once, each over its own connection.

python -m benchmarks.webhook_senders HOST PORT DELIVERIES HOOK…

A sender whose event was not stored tries again after RETRY_S. The last line is one JSON object: the seconds until all
were stored, and the number of requests.
"""

import asyncio
import json
import sys
from contextlib import suppress
from typing import Final

from agent.machine import CLOCK
from tests.fakes.hook_senders import SECRET

RETRY_S: Final = 2.0
PATIENCE_S: Final = 10.0  # For one request, as the senders of alerts have
STORED: Final = {b"200", b"202"}


async def deliver(host: str, port: int, hook: str, number: int) -> int:
    """Deliver an event until it is stored; return the number of requests."""
    body = json.dumps({"text": f"Event {number} of a flood"}).encode()
    lines = [
        f"POST /hooks/{hook} HTTP/1.1", f"host: {host}:{port}", f"authorization: Bearer {SECRET}",
        f"content-length: {len(body)}", "connection: close", "", "",
    ]  # fmt: skip
    request = "\r\n".join(lines).encode() + body
    requests = 0
    while True:
        requests += 1
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                reader, writer = await asyncio.open_connection(host, port)
                try:
                    writer.write(request)
                    status = (await reader.readline()).split(b" ")[1:2]
                finally:
                    writer.close()
            if status and status[0] in STORED:
                return requests
        await asyncio.sleep(RETRY_S)


async def deliver_all(host: str, port: int, each: int, hooks: list[str]) -> dict[str, float]:
    begun = CLOCK.monotonic()
    sending = [deliver(host, port, hook, number) for number in range(each) for hook in hooks]
    requests = await asyncio.gather(*sending)
    return {"stored_s": CLOCK.monotonic() - begun, "requests": float(sum(requests))}


if __name__ == "__main__":
    host, port, each, *hooks = sys.argv[1:]
    print(json.dumps(asyncio.run(deliver_all(host, int(port), int(each), hooks))))
