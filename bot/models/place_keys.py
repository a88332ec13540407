"""The keys that managers give their channel for services of models: entering, listing and removing them, and finding
those of a channel for what is asked there.

Rules
  A key is sealed, bound to its channel and service: a row that is moved to another channel cannot be opened. Nobody
  reads more of it again than its last four characters.
  A key is tried before it is stored. Who entered or removed it is in the audit, and nowhere else.
  Keys are read from the store for each question, so that a change holds at once in every process.
  Without the operator's setting, no key is used or entered; those that are stored can be removed.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2s
from typing import TYPE_CHECKING, Final

from agent.errors import KeyTrouble, Refused, StoreError
from agent.incoming import person_source
from agent.memory.audience import Audience, GroupAudience, TeamAudience
from agent.ports.clock import Clock
from agent.ports.place_keys import PlaceKeys, StoredPlaceKey
from agent.ports.tool_audit import ToolAudit
from agent.ports.tools import Asker
from agent.providers.catalog import Endpoint
from agent.providers.keys import key_end, split_keys
from bot.chat.audit import policy_change
from bot.chat.background_tasks import BackgroundTasks
from bot.models import texts as models_texts
from bot.models.key_check import check_key
from bot.models.own_keys import NO_KEYS, KeysOfPlace, OwnKey
from bot.models.settings import OWN_KEY_VENDORS, ModelSettings
from bot.settings.secret import Secret

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from bot.chat.sealing import SealingKeys

log = logging.getLogger(__name__)

MAX_KEY_CHARS: Final = 512
_PURPOSE: Final = "place key"


@dataclass(slots=True, eq=False, kw_only=True)
class PlaceKeyService:
    """`seals`: None without the operator's key for sealing. `is_on`: whether the operator lets channels have keys.
    `vendors`: the services whose models are in use. `operates`: whether a person is an operator.
    """

    store: PlaceKeys
    audit: ToolAudit
    settings: ModelSettings
    clock: Clock
    seals: "SealingKeys | None" = None
    is_on: bool = False
    vendors: Callable[[], Sequence[str]] = lambda: OWN_KEY_VENDORS
    operates: Callable[[str], bool] = lambda _: False
    check: Callable[[Endpoint, Secret], Awaitable[None]] = check_key
    tasks: BackgroundTasks = field(default_factory=lambda: BackgroundTasks(patience_s=2.0))

    async def keys_at(self, source: str, channel: str) -> KeysOfPlace:
        """Return a channel's keys for what is asked there. Raises StoreError."""
        if not (self.is_on and channel):
            return NO_KEYS
        return self._opened(f"{source}:{channel}", await self.store.of(source, channel))

    async def keys_marked(self, mark: str) -> KeysOfPlace:
        """Return the keys of the channel that has the key with this mark; NO_KEYS if none has. Raises StoreError."""
        stored = await self.store.marked(mark)
        if stored is None:
            return NO_KEYS
        place = f"{stored.source}:{stored.channel}"
        return self._opened(place, await self.store.of(stored.source, stored.channel))

    def may_change(self, asker: Asker) -> bool:
        return asker.manages or self.operates(asker.person.id)

    def offered(self) -> Mapping[str, str]:
        """Return the labels of the services whose keys can be entered, by their names."""
        if not (self.is_on and self.seals is not None):
            return {}
        used = self.vendors()
        return {name: self.settings.endpoint(name).label for name in OWN_KEY_VENDORS if name in used}

    async def listed(self, asker: Asker) -> Sequence[StoredPlaceKey]:
        """Return the keys of the asker's channel. Raises StoreError."""
        return await self.store.of(person_source(asker.person.id), asker.channel)

    async def enter(self, asker: Asker, vendor: str, key: str) -> StoredPlaceKey:
        """Store a key of the asker's channel, after it was tried. Raises Refused and StoreError."""
        self._check_manager(asker)
        source = person_source(asker.person.id)
        # The readers of a private thread are not those of its channel, to which the key belongs.
        read_by = asker.place.audience
        audience = read_by if isinstance(read_by, TeamAudience) else GroupAudience(f"{source}:{asker.channel}")
        stored = await self.put(source, asker.channel, audience, vendor, key)
        await self._record(asker, f"channel key {vendor}: {stored.ending}")
        return stored

    async def remove(self, asker: Asker, vendor: str) -> bool:
        """Remove a key of the asker's channel; return whether there was one. Raises Refused and StoreError."""
        self._check_manager(asker)
        removed = await self.store.drop(person_source(asker.person.id), asker.channel, vendor)
        if removed:
            await self._record(asker, f"channel key {vendor}: removed")
        return removed

    async def put(self, source: str, channel: str, audience: Audience, vendor: str, key: str) -> StoredPlaceKey:
        """Try a key, and store it. Raises Refused and StoreError."""
        if self.seals is None or vendor not in self.offered():
            raise Refused(models_texts.NO_OWN_KEYS if not self.offered() else models_texts.NO_OWN_KEY_OF_SERVICE)
        key = _read_key(key)
        await self.check(self.settings.endpoint(vendor), Secret(key))
        digest = blake2s("\0".join((source, channel, vendor, key)).encode("utf-8", "surrogatepass"), digest_size=16)
        sealed = self.seals.seal(_as_text(), key, _PURPOSE, source, channel, vendor)
        stored = StoredPlaceKey(
            source, channel, audience, vendor, sealed, key_end(key), digest.hexdigest(), self.clock.now()
        )
        await self.store.put(stored)
        return stored

    def _check_manager(self, asker: Asker) -> None:
        if not asker.channel:
            raise Refused(models_texts.NO_OWN_KEYS_HERE)
        if not self.may_change(asker):
            raise Refused(models_texts.OWN_KEYS_OF_MANAGERS)

    async def _record(self, asker: Asker, change: str) -> None:
        await self.audit.add(policy_change(self.clock.now(), change, asker.person.id, asker.channel))

    def _opened(self, place: str, stored: Sequence[StoredPlaceKey]) -> KeysOfPlace:
        keys = (OwnKey(one.vendor, self._unsealed(one), one.mark) for one in stored)
        return KeysOfPlace(place, {self.settings.endpoint(own.vendor).key_setting: own for own in keys}, self._heard)

    def _unsealed(self, stored: StoredPlaceKey) -> Secret | None:
        if self.seals is None:
            return None
        opened = self.seals.open(_as_text(), stored.sealed, _PURPOSE, stored.source, stored.channel, stored.vendor)
        return None if opened is None else Secret(opened)

    def _heard(self, own: OwnKey, trouble: KeyTrouble | None) -> None:
        """Store whether a service refuses a key: for the channel's managers, who see it in `/keys`."""
        self.tasks.start(self._store_heard(own, trouble))

    async def _store_heard(self, own: OwnKey, trouble: KeyTrouble | None) -> None:
        try:
            if trouble is None:
                await self.store.accept(own.mark)
            elif await self.store.refuse(own.mark, self.clock.now()):
                end = "…" if own.key is None else key_end(own.key.reveal())
                log.warning("%s refuses a channel's own API key (%s): %s", own.vendor, end, trouble)
        except StoreError as error:
            log.warning("could not store whether a channel's key is refused: %s", error)


@cache
def _as_text() -> "TypeAdapter[str]":
    from pydantic import TypeAdapter  # noqa: PLC0415 -- the command is declared where nothing is sealed

    return TypeAdapter(str)


def _read_key(text: str) -> str:
    """Return the one key of a text. Raises Refused, without the text."""
    try:
        keys = split_keys(text[: MAX_KEY_CHARS + 1])
    except ValueError:
        raise Refused(models_texts.NOT_AN_OWN_KEY) from None
    if len(keys) != 1 or len(keys[0]) > MAX_KEY_CHARS:
        raise Refused(models_texts.NOT_AN_OWN_KEY)
    return keys[0]
