"""Who uses the command line: the user's name, the account, and the time zone of this machine."""

import getpass
import os
from pathlib import Path

# As systems link it; people read the zone beside each time.
NAMES_OF_UTC = frozenset({"", "Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"})


def user_name() -> str:
    """Return the user's login name; a container may not know one."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "you"


def account_name() -> str:
    """Return the name of the account that runs this process, whatever the environment says."""
    try:
        import pwd  # noqa: PLC0415 -- Windows has none

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return user_name()


def local_time_zone(link: Path) -> str:
    """Return the machine's time zone by name, from the file that the system links to it; UTC if there is none."""
    parts = link.resolve().parts
    if "zoneinfo" not in parts:
        return "UTC"
    name = "/".join(parts[parts.index("zoneinfo") + 1 :])
    return "UTC" if name in NAMES_OF_UTC else name
