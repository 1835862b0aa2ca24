"""The native module for the package: the engine of the process, with its compiler, caches and
threads (`engine`), and kinds of devices (`platforms`).

Programs and calls are in `calls`. The C++ below is in `runtime/` of the source tree.
"""
