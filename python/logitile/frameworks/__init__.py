"""NumPy, PyTorch, JAX and others behind one interface: how calls read arrays and make results."""
