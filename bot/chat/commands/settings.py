"""The choices of commands in one panel, for platforms that show a person their settings there (`Command.setting`).

What is pressed or chosen in the panel is the command's name and its words; afterwards the panel is shown anew.
"""

from collections.abc import Mapping
from dataclasses import replace

from bot.chat.commands.declaration import BoundCommands, Caller, CommandCall, HomeVisit
from bot.chat.panels import PanelPart


async def setting_parts(commands: BoundCommands, caller: Caller, choices: Mapping[str, str]) -> tuple[PanelPart, ...]:
    """Return what each command shows. `choices`: what the person chose, by name. Raises CogencyError."""
    parts = list[PanelPart]()
    for name, command in commands.items():
        if command.declared.setting is not None:
            visit = HomeVisit(caller, 1, guest=False, choices=choices, run=command.run)
            parts.append(_behind(name, await command.declared.setting(visit)))
    return tuple(parts)


async def change_setting(commands: BoundCommands, call: CommandCall) -> bool:
    """Carry out what was pressed in the panel; False if it is no command's. Raises CogencyError."""
    name, _, words = call.words.partition(" ")
    command = commands.get(name)
    if command is None or command.declared.setting is None:
        return False
    await command.run(replace(call, words=words))
    return True


def _behind(name: str, part: PanelPart) -> PanelPart:
    """Return the part with the command's name before all words."""
    return replace(
        part,
        actions=tuple(replace(action, words=f"{name} {action.words}".strip()) for action in part.actions),
        select=part.select and replace(part.select, words=f"{name} {part.select.words}".strip()),
    )
