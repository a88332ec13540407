from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests.fakes.aimock import AiMock, running_aimock
from tests.fakes.postgresql import PostgresServer, running_postgres

# A busy machine is no defect: tests are bounded by their own waits. CI has a profile of its own, which does the same.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
if settings.get_current_profile_name() == "default":
    settings.load_profile("here")


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
