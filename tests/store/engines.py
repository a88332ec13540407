"""On which engines the tests of the store run."""

import pytest

from tests.examples import thorough

# As `same_on_postgresql` of the contracts (tests/contracts/steps.py), for tests that take `either`.
same_on_either = pytest.mark.parametrize(
    "either", ["sqlite", pytest.param("postgresql", marks=thorough)], indirect=True
)
