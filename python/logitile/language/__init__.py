"""The language of losses: the functions and operators that a loss uses, and the trace that records them."""
