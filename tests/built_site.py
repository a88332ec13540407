"""The site of the documents, built for a test by the site's own program."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from docs.site.build import stage

BUILD_S: Final = 120


def built_site(out: Path) -> Path:
    """Build the site in this folder, and return where it is. Without its program, the test is skipped."""
    if find_spec("zensical") is None:
        pytest.skip("zensical is not installed: `make test-docs` installs it")
    stage(out)
    subprocess.run([sys.executable, "-m", "zensical", "build", "--clean"], cwd=out, check=True, timeout=BUILD_S)
    return out / "site"
