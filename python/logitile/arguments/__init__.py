"""The arguments of a call, checked: options of lt.jit, names, shapes, types, integers and wanted
gradients, as the records that calls are made of.

Nothing here compiles or runs a call: that is `calls`. What an array is, and how it is read,
is `frameworks`.
"""
