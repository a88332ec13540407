"""How a command ends: what a supervisor repeats, and what it does not."""

import errno
import os

import pytest

from bot.chat.exit_codes import Exit, exit_code
from bot.chat.listen_errors import cannot_listen


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        (errno.EADDRINUSE, Exit.BUSY),
        (errno.EADDRNOTAVAIL, Exit.SETTINGS),
        (errno.EACCES, Exit.SETTINGS),
        (errno.EAFNOSUPPORT, Exit.SETTINGS),
    ],
)
def test_a_supervisor_repeats_a_start_at_a_busy_port_and_no_other(reason: int, code: Exit) -> None:
    error = cannot_listen("COGENCY_HEALTH", "127.0.0.1", 8081, OSError(reason, os.strerror(reason)))
    assert exit_code(error) is code
    assert str(error).startswith("COGENCY_HEALTH: ")
    assert "8081" in str(error)
