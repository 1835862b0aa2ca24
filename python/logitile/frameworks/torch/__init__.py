"""PyTorch: its tensors, heads under autograd, and heads as operators of captured graphs.

Several processes are not here but in `parallel`;
modules of PyTorch are in `nn.py` and `integrations`.
"""
