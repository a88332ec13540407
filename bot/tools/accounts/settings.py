"""The settings for users' own accounts at servers of tools."""

from dataclasses import dataclass

from bot.settings import parsers
from bot.settings.declaration import Section, secret_setting, setting
from bot.settings.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountSettings:
    """Signing in at servers of tools."""

    key: Secret | None = secret_setting(
        "COGENCY_ACCOUNT_KEY",
        section=Section.TOOLS,
        description=(
            "The key that encrypts people's tokens for MCP servers where each person signs in (docs/mcp.md), channels' "
            "own API keys (docs/models.md), and the tokens of Slack workspaces that install the app (docs/slack.md). "
            "It consists of 32 random bytes as base64, from `openssl rand -base64 32`. To change the key, write the "
            "new key, a comma, and then the old key."
        ),
    )
    key_file: str | None = setting(
        "COGENCY_ACCOUNT_KEY_FILE",
        parsers.text,
        None,
        section=Section.TOOLS,
        description=(
            "A file that contains the key. Set this instead of COGENCY_ACCOUNT_KEY. Only you should be able to read "
            "the file."
        ),
    )
    sign_in_address: str = setting(
        "COGENCY_SIGN_IN_ADDRESS",
        parsers.url("https", "http"),
        "",
        section=Section.TOOLS,
        description=(
            "The public address of the pages where people sign in to MCP servers. If this is not set, people sign in "
            "and then paste the last address that their browser shows."
        ),
        example="https://bot.example.com",
    )
    """"": people paste what their browser shows."""
    sign_in_http: tuple[str, int] | None = setting(
        "COGENCY_SIGN_IN_HTTP",
        parsers.listen_address,
        None,
        section=Section.TOOLS,
        description="Where to serve the sign-in pages, as host:port, behind a TLS proxy.",
        example="127.0.0.1:3001",
    )
