"""What `cogency doctor` says of the sandbox."""

from bot.app.settings import load_settings
from bot.chat.findings import Level
from bot.setup.operator_doctor import checks


async def test_the_doctor_compiles_the_sandbox_and_runs_code_in_it() -> None:
    settings = load_settings({"COGENCY_PYTHON": "on"})
    (check,) = [each for each in checks(settings, ask_model=False) if each.where == "Python"]
    (finding,) = await check.run_in_time()
    assert finding.level is Level.GOOD
    assert finding.what.startswith("the bot can run Python code; the sandbox started in ")
