"""Whether a tag may become a release, and what the changelog says of it: `python -m deploy.release v0.1.0 [--notes]`.

The tag is "v" and the version of pyproject.toml, and CHANGELOG.md has a section of that version with a date.
"""

import re
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
_SECTION: Final = re.compile(r"^## \[([^\]]+)\](.*)$", re.MULTILINE)
_DATE: Final = re.compile(r" - \d{4}-\d{2}-\d{2}")


def notes_of(tag: str, pyproject: str, changelog: str) -> str:
    """What the changelog says of this release. Raises ValueError, in one sentence, where it may not become one."""
    version = tomllib.loads(pyproject)["project"]["version"]
    if tag != f"v{version}":
        raise ValueError(f"The tag is {tag}, and pyproject.toml says {version}: they must agree.")
    sections = [*_SECTION.finditer(changelog)]
    for number, section in enumerate(sections):
        if section[1] == version:
            if not _DATE.fullmatch(section[2]):
                raise ValueError(f'CHANGELOG.md gives {version} no date: write "## [{version}] - 2026-01-31".')
            end = sections[number + 1].start() if number + 1 < len(sections) else len(changelog)
            return changelog[section.end() : end].strip() + "\n"
    raise ValueError(f'CHANGELOG.md has no section "## [{version}]": give what is unreleased this version.')


def main(arguments: list[str]) -> int:
    tag, *options = arguments
    try:
        notes = notes_of(
            tag,
            (ROOT / "pyproject.toml").read_text(encoding="utf-8"),
            (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        )
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(notes if options == ["--notes"] else f"{tag} can be released.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
