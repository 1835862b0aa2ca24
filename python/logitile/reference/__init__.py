"""The meaning of a loss in float64 NumPy, independent of the compiler, to compare with: outputs,
gradients, sums over sequences, and the calls of heads with backend="reference".

It reads a LossSpec as the compiler does, and shares no code with it.
How a head comes to call it is in `routes`.
"""
