"""How what happens in Slack reaches the bot: sockets, requests, and what was missed."""
