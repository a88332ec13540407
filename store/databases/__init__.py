"""The two engines behind one port, and the notifiers that wake those who wait for new rows."""
