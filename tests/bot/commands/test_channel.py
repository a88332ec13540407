"""Each button, menu and form of `/channel` sends words that the command understands."""

from bot.access.acl import PlaceAnswer, PlaceRule
from bot.commands.channel import COMMAND, INSTRUCTIONS, LANGUAGE, MODELS, WORDS, channel_panel, show
from bot.commands.declaration import CommandCall
from bot.memory.place_desk import ChangePlace, UnclearPlace, read_place_request
from bot.texts import memory_texts
from tests.fakes.caller import FakeCaller
from tests.fakes.host import FakeHost

NAMES = ("ollama:usual", "ollama:small")


def test_everything_that_may_be_pressed_or_chosen_means_a_change() -> None:
    answer = PlaceAnswer("Here", {"learning": "off", "ambient": "7"}, most_ambient=20)
    panel = channel_panel(answer, answer.chosen or {}, NAMES)
    pressed = [one.words for one in panel.actions if one.form is None]
    assert pressed == ["learning on", "knowledge off"]
    selects = [part.select for part in panel.parts if part.select is not None]
    chosen = [f"{one.words} {value}" for one in selects for value in one.options]
    assert all(isinstance(read_place_request(words), ChangePlace) for words in pressed + chosen)
    assert [one.chosen for one in selects] == ["", "", "7"]
    assert [*selects[2].options] == ["off", "5", "7", "10", "20"]


def test_what_is_not_open_to_a_channel_is_not_offered() -> None:
    panel = channel_panel(PlaceAnswer("Here", {}), {}, ())
    assert [one.form for one in panel.actions if one.form is not None] == [INSTRUCTIONS, LANGUAGE]
    assert [part.select.words for part in panel.parts if part.select is not None] == [PlaceRule.WHO]


def test_a_window_spells_what_was_filled_in_and_what_was_emptied() -> None:
    spelled = {
        INSTRUCTIONS.words({"instructions": "Be brief."}): ChangePlace(PlaceRule.INSTRUCTIONS, "Be brief."),
        INSTRUCTIONS.words({"instructions": ""}): ChangePlace(PlaceRule.INSTRUCTIONS, ""),
        LANGUAGE.words({"language": ""}): ChangePlace(PlaceRule.LANGUAGE, ""),
        MODELS.words({"models": " ".join(NAMES)}): ChangePlace(PlaceRule.MODELS, " ".join(NAMES)),
        MODELS.words({"models": ""}): ChangePlace(PlaceRule.MODELS, ""),
    }
    assert {words: read_place_request(words) for words in spelled} == spelled


def test_what_is_offered_while_somebody_types_is_understood() -> None:
    assert not [words for words in (*WORDS, *COMMAND.examples) if isinstance(read_place_request(words), UnclearPlace)]


async def test_where_there_is_no_channel_it_says_so() -> None:
    panel = await show(CommandCall(words="", caller=FakeCaller(), host=FakeHost()))
    assert (panel.text, panel.refused) == (memory_texts.NO_CHANNEL_HERE, True)
