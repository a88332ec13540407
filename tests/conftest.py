import gc
import os
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.examples import DEV, THOROUGH, USUAL, is_thorough
from tests.fakes.aimock import AiMock, running_aimock
from tests.fakes.compiled_statements import share_compiled_statements
from tests.fakes.postgresql import PostgresServer, running_postgres

# A slow machine is no defect: tests have their own time limits. The same values are drawn each time, so that a commit
# that passed here passes in CI; `make test-thorough` and `make soak` draw others each time.
_PROFILE = settings.get_current_profile_name()
settings.register_profile(
    THOROUGH,
    settings.get_profile(_PROFILE),
    deadline=None,
    derandomize=False,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("here", settings.get_profile(THOROUGH), max_examples=USUAL, derandomize=True)
settings.register_profile(DEV, settings.get_profile("here"), max_examples=5)
if _PROFILE in {"default", "ci"}:
    settings.load_profile("here")

share_compiled_statements()


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Generator[AiMock, None, None]:
    """One double of the vendors for all tests of a process, because starting Node is slow."""
    with running_aimock(tmp_path_factory.mktemp("aimock")) as running:
        yield running


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer, None, None]:
    """One server for all tests of a process, each with a database of its own."""
    with running_postgres() as running:
        yield running


IN_MEMORY = Path("/dev/shm")  # noqa: S108 -- pytest makes its own folders there
MIN_FREE = 2 << 30  # Bytes, far above the size of all folders of tests, and of PostgreSQL's, at one time


def pytest_configure() -> None:
    """Keep the folders of tests in memory if there is room. Some tests spend half of their time waiting for a disk, for
    nothing: they kill processes, but simulate no power cut. PostgreSQL's servers have theirs there, too
    (`tests.fakes.postgresql`): half of what they compute in tests would be the work of a file system on a disk.
    """
    usable = IN_MEMORY.is_dir() and not os.statvfs(IN_MEMORY).f_flag & os.ST_NOEXEC
    if usable and shutil.disk_usage(IN_MEMORY).free > MIN_FREE:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))  # noqa: TID251 -- pytest offers no other way


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests that need a server of a database, of models or of Slack: `make check` skips them. Deselect thorough
    ones, unless this is `make test-thorough`.
    """
    for item in items:
        if _is_shown_elsewhere(item):
            item.add_marker("thorough")
    if not is_thorough() and (left_out := [item for item in items if item.get_closest_marker("thorough")]):
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    for item in items:
        if isinstance(item, pytest.Function):
            parameters = list(item.callspec.params.values()) if hasattr(item, "callspec") else []
            if "postgresql" in parameters or {"aimock", "postgres", "slack"} & {*item.fixturenames}:
                item.add_marker("server")


def _is_shown_elsewhere(item: pytest.Item) -> bool:
    """Return whether this is a flow on the other platform than the one that it mainly runs on."""
    mark = item.get_closest_marker("mainly")
    return (
        mark is not None
        and isinstance(item, pytest.Function)
        and item.callspec.params["open_world"] is not mark.kwargs["world"]
    )


def pytest_collectstart() -> None:
    """Do not collect garbage while tests are collected: imported objects stay, and it takes a tenth of the time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude these million objects from later collections, and run those less often than after each 700 new objects:
    tests that read all of our code would take three times as long.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()
