"""Signs requests as Standard Webhooks does (https://www.standardwebhooks.com). Pure.

The signature is an HMAC-SHA256 of `ID.TIMESTAMP.BODY`. While a secret is replaced there are two, so that a receiver may
know either.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

PREFIX: Final = "whsec_"
# The bounds of the specification, in bytes.
MIN_SECRET: Final = 24
MAX_SECRET: Final = 64


@dataclass(frozen=True, slots=True)
class SigningSecret:
    key: bytes = field(repr=False)

    @property
    def text(self) -> str:
        return PREFIX + base64.b64encode(self.key).decode("ascii")


def parse_secret(text: str) -> SigningSecret:
    """Parse "whsec_" and base64. Raises ValueError, whose text follows the name of the secret."""
    if not text.startswith(PREFIX):
        raise ValueError(NO_SECRET)
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(NO_SECRET) from None
    if not MIN_SECRET <= len(key) <= MAX_SECRET:
        raise ValueError(NO_SECRET)
    return SigningSecret(key)


NO_SECRET: Final = (
    f"must be {PREFIX} and then {MIN_SECRET} to {MAX_SECRET} random bytes in base64. Run "
    '`echo "whsec_$(openssl rand -base64 32)"` to create one'
)


def signed_headers(secrets: Sequence[SigningSecret], id_: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of a request. `timestamp`: of this attempt, in seconds since 1970; `secrets`: the new one
    first.
    """
    signed = f"{id_}.{timestamp}.".encode() + body
    signatures = [base64.b64encode(hmac.new(secret.key, signed, hashlib.sha256).digest()) for secret in secrets]
    return {
        "webhook-id": id_,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature.decode('ascii')}" for signature in signatures),
    }
