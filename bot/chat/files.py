"""Files in both directions, as a feature of the chat bot."""

from agent.tools.share_file import ShareFileTool
from bot.chat.attachments.handed_over import text_of_model
from bot.chat.attachments.read_again import AttachedMessages, ReadAgainTool
from bot.chat.attachments.reading import AttachmentReader
from bot.chat.core import Core
from bot.chat.feature import Feature


def feature(core: Core, messages: AttachedMessages, reader: AttachmentReader) -> Feature:
    share = [ShareFileTool(core.tool_timeout_s, text_of_model)] if core.platforms.attaches_files else []
    return Feature(name="files", tools=[*share, ReadAgainTool(messages, reader, core.platforms.files_now)])
