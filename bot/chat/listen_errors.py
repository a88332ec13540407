"""Why the address of a setting cannot be listened on.

A port in use is not a wrong setting: another program may free it in a moment, as after a restart, so a supervisor or
the bot itself tries again. Any other reason stays until the setting, or what it names, is changed.
"""

import errno

from agent.errors import CogencyError, SettingsError
from bot.chat.texts import operating as operating_texts


class PortInUse(CogencyError):
    """Another program listens on the port of a setting. The same may work later."""


def cannot_listen(setting: str, host: str, port: int, error: OSError) -> PortInUse | SettingsError:
    """Return the error to raise for one that listening on `host` and `port` has raised."""
    if error.errno == errno.EADDRINUSE:
        return PortInUse(operating_texts.PORT_IN_USE.format(setting=setting, host=host, port=port))
    reason = error.strerror or error
    return SettingsError(operating_texts.CANNOT_LISTEN.format(setting=setting, host=host, port=port, reason=reason))
