"""`lt.autotune`: finds the tile sizes and threads with which calls are quickest on this machine, by
measuring in turns what the cost model ranks first.

What it found is kept and looked up in `tuned`.
Which sizes there are is said by the tables of the targets.
"""
