"""What errors are made of: words for names and shapes, and the place in the user's text."""
