"""`cogency token`, `keys`, `hooks` and `webhooks`: how other programs reach the bot, and it them."""

import getpass
import os
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from agent.ports.api_tokens import TokenScope
from bot.api.tokens import DailyBudget
from bot.app.settings import Settings
from bot.chat.exit_codes import Exit
from bot.chat.output import complain, write_out
from bot.setup import texts as setup_texts
from bot.setup.arguments import Do, Subcommand
from bot.setup.local_user import account_name

MAX_LINE = 2_000  # A key is shorter


async def _token_create(
    settings: Settings,
    *,
    name: str,
    acts_as: str,
    place: str | None,
    budget: DailyBudget,
    scopes: frozenset[TokenScope],
    lasts: timedelta | None,
    operator: str | None,
) -> Exit:
    from bot.app.subject_requests import Operator, place_named, place_names  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator_tokens import create_token  # noqa: PLC0415 -- a settings error is reported before it loads

    if place is not None and ":" not in place:
        names, unread = await place_names(settings)
        for sentence in unread:
            complain(f"cogency token: {sentence}")
        place = await place_named(settings, place, names)
    by = Operator(operator or account_name(), account_name())
    sentence, secret = await create_token(settings, name, acts_as, place, budget, scopes, lasts, by)
    complain(sentence)  # so that the output is the token alone, for a script
    write_out(sys.stdout, f"{secret.reveal()}\n")
    return Exit.OK


async def _token_list(settings: Settings, *, as_json: bool) -> Exit:
    from bot.setup.operator_tokens import token_list  # noqa: PLC0415 -- a settings error is reported before it loads

    write_out(sys.stdout, f"{await token_list(settings, as_json=as_json)}\n")
    return Exit.OK


async def _token_revoke(settings: Settings, *, named: str, operator: str | None) -> Exit:
    from bot.app.subject_requests import Operator  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator_tokens import revoke_token  # noqa: PLC0415 -- a settings error is reported before it loads

    by = Operator(operator or account_name(), account_name())
    write_out(sys.stdout, f"{await revoke_token(settings, named, by)}\n")
    return Exit.OK


async def _keys_set(settings: Settings, *, place: str, vendor: str, operator: str | None) -> Exit:
    from bot.app.subject_requests import Operator  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator_keys import set_key  # noqa: PLC0415 -- a settings error is reported before it loads

    key = (getpass.getpass(setup_texts.KEY_ASKS) if sys.stdin.isatty() else sys.stdin.readline(MAX_LINE)).strip()
    by = Operator(operator or account_name(), account_name())
    write_out(sys.stdout, f"{await set_key(settings, place, vendor, key, by)}\n")
    return Exit.OK


async def _keys_list(settings: Settings, *, as_json: bool) -> Exit:
    from bot.setup.operator_keys import key_list  # noqa: PLC0415 -- a settings error is reported before it loads

    write_out(sys.stdout, f"{await key_list(settings, as_json=as_json)}\n")
    return Exit.OK


async def _keys_remove(settings: Settings, *, place: str, vendor: str, operator: str | None) -> Exit:
    from bot.app.subject_requests import Operator  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator_keys import remove_key  # noqa: PLC0415 -- a settings error is reported before it loads

    by = Operator(operator or account_name(), account_name())
    write_out(sys.stdout, f"{await remove_key(settings, place, vendor, by)}\n")
    return Exit.OK


def _secret(*, reads: bool) -> str | None:
    """Return the secret that a person or a script gives; None if a new one is to be made."""
    if not reads:
        return None
    return (getpass.getpass(setup_texts.HOOK_ASKS_SECRET) if sys.stdin.isatty() else sys.stdin.readline()).strip()


async def _hooks_add(settings: Settings, *, name: str, preset: str, channel: str, ask: str | None, reads: bool) -> Exit:
    from bot.setup.operator_hooks import hook_add  # noqa: PLC0415 -- a settings error is reported before it loads

    sentences, secret = hook_add(settings, name, preset, channel, ask, _secret(reads=reads), os.urandom)
    return _say_secret(sentences, secret)


async def _hooks_list(settings: Settings) -> Exit:
    from bot.setup.operator_hooks import hook_list  # noqa: PLC0415 -- a settings error is reported before it loads

    write_out(sys.stdout, f"{hook_list(settings)}\n")
    return Exit.OK


async def _hooks_test(settings: Settings, *, name: str, file: Path | None, send: bool) -> Exit:
    from bot.setup.operator_hooks import hook_test  # noqa: PLC0415 -- a settings error is reported before it loads

    is_good, text = await hook_test(settings, name, file, send=send)
    write_out(sys.stdout, f"{text}\n")
    return Exit.OK if is_good else Exit.FAILED


async def _hooks_rotate(settings: Settings, *, name: str, finish: bool, reads: bool) -> Exit:
    from bot.setup.operator_hooks import hook_rotate  # noqa: PLC0415 -- a settings error is reported before it loads

    return _say_secret(*hook_rotate(settings, name, _secret(reads=reads), os.urandom, finish=finish))


def _say_secret(sentences: str, secret: str) -> Exit:
    complain(sentences)  # so that the output is the secret alone, for a script
    if secret:
        write_out(sys.stdout, f"{secret}\n")
    return Exit.OK


async def _webhooks_failed(settings: Settings, *, as_json: bool) -> Exit:
    from bot.setup.webhooks import failed_lines, failed_objects  # noqa: PLC0415 -- a settings error is reported before it loads

    lines = await (failed_objects(settings) if as_json else failed_lines(settings))
    write_out(sys.stdout, "".join(f"{line}\n" for line in lines))
    return Exit.OK


async def _webhooks_retry(settings: Settings, *, name: str, number: int | None) -> Exit:
    from bot.setup.webhooks import retry  # noqa: PLC0415 -- a settings error is reported before it loads

    found, text = await retry(settings, name, number)
    if not found:
        complain(f"cogency webhooks: {text}")
        return Exit.FAILED
    write_out(sys.stdout, f"{text}\n")
    return Exit.OK


COMMANDS: Mapping[Subcommand, Do] = {
    Subcommand.KEYS_SET: _keys_set,
    Subcommand.KEYS_LIST: _keys_list,
    Subcommand.KEYS_REMOVE: _keys_remove,
    Subcommand.TOKEN_CREATE: _token_create,
    Subcommand.TOKEN_LIST: _token_list,
    Subcommand.TOKEN_REVOKE: _token_revoke,
    Subcommand.HOOKS_ADD: _hooks_add,
    Subcommand.HOOKS_LIST: _hooks_list,
    Subcommand.HOOKS_TEST: _hooks_test,
    Subcommand.HOOKS_ROTATE: _hooks_rotate,
    Subcommand.WEBHOOKS_FAILED: _webhooks_failed,
    Subcommand.WEBHOOKS_RETRY: _webhooks_retry,
}
