"""The checked arguments of a call: options of lt.jit, names, shapes, types, integers and wanted
gradients, as records for `calls`.

Nothing here compiles or runs a call: that is `calls`. What an array is, and how it is read,
is `frameworks`.
"""
