"""What the web says when it fails, or is not set up."""

SEARXNG_NO_JSON = (
    "SearXNG at {address} does not return JSON; its administrator needs to add json to search.formats in settings.yml"
)
SEARXNG_SILENT = "SearXNG found nothing, and some of its engines did not answer; the same search may work in a minute"
SEARCH_LATE = "{name} did not answer in time; the same search may work in a minute"
SEARCH_NOT_TRUSTED = "the certificate of {name} is not trusted here; the operator needs to set SSL_CERT_FILE"
SEARCH_UNREACHABLE = "{name} cannot be reached; if this continues, the operator needs to check COGENCY_WEB_SEARCH"
SEARCH_TOO_OFTEN = "{name} received too many searches; try again in a minute"
SEARCH_BLOCKED = (
    "{name} does not answer automated requests at the moment; if this continues, the operator needs to choose another "
    "engine in COGENCY_WEB_SEARCH"
)
SEARCH_KEY_REFUSED = "the search engine does not accept its API key; the operator needs to check {setting}"
SEARCH_SPENT = "the search engine's API key has used up its quota; the operator needs to check {setting}"
SEARCH_ODD = "{name} did not return search results ({status}); the operator needs to check COGENCY_WEB_SEARCH"
WEB_MISSING = "COGENCY_WEB=on needs the 'web' extra, which is not installed. Run {command}, or remove the setting."
DDGS_MISSING = (
    "COGENCY_WEB_SEARCH=ddgs needs the 'ddgs' extra, which is not installed. Run {command}, or set another engine."
)
SEARCH_KEY_MISSING = "COGENCY_WEB_SEARCH={engine} needs {key}: set it in the environment or in .env."
WEB_AGENT = "Cogency/{version} (an assistant that reads pages when people ask it to)"
