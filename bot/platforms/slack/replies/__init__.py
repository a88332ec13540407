"""How an answer is shown: streams, messages, status lines, within what Slack allows."""
