"""The compiled module and the engine of this process: compiler, caches, threads and devices."""
