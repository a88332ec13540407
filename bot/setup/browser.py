"""Opens a page in the browser of the person at this machine."""

import sys
import webbrowser
from collections.abc import Mapping


def open_browser(address: str, environ: Mapping[str, str]) -> bool:
    """Return whether there was a browser with a window; one in the terminal would take it over."""
    has_desktop = sys.platform in ("darwin", "win32") and not environ.get("SSH_CONNECTION")
    has_windows = has_desktop or any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    try:
        return has_windows and webbrowser.open(address)
    except (OSError, webbrowser.Error):
        return False
