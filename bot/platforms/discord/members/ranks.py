"""What an operator's choice of roles makes of somebody's standing in a server. Pure.

Above: `members`. Below: `inbound`, `settings`.

    admin       the server's owner, administrators, and the roles named for it
    manager     the roles named for it; where none is, whoever may manage the server
    employee    the roles named for it; where none is, every full member of the server
    guest       every other member
    stranger    everybody else, as whoever has installed the bot for themselves alone

Rule: what Discord says of somebody is never raised but by a role that they have, and strangers and the server's own
guests have none that counts.
"""

from dataclasses import replace

from agent.authority import Authority
from bot.platforms.discord.reading.inbound import Standing
from bot.platforms.discord.settings import Ranks


def ranked(standing: Standing, ranks: Ranks) -> Standing:
    """The standing that Discord's payload gives, with the authority that these roles give instead."""
    return replace(standing, authority=_authority(standing, ranks))


def _authority(standing: Standing, ranks: Ranks) -> Authority:
    told, roles = standing.authority, standing.roles
    if told < Authority.EMPLOYEE or told is Authority.ADMIN:
        return told
    if roles & ranks.admins:
        return Authority.ADMIN
    if roles & ranks.managers or (told is Authority.MANAGER and not ranks.managers):
        return Authority.MANAGER
    return Authority.EMPLOYEE if roles & ranks.employees or not ranks.employees else Authority.GUEST
