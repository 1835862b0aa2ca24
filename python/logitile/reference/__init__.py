"""The meaning of a loss in float64 NumPy, independent of the compiler, to compare with."""
