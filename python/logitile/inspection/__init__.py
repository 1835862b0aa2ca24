"""What the compiler makes of a call, for people: the text of its stages, and how a call runs,
as fields, a table and pictures.

The page of `head.view` is in `view`; the stages themselves are the compiler's.
"""
