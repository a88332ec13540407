"""The forms of commands in Discord: who is offered which, what is typed into them, and where they are answered."""

from collections.abc import Callable

from agent.spending import NANO, Money
from bot.budgets.budgets import MONEY, Budget, Budgets
from bot.budgets.commands import AMOUNT, CHANGE, CHOOSE
from bot.chat.texts import replies as reply_texts
from bot.memory.policy_commands import REMOVE_POLICY, SET_POLICY
from bot.platforms import texts as platforms_texts
from tests.fakes.discord_bot import by_the_bot
from tests.fakes.discord_gateway import FakeDiscord
from tests.fakes.discord_world import ANN, BO, GENERAL, Payload, parts, seen
from tests.fakes.recording_host import RecordingHost, recording_host
from tests.flows.test_discord_refusals import MANAGE_GUILD, recording

DOLLARS = Budget(money=Money(5 * NANO))


def operated(*people: str) -> RecordingHost:
    """A host with budgets, which these people may change."""
    return recording_host(operators={f"discord:{each}" for each in people}, budgets=Budgets(DOLLARS, everyone=DOLLARS))


def budgets(host: RecordingHost) -> dict[str, dict[str, str]]:
    """What was changed of them, by whose it is."""
    chosen = {
        owner: {name: value for name, value in of.items() if name == MONEY} for owner, of in host.store.chosen.items()
    }
    return {owner: of for owner, of in chosen.items() if of}


def labels(message: Payload) -> list[str]:
    return [part["label"] for part in parts(message) if part["type"] == 2]


async def said(fake: FakeDiscord, person: str, command: str) -> Payload:
    before = len(by_the_bot(fake))
    await fake.command(person, command)
    await fake.until(lambda: len(by_the_bot(fake)) > before and seen(by_the_bot(fake)[-1]))
    return by_the_bot(fake)[-1]


async def opened(fake: FakeDiscord, person: str, shown: Payload, label: str) -> Payload:
    pressed = await fake.press(person, shown, label)
    await fake.until(lambda: pressed.window)
    return pressed.window


def told(fake: FakeDiscord, sentence: str) -> Callable[[], bool]:
    return lambda: any(seen(message) == sentence for message in by_the_bot(fake))


async def test_an_operator_fills_in_a_budget_and_nobody_else_is_offered_that() -> None:
    async with recording(operated(ANN)) as (fake, host):
        assert labels(await said(fake, BO, "budget")) == []
        shown = await said(fake, ANN, "budget")
        assert labels(shown) == [CHANGE.label]
        window = await opened(fake, ANN, shown, CHANGE.label)
        await fake.fill_in(ANN, window, shown, whose="person", person=BO, amount="$20")
        await fake.until(lambda: budgets(host))
        assert budgets(host) == {f"discord:{BO}": {MONEY: str(20 * NANO)}}
        await fake.until(lambda: labels(shown) == [])


async def test_what_cannot_be_read_is_said_and_changes_nothing() -> None:
    async with recording(operated(ANN)) as (fake, host):
        shown = await said(fake, ANN, "budget")
        window = await opened(fake, ANN, shown, CHANGE.label)
        await fake.fill_in(ANN, window, shown, amount="$20")
        await fake.until(lambda: any(seen(message).startswith(CHOOSE) for message in by_the_bot(fake)))
        await fake.fill_in(ANN, window, shown, whose="everyone", amount="much")
        await fake.until(lambda: any(seen(message).startswith(AMOUNT) for message in by_the_bot(fake)))
        assert budgets(host) == {}


async def test_a_form_with_a_mistake_is_opened_again_with_what_was_filled_in() -> None:
    async with recording(operated(ANN)) as (fake, host):
        shown = await said(fake, ANN, "budget")
        window = await opened(fake, ANN, shown, CHANGE.label)
        await fake.fill_in(ANN, window, shown, whose="person", person=BO, channel=GENERAL, amount="20 *dollars*")
        await fake.until(lambda: seen(by_the_bot(fake)[-1]).startswith(AMOUNT))
        wrong = by_the_bot(fake)[-1]
        assert seen(wrong) == f"{AMOUNT}\n{platforms_texts.YOU_TYPED}\n- For each day: 20 \\*dollars\\*"
        for page in (wrong, shown):  # whichever button of the form they press
            again = await opened(fake, ANN, page, CHANGE.label)
            fields = {field["custom_id"]: field for field in parts(again) if "custom_id" in field}
            assert fields["amount"]["value"] == "20 *dollars*"
            assert [one["value"] for one in fields["whose"]["options"] if one.get("default")] == ["person"]
            assert fields["person"]["default_values"] == [{"id": int(BO), "type": "user"}]
            assert fields["channel"]["default_values"] == [{"id": int(GENERAL), "type": "channel"}]
        await fake.fill_in(ANN, again, wrong, amount="$20")
        await fake.until(lambda: budgets(host))
        assert budgets(host) == {f"discord:{BO}": {MONEY: str(20 * NANO)}}
        fresh = await opened(fake, ANN, shown, CHANGE.label)
        assert "value" not in next(field for field in parts(fresh) if field.get("custom_id") == "amount")


async def test_what_somebody_typed_is_put_before_nobody_else() -> None:
    async with recording(operated(ANN, BO)) as (fake, _):
        shown = await said(fake, ANN, "budget")
        window = await opened(fake, ANN, shown, CHANGE.label)
        await fake.fill_in(ANN, window, shown, amount="much")
        await fake.until(lambda: AMOUNT in seen(by_the_bot(fake)[-1]) or CHOOSE in seen(by_the_bot(fake)[-1]))
        theirs = await opened(fake, BO, await said(fake, BO, "budget"), CHANGE.label)
        assert "value" not in next(field for field in parts(theirs) if field.get("custom_id") == "amount")


async def test_managers_fill_in_a_policy_and_only_they_can_use_their_buttons() -> None:
    async with recording(everyone_may=MANAGE_GUILD) as (fake, host):
        shown = await said(fake, ANN, "policy")
        assert labels(shown) == [SET_POLICY.label]
        await fake.press(BO, shown, SET_POLICY.label)
        await fake.until(told(fake, reply_texts.NOT_YOURS))
        window = await opened(fake, ANN, shown, SET_POLICY.label)
        await fake.fill_in(ANN, window, shown, name="budget", text="at most 50 EUR")
        await fake.until(lambda: host.known("") == ["budget: at most 50 EUR"])
        assert labels(await said(fake, ANN, "policy")) == [SET_POLICY.label, REMOVE_POLICY.label]
