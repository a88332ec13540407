"""`cogency keys`: an operator lists and removes the keys of channels, and enters one, whether the bot runs or not. Each
change is in the audit.
"""

from agent.errors import Refused
from agent.machine import CLOCK
from agent.memory.audience import PersonAudience
from agent.messages import Json, ResultStatus
from agent.ports.place_keys import StoredPlaceKey
from bot.app.parts import channel_seals
from bot.app.settings import Settings
from bot.app.subject_requests import Kind, Operator, find_subject
from bot.chat.audit import operator_act
from bot.chat.output import printable_json, printable_line
from bot.models import texts as models_texts
from bot.models.place_keys import PlaceKeyService
from bot.setup import texts as setup_texts
from store.engine import open_audit, open_place_keys
from store.subject_access import SqlDataSubjects, open_beside

MAX_LISTED = 10_000


async def set_key(settings: Settings, place: str, vendor: str, key: str, operator: Operator) -> str:
    """Store a channel's key after it was tried; return the message. Raises Refused, SettingsError and StoreError."""
    if not settings.models.channel_keys:
        raise Refused(models_texts.OWN_KEYS_OFF)
    async with (
        open_beside(settings.storage.url) as view,
        open_place_keys(settings.storage.url) as keys,
        open_audit(settings.storage.url) as audit,
    ):
        found = await view.data_subjects.document_place(place)
        if found is None:
            await find_subject(view.data_subjects, Kind.PLACE, place)  # says which ids are similar
        if found is None or not found.channel or isinstance(found.audience, PersonAudience):
            raise Refused(setup_texts.KEY_NEEDS_CHANNEL.format(of=place))
        service = PlaceKeyService(
            store=keys,
            audit=audit,
            settings=settings.models,
            clock=CLOCK,
            seals=channel_seals(settings),
            is_on=True,
        )
        stored = await service.put(found.source, found.channel, found.audience, vendor, key)
        await _record(view.data_subjects, operator, f"set {vendor} key of", place)
    return setup_texts.KEY_SET.format(vendor=vendor, end=stored.ending, of=place)


async def key_list(settings: Settings, *, as_json: bool) -> str:
    """Return the keys of all channels as lines, or as JSON, without the keys. Raises StoreError."""
    async with open_place_keys(settings.storage.url) as keys:
        listed = await keys.all(MAX_LISTED)
    if as_json:
        return printable_json([_json(one) for one in listed], indent=2)
    return "\n".join(map(_line, listed)) or setup_texts.NO_CHANNEL_KEYS


async def remove_key(settings: Settings, place: str, vendor: str, operator: Operator) -> str:
    """Remove a channel's key; return the message. Raises Refused and StoreError."""
    source, _, channel = place.rpartition(":")
    async with open_beside(settings.storage.url) as view, open_place_keys(settings.storage.url) as keys:
        if not await keys.drop(source, channel, vendor):
            raise Refused(setup_texts.NO_SUCH_KEY.format(vendor=vendor, of=place))
        await _record(view.data_subjects, operator, f"remove {vendor} key of", place)
    return setup_texts.KEY_REMOVED.format(vendor=vendor, of=place)


async def _record(subjects: SqlDataSubjects, operator: Operator, act: str, place: str) -> None:
    row: dict[str, Json] = {"act": act, "kind": "place", "of": place, "account": operator.account}
    await subjects.add(operator_act(CLOCK.now(), operator.name, row, "alone", ResultStatus.SUCCESS))


def _line(key: StoredPlaceKey) -> str:
    state = "" if key.refused is None else setup_texts.KEY_REFUSED_SINCE.format(time=f"{key.refused:%Y-%m-%d %H:%M}")
    line = f"{key.source}:{key.channel}, {key.vendor}, {key.ending}, {key.added:%Y-%m-%d}{state}"
    return printable_line(line)


def _json(key: StoredPlaceKey) -> dict[str, Json]:
    refused = None if key.refused is None else key.refused.isoformat()
    shown: dict[str, Json] = {"place": f"{key.source}:{key.channel}", "service": key.vendor, "ending": key.ending}
    return shown | {"added": key.added.isoformat(), "refused": refused}
