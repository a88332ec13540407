"""The interpreter that was compiled with an image: the first start of the bot takes it, and compiles nothing."""

import stat
from functools import partial
from pathlib import Path

from bot.python.compiled_ahead import compile_into, copy_compiled, main
from bot.python.feature import open_sandbox
from bot.python.sandbox import COMPILED, Sandbox


async def test_a_new_cache_is_filled_from_the_image(sandbox: Sandbox, tmp_path: Path) -> None:
    ahead, cache = tmp_path / "image", tmp_path / "data" / "cogency"
    # It finds the interpreter of this machine in the user's cache, so nothing is compiled in this test.
    await compile_into(ahead, open_sandbox().cache)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (ahead, *ahead.iterdir())] == [0o755, 0o644]
    copy_compiled(ahead, cache)
    (taken,) = (cache / COMPILED).iterdir()
    before = taken.stat()
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (cache / COMPILED, taken)]
    assert modes == [0o700, 0o600], "else the package would not load it"
    fresh = Sandbox(cache, prepare=partial(copy_compiled, ahead, cache))
    async with fresh.serving():
        await fresh.compiled()
        assert (await fresh.run("print(6 * 7)", [], "ann")).output == "42\n"
    after = taken.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns), "it was compiled again"
    assert sandbox


def test_without_an_image_or_where_it_cannot_be_copied_nothing_happens(tmp_path: Path) -> None:
    copy_compiled(tmp_path / "none", tmp_path / "cache")
    assert not (tmp_path / "cache").exists()
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "x.cwasm").write_bytes(b"x")
    (tmp_path / "cache").write_text("a file in its way", encoding="utf-8")
    copy_compiled(tmp_path / "image", tmp_path / "cache")
    assert (tmp_path / "cache").read_text(encoding="utf-8") == "a file in its way"


def test_the_command_needs_a_folder() -> None:
    assert main([]) == 2
