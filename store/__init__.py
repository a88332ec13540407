"""Memory on disk: implements the ports that `agent.ports` declares."""
