"""What is wrong with a setting, and what to do about it; the head of `.env.example`."""

DOTENV_UNREADABLE = "{dotenv} could not be read. Make it a UTF-8 text file that you have permission to read."
DOTENV_LINE = "{dotenv}, line {line}: write NAME=value, or # before a comment."
GOES_ELSEWHERE = "{name} is set to {address}. Questions go there{too}."
GOES_THROUGH = "{name} in .env is set to {value}. Everything that the bot sends goes through this proxy."
TRUSTS = "{name} in .env is set to {value}. The issuer of these certificates can read what the bot sends."
KEY_FROM_ELSEWHERE = (
    "{name} comes from {dotenv}, but {others} from the environment or another file, so the key could go to a server "
    "that you did not choose. Set both in the environment, or put both into {dotenv}."
)
ROUTE_FROM_A_REPOSITORY = (
    "{name} in {dotenv} decides who can read your API keys on their way. That file is part of a git repository, so "
    "somebody else may have written it. Set {name} in the environment, or remove the file from the repository with "
    "`git rm --cached {dotenv}`."
)
CODE_FROM_A_REPOSITORY = (
    "{name} in {dotenv} decides which code runs here. That file is part of a git repository, so somebody else may "
    "have written it. Set {name} in the environment, or remove the file from the repository with `git rm --cached "
    "{dotenv}`."
)
FILE_UNREADABLE = (
    "{setting} names {file}, which could not be read. Make it a UTF-8 text file that you have permission to read."
)
NO_KEYCHAIN = "{name} should come from the keychain, but the extra 'keychain' is not installed. Run {command}"
NOT_IN_KEYCHAIN = "{name} is not in the keychain. Run `keyring set {service} {name}`."
KEYCHAIN_CLOSED = "{name} could not be read from the keychain. Unlock it, or set the value itself."
FILE_EMPTY = "{setting} names {file}, which is empty. Write the secret into it."
SET_TWICE = "{name} and {file} are both set. Remove one of them."
CONFIG_MISSING = "--config names {file}, which does not exist. Correct the name."
FILE_MISSING = "{setting} names {file}, which does not exist{where}. Create it, or correct the name."
DATABASE_ELSEWHERE = "{name} names {hosts}. Messages and memory are stored there."
NOT_A_SETTING = "{name} is not a setting. {remedy}"
MEANT = "Did you mean {names}?"
ALL_LISTED = "`cogency settings` lists all settings."
SETTING_MISSING = "{name} is missing. Set it in the environment or in .env."
PROXY_FORM = "must be the address of a proxy, such as http://proxy.example.com:3128"
PROXY_SCHEME = "must begin with http:// or https://. SOCKS proxies are not supported; use an HTTP proxy"
CERTIFICATES_MISSING = "SSL_CERT_FILE names {file}, which does not exist. Correct the path."
CERTIFICATES_UNREADABLE = "SSL_CERT_FILE names {file}, which could not be read. Check the path and its permissions."
CERTIFICATES_NONE = (
    "SSL_CERT_FILE names {file}, which has no certificates in PEM form. Each one begins with "
    "-----BEGIN CERTIFICATE-----."
)
CERTIFICATES_UNKNOWN_HOME = "names the home folder of a user who does not exist. Write the whole path"

EXAMPLE_HEAD = (
    "# Copy this file to ~/.config/cogency/.env (on Linux) and uncomment what you need. Nothing is required.\n# "
    "Cogency reads a .env file in the current folder instead of that file, and --config FILE instead of both.\n# "
    "Environment variables override the file. Only you should own it and be able to write it: chmod 600 .env\n# A "
    "secret (an API key, a token, the database's address) can be in a file of its own, as Docker, Kubernetes and "
    "systemd\n# provide it: OPENAI_API_KEY_FILE=/run/secrets/openai. OPENAI_API_KEY=keyring takes it from the system "
    "keychain; install\n# the extra `keychain` and run `keyring set cogency OPENAI_API_KEY` first.\n"
)
