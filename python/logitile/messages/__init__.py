"""What errors and warnings are made of: words for names and shapes, and the place in the user's text."""
