"""Models of Amazon Bedrock, by their settings: names, regions, keys and credentials, and errors with what to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import ProviderUnavailable, SettingsError
from agent.machine import CLOCK
from agent.messages import ModelCall, Usage
from agent.providers.aws_credentials import AwsCredentials, AwsIdentity
from agent.providers.catalog import bedrock_in
from agent.spending import NANO, context_window, cost
from bot.app.settings import load_settings, moved_addresses
from bot.models.choice import ModelChoice, named_choice, open_model
from bot.models.embedding import open_embedder
from bot.models.settings import ModelSettings
from bot.models.switch import ModelCriteria, ModelSwitch
from bot.settings.secret import Secret
from tests.fakes.bedrock_service import USER
from tests.fakes.clock import FakeClock

CLAUDE = "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PROFILE = "bedrock:arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/a1b2c3d4e5f6"
KEY = Secret("ABSK-4711")
IN_US = ModelSettings(aws_region="us-east-1", bedrock_api_key=KEY)


def installed(_: str) -> bool:
    return True


def missing(_: str) -> bool:
    return False


def chosen(spec: str, settings: ModelSettings, has_identity: Callable[[str], bool] = installed) -> ModelChoice:
    choice = named_choice(spec, settings, "COGENCY_MODEL", has_identity=has_identity)
    assert choice.name == spec
    return choice


def base_url(spec: str, settings: ModelSettings) -> str:
    endpoint = chosen(spec, settings).endpoint
    assert endpoint is not None
    return endpoint.base_url


def test_a_name_keeps_its_colons() -> None:
    assert chosen(CLAUDE, IN_US).model == "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
    assert chosen(PROFILE, IN_US).model == PROFILE.removeprefix("bedrock:")


def test_the_region_decides_where_a_model_is_asked_and_an_arn_names_its_own() -> None:
    assert base_url(CLAUDE, IN_US) == "https://bedrock-runtime.us-east-1.amazonaws.com"
    by_default = ModelSettings(aws_default_region="cn-north-1", bedrock_api_key=KEY)
    assert base_url(CLAUDE, by_default) == "https://bedrock-runtime.cn-north-1.amazonaws.com.cn"
    assert base_url(PROFILE, IN_US) == "https://bedrock-runtime.eu-west-1.amazonaws.com"
    assert base_url(PROFILE, ModelSettings(bedrock_api_key=KEY)) == "https://bedrock-runtime.eu-west-1.amazonaws.com"


def test_an_address_of_a_vpc_endpoint_replaces_the_public_one_and_the_region_stays() -> None:
    vpc = "https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com"
    endpoint = chosen(CLAUDE, ModelSettings(aws_region="us-east-1", bedrock_base_url=vpc)).endpoint
    assert endpoint is not None
    assert (endpoint.base_url, endpoint.region) == (vpc, "us-east-1")


def test_a_missing_region_is_said_and_one_that_is_none_too() -> None:
    with pytest.raises(
        SettingsError, match=r"AWS_REGION is missing\. It is required because COGENCY_MODEL is set to bedrock:…"
    ):
        chosen(CLAUDE, ModelSettings(bedrock_api_key=KEY))
    for name in ("local", "us-east-1.evil.example/", "aws-global"):
        with pytest.raises(SettingsError, match="AWS_REGION must be an AWS region, as in us-east-1"):
            chosen(CLAUDE, ModelSettings(aws_region=name, bedrock_api_key=KEY))
        assert "evil" not in bedrock_in(name).base_url
    with pytest.raises(SettingsError, match="AWS_DEFAULT_REGION must be an AWS region"):
        chosen(CLAUDE, ModelSettings(aws_default_region="local", bedrock_api_key=KEY))


def test_a_region_that_is_none_disturbs_nobody_who_uses_other_models() -> None:
    settings = load_settings({"AWS_REGION": "local", "COGENCY_MODEL": "ollama:llama3.2"}).models
    assert chosen("ollama:llama3.2", settings).name == "ollama:llama3.2"


def test_without_a_key_the_extra_is_needed_and_the_sentence_has_the_command() -> None:
    settings = ModelSettings(aws_region="us-east-1")
    with pytest.raises(
        SettingsError, match=r"the 'bedrock' extra, which is not installed\. Run .*bedrock.*set the key"
    ):
        chosen(CLAUDE, settings, missing)
    assert chosen(CLAUDE, IN_US, missing)


@pytest.mark.parametrize(
    "model",
    [
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "anthropic.claude-v1:0",
        "arn:aws:bedrock:us-east-1::x/y",
        "global.x:0",
    ],
)
def test_a_name_without_its_service_is_recognized(model: str) -> None:
    with pytest.raises(SettingsError, match="bedrock:"):
        named_choice(model, IN_US, "COGENCY_MODEL")


def test_a_model_that_is_not_named_is_asked_for_with_an_example() -> None:
    with pytest.raises(SettingsError, match=r"bedrock:us\.anthropic\.claude-sonnet-5-5"):
        named_choice("bedrock:", IN_US, "COGENCY_MODEL")


def test_the_key_of_the_service_or_the_identity_of_the_settings_authorizes_requests() -> None:
    endpoint = bedrock_in("us-east-1")
    assert IN_US.credentials(endpoint, IN_US.key("bedrock"), CLOCK) == "ABSK-4711"
    assert isinstance(ModelSettings().credentials(endpoint, None, CLOCK), AwsCredentials)
    assert IN_US.key("openai") is None


async def test_the_access_key_of_the_settings_signs_requests() -> None:
    settings = load_settings(
        {
            "AWS_ACCESS_KEY_ID": USER.access_key_id,
            "AWS_SECRET_ACCESS_KEY": USER.secret_access_key,
            "AWS_SESSION_TOKEN": "session-token-1",
            "AWS_PROFILE": "unused",
        }
    ).models
    assert settings.aws_identity == AwsIdentity("unused", USER.access_key_id, USER.secret_access_key, "session-token-1")
    half = load_settings({"AWS_ACCESS_KEY_ID": USER.access_key_id, "AWS_PROFILE": "work"}).models
    assert half.aws_identity == AwsIdentity("work")
    assert USER.secret_access_key not in repr(settings)


def test_bedrock_offers_no_embeddings_in_openais_form() -> None:
    with pytest.raises(SettingsError, match="COGENCY_EMBEDDINGS must be static:use-multilingual-3, or a model"):
        open_embedder("bedrock:amazon.titan-embed-text-v2:0", IN_US)


def test_the_form_of_tools_can_be_chosen_where_a_stream_has_calls() -> None:
    endpoint = bedrock_in("us-east-1")
    assert endpoint.offers_forms("us.anthropic.claude-sonnet-5-5")
    assert not endpoint.offers_forms("us.meta.llama4-scout-17b-instruct-v1:0")


async def test_a_model_is_opened_with_the_credentials_of_its_settings() -> None:
    settings = ModelSettings(aws_region="us-east-1", aws_profile="no-such-profile")
    provider = open_model(chosen(CLAUDE, settings), settings, clock=FakeClock(), chance=lambda: 0.0)
    with pytest.raises(ProviderUnavailable, match="There is no AWS profile “no-such-profile”"):
        await anext(provider.stream([]))
    await provider.aclose()


# The file of settings


def test_a_key_of_the_environment_is_not_sent_to_an_address_of_the_file(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("AWS_ENDPOINT_URL_BEDROCK_RUNTIME=https://gateway.example\n")
    dotenv.chmod(0o600)
    with pytest.raises(
        SettingsError,
        match=r"AWS_ENDPOINT_URL_BEDROCK_RUNTIME is set in .*, but the environment .*sets AWS_BEARER_TOKEN_BEDROCK",
    ):
        load_settings({"AWS_BEARER_TOKEN_BEDROCK": "ABSK-1"}, dotenv)
    moved = load_settings({"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "https://gateway.example"})
    assert any("https://gateway.example" in line for line in moved_addresses(moved))


# Prices and sizes


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("bedrock:us.anthropic.claude-sonnet-5-5", 13.2),
        ("bedrock:global.anthropic.claude-sonnet-5-5", 12.0),
        ("bedrock:arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-5-5", 13.2),
        ("bedrock:eu.amazon.nova-pro-v1:0", 4.0),
    ],
)
def test_a_call_costs_amazons_list_price(model: str, dollars: float) -> None:
    assert cost(ModelCall(model, Usage(input_uncached=1_000_000, output=1_000_000))) == round(dollars * NANO)


def test_an_application_profile_has_no_price_and_is_not_free() -> None:
    assert cost(ModelCall(PROFILE, Usage(input_uncached=1, output=1))) is None
    assert context_window(PROFILE) is None


async def test_a_model_knows_how_large_its_context_is() -> None:
    small = "bedrock:meta.llama3-8b-instruct-v1:0"
    settings = ModelSettings(model=small, aws_region="us-east-1", bedrock_api_key=KEY)
    switch = await ModelSwitch.open(settings, FakeClock(), lambda: 0.0)
    provider = await switch.sized_provider_for(ModelCriteria("slack:T1:UANNA", "C1"))
    assert provider.capabilities.context_tokens == context_window(small) == 8_192
    await switch.aclose()
