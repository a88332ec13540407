"""A channel whose managers allow only models that nobody can use any more: no other model answers there, whoever began
the turn, and the reply says what a manager does.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import Refused, SettingsError
from agent.incoming import Incoming
from agent.memory.audience import Place, TeamAudience
from agent.ports.model import Provider
from agent.providers.fallback import FallbackProvider
from agent.providers.scripted import ScriptedProvider
from agent.turn_kinds import TurnKind
from bot.chat.access.acl import AccessRules, parse_model_access
from bot.chat.access.place_rules import PLACE, place_owner
from bot.chat.askers import Requester
from bot.chat.feature import Feature
from bot.chat.kinds import TurnRule
from bot.chat.turns.turn_features import TurnFeatures
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.models.choice import named_choice
from bot.models.commands import model_panel
from bot.models.service import ModelService
from bot.models.settings import ModelSettings
from bot.models.switch import ModelCriteria, ModelSwitch, PlaceModels
from bot.models.texts import NO_MODEL_LEFT
from bot.schedules.reports import ScheduleReporter
from bot.schedules.scheduler import schedule_kinds
from store.databases.database import LocalNotifier
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import dm, said
from tests.fakes.runners import runner_on
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.fakes.surface import FakeSurface
from tests.patience import PATIENCE_S

PUBLIC = Place(TeamAudience("slack:T1"))
NAMES = ["ollama:usual", "ollama:small", "ollama:large"]


async def service(store: StoreInMemory, *allowed: str, access: str = "", fallbacks: Sequence[str] = ()) -> ModelService:
    settings = ModelSettings(model=NAMES[0], allowed_models=allowed, fallback_models=tuple(fallbacks))
    switch = await ModelSwitch.open(settings, FakeClock(), lambda: 0.0)
    return ModelService(switch, store.preferences, AccessRules(models=parse_model_access(access) if access else {}))


async def only(store: StoreInMemory, asked: Incoming, models: str) -> None:
    await store.preferences.set(place_owner(asked.channel), PLACE, f'{{"models": "{models}"}}')


def names_of(provider: Provider) -> set[str]:
    return (
        {one.name for _, one, _ in provider.candidates()} if isinstance(provider, FallbackProvider) else {provider.name}
    )


async def reply_to(models: ModelService, store: StoreInMemory, incoming: Incoming) -> str:
    """What is shown, by turns that ask the model service as the product does."""
    clock = FakeClock()
    surface, model = FakeSurface(clock), ScriptedProvider(lambda _: "It is blue.")

    async def provider(question: Incoming) -> Provider:
        await models.provider(question)
        return model

    kinds = {**schedule_kinds(ScheduleReporter(store.schedules)), TurnKind.AMBIENT: TurnRule(is_unasked=True)}
    runner = replace(
        runner_on(store, model, clock),
        provider=provider,
        features=TurnFeatures([Feature(name="kinds", kinds=kinds)]),
    )
    limits = TurnWorkerLimits(sweep_s=0.01)
    turns = TurnWorker(store.ledger, runner, lambda _: surface, LocalNotifier(), clock, "process", limits)
    async with asyncio.timeout(PATIENCE_S), turns.serving():
        await turns.ask(replace(incoming, time=clock.now()))
    return "\n".join(surface.wall.values())


@pytest.mark.slow
@pytest.mark.parametrize("allowed", [(), ("ollama:small",)], ids=["no choice is left", "another choice is left"])
@pytest.mark.parametrize("place", [PUBLIC, dm("ann")], ids=["channel", "direct messages"])
@pytest.mark.parametrize("kind", [TurnKind.QUESTION, TurnKind.POSTED, TurnKind.SCHEDULED, TurnKind.AMBIENT])
async def test_no_turn_is_answered_by_another_model_and_the_reply_says_what_a_manager_does(
    kind: TurnKind, place: Place, allowed: tuple[str, ...]
) -> None:
    store = store_in_memory()
    models = await service(store, *allowed, fallbacks=["rehearsal"])
    asked = replace(said("Which colour?", place=place), kind=kind)
    await only(store, asked, "openai:gone")
    expected = "" if kind is TurnKind.AMBIENT else NO_MODEL_LEFT  # nobody asked, so no failure is shown
    assert await reply_to(models, store, asked) == expected
    await only(store, asked, "ollama:usual")
    again = replace(said("Which colour?", place=place), kind=kind)
    assert "It is blue." in await reply_to(models, store, again)


async def test_menus_and_choices_say_so_too_and_offer_nothing() -> None:
    store, asked = store_in_memory(), said("Which colour?")
    models, who = await service(store, "ollama:small"), Requester.wrote(asked)
    await models.choose(who, "ollama:small")
    await only(store, asked, "openai:gone")
    menu = await models.menu(who)
    assert (menu.sentence, menu.allowed) == (NO_MODEL_LEFT, ())
    assert model_panel(menu, with_names=True).text == NO_MODEL_LEFT
    with pytest.raises(SettingsError, match="A manager of the channel can allow others"):
        await models.choose(who, "ollama:small")
    for named in ("", "ollama:small", "openai:gone"):
        with pytest.raises(Refused):
            await models.provider(replace(asked, model=named))
    await models.choose(who, "")  # it holds elsewhere


async def test_who_may_use_none_of_the_models_that_are_left_is_refused_and_the_others_are_answered() -> None:
    store, asked = store_in_memory(), said("Which colour?")
    models = await service(store, "ollama:small", access='{"ollama:small": "role:R1"}')
    await only(store, asked, "ollama:small")
    with pytest.raises(Refused, match="You cannot use any of the models"):
        await models.provider(asked)
    assert (await models.provider(replace(asked, roles=frozenset({"R1"})))).name == "ollama:small"


_SOME = st.lists(st.sampled_from(NAMES), unique=True)


@given(of_rule=_SOME, fallbacks=_SOME, of_person=st.sampled_from([None, *NAMES]), chosen=st.sampled_from(["", *NAMES]),
       preferred=st.sampled_from(["", *NAMES]))  # fmt: skip
def test_whatever_is_set_only_models_that_the_place_allows_answer(
    of_rule: list[str], fallbacks: list[str], of_person: str | None, chosen: str, preferred: str
) -> None:
    settings = ModelSettings(
        model=NAMES[0],
        allowed_models=tuple(NAMES[1:]),
        fallback_models=tuple(fallbacks),
        person_models={} if of_person is None else {"U1": of_person},
        channel_models={"C1": NAMES[2]},
    )
    switch = ModelSwitch(settings, named_choice(NAMES[0], settings, "COGENCY_MODEL"), FakeClock(), lambda: 0.0)
    place = PlaceModels(tuple(of_rule), preferred if preferred in of_rule else "")
    if of_rule:
        assert names_of(switch.provider_for(ModelCriteria("slack:T1:U1", "C1", chosen, place))) <= set(of_rule)
    else:
        with pytest.raises(Refused):
            switch.provider_for(ModelCriteria("slack:T1:U1", "C1", chosen, place))
    assert names_of(switch.provider_for(ModelCriteria("slack:T1:U1", "C1", chosen))) >= set(fallbacks)
