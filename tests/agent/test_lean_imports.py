"""Tests for importing a library without a part of it."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.lean_imports import not_installed


@pytest.fixture
def library(tmp_path: Path) -> Iterator[str]:
    """A package that can do without its module `extra`."""
    folder = tmp_path / "some_library"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "try:\n    from some_library import extra\nexcept ImportError:\n    extra = None\n", encoding="utf-8"
    )
    (folder / "extra.py").touch()
    sys.path.insert(0, str(tmp_path))
    yield folder.name
    sys.path.remove(str(tmp_path))
    for name in [name for name in sys.modules if name.partition(".")[0] == folder.name]:
        del sys.modules[name]


def test_a_library_is_imported_without_its_extra_which_a_later_import_still_finds(library: str) -> None:
    with not_installed("some_library.extra"):
        module = __import__(library)
    assert module.extra is None
    assert __import__("some_library.extra").extra is not None


def test_a_module_that_is_loaded_stays(library: str) -> None:
    loaded = __import__("some_library.extra").extra
    with not_installed("some_library.extra"):
        assert __import__(library).extra is loaded
    assert sys.modules["some_library.extra"] is loaded


def test_after_a_failure_in_the_block_the_extra_can_be_imported(library: str) -> None:
    with pytest.raises(ZeroDivisionError), not_installed(f"{library}.extra"):
        _ = 1 / 0
    assert __import__(f"{library}.extra").extra is not None
