"""The language of losses: `lt.loss`, annotations, functions and operators,
and the trace that records them.

What a trace becomes is a LossSpec, of `spec`. The arrays of a call are not known here, only their
kinds; losses that are written in the language are in `losses`.
"""
