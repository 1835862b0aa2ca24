"""The native module as the package uses it: the engine of the process, with its compiler, caches
and threads (`engine`), and kinds of devices (`platforms`).

Programs and calls are in `calls`. The C++ below is in `runtime/` of the source tree.
"""
