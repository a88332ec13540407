"""Each button, menu and form of `/channel` sends words that the command understands."""

from bot.channels import texts as channels_texts
from bot.channels.commands import COMMAND, WORDS
from bot.channels.panel import channel_panel
from bot.channels.rule import RuleContext
from bot.channels.rules import CHANNEL_RULES, INSTRUCTIONS, LANGUAGE, MODELS
from bot.channels.service import ChangePlace, UnclearPlace, read_place_request
from bot.chat.access.acl import AccessRules
from bot.chat.commands.declaration import CommandCall
from bot.memory.pauses import LearningPauses
from tests.fakes.caller import FakeCaller
from tests.fakes.clock import FakeClock
from tests.fakes.store import store_in_memory

NAMES = ("ollama:usual", "ollama:small")


def channel(models: tuple[str, ...] = (), most_ambient: int = 0, **chosen: str) -> RuleContext:
    preferences = store_in_memory().preferences
    pauses = LearningPauses(preferences, None, FakeClock())
    return RuleContext(
        source="test",
        channel="C1",
        preferences=preferences,
        pauses=pauses,
        access=AccessRules(),
        models=models,
        most_ambient=most_ambient,
        chosen=chosen,
    )


def test_every_button_and_choice_means_a_change() -> None:
    panel = channel_panel("Here", channel(NAMES, 20, learning="off", ambient="7"))
    pressed = [one.words for one in panel.actions if one.form is None]
    assert {"learning on", "knowledge off"} <= {*pressed}
    selects = [part.select for part in panel.parts if part.select is not None]
    chosen = [f"{one.words} {value}" for one in selects for value in one.options]
    assert all(isinstance(read_place_request(words), ChangePlace) for words in pressed + chosen)
    menus = {one.words: one for one in selects}
    assert [menus[name].chosen for name in ("who", "model", "ambient")] == ["", "", "7"]
    assert [*menus["ambient"].options] == ["off", "5", "7", "10", "20"]


def test_choices_that_a_channel_does_not_have_are_not_offered() -> None:
    panel = channel_panel("Here", channel())
    names = {one.form.name for one in panel.actions if one.form is not None}
    menus = {part.select.words for part in panel.parts if part.select is not None}
    assert ("channelwords" in names, "channelmodels" in names) == (True, False)
    assert ("who" in menus, "model" in menus, "ambient" in menus) == (True, False, False)


def test_a_form_makes_words_of_filled_and_of_emptied_fields() -> None:
    forms = {form.name: form for form in COMMAND.forms}
    words, language, models = forms["channelwords"], forms["channellanguage"], forms["channelmodels"]
    spelled = {
        words.words({"instructions": "Be brief."}): ChangePlace(INSTRUCTIONS, "Be brief."),
        words.words({"instructions": ""}): ChangePlace(INSTRUCTIONS, ""),
        language.words({"language": ""}): ChangePlace(LANGUAGE, ""),
        models.words({"models": " ".join(NAMES)}): ChangePlace(MODELS, " ".join(NAMES)),
        models.words({"models": ""}): ChangePlace(MODELS, ""),
    }
    assert {words: read_place_request(words) for words in spelled} == spelled


def test_each_rule_is_suggested_explained_and_unique() -> None:
    names = [rule.name for rule in CHANNEL_RULES]
    assert len({*names, "history", "undo", "show", "list"}) == len(names) + 4
    assert [rule.name for rule in CHANNEL_RULES if not rule.words or f"`{rule.name}" not in rule.usage] == []
    assert [name for name in names if name not in COMMAND.hint] == []


def test_suggestions_while_typing_are_understood() -> None:
    assert not [words for words in (*WORDS, *COMMAND.examples) if isinstance(read_place_request(words), UnclearPlace)]


async def test_without_a_channel_it_says_so() -> None:
    command = COMMAND.refusing(channels_texts.NO_CHANNEL_HERE)
    panel = await command.run(CommandCall(words="", caller=FakeCaller()))
    assert (panel.text, panel.refused) == (channels_texts.NO_CHANNEL_HERE, True)
