"""Messages that are shared with the team of their public channel (`agent.memory.documents.SHARING`)."""

from typing import Final

import sqlalchemy as sa

from agent.memory.documents import ON, SHARING
from agent.memory.forgetting_plans import PAUSED
from store.message_tables import message, place
from store.preferences import preference

SOMETHING_SHARED: Final = sa.exists().where(
    place.c.audience.in_(sa.bindparam("audiences", expanding=True)), message.c.place == place.c.number
)
"""Whether any message was ever shared with one of the teams with these labels (`audiences`)."""


def shares(channel: sa.ColumnElement[str], who: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """The condition that sharing is on in the channel ("channel:" and its id), and the person has not opted out."""
    setting = preference.c.name == SHARING
    on = sa.exists().where(preference.c.owner == channel, setting, preference.c.value == ON)
    return sa.and_(on, ~sa.exists().where(preference.c.owner == who, setting, preference.c.value == PAUSED))
