"""The files that code sees: bytes in memory, within limits, of which some are only to be read."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.python.sandbox_process import MAX_PATH, MemoryFiles

TMP = "/tmp"  # noqa: S108 -- in the sandbox
LIMITS = {"out_bytes": 100, "scratch_bytes": 50, "entries": 6, "out_entries": 3}
GIVEN = {"sales.csv": b"month,sum\n"}


def opened() -> MemoryFiles:
    return MemoryFiles(b"print(1)", dict(GIVEN), LIMITS)


def names(files: MemoryFiles, path: str) -> list[tuple[str, str]]:
    return sorted(files.list(path))


def test_the_tree_begins_with_the_code_its_files_and_two_empty_folders() -> None:
    files = opened()
    assert names(files, "/") == [("code.py", "file"), ("files", "dir"), ("out", "dir"), ("tmp", "dir")]
    assert names(files, "/files") == [("sales.csv", "file")]
    assert names(files, "/out") == names(files, TMP) == []
    assert files.read("/files/sales.csv") == GIVEN["sales.csv"]
    assert files.read("/code.py") == b"print(1)"


def test_results_are_the_files_in_their_folder_also_below_others() -> None:
    files = opened()
    files.mkdir("/out/july")
    files.write("/out/july/b.txt", b"b")
    files.write("/out/a.txt", b"a")
    files.write(f"{TMP}/c.txt", b"c")
    assert files.results == [("a.txt", b"a"), ("july/b.txt", b"b")]
    assert names(files, "/out") == [("a.txt", "file"), ("july", "dir")]


@pytest.mark.parametrize(
    "act",
    [
        ("write", "/files/sales.csv", b""),
        ("write", "/files/new.csv", b""),
        ("write", "/code.py", b""),
        ("write", "/out", b""),
        ("mkdir", "/files/new"),
        ("mkdir", "/out"),
        ("remove", "/files/sales.csv"),
        ("rmdir", "/out"),
        ("rename", "/files/sales.csv", "/out/a"),
        ("write", "/none/a", b""),
        ("write", "/code.py/a", b""),
        ("read", "/out"),
        ("read", "/etc/passwd"),
        ("list", "/code.py"),
        ("list", "/etc"),
        ("remove", "/out/none"),
        ("write", "/out/" + "x" * MAX_PATH, b""),
        ("write", "/out/a", b"x" * 101),
        ("write", f"{TMP}/a", b"x" * 51),
    ],
)
def test_what_is_not_allowed_is_an_error_that_changes_nothing(act: tuple[str, ...]) -> None:
    files = opened()
    with pytest.raises(OSError):  # noqa: PT011 -- each has a class or a number of its own
        getattr(files, act[0])(*act[1:])
    assert names(files, "/out") == names(files, TMP) == []
    assert files.read("/files/sales.csv") == GIVEN["sales.csv"]


PATHS = st.sampled_from(
    ["/out/a", "/out/b", "/out/d", "/out/d/a", f"{TMP}/a", "/a", "/files/sales.csv", "/code.py", "/out"]
)
ACTS = st.one_of(
    st.tuples(st.just("write"), PATHS, st.binary(max_size=60)),
    st.tuples(st.just("rename"), PATHS, PATHS),
    st.tuples(st.sampled_from(["mkdir", "remove", "rmdir", "read", "list"]), PATHS),
)


@given(st.lists(ACTS, max_size=30))
def test_whatever_code_does_its_files_stay_within_the_limits(acts: list[tuple[str, ...]]) -> None:
    files = opened()
    for name, *arguments in acts:
        with suppress(OSError):
            getattr(files, name)(*arguments)
        results = [data for _, data in files.results]
        assert sum(map(len, results)) <= LIMITS["out_bytes"]
        assert files.read("/files/sales.csv") == GIVEN["sales.csv"]
        assert files.read("/code.py") == b"print(1)"
        assert len(results) <= LIMITS["out_entries"]
