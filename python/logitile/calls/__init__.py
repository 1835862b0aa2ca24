"""From checked arguments to results: programs and where they run, native calls, the arrays that
they write, saved plans, sums over sequences, and calls that a framework records, captures or
traces.

Arguments are not checked here but in `arguments`; which of these ways a call of a head takes,
`routes` says. Calls on a slice of the vocabulary are in `slices`, those on several processes in
`parallel`.
"""
