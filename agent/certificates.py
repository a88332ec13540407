"""What is wrong with a server's certificate, in whichever client's error it comes, and what to do about it. Pure.

Each client wraps the error of the TLS library in one of its own, often as one that "cannot connect". That sends an
operator looking for a server that is down, although it answers: most often a company's proxy shows its own certificate.
"""

import ssl
from typing import Final, cast

from agent import texts

MAX_CAUSES: Final = 20  # Of one error: a group has as many as it has tasks

_EXPIRED = ("expired", "not yet valid")
_OTHER_NAME = ("mismatch", "not valid for")


def certificate_problem(error: BaseException | None) -> str:
    """Return why a certificate was not accepted, in the TLS library's words; "" if the error is about something else.

    The words are for the operator: they may have the server's name.
    """
    causes: list[BaseException | None] = [error]
    is_certificate = False
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            is_certificate = True
            if message := str(getattr(cause, "verify_message", "")):  # aiohttp's own class of this kind has none
                return message.rstrip(".")
        if cause is not None and len(causes) < MAX_CAUSES:
            causes += [cause.__cause__, cause.__context__]
            if isinstance(cause, BaseExceptionGroup):
                causes += cast("BaseExceptionGroup[BaseException]", cause).exceptions
    return "no reason given" if is_certificate else ""


def certificate_sentence(problem: str, label: str, address: str) -> str:
    """Return the sentence for the operator, with what to do."""
    words = problem.lower()
    if any(word in words for word in _EXPIRED):
        remedy = texts.RENEW_CERTIFICATE
    elif any(word in words for word in _OTHER_NAME):
        remedy = texts.CHECK_CERTIFICATE_NAME
    else:
        remedy = texts.TRUST_CERTIFICATE
    return texts.CERTIFICATE_REFUSED.format(label=label, address=address, problem=problem, remedy=remedy)


def sentence_of(error: BaseException, label: str, address: str, otherwise: str) -> str:
    """Return the sentence if the error is about a certificate, else `otherwise`."""
    problem = certificate_problem(error)
    return certificate_sentence(problem, label, address) if problem else otherwise
