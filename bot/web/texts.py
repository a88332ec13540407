"""What the web says when it fails, or is not set up."""

SEARXNG_NO_JSON = (
    "SearXNG at {address} does not answer in JSON: who runs it has to add json to search.formats in its settings.yml"
)
SEARXNG_SILENT = "none of SearXNG's {count} engines has answered it; the same search may work in a minute"
SEARCH_LATE = "{name} has not answered in time; the same search may work in a minute"
SEARCH_NOT_TRUSTED = "the certificate of {name} is not trusted here; the operator has to set SSL_CERT_FILE"
SEARCH_UNREACHABLE = "{name} cannot be reached; if it stays so, the operator has to look at COGENCY_WEB_SEARCH"
SEARCH_TOO_OFTEN = "{name} was asked too often; try again in a minute"
SEARCH_BLOCKED = (
    "{name} does not answer programs at the moment; if it stays so, the operator has to name another engine in "
    "COGENCY_WEB_SEARCH"
)
SEARCH_KEY_REFUSED = "the key of the search engine is not accepted: the operator has to look at {setting}"
SEARCH_SPENT = "what the key of the search engine may ask is used up: the operator has to look at {setting}"
SEARCH_ODD = (
    "{name} answers with something else than results ({status}): the operator has to look at COGENCY_WEB_SEARCH"
)
WEB_MISSING = "COGENCY_WEB=on needs the extra 'web', which is not installed. Run {command}, or remove the setting."
DDGS_MISSING = (
    "COGENCY_WEB_SEARCH=ddgs needs the extra 'ddgs', which is not installed. Run {command}, or name another engine."
)
SEARCH_KEY_MISSING = "COGENCY_WEB_SEARCH={engine} needs {key}: set it in the environment or in .env."
WEB_AGENT = "Cogency/{version} (an assistant that reads a page when somebody asks it to)"
