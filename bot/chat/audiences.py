"""Who reads what flows into a place."""

from agent.feedback import ChannelFeedback
from agent.incoming import person_source
from agent.memory.audience import AudienceKind, PersonAudience, Place, may_flow_from
from agent.ports.tools import Asker


async def flowing(place: Place) -> frozenset[str]:
    """Return the audiences that may be shown at a place, where no platform can say who reads which group."""
    return may_flow_from(place)


def channel_view(asker: Asker) -> ChannelFeedback | None:
    """Return the view of the channel where somebody is; None outside of channels, and where only they read."""
    if isinstance(asker.place.audience, PersonAudience) or not asker.channel:
        return None
    audiences = {one for one in may_flow_from(asker.place) if one.partition(":")[0] != AudienceKind.PERSON}
    return ChannelFeedback(person_source(asker.person.id), asker.channel, frozenset(audiences))
