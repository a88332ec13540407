import gc
import os
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import DEV, SOAK, USUAL
from tests.fakes.aimock import AiMock, running_aimock
from tests.fakes.compiled_statements import share_compiled_statements
from tests.fakes.postgresql import PostgresServer, running_postgres

# A busy machine is no defect: tests are bounded by their own waits. CI's own profile draws the same values each time.
_GIVEN = settings.get_current_profile_name()
settings.register_profile(
    SOAK, settings.get_profile(_GIVEN), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("here", settings.get_profile(SOAK), max_examples=USUAL)
settings.register_profile(DEV, settings.get_profile("here"), max_examples=10)
if _GIVEN in {"default", "ci"}:
    settings.load_profile("here")

share_compiled_statements()


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Generator[AiMock, None, None]:
    """One double of the vendors for all tests of a process: starting Node is what costs."""
    with running_aimock(tmp_path_factory.mktemp("aimock")) as running:
        yield running


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer, None, None]:
    """One server for all tests of a process, each with a database of its own."""
    with running_postgres() as running:
        yield running


IN_MEMORY = Path("/dev/shm")  # noqa: S108 -- pytest makes folders of its own there
MOST_KEPT = 1 << 30  # Bytes, far above what the folders of tests hold at one time


def pytest_configure() -> None:
    """Keep the folders of tests in memory if there is room. To wait for a disk is half of what some of them do, and
    says nothing: they kill processes, and cut no power.
    """
    runs = IN_MEMORY.is_dir() and not os.statvfs(IN_MEMORY).f_flag & os.ST_NOEXEC
    if runs and shutil.disk_usage(IN_MEMORY).free > MOST_KEPT:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))  # noqa: TID251 -- pytest has no other way


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a server of databases, models or Slack's: `make check` goes without."""
    for item in items:
        if isinstance(item, pytest.Function):
            given = list(item.callspec.params.values()) if hasattr(item, "callspec") else []
            if "postgresql" in given or {"aimock", "postgres", "slack"} & {*item.fixturenames}:
                item.add_marker("server")


def pytest_collectstart() -> None:
    """What is imported stays: to look for garbage among it is a tenth of what collecting tests takes."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Nor does any later search have to walk through those million objects, nor follow upon every 700 new ones: what
    reads all of our code takes thrice as long so.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
