"""What the model can do: a registry, and one file a tool."""
