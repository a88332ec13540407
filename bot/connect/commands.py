"""`/connect`: connects a person's accounts on several platforms, and separates them."""

from collections.abc import Sequence

from agent.memory.audience import PersonAudience
from bot.chat.access.connected_accounts import MAX_ACCOUNTS
from bot.chat.commands.declaration import Argument, Command, CommandCall
from bot.chat.one_time_codes import CODE_CHARS, CODE_TIME
from bot.chat.panels import Panel, PanelAction
from bot.connect import texts as connect_texts
from bot.connect.service import ConnectService, TooOften

MINUTES = int(CODE_TIME.total_seconds() / 60)


async def connect(service: ConnectService, call: CommandCall) -> Panel:
    person, words = call.caller.person.id, call.words.split()
    match words:
        case ["off"]:
            return await _disconnect(service, person)
        case ["off", account] if call.pressed:
            return await _disconnect(service, person, account)
        case _:
            pass
    if not service.enabled:
        return Panel(connect_texts.CONNECT_OFF, refused=True)
    if (await call.caller.asker()).place.audience != PersonAudience(person):
        return Panel(connect_texts.IN_DM, refused=True)
    match words:
        case []:
            return await _overview(service, person)
        case ["new"]:
            return await _new_code(service, person)
        case ["check"]:
            return await _ask(service, person) or Panel(connect_texts.NOT_ENTERED, (_CHECK,), refused=True)
        case ["entered", "yes" | "no" as answer, account] if call.pressed:
            return await _entered(service, person, account, mine=answer == "yes")
        case ["mine", "yes" | "no" as answer, account] if call.pressed:
            return await _confirmed(service, person, account, mine=answer == "yes")
        case _:
            return await _enter(service, person, call.words)


async def _overview(service: ConnectService, person: str) -> Panel:
    if (question := await _ask(service, person)) is not None:
        return question
    accounts = await service.accounts.of(person)
    if not accounts:
        return await _new_code(service, person)
    listed = [await service.listed(account) for account in accounts]
    lines = "\n".join(f"{number}. {account}" for number, account in enumerate(listed, 1))
    more = (PanelAction(connect_texts.CONNECT_ANOTHER, "new"),) if len(accounts) < MAX_ACCOUNTS else ()
    off = [
        PanelAction(
            connect_texts.DISCONNECT.format(number=number),
            f"off {account}",
            danger=True,
            confirm=connect_texts.DISCONNECT_CONFIRM,
        )
        for number, account in enumerate(accounts, 1)
    ]
    return Panel(f"{connect_texts.YOURS}\n{lines}", (*more, *off))


_CHECK = PanelAction(connect_texts.ENTERED_BUTTON, "check")


async def _new_code(service: ConnectService, person: str) -> Panel:
    if await _is_full(service, person):
        return _full()
    code = await service.new_code(person)
    return Panel(connect_texts.CODE.format(code=code, minutes=MINUTES), (_CHECK,))


async def _enter(service: ConnectService, person: str, code: str) -> Panel:
    if sum(map(str.isalnum, code)) > 2 * CODE_CHARS:  # words, and no mistyped code
        return Panel(connect_texts.USAGE, refused=True)
    if await _is_full(service, person):
        return _full()
    try:
        account = await service.enter(person, code)
    except TooOften as refused:
        return Panel(str(refused), refused=True)
    if account is None:
        return Panel(connect_texts.WRONG_CODE.format(minutes=MINUTES), refused=True)
    if (described := await service.described(account)) is None:
        return Panel(connect_texts.UNCHECKED, refused=True)
    text = connect_texts.IS_IT_YOURS.format(account=described)
    yes = PanelAction(connect_texts.IT_IS_MINE, f"entered yes {account}", danger=True)
    return Panel(text, (yes, PanelAction(connect_texts.CANCEL, f"entered no {account}")))


async def _entered(service: ConnectService, person: str, account: str, *, mine: bool) -> Panel:
    if mine and await _is_full(service, person):
        return _full()
    if not await service.confirm_entered(person, account, mine=mine):
        return Panel(connect_texts.GONE, refused=True)
    if not mine:
        return Panel(connect_texts.CANCELED)
    there = connect_texts.CONFIRM_THERE.format(account=await service.listed(account), minutes=MINUTES)
    return Panel(there, (PanelAction(connect_texts.CANCEL, f"entered no {account}"),))


async def _ask(service: ConnectService, person: str) -> Panel | None:
    """Return the question about the account that entered this one's code; None if there is none."""
    account = await service.waiting(person)
    if account is None:
        return None
    if (described := await service.described(account)) is None:
        return Panel(connect_texts.UNCHECKED, (_CHECK,), refused=True)
    text = connect_texts.CONNECT_THEM.format(account=described)
    yes = PanelAction(connect_texts.CONNECT, f"mine yes {account}", danger=True)
    return Panel(text, (yes, PanelAction(connect_texts.NOT_ME, f"mine no {account}")))


async def _confirmed(service: ConnectService, person: str, account: str, *, mine: bool) -> Panel:
    if mine and (await _is_full(service, person) or await _is_full(service, account)):
        return _full()
    if not await service.confirm(person, account, mine=mine):
        return Panel(connect_texts.GONE, refused=True)
    if mine:
        return Panel(connect_texts.CONNECTED)
    return Panel(connect_texts.REFUSED.format(account=await service.listed(account)))


async def _disconnect(service: ConnectService, person: str, account: str | None = None) -> Panel:
    separated = await service.disconnect(person, account)
    if not separated:
        return Panel(connect_texts.NONE_CONNECTED, refused=True)
    return Panel(connect_texts.DISCONNECTED.format(accounts=await _named(service, separated)))


async def _named(service: ConnectService, accounts: Sequence[str]) -> str:
    return ", ".join([await service.listed(account) for account in accounts])


async def _is_full(service: ConnectService, person: str) -> bool:
    return len(await service.accounts.of(person)) >= MAX_ACCOUNTS


def _full() -> Panel:
    return Panel(connect_texts.TOO_MANY.format(limit=MAX_ACCOUNTS), refused=True)


COMMAND = Command(
    name="connect",
    summary="Connect your accounts on several platforms, so that I remember you as one person",
    run=connect,
    arguments=(Argument("words", "a code from your other account, or off"),),
    bare=False,
    examples={
        "": "get a code for your other account, or see what is connected",
        "ABCD-EFGH-IJKL": "enter a code from your other account",
        "off": "disconnect your accounts",
    },
)
