"""What is learned, shown and forgotten at a person's wish. The rules are in `agent.memory`, the rows in `store`."""
