"""The settings of budgets: what may be spent in a day, and whether replies say what they cost."""

import re
from dataclasses import dataclass
from typing import Final

from agent.approvers import Approvers
from agent.spending import NANO, Money
from bot.budgets.budgets import DEFAULT_NEAR
from bot.budgets.code_time import DEFAULT_SECONDS
from bot.budgets.report import FooterStyle
from bot.settings import parsers
from bot.settings.declaration import Section, setting

FIVE_DOLLARS = Money(5 * NANO)
HUNDRED_DOLLARS = Money(100 * NANO)
TWO_DOLLARS = Money(2 * NANO)
DEFAULT_EXTENSION: Final = 50  # Percent: enough to finish what waits, and not twice the budget
OPERATORS: Final = "operators"
_CHANNEL: Final = re.compile(r"(slack:[A-Z0-9]+:[A-Z0-9]+|discord:\d{1,20})", re.ASCII)
_DOLLARS: Final = re.compile(r"\d{1,7}(\.\d{1,2})?", re.ASCII)


def dollars(value: str) -> Money | None:
    """Parse US dollars, with cents if needed; None for 0, which is no limit."""
    if _DOLLARS.fullmatch(value) is None:
        raise ValueError("must be an amount in US dollars without a dollar sign, as in 5 or 2.50 (0 for no limit)")
    whole_, _, cents = value.partition(".")
    return Money((int(whole_) * 100 + int(cents.ljust(2, "0"))) * (NANO // 100)) or None


def approvers_of_setting(value: str) -> Approvers | None:
    """Parse who may extend a budget; None for operators. Raises ValueError."""
    if value.casefold() == OPERATORS:
        return None
    found = Approvers.read(value)
    if found is None or found.needed > 1:
        raise ValueError(
            "must be operators, manager, admin, channel-manager, role:ID, or a person's ID, as in slack:T0123:U0123"
        )
    return found


def in_words(approvers: Approvers | None) -> str:
    return OPERATORS if approvers is None else str(approvers)


def channel_of_setting(value: str) -> str:
    """Parse the id of a channel. Raises ValueError."""
    if value and _CHANNEL.fullmatch(value) is None:
        raise ValueError("must be a channel's ID, as in slack:T0123:C0123 or discord:1234567890")
    return value


def in_dollars(money: Money | None) -> str:
    return "" if money is None else f"{money / NANO:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSettings:
    """What may be spent in a day, and whether replies say what they cost."""

    footer: FooterStyle = setting(
        "COGENCY_FOOTER",
        parsers.one_of(FooterStyle),
        FooterStyle.OFF,
        section=Section.ANSWERS,
        description=(
            "The small print below each reply: off (shown only if a fallback model answered), model (which model "
            "answered), or cost (also tokens and price)."
        ),
    )
    person_tokens: int | None = setting(
        "COGENCY_PERSON_TOKENS_PER_DAY",
        parsers.limit(10**12),
        2_000_000,
        section=Section.ACCESS,
        description="Maximum number of tokens that one person can use per day (UTC). With 0, there is no limit.",
    )
    """About a hundred questions that each fill the context."""
    person_dollars: Money | None = setting(
        "COGENCY_PERSON_DOLLARS_PER_DAY",
        dollars,
        FIVE_DOLLARS,
        section=Section.ACCESS,
        description=(
            "Maximum cost for one person per day (UTC), in US dollars at list prices. With 0, there is no limit."
        ),
        write=in_dollars,
    )
    """What those cost with a vendor's middle model, most of the input read from its cache."""
    person_code_seconds: int | None = setting(
        "COGENCY_PERSON_CODE_SECONDS_PER_DAY",
        parsers.limit(86_400),
        DEFAULT_SECONDS,
        section=Section.ACCESS,
        description=(
            "Maximum run time of Python code for one person per day (UTC), in seconds. With 0, there is no limit."
        ),
    )
    """Twenty runs of the longest kind, or a few hundred charts."""
    channel_tokens: int | None = setting(
        "COGENCY_CHANNEL_TOKENS_PER_DAY",
        parsers.limit(10**12),
        None,
        section=Section.ACCESS,
        description="Maximum number of tokens per channel per day. Default: no limit.",
        example="0",
    )
    """Channels differ too much in size for one number."""
    channel_dollars: Money | None = setting(
        "COGENCY_CHANNEL_DOLLARS_PER_DAY",
        dollars,
        None,
        section=Section.ACCESS,
        description="Maximum cost per channel per day, in US dollars. Default: no limit.",
        example="0",
        write=in_dollars,
    )
    workspace_tokens: int | None = setting(
        "COGENCY_WORKSPACE_TOKENS_PER_DAY",
        parsers.limit(10**12),
        None,
        section=Section.ACCESS,
        description=(
            "Maximum number of tokens per Slack workspace per day. To set another number for one app's workspace, use "
            "tokens_per_day in the COGENCY_SLACK_APPS file. Default: no limit."
        ),
        example="0",
    )
    workspace_dollars: Money | None = setting(
        "COGENCY_WORKSPACE_DOLLARS_PER_DAY",
        dollars,
        None,
        section=Section.ACCESS,
        description=(
            "Maximum cost per Slack workspace per day, in US dollars. To set another amount for one app's workspace, "
            "use dollars_per_day in the COGENCY_SLACK_APPS file. Default: no limit."
        ),
        example="0",
        write=in_dollars,
    )
    everyone_tokens: int | None = setting(
        "COGENCY_EVERYONE_TOKENS_PER_DAY",
        parsers.limit(10**12),
        None,
        section=Section.ACCESS,
        description="Maximum number of tokens for all people together per day. Default: no limit.",
        example="0",
    )
    everyone_dollars: Money | None = setting(
        "COGENCY_EVERYONE_DOLLARS_PER_DAY",
        dollars,
        HUNDRED_DOLLARS,
        section=Section.ACCESS,
        description="Maximum cost for all people together per day, in US dollars. With 0, there is no limit.",
        write=in_dollars,
    )
    """A mistake costs no more than this before an operator looks at it."""
    near: int = setting(
        "COGENCY_BUDGET_WARNING_PERCENT",
        parsers.whole(1, 99),
        DEFAULT_NEAR,
        section=Section.ACCESS,
        description=(
            "The percentage of a daily budget at which the bot sends a warning, once a day. It warns the person whose "
            "budget it is. For a channel's budget, it warns the channel's managers and the person who asked, and for "
            "other budgets, the operators."
        ),
    )
    extension: int = setting(
        "COGENCY_BUDGET_EXTENSION_PERCENT",
        parsers.whole(0, 1_000),
        DEFAULT_EXTENSION,
        section=Section.ACCESS,
        description=(
            "The percentage by which an approver can extend a budget, once a day. When a budget is used up, answers "
            "wait for an extension. Without an approver or with 0, the bot refuses questions until the next day."
        ),
    )
    approvers: Approvers | None = setting(
        "COGENCY_BUDGET_APPROVERS",
        approvers_of_setting,
        None,
        section=Section.ACCESS,
        description=(
            "Who can extend a budget: operators, manager, admin, channel-manager, role:ID, or a person's ID. The first "
            "decision counts."
        ),
        example="manager",
        write=in_words,
    )
    """Operators set the budgets, so by default they extend them."""
    alerts: str = setting(
        "COGENCY_BUDGET_ALERTS",
        channel_of_setting,
        "",
        section=Section.ACCESS,
        description="The channel where the bot posts when a budget is nearly used up, or needs an extension.",
        example="slack:T0123:C0123",
    )
    run_tokens: int | None = setting(
        "COGENCY_RUN_TOKENS",
        parsers.limit(10**12),
        None,
        section=Section.ACCESS,
        description=(
            "Before an answer or long task uses more than this many tokens, the bot asks whether to continue. Default: "
            "no limit."
        ),
        example="0",
    )
    run_dollars: Money | None = setting(
        "COGENCY_RUN_DOLLARS",
        dollars,
        TWO_DOLLARS,
        section=Section.ACCESS,
        description=(
            "Before an answer or long task costs more than this many US dollars, the bot asks whether to continue. "
            "With 0, there is no limit."
        ),
        write=in_dollars,
    )
    """Many times a usual answer; only long work reaches it."""
