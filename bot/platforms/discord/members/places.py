"""Places of Discord that are no more, as forgetting knows them. Pure.

Above: `client`. Below: `place`; `agent.memory.forgetting`.

A thread that began from a message of a channel is found by its channel. What somebody asked in private stays theirs.
"""

from collections.abc import Iterable

from agent.memory.audience import GroupAudience, TeamAudience, label
from agent.memory.forgetting import Gone
from bot.platforms.discord.members.place import known_as


def of_channels(channels: Iterable[int], server: int | None = None) -> Gone:
    """These channels with their threads; with `server`, all of that server that Discord still tells of."""
    ids = frozenset(map(str, channels))
    audiences = {label(GroupAudience(known_as(id_))) for id_ in ids}
    if server is not None:
        audiences.add(label(TeamAudience(known_as(server))))
    return Gone(channels=ids, audiences=frozenset(audiences))


def of_thread(thread: int) -> Gone:
    return Gone(
        conversations=frozenset({known_as(thread)}), audiences=frozenset({label(GroupAudience(known_as(thread)))})
    )
