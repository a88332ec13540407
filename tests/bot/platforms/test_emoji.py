"""Names and characters of emoji: each platform gets the form that it takes, whichever a model writes."""

import pytest

from bot.platforms.emoji import EMOJI, emoji_character, emoji_name


@pytest.mark.parametrize(
    ("written", "name", "character"),
    [
        ("👍", "+1", "👍"),
        (":thumbsup:", "thumbsup", "👍"),
        ("❤", "heart", "❤"),
        ("❤️", "heart", "❤️"),
        ("our_own", "our_own", ""),
        ("🦑", "", "🦑"),
    ],
)
def test_an_emoji_has_a_name_for_slack_and_a_character_for_discord(written: str, name: str, character: str) -> None:
    assert (emoji_name(written), emoji_character(written)) == (name, character)


def test_each_name_leads_to_a_name_of_the_same_character() -> None:
    for name, character in EMOJI.items():
        assert EMOJI[emoji_name(character)] == emoji_character(name)
