"""In which form a model calls tools better: what a check found is stored, and followed by `auto`."""

import random

import pytest

from agent.providers.catalog import ENDPOINTS, LLAMACPP, Mode, ToolsForm
from agent.providers.factory import open_provider
from agent.providers.replay import ProviderWorld
from bot.models.check import comparison
from bot.models.forms import OWNER, PREFIX, CheckedForms, Passed, better_form, read_checked_forms, store_passed
from bot.models.settings import ModelSettings
from bot.models.switch import ModelSwitch
from bot.settings.secret import Secret
from tests.fakes.clock import FakeClock
from tests.fakes.store import store_in_memory

TEXT, NATIVE = ToolsForm.TEXT, ToolsForm.NATIVE
LARGE, SMALL = "a-large-model", "coder-1.5b-instruct"


async def found(model: str, text: int, native: int) -> CheckedForms:
    preferences = store_in_memory().preferences
    await store_passed(preferences, LLAMACPP, model, {TEXT: text, NATIVE: native})
    return await read_checked_forms(preferences)


async def is_native(model: str, checked: CheckedForms, setting: ToolsForm = ToolsForm.AUTO) -> bool:
    settings = ModelSettings(model=f"llamacpp:{model}", tools_form=setting)
    switch = await ModelSwitch.open(settings, FakeClock(), lambda: 0.0)
    assert switch.provider.name == f"llamacpp:{model}"  # It is open when the checks are read
    await switch.follow(checked)
    native = switch.provider.capabilities.native_calls
    await switch.aclose()
    return native


@pytest.mark.parametrize("model", [SMALL, LARGE])
async def test_auto_follows_the_better_form_and_without_one_is_text_whatever_the_size_of_the_model(model: str) -> None:
    assert await is_native(model, CheckedForms()) is False
    assert await is_native(model, await found(model, 15, 11)) is False
    assert await is_native(model, await found(model, 11, 15)) is True
    assert await is_native(model, await found(model, 11, 11)) is False
    assert await is_native(model, await found("another-7b", 11, 15)) is False


@pytest.mark.parametrize(
    ("settings", "checked", "is_advised"),
    [
        (ModelSettings(model=f"llamacpp:{SMALL}"), {}, True),
        (ModelSettings(model=f"ollama:{LARGE}", ollama_base_url="http://192.168.1.7:11434"), {}, True),
        (ModelSettings(model=f"openai:{LARGE}", openai_base_url="http://localhost:9090/v1"), {}, True),
        (ModelSettings(model=f"llamacpp:{SMALL}"), {TEXT: 11}, True),
        (ModelSettings(model=f"llamacpp:{SMALL}"), {TEXT: 11, NATIVE: 11}, False),
        (ModelSettings(model=f"llamacpp:{SMALL}", tools_form=NATIVE), {}, False),
        (ModelSettings(model=f"openai:{LARGE}", openai_base_url="https://gateway.example/v1"), {}, False),
        (ModelSettings(model="openrouter:qwen3-8b", openrouter_api_key=Secret("sk-1")), {}, False),
        (ModelSettings(model="rehearsal"), {}, False),
    ],
)
async def test_operators_of_their_own_server_are_told_to_check_its_model_until_both_forms_are_compared(
    settings: ModelSettings, checked: Passed, *, is_advised: bool
) -> None:
    preferences = store_in_memory().preferences
    await store_passed(preferences, LLAMACPP, SMALL, checked)
    switch = await ModelSwitch.open(settings, FakeClock(), lambda: 0.0)
    await switch.follow(await read_checked_forms(preferences))
    assert ("cogency check-model" in switch.advice) is is_advised
    await switch.aclose()


async def test_a_form_that_the_settings_name_is_used_whatever_was_found() -> None:
    assert await is_native(SMALL, await found(SMALL, 3, 15), TEXT) is False
    assert await is_native(SMALL, await found(SMALL, 15, 3), NATIVE) is True


async def test_results_are_kept_per_server_and_those_of_both_forms_add_up() -> None:
    preferences = store_in_memory().preferences
    assert await store_passed(preferences, LLAMACPP, SMALL, {TEXT: 11}) == {TEXT: 11}
    assert better_form((await read_checked_forms(preferences)).passed(LLAMACPP, SMALL)) is None
    assert await store_passed(preferences, LLAMACPP, SMALL, {NATIVE: 9}) == {TEXT: 11, NATIVE: 9}
    checked = await read_checked_forms(preferences)
    assert checked.form(LLAMACPP, SMALL) is TEXT
    assert checked.are_compared(LLAMACPP, SMALL)
    assert not checked.are_compared(LLAMACPP.at("http://localhost:9090"), SMALL)


async def test_an_entry_that_cannot_be_read_counts_as_none() -> None:
    preferences = store_in_memory().preferences
    await preferences.set(OWNER, f"{PREFIX}{LLAMACPP.address} {SMALL}", '{"text": "many", "native": tr')
    checked = await read_checked_forms(preferences)
    assert checked.form(LLAMACPP, SMALL) is TEXT
    assert not checked.are_compared(LLAMACPP, SMALL)


@pytest.mark.parametrize(
    ("passed", "setting", "says"),
    [
        ({TEXT: 11}, ToolsForm.AUTO, []),
        ({TEXT: 11, NATIVE: 11}, ToolsForm.AUTO, ["equally well"]),
        ({TEXT: 11, NATIVE: 9}, ToolsForm.AUTO, ["better with COGENCY_TOOLS_FORM=text", "after the next restart"]),
        ({TEXT: 11, NATIVE: 19}, TEXT, ["better with COGENCY_TOOLS_FORM=native", "is text. Change it"]),
        ({TEXT: 11, NATIVE: 19}, NATIVE, ["better with COGENCY_TOOLS_FORM=native"]),
    ],
)
def test_the_comparison_says_which_form_is_better_and_which_is_used(
    passed: dict[ToolsForm, int], setting: ToolsForm, says: list[str]
) -> None:
    compared = comparison(passed, setting)
    assert all(words in compared for words in says)
    assert bool(compared) is bool(says)


@pytest.mark.parametrize("name", ENDPOINTS)
def test_the_form_can_be_chosen_exactly_where_tools_can_be_sent_natively(name: str) -> None:
    endpoint = ENDPOINTS[name]
    for model in ("gpt-6.1", "some-model"):
        opened = open_provider(endpoint, model, "key", ProviderWorld(FakeClock(), random.random), Mode.AUTO, NATIVE)
        assert opened.capabilities.native_calls is endpoint.offers_forms(model)
