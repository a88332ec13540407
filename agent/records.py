"""The values that cross the boundary to the store, from the modules that own them."""
# pyright: reportUnusedImport=false

from agent.consents import ConsentOutcome, PutAside, Undecided
from agent.embeddings import Embedded, Meaning, Unembedded
from agent.incoming import ATTACHED, UNASKED, Attachment, Incoming, Person, Quoted, platform_of
from agent.jobs import INDEXING, Job
from agent.memory.forgetting_plans import Receipt
from agent.memory.layers import Remembered
from agent.ports.tool_accounts import SealedSignIn
from agent.recall_query import Hit, RecallQuery
from agent.repeats import MAX_REPEATS, is_repeat, message_of, repeat_of, repeats_of, repeats_with
from agent.shown_replies import DELETE_REPLY, EPHEMERAL_PAGE, Answered, ReplyVerdict, ShownPage, ShownReply
from agent.stored_messages import AttachedMessage, Author, LastSeen, StoredMessage, Thread
from agent.turn_records import Accepted, Claim, Claiming, Closing, Known, Load, Waiting
