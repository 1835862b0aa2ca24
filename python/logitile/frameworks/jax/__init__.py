"""JAX: arrays, tracers, and heads as calls that XLA makes. Only modules that run where JAX is import it."""
