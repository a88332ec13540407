"""An MCP server like `uvx mcp-server-time`: the tools, arguments and answers that the page about tools names."""

import json
from datetime import datetime
from datetime import time as time_of_day
from zoneinfo import ZoneInfo

from mcp.server.mcpserver import MCPServer

server = MCPServer("mcp-time")


@server.tool()
def get_current_time(timezone: str) -> str:
    """Get current time in a specific timezone."""
    now = datetime.now(ZoneInfo(timezone))  # noqa: TID251 -- a server reads the real clock
    return json.dumps({"timezone": timezone, "datetime": now.isoformat(timespec="seconds"), "is_dst": bool(now.dst())})


@server.tool()
def convert_time(source_timezone: str, time: str, target_timezone: str) -> str:
    """Convert time between timezones."""
    day = datetime.now(ZoneInfo(source_timezone)).date()  # noqa: TID251 -- a server reads the real clock
    there = datetime.combine(day, time_of_day.fromisoformat(time), ZoneInfo(source_timezone))
    return json.dumps({"target": there.astimezone(ZoneInfo(target_timezone)).isoformat(timespec="seconds")})


if __name__ == "__main__":
    server.run("stdio")
