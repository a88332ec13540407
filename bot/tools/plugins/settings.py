"""The settings of plug-ins."""

from dataclasses import dataclass
from pathlib import Path

from bot.settings.declaration import RUNS_CODE, Section, setting


def parse_folders(value: str) -> tuple[Path, ...]:
    """Parse comma-separated folders; "~" is the user's own."""
    try:
        paths = tuple(Path(piece.strip()).expanduser() for piece in value.split(",") if piece.strip())
    except RuntimeError:  # "~name" of an unknown user
        paths = ()
    if not paths or "\0" in value or not all(path.is_absolute() for path in paths):
        raise ValueError(
            "must be a list of full folder paths separated by commas, as in /srv/plugins/office,/srv/plugins/sales"
        )
    return paths


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSettings:
    """The folders of plug-ins, besides those that `cogency plugins add` lists."""

    folders: tuple[Path, ...] = setting(
        "COGENCY_PLUGINS",
        parse_folders,
        (),
        section=Section.TOOLS,
        description=(
            "Folders of plug-ins (skills and tool servers), separated by commas; see docs/plugins.md. You can also add "
            "plug-ins with `cogency plugins add`."
        ),
        example="/srv/plugins/office,/srv/plugins/sales",
        sensitivity=RUNS_CODE,
    )
