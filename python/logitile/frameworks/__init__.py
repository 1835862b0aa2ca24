"""NumPy, PyTorch, JAX and others under one interface (`arrays`): how calls read arrays, make
results, and are differentiated, captured or traced. `choice` says which framework an array is from.

This is the one package that knows frameworks by name. What a call computes is not here, nor is a
head: captured and traced calls know one by the protocols of `capture` and `traced`.
"""
