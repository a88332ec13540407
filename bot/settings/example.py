"""Writes `.env.example`: every declared setting with its description and an example, to be copied. Pure."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from bot.settings.declaration import Setting
from bot.settings.texts import EXAMPLE_HEAD


def example_file(settings: Iterable[Setting]) -> str:
    """Return the content of `.env.example`; `settings` in its order, which is by section."""
    return EXAMPLE_HEAD + "".join(f"{line}\n" for line in _lines(settings))


def _lines(settings: Iterable[Setting]) -> Iterator[str]:
    for section, members in groupby(settings, key=lambda setting: setting.section):
        yield from ("", f"## {section}", "")
        for setting in members:
            yield from (f"# {setting.description}", f"# {setting.name}={setting.example}")
