"""The settings of a bot that is examined: the present ones, on a database of its own."""

from pathlib import Path

from bot.app.evaluation import for_eval
from bot.app.settings import Settings, load_settings
from bot.budgets.settings import BudgetSettings

OWN = {
    "COGENCY_MODEL": "openai:gpt-6-luna",
    "COGENCY_FALLBACK_MODELS": "openai:gpt-6.1-terra",
    "COGENCY_CHANNEL_MODELS": '{"general": "openai:gpt-6.1-terra"}',
    "OPENAI_API_KEY": "sk-test",
    "SLACK_BOT_TOKEN": "xoxb-1",
    "COGENCY_ALLOW": "person:U1",
    "COGENCY_LANGUAGE": "Irish",
    "COGENCY_BUDGET_ALERTS": "slack:T0123:C0123",
}


def own(folder: Path) -> Settings:
    return load_settings({**OWN, "COGENCY_DATABASE_URL": f"sqlite:///{folder / 'own' / 'bot.db'}"})


def test_the_database_is_never_the_bots_own_nor_its_replica(tmp_path: Path) -> None:
    urls = {"COGENCY_DATABASE_URL": "postgresql://db/bot", "COGENCY_DATABASE_REPLICA_URL": "postgresql://replica/bot"}
    settings = for_eval(load_settings({**OWN, **urls}), tmp_path / "0.db", "", 4)
    assert settings.storage.url == f"sqlite:///{tmp_path / '0.db'}"
    assert settings.storage.replica_url == ""


def test_no_limit_or_list_of_people_refuses_a_question_and_nothing_reaches_a_platform(tmp_path: Path) -> None:
    settings = for_eval(own(tmp_path), tmp_path / "0.db", "", 4)
    limits = (settings.access.person_per_minute, settings.access.person_per_hour, settings.access.backlog)
    assert {*limits} == {None}
    budgets = {name: getattr(settings.budgets, name) for name in BudgetSettings.__dataclass_fields__}
    usual = {name: getattr(BudgetSettings(), name) for name in budgets}
    limited = {name for name in budgets if budgets[name] != usual[name]}
    assert {budgets[name] for name in limited} == {None}
    assert limited >= {"person_tokens", "person_dollars", "person_code_seconds", "everyone_dollars", "run_dollars"}
    assert settings.budgets.alerts == "", "no channel is told"
    assert settings.access.allow == frozenset()
    assert settings.slack.bot_token is None
    assert not settings.memory.learning
    assert settings.turns.max_running == 4


def test_the_present_models_and_texts_are_those_of_the_bot(tmp_path: Path) -> None:
    settings = for_eval(own(tmp_path), tmp_path / "0.db", "", 4)
    assert settings.models.fallback_models == ("openai:gpt-6.1-terra",)
    assert settings.chat.language == "Irish"


def test_a_named_model_answers_alone(tmp_path: Path) -> None:
    models = for_eval(own(tmp_path), tmp_path / "0.db", "openai:gpt-6.1-sol", 4).models
    assert models.model == "openai:gpt-6.1-sol"
    assert (models.fallback_models, models.channel_models, models.person_models) == ((), {}, {})


def test_plug_ins_that_were_added_by_command_are_there_too(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "plugins.txt").write_text(f"{tmp_path / 'sales'}\n")
    assert for_eval(own(tmp_path), tmp_path / "0.db", "", 4).plugins.folders == (tmp_path / "sales",)
