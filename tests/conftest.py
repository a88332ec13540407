from collections.abc import Generator

import pytest

from tests.fakes.aimock import AiMock, running_aimock


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Generator[AiMock, None, None]:
    """One double of the vendors for all tests of a process: starting Node is what costs."""
    with running_aimock(tmp_path_factory.mktemp("aimock")) as running:
        yield running
