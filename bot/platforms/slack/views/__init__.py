"""What people see and press besides answers: the Home tab, windows, lists with buttons. The blocks are pure."""
