"""What is wrong with a setting, and what to do about it; the head of `.env.example`."""

DOTENV_UNREADABLE = "{dotenv} could not be read. Make it a UTF-8 text file that you have permission to read."
DOTENV_LINE = "{dotenv}, line {line}: write NAME=value, or # before a comment."
GOES_ELSEWHERE = "{name} is set to {address}. Messages go there{too}."
GOES_THROUGH = (
    "{name} in .env is set to {value}. The bot's {scheme} connections to other machines go through this proxy, except "
    "to the hosts in NO_PROXY."
)
TRUSTS = (
    "{name} in .env is set to {value}. The owners of these certificate authorities can intercept the bot's connections."
)
KEY_FROM_ELSEWHERE = (
    "{name} is set in {dotenv}, but the environment or another file sets {others}. The key could go to a server that "
    "you did not choose. Set all of them in the environment, or all of them in {dotenv}."
)
ROUTE_FROM_A_REPOSITORY = (
    "{name} in {dotenv} controls who can read your API keys in transit. That file is part of a git repository, so "
    "someone else may have written it. Set {name} in the environment, or remove the file from the repository with `git "
    "rm --cached {dotenv}`."
)
CODE_FROM_A_REPOSITORY = (
    "{name} in {dotenv} controls which code runs here. That file is part of a git repository, so someone else may have "
    "written it. Set {name} in the environment, or remove the file from the repository with `git rm --cached {dotenv}`."
)
FILE_UNREADABLE = (
    "{setting} points to {file}, which could not be read. Make it a UTF-8 text file that you have permission to read."
)
NO_KEYCHAIN = "{name}=keyring needs the 'keychain' extra, which is not installed. Run {command}"
NOT_IN_KEYCHAIN = "{name} is not in the keychain. Run `keyring set {service} {name}`."
KEYCHAIN_CLOSED = "{name} could not be read from the keychain. Unlock the keychain, or set the value directly."
FILE_EMPTY = "{setting} points to {file}, which is empty. Write the secret into the file."
SET_TWICE = "{name} and {file} are both set. Remove one of them."
FOLDER_GONE = "The current folder cannot be used ({reason}). Change to another folder, and try again."
CONFIG_MISSING = "--config points to {file}, which does not exist. Correct the path."
FILE_MISSING = "{setting} points to {file}, which does not exist{where}. Create the file, or correct the path."
KEY_FILE_MISSING = (
    "{setting} must be the path of a file that contains the secret, but that file does not exist or cannot be read."
)
DATABASE_ELSEWHERE = "{name} is set to {hosts}. Messages and memory are stored there."
NOT_A_SETTING = "{name} is not a setting. {remedy}"
MEANT = "Did you mean {names}?"
ALL_LISTED = "`cogency settings` lists all settings."
SETTING_MISSING = "{name} is missing. Set it in the environment or in .env."
PROXY_FORM = "must be a proxy address, such as http://proxy.example.com:3128"
PROXY_SCHEME = "must begin with http:// or https://. SOCKS proxies are not supported; use an HTTP proxy"
CERTIFICATES_MISSING = "SSL_CERT_FILE points to {file}, which does not exist. Correct the path."
CERTIFICATES_UNREADABLE = "SSL_CERT_FILE points to {file}, which could not be read. Check the path and its permissions."
CERTIFICATES_NONE = (
    "SSL_CERT_FILE points to {file}, which does not contain certificates in PEM format. Each one begins with "
    "-----BEGIN CERTIFICATE-----."
)
UNKNOWN_HOME = "is in the home folder of a user who does not exist. Write the full path"

EXAMPLE_HEAD = (
    "# Copy this file to ~/.config/cogency/.env (on Linux) and uncomment the lines that you need. In a\n"
    "# terminal, you need none. Slack and Discord need at least their tokens.\n"
    "# If a .env file in the current folder sets any of the settings below, Cogency reads that file instead. With\n"
    "# --config FILE, it reads FILE. Environment variables override the file. Make sure that only you can "
    "read and write\n"
    "# the file: chmod 600 .env\n"
    "# To read a secret (an API key, a token, or the database's address) from a file, such as one that "
    "Docker, Kubernetes,\n"
    "# or systemd provides, add _FILE to the setting's name: OPENAI_API_KEY_FILE=/run/secrets/openai.\n"
    "# To keep a secret in the system keychain, install the `keychain` extra, run `keyring set cogency\n"
    "# OPENAI_API_KEY`, and set OPENAI_API_KEY=keyring.\n"
)
