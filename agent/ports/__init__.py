"""What the core needs from outside, as protocols: one module for each subject."""
