"""What tuning found: kept on disk (`store`), and taken by the calls of a head (`lookup`).

How it is found is in `tuning`.
"""
