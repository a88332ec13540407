"""The texts of `/budget` and `/usage`, and the line below a reply."""

from agent.admission_terms import Whose
from agent.spending import PRICES_AS_OF

BUDGET_USED = "{who} used today's budget of {limit}. It resets at {moment}."
WHO_USED = {
    Whose.PERSON: "You have",
    Whose.CHANNEL: "This channel has",
    Whose.WORKSPACE: "This workspace has",
    Whose.EVERYONE: "Everyone together has",
}
CODE_USED = (
    "The person who asked has used today's budget of {limit} for Python code. It resets at midnight UTC; see `/usage`."
)
CODE_TIME = "**Python code**: {today} today ({limit}), {month} this month"
CODE_TODAY = "Python code: {used} used of {limit}, {left} left."
CODE_TODAY_UNLIMITED = "Python code: {used} used, no limit."
ONLY_OPERATORS = "Only operators (COGENCY_OPERATORS) can see or change other people's budgets."
OPERATOR = "Operators have no spending limit."
BUDGET_USAGE = (
    "Write `channel`, `workspace`, `everyone` or a person, or leave it empty for your own budget. To change it, add "
    "`5,000,000 tokens`, `$20`, `exempt` or `reset`."
)
OTHER_BUDGETS = (
    "To see or change another budget, use `/budget` (or `cogency budget`) with `channel`, `workspace`, `everyone` or a "
    "person."
)
NO_SUCH_LIMIT = "This limit is not set. To set it, use {setting}."
APPS_SETTING = "{setting} (or {key} for the app in the COGENCY_SLACK_APPS file)"
ONLY_RAISED = (
    "The default budget is {usually}. With this command, you can only raise it. To change the default, use {setting}."
)


BUDGET = "{whose}, today (UTC): {tokens} ({tokens_limit}), {money} ({money_limit})."
NO_LIMIT = "no limit"
LIMIT = "of {limit}"
YOU = "You"
EVERYONE = "Everyone"
LIST_PRICES = f"Days are in UTC. Costs use list prices as of {PRICES_AS_OF}."
ESTIMATED = "~ partly estimated, because the model did not report usage"
NOTHING_SPENT = "You have not asked anything this month."
TODAY = "Today"
THIS_MONTH = "This month"
SPENT = "What your questions used:"
FORECAST = "At this pace, today will cost {day}, and this month {month}."
FORECAST_DAY = "At this pace, today will cost {day}. It is too early to estimate this month."
FORECAST_MONTH = "At this pace, this month will cost {month}. It is too early to estimate today."
NO_FORECAST = "It is too early to estimate what today and this month will cost."
ABOUT = "about {amount}"
AT_LEAST = "at least {amount}"
HOME_USAGE = "Your usage and budget"
