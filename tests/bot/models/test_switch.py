"""Which model answers a person in a channel."""

import asyncio
import logging
from typing import Any

import pytest

from agent.errors import SettingsError
from agent.messages import Message, Role
from agent.ports.model import Provider
from agent.providers.fallback import FallbackProvider
from agent.providers.scripted import ScriptedProvider
from bot.models import texts as models_texts
from bot.models.settings import ModelSettings
from bot.models.switch import SIZE_HOLDS_S, ModelCriteria, ModelSwitch, PlaceModels, check_allowed
from bot.settings.secret import Secret, SecretList
from tests.fakes.clock import FakeClock
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, head, text, whole
from tests.patience import PATIENCE_S

ANNA, BEN = "slack:T1:UANNA", "slack:T1:UBEN"
USUAL = "ollama:usual"


async def opened(**settings: Any) -> ModelSwitch:
    known = ModelSettings(model=USUAL, **settings)
    return await ModelSwitch.open(known, FakeClock(), lambda: 0.0)


def names(switch: ModelSwitch, person: str, channel: str, chosen: str = "") -> tuple[str, str]:
    choice = switch.choice_for(ModelCriteria(person, channel, chosen))
    return choice.name, choice.why


async def test_the_usual_model_answers_where_nothing_else_was_said() -> None:
    switch = await opened()
    assert names(switch, ANNA, "C1") == (USUAL, models_texts.MODEL_AS_USUAL), "settings and addresses are for operators"
    assert switch.provider_for(ModelCriteria(ANNA, "C1")).name == USUAL
    assert switch.learning_model().provider is switch.provider


async def test_behind_something_every_model_answers_and_learns_behind_it() -> None:
    switch, wrapped = await opened(learning_model="ollama:cheap", allowed_models=("ollama:dear",)), list[Provider]()

    def wrap(provider: Provider) -> Provider:
        wrapped.append(ScriptedProvider([], name=f"wrapped {provider.name}"))
        return wrapped[-1]

    direct = switch.provider_for(ModelCriteria(ANNA, "C1"))
    switch.put_behind(wrap)
    usual, dear = (
        switch.provider_for(ModelCriteria(ANNA, "C1")),
        await switch.sized_provider_for(ModelCriteria(ANNA, "C1", "ollama:dear")),
    )
    assert [switch.provider, switch.learning_model().provider] == [usual, wrapped[-1]]
    assert [each.name for each in (usual, dear, wrapped[-1])] == [
        *("wrapped ollama:usual", "wrapped ollama:dear", "wrapped ollama:cheap")
    ]
    switch.put_behind(None)
    assert switch.provider_for(ModelCriteria(ANNA, "C1")) is direct
    await switch.aclose()


async def test_a_model_on_this_machine_knows_the_size_of_its_context_until_its_server_says_another() -> None:
    sizes = [2_048, 8_192]

    def listed(_: Request) -> list[bytes]:
        return whole(200, {"data": [{"id": "usual", "meta": {"n_ctx": sizes[min(len(server.requests), 2) - 1]}}]})

    async with asyncio.timeout(PATIENCE_S), ModelServer(listed) as server:
        clock = FakeClock()
        settings = ModelSettings(model="openai:usual", openai_base_url=server.url, allowed_models=("ollama:away",))
        switch = await ModelSwitch.open(settings, clock, lambda: 0.0)
        assert (await switch.sized_provider_for(ModelCriteria(ANNA, "C1"))).capabilities.context_tokens == 2_048
        assert (await switch.sized_provider_for(ModelCriteria(BEN, "C2"))).capabilities.context_tokens == 2_048
        assert [request.path for request in server.requests] == ["/v1/models"]
        await clock.advance(SIZE_HOLDS_S)
        assert (await switch.sized_provider_for(ModelCriteria(ANNA, "C1"))).capabilities.context_tokens == 8_192
        away = await switch.sized_provider_for(ModelCriteria(ANNA, "C1", "ollama:away"))
        assert (away.name, away.capabilities.context_tokens) == ("ollama:away", 0)
        await switch.aclose()


async def test_a_choice_for_the_person_goes_before_one_for_the_channel() -> None:
    switch = await opened(channel_models={"C1": "ollama:channel"}, person_models={"UANNA": "ollama:anna"})
    assert names(switch, ANNA, "C1") == ("ollama:anna", models_texts.MODEL_FOR_PERSON)
    assert names(switch, BEN, "C1") == ("ollama:channel", models_texts.MODEL_FOR_CHANNEL)
    assert names(switch, BEN, "C2")[0] == USUAL


async def test_what_a_person_chose_goes_before_everything_as_long_as_it_is_allowed() -> None:
    switch = await opened(allowed_models=("ollama:small",), person_models={"UANNA": "ollama:anna"})
    assert switch.allowed == (USUAL, "ollama:small")
    assert names(switch, ANNA, "C1", "ollama:small") == ("ollama:small", models_texts.MODEL_CHOSEN)
    assert names(switch, ANNA, "C1", USUAL) == (USUAL, models_texts.MODEL_CHOSEN)
    assert names(switch, ANNA, "C1", "ollama:gone") == ("ollama:anna", models_texts.MODEL_FOR_PERSON)


@pytest.mark.parametrize("name", ["nobody:x", "ollama:", "mistral:x", ""])
async def test_a_wrong_name_is_blamed_on_the_command_and_not_on_a_setting(name: str) -> None:
    switch = await opened()
    with pytest.raises(SettingsError, match="/model ") as raised:
        await switch.choose(name)
    assert "COGENCY_MODEL" not in str(raised.value)
    assert switch.provider.name == USUAL
    await switch.choose("ollama:other")
    assert names(switch, ANNA, "C1") == ("ollama:other", models_texts.MODEL_CHOSEN)
    await switch.aclose()


async def test_only_what_is_allowed_can_be_chosen() -> None:
    check_allowed(await opened(allowed_models=("ollama:small",)), "ollama:small")
    with pytest.raises(SettingsError, match="Choose one of ollama:usual, ollama:small"):
        check_allowed(await opened(allowed_models=("ollama:small",)), "ollama:large")
    with pytest.raises(SettingsError, match="only one is available here"):
        check_allowed(await opened(), "ollama:large")


@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        ({"fallback_models": ("nobody:x",)}, "COGENCY_FALLBACK_MODELS"),
        ({"allowed_models": ("ollama:",)}, "COGENCY_ALLOWED_MODELS"),
        ({"learning_model": "openai:x"}, "COGENCY_LEARNING_MODEL"),
        ({"channel_models": {"C1": "x"}}, "COGENCY_CHANNEL_MODELS"),
        ({"person_models": {"U1": "anthropic:x"}}, "COGENCY_PERSON_MODELS"),
    ],
)
async def test_a_wrong_name_anywhere_is_told_at_the_start_with_its_setting(
    settings: dict[str, object], setting: str
) -> None:
    with pytest.raises(SettingsError, match=setting):
        await opened(**settings)


async def test_the_fallback_models_stand_behind_every_choice() -> None:
    switch = await opened(fallback_models=("rehearsal",), learning_model="ollama:cheap")
    provider: Provider = switch.provider
    assert provider.name == USUAL
    assert provider.capabilities.resume  # with fallbacks, a session stays with the model that answered
    assert switch.learning_model().provider.name == "ollama:cheap"
    await switch.aclose()


@pytest.mark.parametrize(
    ("allowed", "named"),
    [
        (None, [USUAL, "ollama:small", "rehearsal"]),
        ((USUAL,), [USUAL]),
        (("ollama:small",), ["ollama:small"]),
        ((USUAL, "ollama:small"), [USUAL, "ollama:small"]),
        ((USUAL, "rehearsal"), [USUAL, "rehearsal"]),
    ],
)
async def test_no_fallback_answers_in_a_channel_that_allows_only_other_models(
    allowed: tuple[str, ...] | None, named: list[str]
) -> None:
    switch = await opened(fallback_models=("ollama:small", "rehearsal"), allowed_models=("ollama:small", "rehearsal"))
    unrestricted = switch.provider_for(ModelCriteria("slack:T1:U1", "C2"))
    for _ in range(2):  # also once a provider for all channels was made
        provider = switch.provider_for(ModelCriteria("slack:T1:U1", "C1", place=PlaceModels(allowed)))
        names = [one.name for _, one, _ in provider.candidates()] if isinstance(provider, FallbackProvider) else []
        assert (names or [provider.name]) == named
    assert isinstance(unrestricted, FallbackProvider)
    assert switch.provider_for(ModelCriteria("slack:T1:U1", "C2")) is unrestricted, "it remembers which model is down"
    await switch.aclose()


async def test_a_model_that_has_something_to_warn_of_says_so_at_the_start() -> None:
    settings = ModelSettings(model="gemini-live:gemini-3.8-live", gemini_api_key=Secret("AIza-1"))
    switch = await ModelSwitch.open(settings, FakeClock(), lambda: 0.0)
    assert switch.sentence.startswith("Model: gemini-live:gemini-3.8-live — it is set in COGENCY_MODEL. ")
    assert "audio" in switch.sentence
    await switch.aclose()


async def test_all_models_of_a_service_share_its_keys_and_operators_read_once_which_is_refused(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad, good = "sk-organization-one-1111", "sk-organization-two-2222"

    def reply(request: Request) -> Reply:
        if request.headers["authorization"] == f"Bearer {bad}":
            return whole(401, {"error": {"message": f"Incorrect API key provided: {bad}"}})
        return [head(), text("Hi", finish_reason="stop"), DONE]

    async with asyncio.timeout(PATIENCE_S), ModelServer(reply) as server:
        settings = ModelSettings(
            model="openai:large",
            learning_model="openai:small",
            openai_base_url=server.url,
            openai_api_key=SecretList((bad, good)),
        )
        switch = await ModelSwitch.open(settings, FakeClock(), lambda: 0.0)
        for provider in (switch.provider, switch.learning_model().provider):
            _ = [event async for event in provider.stream([Message(Role.USER, "Hello?")])]
        (sentence,) = switch.keys_set_aside
        await switch.aclose()
    assert [request.headers["authorization"][-4:] for request in server.requests] == ["1111", "2222", "2222"]
    assert caplog.messages == [sentence]
    assert caplog.records[0].levelno == logging.WARNING
    assert "…1111" in sentence
    assert bad[:-4] not in f"{caplog.text} {switch.choice} {settings}"
