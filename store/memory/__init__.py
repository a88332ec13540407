"""What is known of people."""
