"""Tries a key for a service, by a request that costs nothing: for the list of its models."""

import asyncio
from typing import Final

from agent.errors import Refused
from agent.providers.catalog import ANTHROPIC, OPENROUTER, Endpoint
from bot.models import texts as models_texts
from bot.models.choice import ANTHROPIC_VERSION
from bot.settings.secret import Secret

CHECK_S: Final = 8.0


async def check_key(endpoint: Endpoint, key: Secret) -> None:
    """Raises Refused, with a sentence, if the service does not know the key, or cannot be asked now.

    A key that may not list models is known, and may be good for asking them.
    """
    from agent.providers.faults import read_fault  # noqa: PLC0415 -- see the docstring of `bot.models.choice`
    from agent.providers.http_client import Http, TransportError  # noqa: PLC0415 -- as above

    # Everybody may list OpenRouter's models.
    url = f"{endpoint.base_url}/{'key' if endpoint.name == OPENROUTER.name else 'models'}"
    headers = endpoint.authorisation(key.reveal()) | (ANTHROPIC_VERSION if endpoint.name == ANTHROPIC.name else {})
    http = Http(proxies=not endpoint.is_local)
    try:
        async with asyncio.timeout(CHECK_S), http.request("GET", url, headers) as reply:
            status, body = reply.status, await reply.read()
    except (TransportError, TimeoutError):
        raise Refused(models_texts.OWN_KEY_UNCHECKED.format(label=endpoint.label)) from None
    finally:
        await http.aclose()
    if status == 200:
        return
    fault = read_fault(status, body)
    if fault.bad_key and fault.mentions("missing scopes"):  # OpenAI's 401 of a key that is restricted to asking models
        return
    if fault.bad_key:
        raise Refused(models_texts.OWN_KEY_WRONG.format(label=endpoint.label))
    if status not in {402, 403, 429}:
        raise Refused(models_texts.OWN_KEY_UNCHECKED.format(label=endpoint.label))
