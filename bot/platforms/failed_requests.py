"""Why a request to a platform got no answer, as a phrase for the log and for the operator. Pure.

The phrase stands in parentheses after "could not be reached", so it repeats neither that nor the platform's name.
"""

import errno
import ssl

from aiohttp import (
    ClientConnectionError,
    ClientConnectorDNSError,
    ClientError,
    ClientHttpProxyError,
    ClientOSError,
    ClientProxyConnectionError,
    ServerDisconnectedError,
)

from agent.certificates import certificate_problem
from bot.platforms import texts as platforms_texts

_NO_ROUTE = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN})


def failure_reason(error: BaseException) -> str:
    """Return the reason, without a full stop."""
    if problem := certificate_problem(error):
        return platforms_texts.UNTRUSTED_CERTIFICATE.format(problem=problem)
    match error:
        case TimeoutError():
            return platforms_texts.NO_RESPONSE_IN_TIME
        case ClientHttpProxyError(status=status):
            return platforms_texts.PROXY_REFUSED.format(status=status)
        case ClientProxyConnectionError(host=host, port=port):
            return platforms_texts.PROXY_AWAY.format(address=f"{host}:{port}")
        case ClientConnectorDNSError(host=host):
            return platforms_texts.NAME_UNKNOWN.format(host=host)
        case ServerDisconnectedError() | ConnectionResetError():
            return platforms_texts.CONNECTION_CLOSED
        case ClientOSError() | OSError():
            return _network_reason(error)
        case ClientConnectionError():
            return platforms_texts.CONNECTION_CLOSED
        case ClientError():
            return platforms_texts.CONNECTION_FAILED
        case _:
            return platforms_texts.ANSWER_UNREADABLE


def _network_reason(error: OSError) -> str:
    causes = (error, getattr(error, "os_error", None), error.__cause__)
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return platforms_texts.TLS_FAILED
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes) or error.errno == errno.ECONNREFUSED:
        return platforms_texts.CONNECTION_REFUSED
    return platforms_texts.NO_ROUTE if error.errno in _NO_ROUTE else platforms_texts.CONNECTION_FAILED
