"""What `bench/sass_model.py` is made of: listings, paths through them, a multiprocessor,
predicted times.
"""
