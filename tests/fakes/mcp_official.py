"""An MCP server written with the official SDK, over standard input and output, or HTTP at the given port."""

import sys

from mcp.server.mcpserver import Context, Image, MCPServer
from mcp_types import InputRequiredResult
from pydantic import BaseModel

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d4944415478da63fcffff3f0300"
    "050001ff5a9e7c1b0000000049454e44ae426082"
)
server = MCPServer("official")


@server.tool()
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def picture() -> Image:
    """Draw a pixel."""
    return Image(data=PIXEL, format="png")


@server.tool()
async def steps(context: Context) -> str:
    """Do something in steps."""
    await context.report_progress(1, 2)
    return "done"


class Colour(BaseModel):
    """What is asked of the person."""

    colour: str


@server.tool()
async def paint(context: Context) -> str:
    """Ask which colour, then paint."""
    answer = await context.elicit("Which colour?", Colour)
    return f"{answer.action}"


@server.tool()
async def varnish() -> InputRequiredResult:
    """Say that something is missing, as the protocol of 2026 does."""
    asked = {"message": "Which one?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
    return InputRequiredResult.model_validate(
        {"inputRequests": {"which": {"method": "elicitation/create", "params": {"mode": "form", **asked}}}}
    )


@server.tool()
async def carve(context: Context) -> str | InputRequiredResult:
    """Ask which wood, as the protocol of 2026 does, and carve it."""
    if (response := (context.input_responses or {}).get("wood")) is not None:
        return f"{context.request_state}: {response.model_dump_json(include={'action', 'content'})}"
    asked = {
        "message": "Which wood?",
        "requestedSchema": {"type": "object", "properties": {"wood": {"type": "string"}}},
    }
    question = {"wood": {"method": "elicitation/create", "params": {"mode": "form", **asked}}}
    return InputRequiredResult.model_validate({"inputRequests": question, "requestState": "half done"})


@server.resource("notes://today")
def today() -> str:
    """What was noted today."""
    return "buy bread"


@server.prompt()
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Say hello to {name}."


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
