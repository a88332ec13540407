"""Who reads what flows into a place."""

from agent.memory.audience import Place, may_flow_from


async def flowing(place: Place) -> frozenset[str]:
    """Return the audiences that may be shown at a place, where no platform can say who reads which group."""
    return may_flow_from(place)
