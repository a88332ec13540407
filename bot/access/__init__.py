"""Who may ask, how often and for how much: lists of people, rates, budgets, and the gate that reads them all."""
