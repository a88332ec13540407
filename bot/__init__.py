"""The mouth and ears: platforms bring messages in, replies are shown by live edits."""
