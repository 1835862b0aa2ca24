"""Slices of the vocabulary: sweeps over a slice, states that slices exchange, results after the
last one, also as parts of a program that a framework traces.

Who has which slice is not known here: that is the caller, `parallel`, or the mesh of JAX.
"""
