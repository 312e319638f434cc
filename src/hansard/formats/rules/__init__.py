"""What providers accept, and messages made to conform to it."""
