"""How an answer is shown, its buttons, and what is said about it, within what Discord allows."""
