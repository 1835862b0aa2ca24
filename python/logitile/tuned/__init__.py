"""Results of tuning: kept on disk (`store`), and used by the calls of a head (`lookup`).

How it is found is in `tuning`.
"""
