"""`lt.autotune`: finds the fastest tile sizes and number of threads for calls on this machine.
It measures, in turns, the configurations that the cost model ranks first.

What it found is kept and looked up in `tuned`.
Which sizes there are is said by the tables of the targets.
"""
