"""An MCP server like `uvx mcp-server-time`: the tools, arguments and answers that the page about tools names.

Written by hand, as importing the SDK takes seconds on a busy machine: longer than a question waits for its tools.
"""

import json
import sys
from datetime import datetime
from datetime import time as time_of_day
from typing import Any
from zoneinfo import ZoneInfo

ARGUMENTS = {
    "get_current_time": ("Get current time in a specific timezone.", ["timezone"]),
    "convert_time": ("Convert time between timezones.", ["source_timezone", "time", "target_timezone"]),
}
TOOLS: list[dict[str, Any]] = [
    {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {argument: {"type": "string"} for argument in arguments},
            "required": arguments,
        },
    }
    for name, (description, arguments) in ARGUMENTS.items()
]


def get_current_time(timezone: str) -> dict[str, Any]:
    now = datetime.now(ZoneInfo(timezone))  # noqa: TID251 -- a server reads the real clock
    return {"timezone": timezone, "datetime": now.isoformat(timespec="seconds"), "is_dst": bool(now.dst())}


def convert_time(source_timezone: str, time: str, target_timezone: str) -> dict[str, Any]:
    day = datetime.now(ZoneInfo(source_timezone)).date()  # noqa: TID251 -- a server reads the real clock
    there = datetime.combine(day, time_of_day.fromisoformat(time), ZoneInfo(source_timezone))
    return {"target": there.astimezone(ZoneInfo(target_timezone)).isoformat(timespec="seconds")}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any]
    match method:
        case "initialize":
            about = {"name": "mcp-time", "version": "1"}
            result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            result = {"tools": TOOLS}
        case "tools/call":
            called = {"get_current_time": get_current_time, "convert_time": convert_time}[params["name"]]
            result = {"content": [{"type": "text", "text": json.dumps(called(**params["arguments"]))}]}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}
    return {"result": result}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            given = answer(message["method"], message.get("params", {}))
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **given}) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
