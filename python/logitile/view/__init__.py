"""`head.view`: one page in HTML that shows how a loss becomes kernels, line by line.

What it shows is told by `inspection` and by the trace of the native module;
here it is only laid out.
"""
