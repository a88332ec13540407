"""What the hooks of known senders look like: how they sign, and how their payloads read as messages.

A preset is a set of defaults for an entry of `hooks.toml`, which can replace each of them; they stand in
`presets.toml`. Its templates use only fields that the vendor documents, and each has a sample in `samples/` with these
fields. A payload for which `text` is empty, such as a ping, is acknowledged, and nothing follows from it.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from bot.webhooks.signatures import Scheme

_FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Defaults of a hook. `text`, `key`, `closes` and `delivery` are templates."""

    signed: Scheme
    text: str
    """The message, in Markdown."""
    key: str = ""
    """What the event is about: events of one key stand in one thread, until one of them closes it."""
    closes: str = ""
    """Not empty for an event with which its thread is complete, such as a resolved alert."""
    delivery: str = ""
    """The id of the delivery in a signed body, where retries of it differ."""
    event_header: str = ""
    """The header with the kind of the event, which templates read as `event`."""
    setup: str
    """What to do at the sender, for `cogency hooks add`."""
    creates_secret: bool = False
    """The sender creates the secret, and shows it once it knows the address."""


@cache
def presets() -> Mapping[str, Preset]:
    """Return the presets by their names."""
    written = tomllib.loads((_FOLDER / "presets.toml").read_text(encoding="utf-8"))
    return {name: Preset(**entry | {"signed": Scheme(entry["signed"])}) for name, entry in written.items()}


@dataclass(frozen=True, slots=True)
class Sample:
    """A payload as its vendor documents it. `event`: the value of the preset's `event_header`."""

    preset: str
    name: str
    event: str
    body: bytes


def samples(preset: str) -> tuple[Sample, ...]:
    """Return the samples of a preset, in order of their names; "EVENT.json" or "EVENT.NAME.json" in its folder."""
    files = sorted((_FOLDER / "samples" / preset).glob("*.json"))
    return tuple(Sample(preset, file.stem, file.stem.partition(".")[0], file.read_bytes()) for file in files)
