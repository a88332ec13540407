"""The settings of the chat bot itself: who it is, what it reads of a conversation, and its log."""

from bot.settings.parsers import texts_by_id

texts_by_channel = texts_by_id("channel ids and texts", '{"C0123": "Answer formally."}')
