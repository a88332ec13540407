"""What is wrong with a setting, and what to do about it; the head of `.env.example`."""

DOTENV_UNREADABLE = "{dotenv} cannot be read: make it a text file in UTF-8 that you may read."
DOTENV_LINE = "{dotenv}, line {line}: write NAME=value, or # before a comment."
GOES_ELSEWHERE = "{name} is set to {address}: questions go there{too}."
KEY_FROM_ELSEWHERE = (
    "{name} comes from {dotenv}, but {others} from the environment or another file, so the key could go where you did "
    "not send it: set both in the environment, or write both into {dotenv}."
)
CODE_FROM_A_REPOSITORY = (
    "{name} in {dotenv} decides which code runs here, and that file is part of a git repository, so somebody else may "
    "have written it. Set {name} in the environment, or take the file out of the repository with "
    "`git rm --cached {dotenv}`."
)
FILE_UNREADABLE = "{setting} names {file}, which cannot be read: make it a text file in UTF-8 that you may read."
NO_KEYCHAIN = (
    "{name} is to be read from the keychain, which needs the extra 'keychain', which is not installed. Run {command}"
)
NOT_IN_KEYCHAIN = "{name} is not in the keychain: `keyring set {service} {name}` puts it there."
KEYCHAIN_CLOSED = "{name} cannot be read from the keychain: unlock it, or set the value itself."
FILE_EMPTY = "{setting} names {file}, which is empty: write the secret into it."
SET_TWICE = "{name} and {file} are both set: take one of them away."
CONFIG_MISSING = "--config names {file}, which does not exist: correct the name."
FILE_MISSING = "{setting} names {file}, which does not exist{where}: write it, or correct the name."
DATABASE_ELSEWHERE = "{name} names {hosts}: what is said and remembered is kept there."
NOT_A_SETTING = "{name} is not a setting: {remedy}"
MEANT = "did you mean {names}?"
ALL_LISTED = "`cogency settings` lists all settings."
SETTING_MISSING = "{name} is missing: set it in the environment or in .env."

EXAMPLE_HEAD = (
    "# Copy this file to ~/.config/cogency/.env (on Linux), and uncomment what you need; nothing is required. A file "
    ".env in the\n"
    "# folder where you start cogency is read instead of it, and --config FILE instead of both. Environment variables "
    "override\n"
    "# the file. Nobody else may own or write it: chmod 600 .env.\n"
    "# A secret (each key, token and the database's address) may stand in a file of its own instead: "
    "OPENAI_API_KEY_FILE=/run/secrets/openai\n"
    "# names it, as Docker, Kubernetes and systemd hand secrets over. OPENAI_API_KEY=keyring takes it from the "
    "system's keychain, once\n"
    "# the extra `keychain` is installed and `keyring set cogency OPENAI_API_KEY` was run.\n"
)
