"""PyTorch: its tensors, heads under autograd, and heads as operators of captured graphs."""
