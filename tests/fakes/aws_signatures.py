"""Verifies signatures of requests to AWS (Signature Version 4), by the description of the protocol and not by botocore.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

import hmac
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from urllib.parse import quote

from tests.fakes.model_server import Request

ALGORITHM = "AWS4-HMAC-SHA256"
_AUTHORIZATION = re.compile(
    rf"{ALGORITHM} Credential=(?P<key>[^/]+)/(?P<day>\d{{8}})/(?P<region>[a-z0-9-]+)/(?P<service>[a-z]+)/aws4_request, "
    r"SignedHeaders=(?P<headers>[a-z0-9;-]+), Signature=(?P<signature>[0-9a-f]{64})"
)
MAX_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class AwsUser:
    """Somebody who may sign: the keys, and where they are accepted."""

    access_key_id: str = "AKIDEXAMPLE12345"
    secret_access_key: str = field(default="wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", repr=False)
    session_token: str = field(default="", repr=False)
    region: str = "us-east-1"
    service: str = "bedrock"

    def refusal(self, request: Request, now: datetime | None = None) -> str:
        """Return why the signature of a request is not accepted, as the service would say; "" if it is."""
        match = _AUTHORIZATION.fullmatch(request.headers.get("authorization", ""))
        if match is None:
            return "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature'."
        if match["key"] != self.access_key_id or request.headers.get("x-amz-security-token", "") != self.session_token:
            return "The security token included in the request is invalid."
        if (match["region"], match["service"]) != (self.region, self.service):
            return "Credential should be scoped to a valid region and to correct service."
        stamp = request.headers.get("x-amz-date", "")
        at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if abs((now or datetime.now(UTC)) - at) > MAX_SKEW:  # noqa: TID251 -- a real clock, as that of the service
            return f"Signature expired: {stamp} is now earlier than the clock of the service"
        names = match["headers"].split(";")
        needed = {"host", "x-amz-date", *(["x-amz-security-token"] if self.session_token else [])}
        if names != sorted(names) or not needed <= {*names}:
            return "These headers must be signed."
        if match["signature"] != self._signature(request, names, stamp, match["day"]):
            return "The request signature we calculated does not match the signature you provided."
        return ""

    def _signature(self, request: Request, names: list[str], stamp: str, day: str) -> str:
        path, _, query = request.path.partition("?")
        canonical = "\n".join(
            [
                request.method,
                quote(path, safe="/-_.~"),  # as it came, escaped once more
                "&".join(sorted(query.split("&"))) if query else "",
                *(f"{name}:{' '.join(request.headers[name].split())}" for name in names),
                "",
                ";".join(names),
                sha256(request.body).hexdigest(),
            ]
        )
        scope = f"{day}/{self.region}/{self.service}/aws4_request"
        to_sign = "\n".join([ALGORITHM, stamp, scope, sha256(canonical.encode()).hexdigest()])
        key = f"AWS4{self.secret_access_key}".encode()
        for word in (day, self.region, self.service, "aws4_request"):
            key = hmac.digest(key, word.encode(), "sha256")
        return hmac.digest(key, to_sign.encode(), "sha256").hex()
