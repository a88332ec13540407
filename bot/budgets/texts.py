"""The texts of `/budget` and `/usage`, and the line below a reply."""

from agent.admission_terms import Whose
from agent.spending import PRICES_AS_OF

BUDGET_USED = "{who} used up today's budget of {limit}. It resets at {moment}."
WHO_USED = {
    Whose.PERSON: "You have",
    Whose.CHANNEL: "This channel has",
    Whose.WORKSPACE: "This workspace has",
    Whose.EVERYONE: "Everyone together has",
}
WHOSE = {
    Whose.PERSON: "your",
    Whose.CHANNEL: "this channel's",
    Whose.WORKSPACE: "this workspace's",
    Whose.EVERYONE: "everyone's",
}
NEXT_EXCEEDS = "My next step would probably exceed {whose} budget of {limit} for today, which resets at {moment}."
STOPPED_EARLY = "I stopped early. {why}"
EXTENSION_ASKED = "I asked {who} to extend it for today, and will continue as soon as they do."
APPROVING = {"": "an operator", "others": "the people who can extend it"}
OR_END = "If nobody decides by {moment}, I will finish with what I know."
OR_RESET = "Otherwise, I will continue when it resets."
NOT_EXTENDED = {
    "GIVEN": "It was extended once today, and cannot be extended again.",
    "REFUSED": "The request to extend it was declined.",
    "UNASKED": "Nobody could be asked to extend it.",
}
NOT_EXTENDED_IN_TIME = "Nobody extended it in time."
RUN_LIMIT = (
    "This answer has used {used} so far, and its next step would probably exceed the limit of {limit} for one answer."
)
RUN_ASKED = (
    "{why} Only the person who asked can let me continue. If they have not decided by {moment}, I will finish with "
    "what I know."
)
CODE_USED = (
    "The person who asked has used up today's budget of {limit} for Python code. It resets at midnight UTC; see "
    "`/usage`."
)
CODE_TIME = "**Python code**: {today} today ({limit}), {month} this month"
CODE_TODAY = "Python code: {used} used of {limit}, {left} left."
CODE_TODAY_UNLIMITED = "Python code: {used} used, no limit."
ONLY_OPERATORS = "Only operators (COGENCY_OPERATORS) can see or change other people's budgets."
OPERATOR = "Operators have no daily budget."
BUDGET_USAGE = (
    "For your own budget, use `/budget`. For another budget, add `channel`, `workspace`, `everyone`, or a person. To "
    "change the budget, also add `5,000,000 tokens`, `$20`, `exempt`, or `reset`."
)
OTHER_BUDGETS = (
    "To see or change another budget, use `/budget` (or `cogency budget`) with `channel`, `workspace`, `everyone`, or "
    "a person."
)
NO_SUCH_LIMIT = "This limit is not set. To set it, use {setting}."
APPS_SETTING = "{setting} (or {key} for the app in the COGENCY_SLACK_APPS file)"
ONLY_RAISED = (
    "The budget must be higher than the default of {usually}. To return to the default, use `reset`. To change the "
    "default, use {setting}."
)


BUDGET = "{heading}: {tokens} ({tokens_limit}), {money} ({money_limit})."
YOUR_USAGE = "Your usage today (UTC)"
USAGE_OF = "{whose}, today (UTC)"
NO_LIMIT = "no limit"
LIMIT = "of {limit}"
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

# What people are written about a budget, and what they decide.
SHARED = {
    Whose.CHANNEL: "This channel's budget",
    Whose.WORKSPACE: "The workspace's budget",
    Whose.EVERYONE: "Everyone's shared budget",
}
OF_PERSON = "{name}'s budget"
YOUR_BUDGET = "Your budget"
CHANNEL_OF = "The budget of the channel where {name} asked"
NEAR = "{whose} for today is {percent}% used: {spent} so far. It resets at {moment}."
NEAR_NEXT = "When it is used up, answers are on hold until someone extends it for today."
NEAR_ENDS = "When it is used up, I stop answering until it resets."
LIMIT_REACHED = "{whose} for today does not cover the next step of an answer. I asked {who} to extend it by {percent}%."
REQUEST = (
    "{whose} for today does not cover the next step of an answer: {spent} used. Answers are on hold until someone "
    "extends the budget."
)
REQUEST_EXTENDS = (
    "If you extend it, it is {percent}% higher until {moment}. It can be extended only once a day. If you decline, the "
    "waiting answers end."
)
OPEN_QUESTION = "[Open the question]({link})"
SHOW_BUDGET = "Show my usage"
EXTEND = "Extend for today"
DECLINE = "Decline"
CONTINUE = "Continue"
FINISH = "Finish now"
REQUEST_ENDED = {
    "GIVEN": "{whose} is {percent}% higher today, because {person} extended it.",
    "REFUSED": "{whose} was not extended today, because {person} declined.",
    "OVER": "{whose} was not extended. The day is over.",
}
SOMEBODY = "someone"
DECIDED = {
    "GIVEN": "The budget is extended for today. The waiting answers continue.",
    "REFUSED": "The budget is not extended. The waiting answers end.",
}
NOT_DECIDED = {
    "GIVEN_BEFORE": "Someone already extended this budget. It can be extended once a day.",
    "REFUSED_BEFORE": "Someone already declined to extend this budget.",
    "NOT_THEIRS": "Only the person who asked can decide about this answer.",
    "OVER": "Nothing is waiting for this decision anymore.",
}
RUN_DECIDED = {True: "The answer continues.", False: "I will finish the answer with what I know."}
NOT_AN_APPROVER = "Only {who} can extend this budget."
NOT_YOUR_OWN = "You cannot extend your own budget."
APPROVERS_UNKNOWN = "I could not check whether you can extend this budget. Please try again."
WHO_EXTENDS = {"": "operators", "others": "the people chosen by the operator"}
WAITS_FOR_EXTENSION = "This answer waits for someone to extend the budget. Only {who} can do that."
RUN_WAITS = (
    "The next step of this answer would probably exceed the limit of {limit} for one answer, so it waits for your "
    "decision. If you continue it, I will ask again after it has used that much more."
)
OR = " or "
SPENT_OF = "{spent} of {limit}"
TODAY_SO_FAR = "Your usage today (UTC): {spent}."
NOT_CONNECTED = "The platform is not connected."
