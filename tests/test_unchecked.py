"""What `make check` checks the types of again."""

from tests.unchecked import SETUP, to_check

SAME = dict.fromkeys(SETUP, "0")
BEFORE = SAME | {"a.py": "1", "b.py": "1", "c.py": "1"}


def importers(file: str) -> set[str]:
    """Return what imports a file: b imports a, c imports b."""
    return {"a.py": {"b.py"}, "b.py": {"c.py"}}.get(file, set())


def test_nothing_is_checked_again_that_did_not_change() -> None:
    assert to_check(BEFORE, BEFORE, importers) == set()


def test_what_changed_is_checked_with_what_imports_it() -> None:
    assert to_check(BEFORE | {"a.py": "2"}, BEFORE, importers) == {"a.py", "b.py"}
    assert to_check(BEFORE | {"d.py": "1"}, BEFORE, importers) == {"d.py"}


def test_all_is_checked_at_first_after_a_file_is_gone_and_after_a_change_of_the_setup() -> None:
    everything = {"a.py", "b.py", "c.py"}
    assert to_check(BEFORE, {}, importers) == everything
    assert to_check(BEFORE, BEFORE | {"gone.py": "1"}, importers) == everything
    for file in SETUP:
        assert to_check(BEFORE | {file: "1"}, BEFORE, importers) == everything
