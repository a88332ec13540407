"""`cogency budget`, which has no place of its own."""

from pathlib import Path

import pytest

from bot.app.settings import load_settings
from bot.setup import texts as setup_texts
from bot.setup.operator import budget


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        ("workspace", True),
        ("workspace:T0123 $20", True),
        ("channel", True),
        ("workspace:slack:T0123", False),
        ("channel:C0123", False),
        ("everyone", False),
    ],
)
async def test_a_budget_of_a_place_is_shown_or_changed_only_by_an_id_that_is_one_outside_of_a_chat(
    tmp_path: Path, words: str, refused: bool
) -> None:
    settings = load_settings({}, data_folder=tmp_path)
    panel = await budget(settings, "terminal:ann", words)
    assert (panel.refused, panel.text == setup_texts.BUDGET_PLACE) == (refused, refused)
