"""What errors and warnings are made of: words for names, numbers and shapes,
and the place in the user's text.

The exceptions are in `errors.py`. What is wrong, and the remedy, is written where it is found.
"""
