"""Which model answers: chosen by name, kept ready, switched by a person, checked by an operator."""
