"""What people may know and decide about their model."""

from dataclasses import replace

import pytest

from agent.errors import SettingsError
from bot.host import ModelMenu
from bot.model_desk import ModelDesk
from bot.model_switch import CHOSEN, ModelSwitch
from bot.models import ModelSettings
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.preferences import FakePreferences


async def desk() -> ModelDesk:
    settings = ModelSettings(model="ollama:usual", allowed_models=("ollama:small",))
    return ModelDesk(await ModelSwitch.open(settings, FakeClock(), lambda: 0.0), FakePreferences())


async def test_a_choice_is_kept_for_the_person_and_can_be_taken_back() -> None:
    at = await desk()
    anna = said("Hello?")
    ben = replace(anna, person=replace(anna.person, id="slack:T1:UBEN"))
    await at.choose(anna.person.id, "ollama:small")
    assert (await at.provider(anna)).name == "ollama:small"
    assert (await at.provider(ben)).name == "ollama:usual"
    menu = await at.menu(anna.person.id, anna.channel)
    assert menu == ModelMenu("ollama:small", CHOSEN, ("ollama:usual", "ollama:small"))
    await at.choose(anna.person.id, "")
    assert (await at.provider(anna)).name == "ollama:usual"


async def test_what_is_not_allowed_changes_nothing() -> None:
    at, anna = await desk(), said("Hello?")
    with pytest.raises(SettingsError):
        await at.choose(anna.person.id, "openai:gpt-6.1-sol")
    assert (await at.provider(anna)).name == "ollama:usual"
