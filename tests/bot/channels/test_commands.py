"""Each button, menu and form of `/channel` sends words that the command understands."""

from bot.channels import texts as channels_texts
from bot.channels.commands import COMMAND, INSTRUCTIONS, LANGUAGE, MODELS, WORDS, channel_panel
from bot.channels.rules import PlaceAnswer
from bot.channels.service import ChangePlace, UnclearPlace, read_place_request
from bot.chat.access.place_rules import PlaceRule
from bot.chat.commands.declaration import CommandCall
from tests.fakes.caller import FakeCaller

NAMES = ("ollama:usual", "ollama:small")


def test_every_button_and_choice_means_a_change() -> None:
    answer = PlaceAnswer("Here", {"learning": "off", "ambient": "7"}, most_ambient=20)
    panel = channel_panel(answer, answer.chosen or {}, NAMES)
    pressed = [one.words for one in panel.actions if one.form is None]
    assert pressed == ["learning on", "knowledge off"]
    selects = [part.select for part in panel.parts if part.select is not None]
    chosen = [f"{one.words} {value}" for one in selects for value in one.options]
    assert all(isinstance(read_place_request(words), ChangePlace) for words in pressed + chosen)
    assert [one.chosen for one in selects] == ["", "", "7"]
    assert [*selects[2].options] == ["off", "5", "7", "10", "20"]


def test_choices_that_a_channel_does_not_have_are_not_offered() -> None:
    panel = channel_panel(PlaceAnswer("Here", {}), {}, ())
    assert [one.form for one in panel.actions if one.form is not None] == [INSTRUCTIONS, LANGUAGE]
    assert [part.select.words for part in panel.parts if part.select is not None] == [PlaceRule.WHO]


def test_a_form_makes_words_of_filled_and_of_emptied_fields() -> None:
    spelled = {
        INSTRUCTIONS.words({"instructions": "Be brief."}): ChangePlace(PlaceRule.INSTRUCTIONS, "Be brief."),
        INSTRUCTIONS.words({"instructions": ""}): ChangePlace(PlaceRule.INSTRUCTIONS, ""),
        LANGUAGE.words({"language": ""}): ChangePlace(PlaceRule.LANGUAGE, ""),
        MODELS.words({"models": " ".join(NAMES)}): ChangePlace(PlaceRule.MODELS, " ".join(NAMES)),
        MODELS.words({"models": ""}): ChangePlace(PlaceRule.MODELS, ""),
    }
    assert {words: read_place_request(words) for words in spelled} == spelled


def test_suggestions_while_typing_are_understood() -> None:
    assert not [words for words in (*WORDS, *COMMAND.examples) if isinstance(read_place_request(words), UnclearPlace)]


async def test_without_a_channel_it_says_so() -> None:
    command = COMMAND.refusing(channels_texts.NO_CHANNEL_HERE)
    panel = await command.run(CommandCall(words="", caller=FakeCaller()))
    assert (panel.text, panel.refused) == (channels_texts.NO_CHANNEL_HERE, True)
