"""`head.view`: one page in HTML that shows how a loss becomes kernels, line by line."""
