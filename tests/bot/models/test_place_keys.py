"""Channels' own keys: entered by their managers after a check, sealed, and used for their channel alone."""

import asyncio
import logging
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from agent.admission_terms import Authority
from agent.errors import ProviderRefused, Refused, SettingsError
from agent.incoming import Incoming
from agent.loop import complete
from agent.memory.audience import GroupAudience, Place, label
from agent.memory.forgetting_plans import Gone
from agent.messages import Message, ModelCall, Role
from agent.ports.model import Provider
from agent.providers.fallback import FallbackProvider
from agent.providers.key_pool import KeyPoolProvider
from bot.app.parts import channel_seals, learning_models
from bot.app.settings import Settings
from bot.chat.commands.declaration import CommandCall
from bot.chat.panels import Panel
from bot.chat.sealing import SealingKeys
from bot.models import texts as models_texts
from bot.models.key_commands import KEY_FORM, KEYS_COMMAND
from bot.models.own_keys import NO_KEYS, KeysOfPlace, OwnKey, PaidByPlace
from bot.models.place_keys import PlaceKeyService
from bot.models.service import ModelService
from bot.models.settings import ModelSettings
from bot.models.speech import OwnTranscribers, open_transcriber
from bot.models.switch import ModelCriteria, ModelSwitch
from bot.settings.secret import Secret
from bot.tools.accounts.settings import AccountSettings
from store.place_keys import place_key
from store.tool_calls import tool_call
from tests.fakes.caller import ANN, FakeCaller
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.model_server import DONE, ModelServer, Reply, Request, head, text, whole
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.patience import PATIENCE_S

OPERATORS = "sk-of-the-operator-0000"
SEALS = SealingKeys(b64encode(b"q" * 32).decode(), "COGENCY_ACCOUNT_KEY")
OTHER_SEALS = SealingKeys(b64encode(b"a" * 32).decode(), "COGENCY_ACCOUNT_KEY")
BOAT = Place(GroupAudience("slack:T1:C1"))


def asked_in(channel: str, person: str = ANN.id) -> Incoming:
    return replace(said("Hello?", person=person), channel=channel)


def key_of(request: Request) -> str:
    return request.headers["authorization"].removeprefix("Bearer ")


@dataclass
class World:
    """A bot whose operator has a key, and lets channels have theirs. `refused`: keys that the service does not know,
    "restricted" if none may list models, or "down".
    """

    server: ModelServer
    refused: set[str]
    switch: ModelSwitch
    settings: ModelSettings
    store: StoreInMemory = field(default_factory=store_in_memory)
    clock: FakeClock = field(default_factory=FakeClock)
    seals: SealingKeys | None = SEALS
    is_on: bool = True

    @property
    def keys(self) -> PlaceKeyService:
        return PlaceKeyService(
            store=self.store.place_keys,
            audit=self.store.audit,
            settings=self.settings,
            clock=self.clock,
            seals=self.seals,
            is_on=self.is_on,
        )

    async def provider(self, asked: Incoming) -> Provider:
        return await ModelService(self.switch, self.store.preferences, keys_at=self.keys.keys_at).provider(asked)

    async def ask(self, channel: str = "C1", source: str = "slack:T1") -> tuple[str, list[ModelCall]]:
        calls = list[ModelCall]()

        async def count(call: ModelCall) -> None:
            calls.append(call)

        asked = asked_in(channel, f"{source}:U1")
        return await complete(await self.provider(asked), [Message(Role.USER, "Hello?")], count), calls

    async def use(self, words: str = "", key: str = "", authority: Authority = Authority.MANAGER) -> Panel:
        caller = FakeCaller(channel="C1", place=BOAT, authority=authority)
        options = {"key": key} if key else {}
        return await KEYS_COMMAND.bound(self.keys).run(CommandCall(words=words, caller=caller, options=options))

    @property
    def sent(self) -> list[str]:
        return [key_of(request) for request in self.server.requests]


class serving:  # noqa: N801 -- used as a function
    def __init__(self, **known: object) -> None:
        self.known = known
        self.refused = set[str]()

    def reply(self, request: Request) -> Reply:
        if "down" in self.refused:
            return whole(503, {})
        if key_of(request) in self.refused:
            return whole(401, {"error": {"message": "Incorrect API key provided"}})
        if request.path.endswith("/models") and "restricted" in self.refused:
            return whole(401, {"error": {"message": "No permission. Missing scopes: api.model.read"}})
        if request.path.endswith("/models"):
            return whole(200, {"data": []})
        if request.path.endswith("/transcriptions"):
            return whole(200, {"text": "What is new?"})
        return [head(), text("Hi", finish_reason="stop"), DONE]

    async def __aenter__(self) -> World:
        self.server = await ModelServer(self.reply).__aenter__()
        known = {"model": "openai:large", **self.known}
        chosen = ModelSettings(openai_base_url=self.server.url, openai_api_key=Secret(OPERATORS), **known)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
        self.switch = await ModelSwitch.open(chosen, FakeClock(), lambda: 0.0)
        return World(self.server, self.refused, self.switch, chosen)

    async def __aexit__(self, *error: object) -> None:
        await self.switch.aclose()
        await self.server.__aexit__(None, None, None)


async def test_a_manager_enters_a_key_that_is_used_for_that_channel_and_shown_by_its_end_only() -> None:
    key = "sk-of-the-channel-wxyz"
    async with asyncio.timeout(PATIENCE_S), serving() as world:
        panel = await world.use("add openai", key)
        assert models_texts.OWN_KEY_SAVED.format(label="OpenAI", end="…wxyz") in panel.text
        answers = [await world.ask(channel) for channel in ("C1", "C2")]
        assert world.sent == [key, key, OPERATORS], "it is tried first"
        assert [[call.own_key for call in calls] for _, calls in answers] == [[True], [False]]
        shown = [panel.text, (await world.use()).text, (await world.use(authority=Authority.EMPLOYEE)).text]
        assert "…wxyz" not in shown[-1]
        rows = await world.store.database.read(
            lambda c: [str(c.execute(select(t)).all()) for t in (place_key, tool_call)]
        )
        assert not [one for one in (*shown, *rows) if key in one or key[:-4] in one]
        assert "channel key openai: …wxyz" in rows[1]
        assert models_texts.OWN_KEY_REMOVED.format(label="OpenAI") in (await world.use("remove openai")).text
        await world.ask()
        assert world.sent[-1] == OPERATORS


async def test_a_key_that_the_service_does_not_know_is_not_stored_nor_is_what_is_no_key() -> None:
    async with asyncio.timeout(PATIENCE_S), serving() as world:
        world.refused.add("sk-mistyped-000000000")
        for key, why in (
            ("sk-mistyped-000000000", models_texts.OWN_KEY_WRONG.format(label="OpenAI")),
            ("sk-two-000000000,sk-keys-000000000", models_texts.NOT_AN_OWN_KEY),
            ("my secret key", models_texts.NOT_AN_OWN_KEY),
        ):
            with pytest.raises(Refused) as refused:
                await world.use("add openai", key)
            assert str(refused.value) == why
        assert await world.store.place_keys.all(9) == []


async def test_a_key_that_cannot_be_checked_now_is_not_stored() -> None:
    async with asyncio.timeout(PATIENCE_S), serving() as world:
        world.refused.add("down")
        with pytest.raises(Refused, match="could not check"):
            await world.use("add openai", "sk-good-0000000000000")
        assert await world.store.place_keys.all(9) == []


async def test_a_key_that_may_ask_models_and_not_list_them_is_stored() -> None:
    async with asyncio.timeout(PATIENCE_S), serving() as world:
        world.refused.add("restricted")
        await world.use("add openai", "sk-good-0000000000000")
        assert (await world.ask())[0] == "Hi"
        assert world.sent == ["sk-good-0000000000000"] * 2


async def test_only_managers_change_keys_and_only_where_the_operator_lets_them() -> None:
    async with asyncio.timeout(PATIENCE_S), serving() as world:
        for words, key in (("add openai", "sk-good-0000000000000"), ("remove openai", "")):
            with pytest.raises(Refused) as refused:
                await world.use(words, key, Authority.EMPLOYEE)
            assert str(refused.value) == models_texts.OWN_KEYS_OF_MANAGERS
        await world.use("add openai", "sk-good-0000000000000")
        off = replace(world, is_on=False)
        await off.ask()
        assert world.sent[-1] == OPERATORS
        assert models_texts.OWN_KEYS_UNUSED in (await off.use()).text
        with pytest.raises(Refused, match="do not allow API keys"):
            await off.use("add openai", "sk-good-0000000000000")
        await off.use("remove openai")
        assert await world.store.place_keys.all(9) == []


async def test_a_key_that_was_entered_in_a_private_thread_belongs_to_the_channel_and_stays_without_the_thread() -> None:
    thread, channel = GroupAudience("discord:7"), GroupAudience("discord:5")
    person = replace(ANN, id="discord:1")
    async with asyncio.timeout(PATIENCE_S), serving() as world:
        caller = FakeCaller(person, channel="5", place=Place(thread), authority=Authority.MANAGER)
        options = {"key": "sk-good-0000000000000"}
        await KEYS_COMMAND.bound(world.keys).run(CommandCall(words="add openai", caller=caller, options=options))
        for gone in (thread, channel):
            stored = await world.store.place_keys.of("discord", "5")
            assert [one.audience for one in stored] == [channel]
            await world.store.forgetting.forget(Gone(audiences=frozenset({label(gone)})), world.clock.now())
        assert await world.store.place_keys.all(9) == []


@pytest.mark.parametrize("words", ["add openai sk-in-words-0000000", "sk-in-words-0000000", "add openai"])
async def test_a_key_in_the_words_of_the_command_is_not_taken_and_its_writer_is_told_what_to_do(words: str) -> None:
    async with asyncio.timeout(PATIENCE_S), serving() as world:
        panel = await world.use(words)
        assert (panel.text, panel.refused) == (models_texts.OWN_KEYS_USAGE, True)
        assert await world.store.place_keys.all(9) == []


def test_a_key_from_the_form_is_no_part_of_the_words() -> None:
    filled = {"service": "openai", "key": "sk-secret"}
    assert KEY_FORM.spelled("add", filled) == "add openai"
    assert (KEY_FORM.options(filled), KEY_FORM.without_secrets(filled)) == (
        {"key": "sk-secret"},
        {"service": "openai", "key": ""},
    )


async def test_if_a_channels_key_is_refused_its_questions_are_not_billed_to_the_operator(
    caplog: pytest.LogCaptureFixture,
) -> None:
    key = "sk-of-the-channel-wxyz"
    async with (
        asyncio.timeout(PATIENCE_S),
        serving(fallback_models=("openai:other", "anthropic:m"), anthropic_api_key=Secret("a")) as world,
    ):
        await world.use("add openai", key)
        world.refused.add(key)
        caplog.set_level(logging.WARNING)
        keys = world.keys
        service = ModelService(world.switch, world.store.preferences, keys_at=keys.keys_at)
        for _ in range(2):
            with pytest.raises(ProviderRefused) as refused:
                await complete(
                    await service.provider(asked_in("C1")),
                    [Message(Role.USER, "Hi")],
                    _ignored,
                )
            assert refused.value.reason.to_person.startswith("OpenAI refused this channel's own API key")
        await keys.tasks.close()
        assert OPERATORS not in world.sent
        assert [one for one in caplog.messages if "…wxyz" in one and key not in one] == caplog.messages
        assert len(caplog.messages) == 1
        assert "has not accepted it since" in (await world.use()).text
        world.refused.clear()
        await complete(await service.provider(asked_in("C1")), [Message(Role.USER, "Hi")], _ignored)
        await keys.tasks.close()
        assert "has not accepted it since" not in (await world.use()).text


async def test_a_key_that_is_added_again_is_shown_as_refused_again_if_it_still_is() -> None:
    async with asyncio.timeout(PATIENCE_S), serving() as world:
        keys, key = world.keys, "sk-of-the-channel-wxyz"
        service = ModelService(world.switch, world.store.preferences, keys_at=keys.keys_at)
        for _ in range(2):
            world.refused.clear()
            assert "has not accepted it since" not in (await world.use("add openai", key)).text
            world.refused.add(key)
            with pytest.raises(ProviderRefused):
                await complete(await service.provider(asked_in("C1")), [Message(Role.USER, "Hi")], _ignored)
            await keys.tasks.close()
            assert "has not accepted it since" in (await world.use()).text


async def _ignored(_: ModelCall) -> None:
    """Nobody counts."""


async def test_a_channel_falls_back_only_to_models_that_the_operator_does_not_pay_for() -> None:
    async with (
        asyncio.timeout(PATIENCE_S),
        serving(
            fallback_models=("openai:other", "anthropic:m", "ollama:small"), anthropic_api_key=Secret("a")
        ) as world,
    ):
        own = KeysOfPlace("slack:T1:C1", {"OPENAI_API_KEY": OwnKey("openai", Secret("k"), "mark")})
        names = [_names(world.switch.provider_for(ModelCriteria(ANN.id, "C1", keys=keys))) for keys in (NO_KEYS, own)]
        assert names == [
            ["openai:large", "openai:other", "anthropic:m", "ollama:small"],
            ["openai:large", "openai:other", "ollama:small"],
        ]


async def test_keys_that_come_back_use_the_connections_that_they_had() -> None:
    async with asyncio.timeout(PATIENCE_S), serving() as world:
        first, second = (
            KeysOfPlace("slack:T1:C1", {"OPENAI_API_KEY": OwnKey("openai", Secret(name), name)}) for name in ("a", "b")
        )
        opened = [
            world.switch.provider_for(ModelCriteria(ANN.id, "C1", keys=keys))
            for keys in (first, second, replace(first), NO_KEYS, replace(second))
        ]
        assert len({id(provider) for provider in opened}) == 3
        assert (opened[0], opened[1]) == (opened[2], opened[4])


def _names(provider: Provider) -> list[str]:
    inner = provider.provider if isinstance(provider, PaidByPlace) else provider
    assert isinstance(inner, FallbackProvider)
    return [one.name for _, one, _ in inner.candidates()]


async def test_a_key_that_cannot_be_opened_or_was_moved_to_another_channel_sends_nothing() -> None:
    async with asyncio.timeout(PATIENCE_S), serving() as world:
        await world.use("add openai", "sk-of-the-channel-wxyz")
        (stored,) = await world.store.place_keys.all(9)
        await world.store.place_keys.put(replace(stored, channel="C2", mark="moved"))
        before = len(world.sent)
        for there, channel in ((replace(world, seals=OTHER_SEALS), "C1"), (world, "C2")):
            with pytest.raises(ProviderRefused) as refused:
                await there.ask(channel)
            assert "cannot decrypt" in refused.value.reason.to_person
        assert len(world.sent) == before


async def test_work_in_the_background_uses_the_key_of_the_channel_that_it_is_about() -> None:
    async with asyncio.timeout(PATIENCE_S), serving(learning_model="openai:small") as world:
        await world.use("add openai", "sk-of-the-channel-wxyz")
        model = learning_models(world.switch, world.keys)()
        for place in (("slack:T1", "C1"), ("slack:T1", "C2"), ("", "")):
            await complete((await model.at(*place)).provider, [Message(Role.USER, "Learn.")], _ignored)
        assert world.sent[1:] == ["sk-of-the-channel-wxyz", OPERATORS, OPERATORS]


async def test_voice_messages_of_a_channel_are_transcribed_with_its_key() -> None:
    async with asyncio.timeout(PATIENCE_S), serving() as world:
        await world.use("add openai", "sk-of-the-channel-wxyz")
        spec, known = "openai:whisper", world.keys.settings
        usual = open_transcriber(spec, known, world.switch.rings)
        own = OwnTranscribers(usual, spec, known, world.switch.own_ring, world.keys.keys_at)
        heard = [
            await (await own.at("slack:T1", channel)).transcribe(b"x", "a.ogg", "audio/ogg") for channel in ("C1", "C2")
        ]
        assert [one.call.own_key for one in heard] == [True, False]
        assert world.sent[1:] == ["sk-of-the-channel-wxyz", OPERATORS]
        await own.aclose()
        await usual.aclose()


async def test_channels_with_the_same_key_share_no_connection_and_a_new_key_begins_anew() -> None:
    async with asyncio.timeout(PATIENCE_S), serving() as world:
        keys = {"OPENAI_API_KEY": OwnKey("openai", Secret("same"), "mark")}
        one, other = (_opened(world.switch, KeysOfPlace(place, keys)) for place in ("slack:T1:C1", "slack:T1:C2"))
        assert not {*one} & {*other}
        assert _opened(world.switch, KeysOfPlace("slack:T1:C1", keys)) == one
        newer = {"OPENAI_API_KEY": OwnKey("openai", Secret("newer"), "newer mark")}
        assert not {*one} & {*_opened(world.switch, KeysOfPlace("slack:T1:C1", newer))}


def _opened(switch: ModelSwitch, keys: KeysOfPlace) -> Sequence[Provider]:
    provider = switch.provider_for(ModelCriteria(ANN.id, "C1", keys=keys))
    assert isinstance(provider, PaidByPlace)
    pool = provider.provider
    assert isinstance(pool, KeyPoolProvider)
    return pool.providers


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "set", "remove"]),
        st.sampled_from(["C1", "C2", "C3"]),
        st.sampled_from(["slack:T1", "slack:T2"]),
        st.integers(0, 2),
    ),
    max_size=12,
)


@given(STEPS)
@settings(max_examples=15)
def test_whatever_happens_each_request_carries_the_key_of_its_own_place(steps: list[tuple[str, str, str, int]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S), serving() as world:
            expected = dict[tuple[str, str], str]()
            for act, channel, source, number in steps:
                if act == "set":
                    key = f"sk-{source}-{channel}-{number}-0000000000".replace(":", "-")
                    expected[source, channel] = key
                    await world.keys.put(source, channel, GroupAudience("g"), "openai", key)
                elif act == "remove":
                    expected.pop((source, channel), None)
                    await world.store.place_keys.drop(source, channel, "openai")
                before = len(world.sent)
                await world.ask(channel, source)
                assert world.sent[before:] == [expected.get((source, channel), OPERATORS)]

    asyncio.run(run())


def test_channels_keys_are_not_turned_on_without_what_encrypts_them() -> None:
    on, key = ModelSettings(channel_keys=True), AccountSettings(key=Secret(b64encode(b"q" * 32).decode()))
    with pytest.raises(SettingsError) as missing:
        channel_seals(Settings(models=on))
    assert str(missing.value) == models_texts.OWN_KEYS_NEED_SEALING
    with pytest.raises(SettingsError, match="32 random bytes"):
        channel_seals(Settings(models=on, accounts=AccountSettings(key=Secret("short"))))
    assert channel_seals(Settings(models=on, accounts=key)) is not None
    assert channel_seals(Settings(accounts=key)) is not None, "what was stored can be deleted at its service"
    assert (channel_seals(Settings()), channel_seals(Settings(accounts=AccountSettings(key=Secret("short"))))) == (
        *(None, None),
    )
