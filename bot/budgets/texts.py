"""The texts of `/budget` and `/usage`, and the line below a reply."""

from agent.admission_terms import Whose
from agent.spending import PRICES_AS_OF

BUDGET_USED = "{who} used today's budget of {limit}; it starts again at {moment}."
WHO_USED = {
    Whose.PERSON: "You have",
    Whose.CHANNEL: "This channel has",
    Whose.WORKSPACE: "This workspace has",
    Whose.EVERYONE: "Everybody together has",
}
ONLY_OPERATORS = "Only operators (COGENCY_OPERATORS) may see or change budgets other than their own."
OPERATOR = "You are an operator: no budget holds for you."
BUDGET_USAGE = (
    "Write whose budget you mean: `channel`, `workspace`, `everyone`, a person, or nothing for your own. To change it, "
    "add `5,000,000 tokens`, `$20`, `exempt` or `reset`."
)
NO_SUCH_LIMIT = "There is no such limit; {setting} sets one."
APPS_SETTING = "{setting} (or {key} of its app in the file of COGENCY_SLACK_APPS)"
ONLY_RAISED = "The usual budget is {usually}: here it can only be raised; {setting} changes it."


BUDGET = "{whose}, today (UTC): {tokens} ({tokens_limit}), {money} ({money_limit})."
NO_LIMIT = "no limit"
LIMIT = "of {limit}"
YOU = "You"
EVERYONE = "Everyone"
LIST_PRICES = f"Days are of UTC; money is at list prices of {PRICES_AS_OF}."
ESTIMATED = "~ in part estimated: the model did not report it"
NOTHING_SPENT = "You have asked nothing this month."
TODAY = "Today"
THIS_MONTH = "This month"
SPENT = "This is what your questions took."
HOME_USAGE = "Your usage and budget"
