"""The settings of tools: the operator's own, who may use them, and how long a call may take."""

from dataclasses import dataclass
from typing import Final

from bot.settings import parsers
from bot.settings.declaration import Section, Sensitivity, setting
from bot.settings.sources import named_file

TOOLS: Final = "COGENCY_TOOLS"
TOOL_POLICY: Final = "COGENCY_TOOL_POLICY"


def parse_modules(value: str) -> tuple[str, ...]:
    """Parse comma-separated files, which end in .py, and names of modules or entry points, in order."""
    names = tuple(dict.fromkeys(piece.strip() for piece in value.split(",") if piece.strip()))
    if not names or not all(map(parsers.is_python_source, names)):
        raise ValueError("must be a list of files, modules, or entry points separated by commas, as in my_tools.py")
    return names


def runs_files(names: tuple[str, ...]) -> bool:
    """Whether some of these are files: what is installed was chosen when it was installed."""
    return any(name.endswith(".py") for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """The operator's own tools, who may use tools, and how long a call may take."""

    modules: tuple[str, ...] = setting(
        TOOLS,
        parse_modules,
        (),
        section=Section.MODELS,
        description=(
            "Your own tools: files or modules with @tool functions, or entry points in the cogency.tools group, "
            "separated by commas. Their code runs inside the bot; see docs/python-tools.md. Default: none."
        ),
        example="my_tools.py",
        sensitivity=Sensitivity(runs_code=runs_files),
        after="COGENCY_TOOLS_FORM",
    )
    policy: str | None = setting(
        TOOL_POLICY,
        parsers.text,
        None,
        section=Section.TOOLS,
        description=(
            "The file that controls who can use which tools where, with one row per line (docs/tool-policy.md). "
            "Default: none."
        ),
        example="tool-policy.txt",
    )
    """It precedes the rows that operators add by command."""
    timeout_s: float = setting(
        "COGENCY_TOOL_TIMEOUT_S",
        parsers.seconds(600),
        20.0,
        section=Section.BOUNDS,
        description="Time limit for one tool call, in seconds, unless the tool has its own limit.",
    )
    """A person who watches a status line gives up at about this time."""


def tool_modules(settings: ToolSettings) -> tuple[str, ...]:
    """Return the entries of COGENCY_TOOLS, files with absolute paths. They run here, so they are checked like `.env`.

    Raises SettingsError.
    """
    return tuple(str(named_file(TOOLS, name)[0]) if name.endswith(".py") else name for name in settings.modules)
