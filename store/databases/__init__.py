"""The two engines behind one port, and the bells that wake those who wait for new rows."""
