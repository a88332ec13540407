"""The settings of MCP servers, and reading the file that lists them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.settings import parsers
from bot.settings.declaration import RUNS_CODE, Section, setting
from bot.settings.sources import named_file
from bot.tools.mcp.config import McpFile, parse_file

MCP: Final = "COGENCY_MCP"


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """The file with the MCP servers."""

    file: str | None = setting(
        MCP,
        parsers.text,
        None,
        section=Section.TOOLS,
        description=('The file that lists the bot\'s MCP servers (docs/mcp.md). Needs the "mcp" extra. Default: none.'),
        example="mcp.json",
        sensitivity=RUNS_CODE,
    )


def mcp_file(settings: McpSettings, variables: Mapping[str, str]) -> McpFile:
    """Read the file that COGENCY_MCP names. It decides what runs here, so it is checked like `.env`.

    Raises SettingsError.
    """
    if settings.file is None:
        return McpFile()
    file, content = named_file(MCP, settings.file)
    return parse_file(content, file, variables)
