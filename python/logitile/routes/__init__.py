"""The routes of a head's calls, chosen when the head is made (`choice`): compiled code (`code`,
with `given` for given logits), the reference, and outputs of another type (`converted`).

What a route hands a call on to is not here: arguments are checked in `arguments`, compiled calls
and sums over sequences are made in `calls`, float64 is computed in `reference`. What users see of a
head is in `heads`.
"""
