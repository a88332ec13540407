"""What Amazon Bedrock says when it refuses a request, and the sentence for each that says what to do. Pure.

Amazon explains its refusals in words: one exception has several causes. The words are those of its documentation and
of its answers in November 2026; the exceptions are in `x-amzn-errortype`. A refusal that is not listed here is treated
like that of any service.
"""

import re
from dataclasses import dataclass
from typing import Final

from agent import texts

# Geographies of inference profiles by the beginning of a region's name. Profiles for all regions are "global".
_GEOGRAPHIES: Final = (("us-gov-", "us-gov"), ("us-", "us"), ("eu-", "eu"))

_ACTION: Final = re.compile(r"not authorized to perform: ([A-Za-z0-9-]{1,40}:[A-Za-z0-9*]{1,60})")
_IS_PROFILE: Final = re.compile(r"(?:[a-z]{2,6}|us-gov)\.[a-z0-9]{1,40}\.|arn:")
MAX_READ_CHARS: Final = 2_000


def geography_of(region: str) -> str:
    """Return what the names of inference profiles in a region of AWS begin with ("us" of "us-east-1")."""
    return next((name for begin, name in _GEOGRAPHIES if region.startswith(begin)), "global")


@dataclass(frozen=True, slots=True)
class BedrockRefusal:
    """A refused request. `code`: the exception; `signed`: whether it was signed, and had no API key."""

    status: int
    code: str
    message: str
    model: str
    region: str
    signed: bool

    def mentions(self, *words: str) -> bool:
        return any(word in self._words for word in words)

    @property
    def _words(self) -> str:
        return f"{self.code} {self.message}"[:MAX_READ_CHARS].lower().replace("\u2019", "'")

    def format(self, sentence: str) -> str:
        return sentence.format(model=self.model, region=self.region, status=self.status)


def bedrock_sentence(refusal: BedrockRefusal) -> str | None:
    """Return the sentence for the operator, or None for a refusal that is not special to Amazon Bedrock."""
    return _of_model(refusal) or (_of_credentials(refusal) if refusal.status in {400, 401, 403} else None)


def _of_model(refusal: BedrockRefusal) -> str | None:
    mentions = refusal.mentions
    if mentions("on-demand throughput"):
        profile = "" if _IS_PROFILE.match(refusal.model) else f"{geography_of(refusal.region)}.{refusal.model}"
        example = texts.BEDROCK_PROFILE_EXAMPLE.format(profile=profile) if profile else ""
        return texts.BEDROCK_NEEDS_PROFILE.format(model=refusal.model, example=example)
    if mentions("use case details", "ftuformnotfilled"):
        return texts.BEDROCK_USE_CASE
    if mentions("end of its life", "marked by provider as legacy"):
        return refusal.format(texts.BEDROCK_MODEL_RETIRED)
    if mentions("model identifier is invalid", "could not resolve the foundation model", "resourcenotfound"):
        return refusal.format(texts.BEDROCK_MODEL_UNKNOWN)
    if mentions("doesn't support the model", "isn't supported for this model", "doesn't support streaming"):
        return refusal.format(texts.BEDROCK_NO_CONVERSE)
    if mentions("don't have access to the model", "model access is denied", "is not available for this account"):
        action = _ACTION.search(refusal.message[:MAX_READ_CHARS])
        if action is not None:
            return texts.BEDROCK_NOT_ALLOWED.format(model=refusal.model, action=action[1])
        return refusal.format(texts.BEDROCK_NO_ACCESS)
    if action := _ACTION.search(refusal.message[:MAX_READ_CHARS]):
        return texts.BEDROCK_NOT_ALLOWED.format(model=refusal.model, action=action[1])
    return None


def _of_credentials(refusal: BedrockRefusal) -> str | None:
    mentions = refusal.mentions
    if mentions("signature expired", "signature not yet current", "requestexpired", "requesttimetooskewed"):
        return refusal.format(texts.BEDROCK_CLOCK)
    if mentions("expiredtoken", "token included in the request is expired", "token has expired"):
        return refusal.format(texts.BEDROCK_SESSION_EXPIRED if refusal.signed else texts.BEDROCK_KEY_EXPIRED)
    if mentions("signature we calculated does not match", "invalidsignature", "incompletesignature"):
        return refusal.format(texts.BEDROCK_SIGNATURE)
    if mentions("unrecognizedclient", "token included in the request is invalid", "invalidclienttokenid"):
        return refusal.format(texts.BEDROCK_CREDENTIALS_REFUSED if refusal.signed else texts.BEDROCK_KEY_REFUSED)
    if mentions("api key is valid", "authentication failed", "invalid api key") or refusal.status == 401:
        return refusal.format(texts.BEDROCK_KEY_REFUSED if not refusal.signed else texts.BEDROCK_CREDENTIALS_REFUSED)
    return None


EXPIRED: Final = ("expiredtoken", "token included in the request is expired", "unrecognizedclient")


def has_expired(code: str, message: str) -> bool:
    """Return whether a signed request was refused because of its credentials, so that others may be accepted."""
    words = f"{code} {message}"[:MAX_READ_CHARS].lower()
    return any(word in words for word in EXPIRED)


def error_type(header: str) -> str:
    """Return the name of the exception in `x-amzn-errortype` ("ValidationException:http://internal…/")."""
    return header.partition(":")[0].strip()
