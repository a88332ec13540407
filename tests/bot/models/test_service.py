"""Showing and choosing a person's model."""

from dataclasses import replace

import pytest

from agent.errors import SettingsError
from agent.providers.fallback import FallbackProvider
from bot.chat.access.acl import AccessRules, parse_model_access
from bot.chat.access.place_rules import PLACE, place_owner
from bot.chat.askers import Requester
from bot.chat.ports import ModelMenu
from bot.models import texts as models_texts
from bot.models.service import ModelService
from bot.models.settings import ModelSettings
from bot.models.switch import ModelSwitch
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.store import store_in_memory


async def service(access: AccessRules | None = None) -> ModelService:
    settings = ModelSettings(model="ollama:usual", allowed_models=("ollama:small",))
    switch = await ModelSwitch.open(settings, FakeClock(), lambda: 0.0)
    return ModelService(switch, store_in_memory().preferences, access or AccessRules())


async def test_a_choice_is_kept_for_the_person_and_can_be_taken_back() -> None:
    at = await service()
    anna = said("Hello?")
    ben = replace(anna, person=replace(anna.person, id="slack:T1:UBEN"))
    await at.choose(Requester.wrote(anna), "ollama:small")
    assert (await at.provider(anna)).name == "ollama:small"
    assert (await at.provider(ben)).name == "ollama:usual"
    menu = await at.menu(Requester.wrote(anna))
    assert menu == ModelMenu("ollama:small", models_texts.MODEL_CHOSEN, ("ollama:usual", "ollama:small"))
    await at.choose(Requester.wrote(anna), "")
    assert (await at.provider(anna)).name == "ollama:usual"


async def test_what_is_not_allowed_changes_nothing() -> None:
    at, anna = await service(), said("Hello?")
    with pytest.raises(SettingsError):
        await at.choose(Requester.wrote(anna), "openai:gpt-6.1-sol")
    assert (await at.provider(anna)).name == "ollama:usual"


async def test_a_model_that_is_kept_for_some_is_offered_to_them_alone() -> None:
    at = await service(AccessRules(models=parse_model_access('{"ollama:small": "role:R1"}')))
    anna, member = said("Hello?"), Requester("ann", roles=frozenset({"R1"}))
    assert (await at.menu(Requester("ann"))).allowed == ("ollama:usual",)
    with pytest.raises(SettingsError, match=r"cannot use that model\. Choose one of ollama:usual"):
        await at.choose(Requester("ann"), "ollama:small")
    await at.choose(member, "ollama:small")
    assert (await at.menu(member)) == ModelMenu(
        "ollama:small", models_texts.MODEL_CHOSEN, ("ollama:usual", "ollama:small")
    )
    assert (await at.provider(replace(anna, roles=member.roles))).name == "ollama:small"
    assert (await at.provider(anna)).name == "ollama:usual"


async def test_a_question_may_name_its_own_model_for_itself_alone_as_far_as_it_is_open() -> None:
    at = await service(AccessRules(models=parse_model_access('{"ollama:small": "role:R1"}')))
    anna = replace(said("Hello?"), roles=frozenset({"R1"}))
    assert (await at.provider(replace(anna, model="ollama:small"))).name == "ollama:small"
    assert (await at.provider(anna)).name == "ollama:usual"
    assert (await at.provider(replace(anna, model="ollama:small", roles=frozenset()))).name == "ollama:usual"
    assert (await at.provider(replace(anna, model="ollama:other"))).name == "ollama:usual"


async def test_a_channel_narrows_the_fallbacks_too() -> None:
    settings = ModelSettings(
        model="ollama:usual", allowed_models=("ollama:small",), fallback_models=("ollama:small", "rehearsal")
    )
    switch = await ModelSwitch.open(settings, FakeClock(), lambda: 0.0)
    at, asked = ModelService(switch, store_in_memory().preferences, AccessRules()), said("Hello?")
    for models, fallbacks in (("", 2), ("ollama:usual", 0), ("ollama:usual ollama:small", 1)):
        await at.preferences.set(place_owner(asked.channel), PLACE, f'{{"models": "{models}"}}')
        provider = await at.provider(asked)
        candidates = provider.candidates() if isinstance(provider, FallbackProvider) else [None]
        assert len(candidates) == 1 + fallbacks


async def test_a_channel_narrows_the_models_and_names_the_one_for_who_chose_none() -> None:
    at, anna = await service(), said("Hello?")

    async def chosen_here(rules: str) -> str:
        await at.preferences.set(place_owner(anna.channel), PLACE, rules)
        return (await at.provider(anna)).name

    who = Requester.wrote(anna)
    assert await chosen_here('{"model": "ollama:small"}') == "ollama:small"
    await at.choose(who, "ollama:usual")
    assert await chosen_here('{"model": "ollama:small"}') == "ollama:usual"
    assert await chosen_here('{"models": "ollama:small"}') == "ollama:small"
    assert (await at.menu(who)).allowed == ("ollama:small",)
    with pytest.raises(SettingsError, match="Choose one of ollama:small"):
        await at.choose(who, "ollama:usual")
    assert await chosen_here('{"model": "openai:gone"}') == "ollama:usual"
    assert await chosen_here('{"models": "openai:gone ollama:small", "model": "openai:gone"}') == "ollama:small"
