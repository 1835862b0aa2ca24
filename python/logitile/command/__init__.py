"""The command line, `python -m logitile`: the disk cache,
tuning and the page of a loss, for people.

A command reads what it is told, calls what a Python program would call, and prints.
It computes nothing itself.
"""
