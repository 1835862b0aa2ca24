"""The vocabulary in slices: sweeps over a slice, states that slices exchange, results after the last one."""
