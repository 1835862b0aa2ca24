"""From checked arguments to results: programs, native calls, the arrays that they write, saved plans."""
