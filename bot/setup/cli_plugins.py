"""`cogency plugins`: adding, listing, checking and removing plug-ins."""

import sys
from collections.abc import Mapping
from pathlib import Path

from agent.messages import Json
from bot.app.settings import Settings
from bot.chat.exit_codes import Exit
from bot.chat.findings import Finding, Level, finding_lines
from bot.chat.output import complain, printable_json, write_out
from bot.setup import texts as setup_texts
from bot.setup.arguments import Do, Subcommand


async def _plugins_add(settings: Settings, *, path: Path) -> Exit:
    from bot.setup.operator import add_plugin  # noqa: PLC0415 -- a settings error is reported before it loads

    is_used, sentences = add_plugin(settings, path)
    write_out(sys.stdout, "".join(f"{sentence}\n" for sentence in sentences))
    return Exit.OK if is_used else Exit.FAILED


async def _plugins_list(settings: Settings, *, as_json: bool) -> Exit:
    from bot.app.parts import plugins_in_use  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.tools.plugins.plugins import as_json as plugins_json  # noqa: PLC0415 -- a settings error is reported before it loads

    plugins = plugins_in_use(settings)
    if as_json:
        write_out(sys.stdout, f"{printable_json(plugins_json(plugins), indent=2)}\n")
    elif not plugins:
        write_out(sys.stdout, f"{setup_texts.NO_PLUGINS}\n")
    for plugin in () if as_json else plugins:
        write_out(sys.stdout, f"{plugin.summary}  ({plugin.root})\n")
        write_out(sys.stdout, "".join(f"  {skill.name}\n" for skill in plugin.skills))
    return Exit.OK


async def _plugins_check(settings: Settings, *, path: Path | None, connect: bool, as_json: bool) -> Exit:
    from bot.app.parts import plugins_in_use  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.setup.operator_doctor import examine_servers  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.tools.plugins.plugins import as_json as plugins_json  # noqa: PLC0415 -- a settings error is reported before it loads
    from bot.tools.plugins.plugins import load_plugin  # noqa: PLC0415 -- a settings error is reported before it loads

    used = plugins_in_use(settings)
    plugins = used if path is None else (load_plugin(path),)
    for plugin in () if as_json else plugins:
        write_out(sys.stdout, "".join(f"{line}\n" for line in plugin.report))
    # The servers of a plug-in are somebody's programs: those of one that is not in use are not started unasked. A
    # plug-in on the list whose name another one has already is not in use, and loads there without servers.
    started = {plugin.root for plugin in used if plugin.servers}
    if path is None or connect or any(plugin.root in started for plugin in plugins):
        findings = await examine_servers(settings, plugins)
    else:
        findings = [
            Finding(Level.NOTE, "Tools", f"{server.name!r} of {plugin.name} is {setup_texts.NOT_CONNECTED}")
            for plugin in plugins
            for server in plugin.servers
        ]
    if as_json:
        report: dict[str, Json] = {
            "plugins": plugins_json(plugins),
            "servers": [{"level": finding.level.value, "what": finding.what} for finding in findings],
        }
        write_out(sys.stdout, f"{printable_json(report, indent=2)}\n")
    elif not plugins:
        write_out(sys.stdout, f"{setup_texts.NO_PLUGINS}\n")
    else:
        write_out(sys.stdout, finding_lines(findings))
    is_wrong = any(finding.level in (Level.WARNING, Level.PROBLEM) for finding in findings)
    return Exit.FAILED if is_wrong or any(plugin.faults for plugin in plugins) else Exit.OK


async def _plugins_remove(settings: Settings, *, name: str) -> Exit:
    from bot.setup.operator import remove_plugin  # noqa: PLC0415 -- a settings error is reported before it loads

    is_removed, sentence = remove_plugin(settings, name)
    if not is_removed:
        complain(f"cogency plugins remove: {sentence}")
        return Exit.ARGUMENTS
    write_out(sys.stdout, f"{sentence}\n")
    return Exit.OK


COMMANDS: Mapping[Subcommand, Do] = {
    Subcommand.PLUGINS_ADD: _plugins_add,
    Subcommand.PLUGINS_LIST: _plugins_list,
    Subcommand.PLUGINS_CHECK: _plugins_check,
    Subcommand.PLUGINS_REMOVE: _plugins_remove,
}
