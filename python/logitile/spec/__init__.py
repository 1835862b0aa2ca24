"""LossSpec: a traced loss as a flat list of scalar operations, its text,
and where gradients flow in it.

How a function becomes one is in `language`. What the operations mean for numbers, the compiler and
`reference` say.
"""
