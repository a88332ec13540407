"""The setting for running Python code."""

from dataclasses import dataclass

from bot.settings import parsers
from bot.settings.declaration import Section, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonSettings:
    runs_code: bool = setting(
        "COGENCY_PYTHON",
        parsers.switch,
        default=False,
        section=Section.TOOLS,
        description=(
            "Let the model run Python code on a conversation's files, in a sandbox without network access "
            '(docs/python.md): on or off. Needs the "python" extra. Default: off.'
        ),
        example="on",
    )
    """Off by default: it takes 350 MB of disk, and a processor for some minutes at the first start."""
