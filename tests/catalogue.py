"""The modules that hold what people read: `texts.py` of each part of the bot, `bot/chat/texts` and `agent/texts.py`."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
CHAT: Final = ROOT / "bot" / "chat" / "texts"


def catalogue_files() -> list[Path]:
    return [ROOT / "agent" / "texts.py", *sorted((ROOT / "bot").rglob("texts.py")), *sorted(CHAT.glob("[!_]*.py"))]
