"""A float64 NumPy interpreter of losses, independent of the compiler, for comparison: outputs,
gradients, sums over sequences, and the calls of heads with backend="reference".

It reads a LossSpec as the compiler does, and shares no code with it.
How a head comes to call it is in `routes`.
"""
