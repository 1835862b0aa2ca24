"""LossSpec: a traced loss as a flat list of scalar operations, its text, and where gradients flow in it."""
