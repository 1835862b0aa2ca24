"""Compares a drop-in with the same formula on dense logits, in float64."""

import torch


def check(mine, dense, arguments, tolerance=1e-5, **options):
    """Outputs and gradients of `mine` are those of `dense`, as vectors, to a relative tolerance.

    Args:
        mine, dense: called with the arguments by name and the options; they return a tensor,
            None or a tuple.
        arguments: tensors as `mine` gets them; `dense` gets float64 copies of floats. All that
            require a gradient are differentiated, with random numbers that reach the outputs.
    """
    leaves = {name: leaf(tensor, getattr(tensor, "dtype", None)) for name, tensor in arguments.items()}
    exact = {name: leaf(tensor, torch.float64) for name, tensor in arguments.items()}
    results, wanted = as_tuple(mine(**leaves, **options)), as_tuple(dense(**exact, **options))
    assert len(results) == len(wanted)
    pairs = [(r, w) for r, w in zip(results, wanted, strict=True) if w is not None]
    assert all(r is None for r, w in zip(results, wanted, strict=True) if w is None)
    for result, other in pairs:
        assert result.shape == other.shape
        assert close(result, other, tolerance), (result, other)
    carrying = [(r, w) for r, w in pairs if w.requires_grad]
    assert [r.requires_grad for r, w in pairs] == [w.requires_grad for r, w in pairs]
    if not carrying:
        return
    torch.manual_seed(7)
    reaching = [torch.rand(r.shape) + 0.5 for r, _ in carrying]
    gradients = gradient([r for r, _ in carrying], leaves, reaching)
    expected = gradient([w for _, w in carrying], exact, reaching)
    for name, right in expected.items():
        assert gradients[name].dtype == arguments[name].dtype, name
        assert close(gradients[name], right, tolerance), (name, gradients[name], right)


def leaf(tensor, dtype):
    """A copy with a gradient of its own."""
    if not torch.is_tensor(tensor) or not tensor.is_floating_point():
        return tensor
    return tensor.detach().to(dtype).requires_grad_(tensor.requires_grad)


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


def close(result, wanted, tolerance):
    """Whether the error is small against the largest number; NaN where NaN is wanted."""
    result, wanted = result.detach().double(), wanted.detach().double()
    if not torch.equal(result.isnan(), wanted.isnan()):
        return False
    error = (result - wanted).nan_to_num().norm()
    return bool(error <= tolerance * max(wanted.nan_to_num().norm().item(), 1e-3))


def gradient(outputs, leaves, reaching):
    """Gradients by name of the leaves that require one, zeros where there is no path."""
    wrt = {
        name: tensor for name, tensor in leaves.items() if torch.is_tensor(tensor) and tensor.requires_grad
    }
    ups = [up.to(output.dtype) for up, output in zip(reaching, outputs, strict=True)]
    found = torch.autograd.grad(outputs, list(wrt.values()), ups, allow_unused=True)
    return {
        name: torch.zeros_like(tensor) if g is None else g
        for (name, tensor), g in zip(wrt.items(), found, strict=True)
    }
