"""What the compiler makes of a call, for people: the text of its stages, and how a call runs."""
