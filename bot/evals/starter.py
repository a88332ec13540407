"""The questions that come with the program."""

from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("starter.yaml")


def starter_text() -> str:
    return FILE.read_text(encoding="utf-8")
