"""The settings of plug-ins."""

from pathlib import Path


def folders(value: str) -> tuple[Path, ...]:
    """Parse comma-separated folders; "~" is the user's own."""
    try:
        paths = tuple(Path(piece.strip()).expanduser() for piece in value.split(",") if piece.strip())
    except RuntimeError:  # "~name" of an unknown user
        paths = ()
    if not paths or "\0" in value or not all(path.is_absolute() for path in paths):
        raise ValueError(
            "must be whole paths of folders with commas between them, as in /srv/plugins/office,/srv/plugins/sales"
        )
    return paths
