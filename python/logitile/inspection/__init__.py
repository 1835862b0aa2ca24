"""Shows what the compiler makes of a call: the text of its stages, and its schedule and cost, as
fields, a table and pictures.

The page of `head.view` is in `view`; the stages themselves are the compiler's.
"""
