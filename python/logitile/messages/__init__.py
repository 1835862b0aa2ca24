"""Parts of errors and warnings: words for names, numbers and shapes, and the location in the user's
text.

The exceptions are in `errors.py`. What is wrong, and the remedy, is written where it is found.
"""
