"""What Amazon Bedrock says when it refuses a request, and the sentence for the operator that says what to do."""

import json
from importlib import import_module

import pytest

from agent.errors import FailureReason, KeyTrouble
from agent.providers.aws_credentials import AwsCredentials, AwsIdentity
from agent.providers.bedrock_refusals import error_type
from agent.providers.catalog import bedrock_address, bedrock_in, is_aws_region, region_of_arn
from agent.providers.credentials import Key
from agent.providers.factory import ProviderWorld
from agent.providers.faults import Fault, FaultKind, provider_error
from agent.providers.replay import ServedModel
from agent.texts import ASK_OPERATOR
from tests.fakes.bedrock_service import API_KEY
from tests.fakes.clock import FakeClock

CLAUDE = "anthropic.claude-sonnet-4-5-20250929-v1:0"
SIGNED = AwsCredentials(AwsIdentity(), "eu-west-1", FakeClock())


def refused(status: int, kind: str, message: str, *, model: str = CLAUDE, key: Key = SIGNED) -> FailureReason:
    """Return what is said about a refusal that the service sends."""
    endpoint = bedrock_in("eu-west-1")
    served = ServedModel(endpoint, model, key, ProviderWorld(FakeClock(), lambda: 0.0))
    headers = {"x-amzn-errortype": f"{kind}:http://internal.amazon.com/coral/com.amazon.bedrock/"} if kind else {}
    fault = served.refusal(status, headers, json.dumps({"message": message}).encode())
    return provider_error(fault, endpoint, model, key, begun=False).reason


# In the service's words, with the apostrophes that it uses.
ON_DEMAND = (
    f"Invocation of model ID {CLAUDE} with on-demand throughput isn\u2019t supported. Retry your request with the ID "
    "or ARN of an inference profile that contains this model."
)
NOT_AUTHORIZED = (
    "User: arn:aws:sts::123456789012:assumed-role/bot/i-1 is not authorized to perform: "
    "bedrock:InvokeModelWithResponseStream on resource: arn:aws:bedrock:eu-west-1::foundation-model/x because no "
    "identity-based policy allows the bedrock:InvokeModelWithResponseStream action"
)
MARKETPLACE = (
    "Model access is denied due to IAM user or service role is not authorized to perform the required AWS Marketplace "
    "actions (aws-marketplace:ViewSubscriptions, aws-marketplace:Subscribe) to enable access to this model."
)
USE_CASE = (
    "Model use case details have not been submitted for this account. Fill out the Anthropic use case details form "
    "before using the model."
)


ACCESS, VALIDATION, MISSING = "AccessDeniedException", "ValidationException", "ResourceNotFoundException"
SIGNATURE = "InvalidSignatureException"
REFUSALS = [
    (400, VALIDATION, ON_DEMAND, f"Set COGENCY_MODEL to the profile's ID, such as bedrock:eu.{CLAUDE}."),
    (404, MISSING, USE_CASE, "in the model catalog of the Amazon Bedrock console, and fill in the form"),
    (403, ACCESS, "You don't have access to the model with the specified model ID.", "eu-west-1 (403). Open the model"),
    (403, ACCESS, MARKETPLACE, "has no access to the model"),
    (403, ACCESS, NOT_AUTHORIZED, "do not permit bedrock:InvokeModelWithResponseStream for the model"),
    (400, VALIDATION, "The provided model identifier is invalid.", "Check its ID and AWS_REGION"),
    (404, MISSING, "Could not resolve the foundation model from the model identifier.", "region eu-west-1 (404)"),
    (404, MISSING, "This model version has reached the end of its life.", "no longer offers the model"),
    (400, VALIDATION, "This action doesn't support the model that you provided.", "as a streaming chat model"),
    (403, "ExpiredTokenException", "The security token included in the request is expired", "`aws sso login`"),
    (403, SIGNATURE, "Signature expired: 20261130T000000Z is now earlier than", "Set the clock"),
    (403, SIGNATURE, "Signature not yet current: 20261130T000000Z is still later", "Set the clock"),
    (403, SIGNATURE, "The request signature we calculated does not match the signature.", "refused the signature"),
    (403, "UnrecognizedClientException", "The security token included in the request is invalid.", "AWS_ACCESS_KEY_ID"),
    (429, "ThrottlingException", "Too many tokens per day, please wait.", "open Service Quotas"),
    (503, "ServiceUnavailableException", "Bedrock is unable to process your request.", "a server error (503)"),
    (408, "ModelTimeoutException", "Model has timed out in processing the request.", "a server error (408)"),
    (402, "", "Insufficient credit", "no credit left"),
]


@pytest.mark.parametrize(("status", "kind", "message", "words"), REFUSALS)
def test_each_refusal_says_what_to_do(status: int, kind: str, message: str, words: str) -> None:
    assert words in refused(status, kind, message).to_operator
    assert refused(status, kind, message).to_person == ASK_OPERATOR or status in {408, 429, 503}


@pytest.mark.parametrize(
    ("status", "message", "words"),
    [
        (
            403,
            "Authentication failed: Please make sure your API Key is valid.",
            "the key belongs to the region eu-west-1",
        ),
        (403, "Bearer Token has expired", "The Amazon Bedrock API key has expired (403)."),
        (401, "Unauthorized", "Check AWS_BEARER_TOKEN_BEDROCK"),
        (403, NOT_AUTHORIZED, "do not permit bedrock:InvokeModelWithResponseStream"),
    ],
)
def test_with_an_api_key_the_sentence_is_about_the_key(status: int, message: str, words: str) -> None:
    assert words in refused(status, "", message, key=API_KEY).to_operator


@pytest.mark.parametrize(
    "message", ["Authentication failed: Please make sure your API Key is valid.", "Bearer Token has expired"]
)
def test_a_refused_api_key_is_set_aside_if_there_are_others(message: str) -> None:
    assert Fault(FaultKind.ANSWERED, 403, message=message).key_trouble is KeyTrouble.REFUSED
    assert Fault(FaultKind.ANSWERED, 403, message=NOT_AUTHORIZED).key_trouble is None


def test_the_proposed_profile_is_of_the_regions_geography_and_none_is_proposed_for_a_profile() -> None:
    assert "bedrock:eu." in refused(400, VALIDATION, ON_DEMAND).to_operator
    assert "such as" not in refused(400, VALIDATION, ON_DEMAND, model=f"us.{CLAUDE}").to_operator


def test_a_refusal_that_is_not_known_quotes_the_service_without_the_keys() -> None:
    reason = refused(400, VALIDATION, f"Strange: {API_KEY}", key=API_KEY)
    assert reason.to_operator.startswith("Amazon Bedrock refused the request (400)")
    assert "Strange: …" in reason.to_operator


def test_a_prompt_that_is_too_long_is_no_fault_of_the_settings() -> None:
    reason = refused(400, VALIDATION, "Input is too long for requested model.")
    assert reason.to_person.startswith("This question and its files are too long")


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("ValidationException:http://x/", "ValidationException"),
        ("ValidationException", "ValidationException"),
        ("", ""),
    ],
)
def test_the_exception_is_named_in_a_header(header: str, name: str) -> None:
    assert error_type(header) == name


# Regions


def test_addresses_are_those_of_amazons_own_client() -> None:
    partitions = import_module("botocore.loaders").create_loader().load_data("partitions")["partitions"]
    addresses = {
        region: f"https://bedrock-runtime.{region}.{partition['outputs']['dnsSuffix']}"
        for partition in partitions
        if partition["id"] in {"aws", "aws-cn", "aws-us-gov", "aws-eusc"}  # not those of secret services
        for region in partition["regions"]
        if not region.endswith("-global")
    }
    assert len(addresses) > 30
    assert {region: bedrock_address(region) for region in addresses} == addresses
    assert all(map(is_aws_region, addresses))


@pytest.mark.parametrize(
    ("model", "region"),
    [
        ("arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.amazon.nova-pro-v1:0", "eu-west-1"),
        ("arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/amazon.nova-pro-v1:0", "us-gov-west-1"),
        ("arn:aws:bedrock::123456789012:inference-profile/x", ""),
        ("arn:aws:bedrock:evil.example/:1:x/y", ""),
        (CLAUDE, ""),
    ],
)
def test_an_arn_names_its_region(model: str, region: str) -> None:
    assert region_of_arn(model) == region
