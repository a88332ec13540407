"""Connecting the accounts of one person, and which of them may be read now.

Theory of operation. Somebody who sees a code could enter it, and somebody could be talked into entering another
person's code. So both accounts see who the other one is, and both agree:

    1. account A gets a code                        only its own direct messages show it
    2. account B enters the code, and confirms that A is theirs
    3. account A confirms that B, who entered its code, is theirs

Rules
  A code and each unanswered step are valid for ten minutes. Whoever enters many wrong codes has to wait.
  A connected account is read only while its platform knows the person and the operator's lists admit them there: a
  person who has left a workspace reads nothing of it from elsewhere. No answer means no.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from unicodedata import category

from agent.admission_terms import Rate, Whose
from agent.errors import CogencyError
from agent.incoming import Incoming, person_source, platform_of
from agent.memory.audience import PersonAudience
from agent.memory.forgetting_plans import CONNECT_CODE, CONNECT_ENTERED
from agent.ports.clock import Clock
from agent.ports.preferences import Preferences
from agent.schedules.definitions import NotAllowed
from agent.schedules.port import SchedulePlatform
from bot.chat.access.admission import RateCounter
from bot.chat.access.connected_accounts import ConnectedAccounts
from bot.chat.access.presence import admitted_now
from bot.chat.caches import ExpiringCache
from bot.chat.one_time_codes import CODE_TIME, OneTimeCodes
from bot.chat.texts.formatting import literal, platform_name, shortened
from bot.connect import texts as connect_texts

# Writes what a person (their id) did to the audit.
Record = Callable[[str, str], Awaitable[None]]

PATIENCE_S: Final = 1.0  # All accounts are asked about at once, and a reply waits for it
NAME_CHARS: Final = 40
BLANKS: Final = dict.fromkeys(map(ord, "\u115f\u1160\u3164\uffa0\u2800"), " ")  # Letters that show as nothing
ENTRIES: Final = Rate(Whose.PERSON, 5, timedelta(hours=1))


@dataclass(slots=True, eq=False)
class ConnectService:
    """`new_secret`: returns 256 random bits as text. `refusal`: returns why the writer of a message may not ask; None
    if they may. `record`: writes what a person did to the audit. Methods raise StoreError.
    """

    preferences: Preferences
    clock: Clock
    new_secret: Callable[[], str]
    platforms: Mapping[str, SchedulePlatform]
    refusal: Callable[[Incoming], Awaitable[str | None]]
    record: Record
    enabled: bool = True
    """False: accounts can only be disconnected, and none is read."""
    accounts: ConnectedAccounts = field(init=False)
    codes: OneTimeCodes = field(init=False)
    _entries: RateCounter = field(init=False)
    _present: ExpiringCache[Incoming | None] = field(init=False)

    def __post_init__(self) -> None:
        self.accounts = ConnectedAccounts(self.preferences)
        self.codes = OneTimeCodes(self.preferences, self.clock, self.new_secret, CONNECT_CODE)
        self._entries = RateCounter((ENTRIES,))
        self._present = ExpiringCache(self._ask_platform, self.clock)

    async def usable(self, person: str) -> Sequence[str]:
        """Return the person's connected accounts whose direct messages they may read now."""
        accounts = await self.accounts.of(person) if self.enabled else ()
        if not accounts:
            return ()
        present = await asyncio.gather(*map(self._in_time, accounts))
        return [account for account, message in zip(accounts, present, strict=True) if message is not None]

    async def described(self, account: str) -> str | None:
        """Return an account for a person who decides about it: its name, its id, since names are not unique, and the
        platform. None if the platform does not admit it now, or does not answer.
        """
        message = await self._in_time(account)
        if message is None:
            return None
        where = platform_name(platform_of(person_source(account)))
        if message.organization:
            where = f"{where} ({literal(_plain(message.organization))})"
        id_ = account.rpartition(":")[2]
        return connect_texts.ACCOUNT.format(name=literal(_plain(message.person.name)), id=literal(id_), platform=where)

    async def listed(self, account: str) -> str:
        """Return a connected account for its person, also one that cannot be read now."""
        platform, id_ = platform_name(platform_of(person_source(account))), account.rpartition(":")[2]
        return await self.described(account) or connect_texts.UNREADABLE.format(id=literal(id_), platform=platform)

    async def new_code(self, person: str) -> str:
        return await self.codes.new(person)

    async def enter(self, person: str, code: str) -> str | None:
        """Use up a code that account B entered; return the account that made it. None if it is not valid, or their own.
        Raises TooOften.
        """
        if await self._entries.obstacle(person, "", self.clock.now()) is not None:
            raise TooOften(connect_texts.TOO_OFTEN)
        account = await self.codes.person_of(code)
        if account is None or account == person:
            return None
        await self.preferences.set(person, CONNECT_ENTERED, f"{(self.clock.now() + CODE_TIME).isoformat()} {account}")
        return account

    async def confirm_entered(self, person: str, account: str, *, mine: bool) -> bool:
        """Account B says whether this account, whose code it entered, is theirs. False if nothing waits for an answer.
        A yes can be taken back.
        """
        if not mine and account in await self.accounts.named_by(person):
            await self.accounts.separate(person, account)
            return True
        stored = (await self.preferences.all_of(person)).get(CONNECT_ENTERED, "")
        until, _, entered = stored.partition(" ")
        if not stored or entered != account or not await self.preferences.swap(person, CONNECT_ENTERED, stored, ""):
            return False
        await self.preferences.set(person, CONNECT_ENTERED, None)
        if self.clock.now() >= datetime.fromisoformat(until):
            return False
        if mine:
            await self.accounts.name(person, account, self.clock.now().isoformat())
            await self._recorded(person, connect_texts.DID_AGREE, account)
        return True

    async def waiting(self, person: str) -> str | None:
        """Return the account that confirmed the code of this account, and waits for its answer; None if none does."""
        connected = await self.accounts.of(person)
        asked = {who: when for who, when in (await self.accounts.naming(person)).items() if who not in connected}
        newest = max(asked, key=lambda who: asked[who], default=None)
        return newest if newest is not None and self._is_fresh(asked[newest]) else None

    async def confirm(self, person: str, account: str, *, mine: bool) -> bool:
        """Account A says whether the account that entered its code is theirs. False if nothing waits for an answer."""
        when = (await self.accounts.naming(person)).get(account)
        if when is None or not self._is_fresh(when):
            return False
        if mine:
            await self.accounts.name(person, account, self.clock.now().isoformat())
            await self._recorded(person, connect_texts.DID_CONNECT, account)
        else:
            await self.accounts.separate(person, account)
        return True

    async def disconnect(self, person: str, account: str | None = None) -> Sequence[str]:
        """Separate an account (None: all). Return those that were connected."""
        connected = await self.accounts.of(person)
        for other in await self.accounts.named_by(person):
            if account in (None, other):
                await self.accounts.separate(person, other)
                await self._recorded(person, connect_texts.DID_DISCONNECT, other)
        return [other for other in connected if account in (None, other)]

    async def _recorded(self, person: str, what: str, account: str) -> None:
        """Record it without the other account's id, which forgetting that account would not find there."""
        await self.record(person, what.format(platform=platform_name(platform_of(person_source(account)))))

    def _is_fresh(self, when: str) -> bool:
        return self.clock.now() - datetime.fromisoformat(when) < CODE_TIME

    async def _in_time(self, account: str) -> Incoming | None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self._present.get(account)
        except (TimeoutError, CogencyError):
            return None

    async def _ask_platform(self, account: str) -> Incoming | None:
        """Return a direct message of the account as its platform admits it now; None if it does not."""
        platform = self.platforms.get(person_source(account))
        if platform is None:
            return None
        admitted = await admitted_now(platform, account, self.clock.now())
        if isinstance(admitted, NotAllowed) or admitted.place.audience != PersonAudience(account):
            return None
        return admitted if await self.refusal(admitted) is None else None


def _plain(name: str) -> str:
    """Return a name that others chose: short, on one line, without characters that hide or turn others."""
    visible = "".join(sign for sign in name if sign == " " or category(sign)[0] not in "CZ")
    return shortened(" ".join(visible.translate(BLANKS).split()), NAME_CHARS) or connect_texts.NAMELESS


class TooOften(CogencyError):
    """Too many codes were entered; its text is for the person."""
