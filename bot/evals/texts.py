"""What `cogency eval` says, and the operators' page about it."""

from collections.abc import Mapping
from typing import Final

from agent.feedback import FeedbackReason

# A file that cannot be used.
FAULT: Final = "{file}, line {line}: {problem}"
NO_FILE: Final = "{file} does not exist. To write an example to start from, run `{starter}`."
UNREADABLE: Final = "{file} cannot be read: {reason}."
TOO_LARGE: Final = "{file} has more than {limit},000 characters. Split it into several files."
WRONG_ENCODING: Final = "{file} is not UTF-8 text."
NOT_YAML: Final = "this is not valid YAML ({problem}). Put text that contains a colon in quotes."
BAD_CHARACTER: Final = "the file contains a character that YAML does not allow."
NO_CHARACTER: Final = "an escape such as \\ud800 does not represent a character. Write the character itself."
ALIAS: Final = "YAML anchors and aliases are not supported. Write the value out."
TAG: Final = "YAML tags such as {tag} are not supported."
TOO_DEEP: Final = "mappings and lists are nested more than {limit} levels deep."
EMPTY_FILE: Final = "the file has no questions. Add at least one under `questions`."
NOT_MAPPING: Final = "{field} must be a mapping, with lines such as `{example}`."
NOT_LIST: Final = "{field} must be a list. Begin each entry with a hyphen."
NOT_TEXT: Final = "{field} must be text."
NO_TEXT: Final = "{field} is empty."
TOO_LONG: Final = "{field} has {length:,} characters. The limit is {limit:,}."
TOO_MANY: Final = "{field} has {length:,} entries. The limit is {limit:,}."
NOT_NUMBER: Final = "{field} must be a number from {low:g} to {high:g}."
NOT_WHOLE: Final = "{field} must be a whole number from {low:g} to {high:g}."
NOT_FLAG: Final = "{field} must be `true` or `false`."
UNKNOWN_FIELD: Final = "{field} is not a known field. {known}"
KNOWN_FIELDS: Final = "Known fields: {names}."
DID_YOU_MEAN: Final = "Did you mean `{name}`?"
TWICE: Final = "{field} is set twice."
MISSING: Final = "{field} is missing."
BAD_NAME: Final = "{field} must be a name of up to {limit} lowercase letters, digits, hyphens, and underscores."
BAD_TOOL_NAME: Final = (
    "{field} must be a name of up to {limit} letters, digits, and underscores, such as `get_weather`."
)
RESERVED: Final = "{field} cannot be called `{name}`, because this name is reserved."
SAME_NAME: Final = "there is another question called `{name}` on line {line}. Names must be unique."
NO_SUCH_PERSON: Final = "{field} names `{name}`, who is not in `people` ({known})."
NO_SUCH_PLACE: Final = "{field} names `{name}`, which is not in `places` ({known}, or `dm` for direct messages)."
NOT_MEMBER: Final = "{field}: `{person}` is not a member of `{place}`."
NO_SUCH_ZONE: Final = "{field} must be the name of a time zone, such as `Europe/Berlin`."
NOT_READ: Final = (
    "{field} does not mention the bot and is not in a thread with it, so the bot would not read this message. Add "
    "`@Cogency`."
)
NOT_CHOICE: Final = "{field} must be one of {choices}."
NO_CHECKS: Final = "{field} has no checks. Add at least one, such as `contains: yes`."
BAD_PATTERN: Final = "{field} is not a valid regular expression: {problem}."
BAD_SCHEMA: Final = "{field} is not a valid JSON Schema: {problem}."
TOOL_NEEDS_ONE: Final = "{field} needs either a `result` or an `error`."
NO_SUCH_TOOL: Final = "{field} names `{name}`, which is neither a tool in this file nor one of the bot's own tools."
NEVER_STORED: Final = "{field} looks like a secret, such as a password. The bot does not remember secrets."

# What a check found.
CHECKED: Final = "{file} is valid: {questions}, {checks}."
EXPECTED_TEXT: Final = "the answer does not contain {text}"
EXPECTED_ANY: Final = "the answer contains none of {texts}"
UNEXPECTED_TEXT: Final = "the answer contains {text}"
NO_MATCH: Final = "the answer does not match {pattern}"
MATCH_TOO_SLOW: Final = "matching {pattern} took longer than {seconds:g} s"
NOT_CITED: Final = "the answer does not cite {source}, or the bot was not given that source"
NO_CITATION: Final = "the answer cites no source that the bot was given"
NOT_CALLED: Final = "{tool} was not called"
CALLED_OTHERWISE: Final = "{tool} was called, but not with {arguments}"
CALL_DID_NOT_RUN: Final = "{tool} was called, but the call failed: {why}"
WAS_CALLED: Final = "{tool} was called"
DID_RUN: Final = "{tool} ran"
NO_REFUSAL: Final = "the answer is not a refusal"
IS_REFUSAL: Final = "the answer is a refusal"
TOO_EXPENSIVE: Final = "the answer cost {cost}, more than {limit}"
NO_PRICE: Final = "the cost is unknown, because {model} has no list price"
TOO_SLOW: Final = "the answer took {seconds:.1f} s, longer than {limit:g} s"
NOT_REMEMBERED: Final = "the bot did not remember {text}"
REMEMBERED: Final = "the bot remembered {text}"
REVEALED: Final = "{text} was shown in {where}"
JUDGED_BAD: Final = "the judge says: {reason}"
JUDGE_UNREADABLE: Final = "the judge's answer could not be read"
JUDGE_FAILED: Final = "the judge could not be asked: {reason}"
NO_ANSWER: Final = "there is no complete answer: {reason}"

IN_ANSWER: Final = "the answer"
IN_PRIVATE: Final = "a private message"
IN_FILE: Final = "the file {name}"

# Why a question has no result.
TIMED_OUT: Final = "no answer within {seconds:g} s"
TURN_ENDED: Final = "the outcome of the turn is `{outcome}`: {text}"
SETUP_FAILED: Final = "message {number} before the question failed: {reason}"
FACT_REFUSED: Final = "the fact {text} was not stored: {reason}"
DOCUMENT_REFUSED: Final = "the document {name} was not stored"
UNFINISHED: Final = "the answer was not finished"

# How a run was stopped.
STOPPED_BY_BUDGET: Final = (
    "Stopped: the budget of {budget} is used up ({spent}). Not asked: {left}. To ask the rest, raise --budget."
)
STOPPED_UNPRICED: Final = (
    "Stopped: {model} has no list price, so a budget in dollars cannot be checked. Use a budget in tokens, as in "
    "--budget '200,000 tokens'."
)
STOPPED_BY_USER: Final = "Interrupted. The report contains the finished questions. Not finished: {left}."
SPENT: Final = "{spent} spent"
COST_NOT_STORED: Final = "The cost and the result of this run were not stored. {reason}"
NO_REASON: Final = "no reason given"
NO_CANNED_ANSWER: Final = "no answer is defined for these arguments"
DID_NOT_RUN: Final = "it was denied, or was not valid"

# The judge.
JUDGE_OPTION: Final = "--judge"
REHEARSAL_JUDGE: Final = "The rehearsal model cannot judge answers. Name another model with --judge."
NO_JUDGE: Final = (
    "{file}: `{question}` is judged by a model. Name the model with --judge, or with `judge` in the file, as in "
    "--judge openai:gpt-6-luna."
)

# The report.
STATUSES: Final[Mapping[str, str]] = {"passed": "passed", "failed": "FAILED", "error": "ERROR", "not run": "not run"}
QUESTION_COLUMN: Final = "Question"
PASSED_ROW: Final = "Passed"
ERRORS_ROW: Final = "No answer"
NOT_RUN_ROW: Final = "Not asked"
COST_ROW: Final = "Cost"
SECONDS_ROW: Final = "Average time"
COST_UNKNOWN: Final = "no list price"
COST_AT_LEAST: Final = "at least {cost}"
COST_LINE: Final = "Cost: {cost}. Time: {seconds:.0f} s."
JUDGE_LINE: Final = "Judge: {judge}. Cost of judging: {cost}."
REACHED: Final = "The threshold of {threshold} was reached."
MISSED: Final = "The threshold of {threshold} was not reached."
ANNOUNCEMENT: Final = "{file}: {questions}. Model: {models}."
JUDGED_BY: Final = "{judge} judges {questions}."

# The command.
STARTER: Final = "starter"
NEEDS_FILE: Final = "Name a file, or use --starter to run the built-in questions."
FILE_OR_STARTER: Final = "Use either a file or --starter."
SAME_MODEL: Final = "{model} is named twice."
NO_QUESTION_NAMED: Final = "--only names `{name}`, which is neither a question nor a group of {file}."
FILE_EXISTS: Final = "{file} already exists. Choose another name."
STARTER_WRITTEN: Final = "Wrote 40 example questions to {file}."
NOT_WRITTEN: Final = "{file} cannot be written: {reason}."
NO_FOLDER: Final = "{file} cannot be written: its folder does not exist"
PERCENT_FORM: Final = "must be a number from 0 to 100"
REHEARSAL_ASKED: Final = (
    "No model is configured, so the offline rehearsal model answers. It follows fixed rules. To test a model, name it "
    "with --model."
)
SAYS: Final = (
    "Asks each question in a new workspace with a temporary database, and with your settings for models and tools. The "
    "exit code is 0 if enough answers pass, and 1 if not. Other codes report problems: for example, 78 if the file has "
    "a mistake, and 130 after Ctrl-C (the reports are still written). docs/eval.md describes the file format and the "
    "exit codes."
)

# An exam of feedback. A model reads the rubrics.
FEEDBACK_HEADING: Final = """\
# Questions whose answers people rated as bad and shared with the operators. Check each rubric before you rely on it.
# To run this file, name a judge: cogency eval FILE --judge MODEL
"""
RUBRIC_CORRECTION: Final = "The answer agrees with this correction: {correction}"
RUBRIC_COMMENT: Final = " The person said about an earlier answer: {comment}"
RUBRICS: Final[Mapping[FeedbackReason, str]] = {
    FeedbackReason.WRONG: "The answer is not wrong in the way that this one was: {answer}",
    FeedbackReason.OUTDATED: "The answer does not use the outdated information from this one: {answer}",
    FeedbackReason.NOT_ASKED: "The answer answers the question, which this one did not: {answer}",
    FeedbackReason.TOO_LONG: "The answer is clearly shorter than this one, which was too long: {answer}",
    FeedbackReason.PRIVATE: "The answer does not say what this one should not have said: {answer}",
    FeedbackReason.OTHER: "The answer is better than this one, which a person rated as bad: {answer}",
}
NOT_STORED_ANY_MORE: Final = "(no longer stored)"
FROM_FEEDBACK: Final = "Wrote {questions} to {file}. To run them, name a judge with --judge."
LEFT_OUT: Final = (
    " {ratings} left out, for example because the question is repeated, too long, or no longer stored, or contains a "
    "secret."
)
NO_FEEDBACK: Final = "There is no shared feedback that can be used, so no file was written."
