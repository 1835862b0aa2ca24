"""JAX: arrays, tracers, and heads as calls that XLA makes: primitives, their parts on the devices
of a mesh, and slices of the vocabulary in jax.shard_map. Only modules that need JAX anyway import
this package.

Which keyed calls a head consists of is not known here: `frameworks.traced` is what is asked of one.
"""
