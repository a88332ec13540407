"""What is wrong with a setting, and what to do about it."""

DOTENV_UNREADABLE = "{dotenv} cannot be read: make it a text file in UTF-8 that you may read."
DOTENV_LINE = "{dotenv}, line {line}: write NAME=value, or # before a comment."
GOES_ELSEWHERE = "{name} is set to {address}: what is asked goes there{too}."
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
NO_KEYCHAIN = "{name} is to come from the keychain, which needs `pip install keyring`."
NOT_IN_KEYCHAIN = "{name} is not in the keychain: `keyring set {service} {name}` puts it there."
KEYCHAIN_CLOSED = "{name} cannot be read from the keychain: unlock it, or set the value itself."
FILE_EMPTY = "{setting} names {file}, which is empty: write the secret into it."
SET_TWICE = "{name} and {file} are both set: take one of them away."
FILE_MISSING = "{setting} names {file}, which does not exist{where}: write it, or correct the name."
SETTING_MISSING = "{name} is missing: set it in the environment or in .env."
