"""What managers chose for a channel, when the channel gets another id."""

from bot.chat.access.place_rules import (
    ACT,
    PLACE,
    SHARING,
    WEBHOOKS,
    PlaceRules,
    carry_over,
    name_at,
    place_owner,
)
from tests.fakes.store import store_in_memory

OURS, OTHERS = "slack:T0TEAM", "slack:T0OTHER"


async def chosen_after(**chosen: str) -> dict[str, str]:
    """The preferences under the new id."""
    preferences = store_in_memory().preferences
    for name, value in chosen.items():
        await preferences.set(place_owner("C0OLD"), name, value)
    await carry_over(preferences, OURS, "C0OLD", "C0NEW")
    return await preferences.all_of(place_owner("C0NEW"))


async def test_rules_follow_a_channel_to_its_new_id_without_what_would_send_words_to_others() -> None:
    stored = f'{{"{ACT}": "on", "{WEBHOOKS}": "on"}}\n{{"number": 1}}'
    carried = await chosen_after(**{name_at(OURS): stored, name_at(OTHERS): '{"act": "off"}', SHARING: "on"})
    assert carried == {name_at(OURS): f'{{"{ACT}": "on"}}\n{{"number": 1}}'}


async def test_what_an_earlier_version_stored_holds_under_the_new_id_in_this_workspace_alone() -> None:
    carried = await chosen_after(**{PLACE: f'{{"{ACT}": "on"}}'})
    assert PlaceRules.from_preferences(carried, OURS).text(ACT) == "on"
    assert PlaceRules.from_preferences(carried, OTHERS).text(ACT) == ""


async def test_what_was_chosen_in_this_workspace_holds_rather_than_what_an_earlier_version_stored() -> None:
    carried = await chosen_after(**{PLACE: f'{{"{ACT}": "on"}}', name_at(OURS): f'{{"{ACT}": "off"}}'})
    assert PlaceRules.from_preferences(carried, OURS).text(ACT) == "off"
