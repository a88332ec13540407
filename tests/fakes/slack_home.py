"""A person at the Home tab and the windows of the fake Slack: reads, clicks, chooses and fills in."""

from dataclasses import dataclass
from typing import Any

from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import Object


@dataclass(frozen=True)
class HomeTab:
    slack: FakeSlack
    user: str

    @property
    def view(self) -> Object:
        return self.slack.state.homes[self.user]

    @property
    def published(self) -> int:
        """Return how often it was published."""
        return sum(call.args["user_id"] == self.user for call in self.slack.state.called("views.publish"))

    @property
    def text(self) -> str:
        """Return all of its text, from top to bottom."""
        return shown_text(self.view)

    @property
    def labels(self) -> list[str]:
        return [element["text"]["text"] for element in self._elements if element["type"] == "button"]

    async def open(self) -> None:
        """Open the tab; its content follows later."""
        event: Object = {"type": "app_home_opened", "user": self.user, "tab": "home", "channel": f"D{self.user[1:]}"}
        if self.user in self.slack.state.homes:
            event["view"] = self.view
        await self.slack.acked(await self.slack.deliver(self.slack.envelope(event)))

    async def opened(self) -> None:
        """Open the tab, and wait for its content."""
        before = self.published
        await self.open()
        await self.slack.until(lambda: self.published > before)

    async def click(self, label: str, number: int = 0, *, ticked: bool = False) -> None:
        """Click the button with this label, of several the one with that number; `ticked`: after every box."""
        buttons = [one for one in self._elements if one["type"] == "button" and one["text"]["text"] == label]
        button = buttons[number]
        boxes = [one for one in self._elements if one["type"] == "checkboxes"]
        state: Object = {box["action_id"]: {"selected_options": box["options"] if ticked else []} for box in boxes}
        action = {"type": "button", "action_id": button["action_id"], "value": button["value"]}
        await self._act(action, {"a block": state})

    async def choose(self, value: str) -> None:
        """Choose this in the menu."""
        actions = [block for block in self.view["blocks"] if block["type"] == "actions"]
        ((menu, block),) = [(one, at) for at in actions for one in at["elements"] if one["type"] == "static_select"]
        option = next(option for option in menu["options"] if option["value"] == value)
        action: Object = {"type": "static_select", "action_id": menu["action_id"], "selected_option": option}
        await self._act({**action, "block_id": block.get("block_id", "")}, {})

    async def changed(self, shows: str) -> None:
        """Wait until the person sees this."""
        await self.slack.until(lambda: shows in self.text)

    @property
    def _elements(self) -> list[Object]:
        return [one for block in self.view["blocks"] if block["type"] == "actions" for one in block["elements"]]

    async def _act(self, action: Object, values: Object) -> None:
        view = {**self.view, "state": {"values": values}}
        container = {"type": "view", "view_id": view["id"]}
        body: Object = {"type": "block_actions", "container": container, "view": view, "actions": [action]}
        await self.slack.acked(await self.slack.interact(self.user, body))


def shown_text(view: Object) -> str:
    """Return the text of a view."""
    texts: list[str] = []
    for block in view["blocks"]:
        parts = [block["text"]] if "text" in block else block["elements"] if block["type"] == "context" else []
        texts += [one["text"] for one in parts]
    return "\n".join(texts)


async def fill_in(slack: FakeSlack, user: str, view: Object, **filled: str) -> Object:
    """Fill in fields of a window by their names, leave the others as they are, and submit it; return the answer.

    An id is picked in a menu of people or channels, an option by its value; any value ticks a box.
    """
    values: dict[str, Any] = {}
    for block in view["blocks"]:
        if block["type"] == "input":
            element, name = block["element"], block["element"]["action_id"]
            values[block["block_id"]] = {name: _state(element, filled.get(name, ""))}
    body = {"type": "view_submission", "view": {**view, "state": {"values": values}}}
    return (await slack.acked(await slack.interact(user, body))).get("payload", {})


def _state(element: Object, filled: str) -> Object:
    kind = element["type"]
    match kind:
        case "plain_text_input":
            return {"type": kind, "value": filled or element.get("initial_value")}
        case "users_select":
            return {"type": kind, "selected_user": filled or None}
        case "conversations_select":
            return {"type": kind, "selected_conversation": filled or None}
        case "checkboxes":
            return {"type": kind, "selected_options": element["options"] if filled else []}
        case "multi_static_select":
            picked = [option for option in element["options"] if option["value"] in filled.split()]
            return {"type": kind, "selected_options": picked if filled else element.get("initial_options", [])}
        case _:
            chosen = [option for option in element["options"] if option["value"] == filled]
            return {"type": kind, "selected_option": chosen[0] if chosen else element.get("initial_option")}
