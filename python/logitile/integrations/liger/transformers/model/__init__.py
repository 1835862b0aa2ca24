"""Functions that Liger's forwards of models call."""
