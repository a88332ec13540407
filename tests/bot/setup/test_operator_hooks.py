"""`cogency hooks`: what an operator adds, lists, tests and rotates."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent.errors import Refused, SettingsError
from bot.app.http_settings import HttpSettings
from bot.app.settings import Settings
from bot.chat.findings import Level
from bot.models.settings import ModelSettings
from bot.settings.secret import Secret
from bot.setup import texts as setup_texts
from bot.setup.arguments import Subcommand, parser
from bot.setup.file_rights import kept_files
from bot.setup.operator_hooks import hook_add, hook_findings, hook_list, hook_rotate, hook_test
from bot.webhooks.config import Hook
from bot.webhooks.outgoing.settings import OutgoingSettings, outgoing_rows
from bot.webhooks.presets import presets, samples
from bot.webhooks.settings import WebhookSettings, hooks_of
from bot.webhooks.signatures import Scheme

CHANNEL = "slack:C0123456789"


def settings_of(folder: Path) -> Settings:
    http = HttpSettings(listen=("127.0.0.1", 8080), address="https://bot.example")
    return Settings(webhooks=WebhookSettings(file=str(folder / "hooks.toml")), http=http)


def counted() -> Callable[[int], bytes]:
    """Random bytes that differ with each call."""
    calls = iter(range(1, 100))
    return lambda count: bytes([next(calls)]) * count


def add(settings: Settings, name: str, preset: str = "alertmanager", secret: str | None = None) -> str:
    _, new = hook_add(settings, name, preset, CHANNEL, None, secret, counted())
    return new


def hook(settings: Settings, name: str) -> Hook:
    return hooks_of(settings.webhooks, {})[name]


@pytest.mark.parametrize("preset", presets())
def test_an_added_webhook_is_one_that_the_bot_reads(tmp_path: Path, preset: str) -> None:
    settings = settings_of(tmp_path)
    sentences, secret = hook_add(settings, "it", preset, CHANNEL, 'What is "wrong"?\n', None, counted())
    assert hook(settings, "it").revealed == [secret]
    assert hook(settings, "it").ask == 'What is "wrong"?'
    assert "https://bot.example/hooks/it" in sentences
    assert secret not in sentences
    assert secret not in (tmp_path / "hooks.toml").read_text()
    secret_file = tmp_path / "hooks.secrets" / "it"
    assert (secret_file.stat().st_mode & 0o777, secret_file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_secret_is_written_through_no_link_and_only_its_owner_can_read_its_folder(tmp_path: Path) -> None:
    folder, elsewhere, open_ = tmp_path / "hooks.secrets", tmp_path / "elsewhere", tmp_path / "open"
    folder.mkdir(mode=0o755)
    elsewhere.write_text("as it was")
    open_.touch(0o666)
    (folder / ".it.part").symlink_to(elsewhere)
    (tmp_path / ".hooks.toml.part").hardlink_to(open_)
    secret = add(settings_of(tmp_path), "it")
    assert (elsewhere.read_text(), open_.read_text()) == ("as it was", "")
    assert (folder / "it").read_text().strip() == secret
    assert not (folder / "it").is_symlink()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_another_one_leaves_the_file_as_it_was_but_for_its_end(tmp_path: Path) -> None:
    settings, file = settings_of(tmp_path), tmp_path / "hooks.toml"
    add(settings, "first")
    before = "# by hand\n" + file.read_text()
    file.write_text(before)
    file.chmod(0o640)
    add(settings, "second", "github")
    assert file.read_text().startswith(before.rstrip())
    assert file.stat().st_mode & 0o777 == 0o640
    assert hook_list(settings).splitlines() == [
        f"first: alertmanager (bearer), post in {CHANNEL}, https://bot.example/hooks/first",
        f"second: github (github), post in {CHANNEL}, https://bot.example/hooks/second",
    ]


@pytest.mark.parametrize(
    ("name", "channel", "secret", "why"),
    [
        ("It", CHANNEL, None, "cannot be the name"),
        ("../it", CHANNEL, None, "cannot be the name"),
        ("it", "#alerts", None, "--channel must be a platform"),
        ("it", CHANNEL, "short", "at least 16"),
        ("first", CHANNEL, None, "already has a webhook named first"),
        ("left", CHANNEL, None, "left already exists"),
    ],
)
def test_what_cannot_be_added_is_refused_and_changes_nothing(
    tmp_path: Path, name: str, channel: str, secret: str | None, why: str
) -> None:
    settings = settings_of(tmp_path)
    add(settings, "first")
    (tmp_path / "hooks.secrets" / "left").write_text("of another one")
    before = (tmp_path / "hooks.toml").read_text()
    with pytest.raises(Refused, match=why):
        hook_add(settings, name, "json", channel, None, secret, counted())
    assert (tmp_path / "hooks.toml").read_text() == before
    assert sorted(file.name for file in (tmp_path / "hooks.secrets").iterdir()) == ["first", "left"]


def test_a_file_with_a_mistake_is_not_added_to(tmp_path: Path) -> None:
    (tmp_path / "hooks.toml").write_text("[broken]\nchanel = 1\n")
    with pytest.raises(SettingsError, match="Did you mean channel"):
        add(settings_of(tmp_path), "it")
    assert not (tmp_path / "hooks.secrets").exists()


async def test_the_samples_of_the_sender_or_a_payload_show_what_is_posted(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    add(settings, "it", "json")
    good, text = await hook_test(settings, "it", None, send=False)
    assert good
    assert "The nightly backup is done." in text
    (tmp_path / "mine.json").write_text('{"title": "**bold**"}')
    assert "\\*\\*bold\\*\\*" in (await hook_test(settings, "it", tmp_path / "mine.json", send=False))[1]
    (tmp_path / "mine.json").write_text("{")
    assert (await hook_test(settings, "it", tmp_path / "mine.json", send=False))[0] is False
    for name, file in (("other", None), ("it", tmp_path / "none.json")):
        with pytest.raises(Refused):
            await hook_test(settings, name, file, send=False)


async def test_every_sample_of_every_sender_can_be_tested(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    for preset in presets():
        add(settings, preset, preset)
        good, text = await hook_test(settings, preset, None, send=False)
        assert good
        assert text.count(":\n") >= len(samples(preset)) > 0


async def test_a_bot_that_does_not_run_is_an_error_that_says_what_to_check(tmp_path: Path) -> None:
    settings = replace(settings_of(tmp_path), http=HttpSettings(listen=("127.0.0.1", 1)))
    add(settings, "it", "json")
    with pytest.raises(Refused, match="Check COGENCY_HTTP_ADDRESS"):
        await hook_test(settings, "it", None, send=True)


def test_a_secret_is_rotated_without_a_moment_in_which_none_is_accepted(tmp_path: Path) -> None:
    settings, random = settings_of(tmp_path), counted()
    _, old = hook_add(settings, "it", "github", CHANNEL, None, None, random)
    _, new = hook_rotate(settings, "it", None, random, finish=False)
    assert hook(settings, "it").revealed == [new, old]
    hook_rotate(settings, "it", None, random, finish=True)
    assert hook(settings, "it").revealed == [new]
    with pytest.raises(Refused, match="only one secret"):
        hook_rotate(settings, "it", None, random, finish=True)


def test_a_secret_that_the_sender_made_is_taken(tmp_path: Path) -> None:
    settings, given = settings_of(tmp_path), "a-secret-of-the-sender"
    assert add(settings, "it", "sentry", secret=given) == ""
    assert hook(settings, "it").revealed == [given]
    assert hook_rotate(settings, "it", f"{given}-2", counted(), finish=False)[1] == ""
    assert hook(settings, "it").revealed == [f"{given}-2", given]


def test_a_secret_elsewhere_is_not_changed(tmp_path: Path) -> None:
    settings = replace(settings_of(tmp_path), webhook_variables={"HERS": "0123456789abcdef"})
    entry = f'[it]\npreset = "github"\nsecret_env = "HERS"\nchannel = "{CHANNEL}"\n'
    (tmp_path / "hooks.toml").write_text(entry)
    with pytest.raises(Refused, match="put the new one first"):
        hook_rotate(settings, "it", None, counted(), finish=False)


def test_the_command_line_has_its_words() -> None:
    words = ["hooks", "add", "it", "--preset", "github", "--channel", CHANNEL, "--ask", "why?", "--read-secret"]
    options = vars(parser().parse_args(words))
    assert (options["command"], options["ask"], options["reads"]) == (Subcommand.HOOKS_ADD, "why?", True)
    assert vars(parser().parse_args(["hooks", "list"]))["command"] is Subcommand.HOOKS_LIST
    assert vars(parser().parse_args(["hooks", "test", "it", "--send"]))["send"] is True
    assert vars(parser().parse_args(["hooks", "rotate", "it", "--finish"]))["finish"] is True
    assert {preset.signed for preset in presets().values()} <= {*Scheme}


async def test_doctor_says_where_webhooks_are_received_or_what_to_correct(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    add(settings, "it")
    (good,) = await hook_findings(settings)
    assert (good.level, good.what) == (Level.GOOD, "events for the webhook it arrive at https://bot.example/hooks/it")
    (closed,) = await hook_findings(replace(settings, http=HttpSettings()))
    assert closed.level is Level.PROBLEM
    assert "Set COGENCY_HTTP" in closed.remedy
    (tmp_path / "hooks.toml").write_text("[it]\nchanel = 1\n")
    (wrong,) = await hook_findings(settings)
    assert "Did you mean channel" in wrong.remedy
    assert await hook_findings(Settings()) == []


@pytest.mark.parametrize(
    ("model", "fallbacks", "unpriced"),
    [
        ("openai:gpt-5-mini", (), ""),
        ("ollama:llama3.2", (), "ollama:llama3.2"),
        ("openai:gpt-5-mini", ("openai:no-such-model", "ollama:llama3.2"), "openai:no-such-model, ollama:llama3.2"),
        ("openai", (), ""),
    ],
)
async def test_doctor_warns_of_questions_whose_cost_is_not_known(
    tmp_path: Path, model: str, fallbacks: tuple[str, ...], unpriced: str
) -> None:
    settings = settings_of(tmp_path)
    key = Secret("sk-0123456789")
    settings = replace(settings, models=ModelSettings(model=model, fallback_models=fallbacks, openai_api_key=key))
    add(settings, "posts")
    assert all(finding.level is Level.GOOD for finding in await hook_findings(settings))
    hook_add(settings, "asks", "json", CHANNEL, "Why?", None, counted())
    warnings = [finding for finding in await hook_findings(settings) if finding.level is Level.WARNING]
    assert [warning.what for warning in warnings] == (
        [setup_texts.HOOKS_UNPRICED.format(names="asks", models=unpriced)] if unpriced else []
    )


@pytest.mark.parametrize("secret", ["0123456789abcdef-secret", "~nobody-0123456789abcdef", "x" * 300, "a\0b"])
def test_a_secret_in_place_of_its_file_s_name_is_not_shown(tmp_path: Path, secret: str) -> None:
    settings = settings_of(tmp_path)
    written = secret.replace("\0", "\\u0000")
    (tmp_path / "hooks.toml").write_text(f'[it]\npreset = "github"\nchannel = "{CHANNEL}"\nsecret_file = "{written}"\n')
    with pytest.raises(SettingsError, match="must be the path of a file") as hooks:
        hooks_of(settings.webhooks, {})
    out = tmp_path / "out.toml"
    out.write_text(
        f'[[webhook]]\nname = "it"\nurl = "https://it.example"\nevents = ["forgotten"]\nsecret_file = "{written}"\n'
    )
    with pytest.raises(SettingsError, match="must be the path of a file") as rows:
        outgoing_rows(OutgoingSettings(file=str(out)), {})
    for error in (hooks, rows):
        assert secret[:20] not in str(error.value)
        assert "secret_file" in str(error.value)
        assert "it" in str(error.value)


def test_doctor_looks_at_who_can_read_a_secret(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    add(settings, "it")
    assert tmp_path / "hooks.secrets" / "it" in [file.path for file in kept_files(settings, None)]
    (tmp_path / "hooks.toml").write_text("[")
    assert tmp_path / "hooks.secrets" / "it" not in [file.path for file in kept_files(settings, None)]
