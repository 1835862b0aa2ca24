"""The command line, `python -m logitile`: the disk cache and tuning, for people."""
