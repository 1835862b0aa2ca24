"""torch.nn.functional.linear_cross_entropy, torch.nn.LinearCrossEntropyLoss and its options,
of PyTorch 2.13.

    from logitile.integrations.pytorch import linear_cross_entropy

docs/integrations/pytorch.md says what differs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .. import losses
from ..errors import CallTypeError, CallValueError
from .coefficients import Coefficient, check, given, is_number
from .heads import head

__all__ = ("LinearCrossEntropyLoss", "LinearCrossEntropyOptions", "linear_cross_entropy")

_POLICIES = ("accurate", "balanced", "compact", "auto")


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How a call bounds its memory; without options the head's own budget does.

    Args:
        allow_retain_graph: whether a mean or a sum may be differentiated twice.
        batch_chunk_size: tokens per chunk.
        chunking_method: "auto" (the head's own budget, unless `batch_chunk_size` is given),
            "aspect_ratio" or "aspect_ratio:N" (chunks whose logits take about as much memory as the
            input, or an N-th of it), or None.
        acc_policy: "auto", "accurate", "balanced" or "compact". Sums are float32 under all of them.
        acc_dtype: None or a type of at most 32 bits: the least precision of sums,
            which are float32.

    Raises:
        CallValueError: a value is not possible.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: torch.dtype | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise CallValueError(f"acc_policy={self.acc_policy!r} is none of {_POLICIES}")
        size = self.batch_chunk_size
        if size is not None and (type(size) is not int or size < 1):
            raise CallValueError(f"batch_chunk_size={size!r} must be a positive int or None")
        _divisor_of(self.chunking_method)
        if self.acc_dtype not in (None, torch.float32, torch.bfloat16, torch.float16):
            raise CallValueError(
                f"acc_dtype={self.acc_dtype!r}: sums are float32; give None or a type of at most 32 bits"
            )


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: Coefficient = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """Cross-entropy of `input @ linear_weight.T + linear_bias`, like torch's function.

    Args:
        input: [in_features] or [N, in_features]. Where it is float64, the reference computes the
            loss, slowly and with all logits in memory.
        linear_weight: [C, in_features], or [C, d1, ..., dK, in_features] for K-dimensional losses.
        target: class indices [], [N] or [N, d1, ..., dK]; or probabilities,
            in the shape of the logits.
        linear_bias: [C, d1, ..., dK].
        weight: one per class, [C].
        reduction: "mean", "sum" or "none".
        ignore_index: None means -100 for class indices; probabilities take none.
        label_smoothing: from 0 to 1. It may be a tensor without axes,
            which gets a gradient if it requires one.
        options: LinearCrossEntropyOptions of this module or of torch.nn.

    Returns: the loss, in the type of `input`.

    Raises:
        CallError: shapes, types or values do not agree, or an index lies outside the classes.
        RuntimeError: in a second backward, if `options` allow none.
    """
    _check_shapes(input, linear_weight, linear_bias)
    classes, positions = linear_weight.shape[0], linear_weight.shape[1:-1]
    is_soft = target.shape == (*input.shape[:-1], classes, *positions)
    if is_soft and ignore_index is not None:
        raise CallValueError(f"ignore_index={ignore_index} has no meaning where the target has probabilities")
    if reduction not in ("mean", "sum", "none"):
        raise CallValueError(f"reduction={reduction!r} is none of 'mean', 'sum', 'none'")
    check("label_smoothing", label_smoothing, 0, 1)
    bound: dict[str, Any] = _chunks(options, input, classes * math.prod(positions))
    if input.dtype == torch.float64:
        bound = {"backend": "reference"}
    if not is_soft:
        bound["ignore_index"] = -100 if ignore_index is None else ignore_index
    inputs = given(label_smoothing=label_smoothing)
    if weight is not None:
        inputs["class_weight"] = weight
    text = losses.soft_cross_entropy if is_soft else losses.cross_entropy
    if not positions:
        if linear_bias is not None:
            inputs["bias"] = linear_bias
        loss = _loss(head(text, reduction=reduction, **bound)(input, linear_weight, target=target, **inputs))
    else:
        flat = _Flat(input, linear_weight, target, linear_bias, is_soft)
        loss = flat.loss(text, reduction, bound, inputs)
    allows_one = options is not None and not options.allow_retain_graph and reduction != "none"
    is_plain = not (is_soft or positions) and is_number(label_smoothing, 0)
    if allows_one and is_plain and not torch.compiler.is_compiling():
        loss = Once.apply(loss)
    return loss.to(input.dtype)


class LinearCrossEntropyLoss(torch.nn.Module):
    """A linear layer and the cross-entropy of its outputs, as torch.nn.LinearCrossEntropyLoss.

    Parameters are in `linear`, class weights in the buffer `weight`. For arguments see
    `linear_cross_entropy`; `out_features` is (d1, ..., dK).
    """

    weight: Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: Coefficient = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        super().__init__()
        if weight is not None and weight.shape != (num_classes,):
            raise CallValueError(
                f"weight has shape {tuple(weight.shape)}, but there are {num_classes} classes"
            )
        check("label_smoothing", label_smoothing, 0, 1)
        self.register_buffer("weight", weight)
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.reduction, self.ignore_index = reduction, ignore_index
        self.label_smoothing, self.options = label_smoothing, options
        rows = num_classes * math.prod(self.out_features)
        self.linear = torch.nn.Linear(in_features, rows, bias=bias, device=device, dtype=dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of [in_features] or [N, in_features] inputs."""
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, -1),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """The options, without those of `linear`."""
        names = ("num_classes", "out_features", "reduction", "ignore_index", "label_smoothing", "options")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class Once(torch.autograd.Function):
    """Its argument, which can be differentiated once."""

    generate_vmap_rule = True

    @staticmethod
    def forward(loss: Tensor) -> Tensor:
        return loss.view_as(loss)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.is_spent = False

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        if ctx.is_spent:
            raise RuntimeError(
                "the loss was differentiated before; LinearCrossEntropyOptions(allow_retain_graph=True) "
                "allows to do so again"
            )
        ctx.is_spent = True
        return upstream


def _check_shapes(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> None:
    if input.dim() not in (1, 2):
        raise CallValueError(
            f"input has shape {tuple(input.shape)}; it must be [in_features] or [N, in_features]"
        )
    if linear_weight.dim() < 2 or linear_weight.shape[-1] != input.shape[-1]:
        raise CallValueError(
            f"linear_weight has shape {tuple(linear_weight.shape)} and input {tuple(input.shape)}; their "
            "last dimensions must be equal"
        )
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise CallValueError(
            f"linear_weight has shape {tuple(linear_weight.shape)}, which needs an input [N, in_features], "
            f"but input has shape {tuple(input.shape)}"
        )
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise CallValueError(
            f"linear_bias has shape {tuple(linear_bias.shape)}; linear_weight needs "
            f"{tuple(linear_weight.shape[:-1])}"
        )


def _loss(result: Any) -> Tensor:
    """The loss of a head, which returns a tuple where there are class weights."""
    return result[0] if isinstance(result, tuple) else result


# ---- chunks --------------------------------------------------------------------------------------


def _divisor_of(method: str | None) -> int | None:
    """The N of "aspect_ratio:N"; None for methods without one."""
    if method is None or method == "auto":
        return None
    name, _, factor = method.partition(":") if isinstance(method, str) else ("", "", "")
    if name != "aspect_ratio" or (":" in method and not (factor.isdigit() and int(factor))):
        raise CallValueError(
            f"chunking_method={method!r} is none of 'auto', 'aspect_ratio', 'aspect_ratio:N', None"
        )
    return int(factor or 1)


def _chunks(options: Any, input: Tensor, rows: int) -> dict[str, int]:
    """The option of lt.jit that cuts tokens as `options` say; none where they leave it open."""
    if options is None or input.dim() == 1 or not input.shape[0]:
        return {}
    tokens, size = input.shape[0], options.batch_chunk_size
    divisor = _divisor_of(options.chunking_method)
    if divisor is not None:
        # so that logits of a chunk are as large as the input
        even = -(-tokens // -(-rows // input.shape[1]))
        proposed = max(1, min((1 << (even - 1).bit_length()) // divisor, tokens))
        if size is not None and min(size, tokens) != proposed:
            raise CallValueError(
                f"batch_chunk_size={size}, but chunking_method={options.chunking_method!r} makes chunks of "
                f"{proposed} tokens here; give one of the two"
            )
        size = proposed
    return {} if size is None else {"chunks": -(-tokens // size)}


# ---- K-dimensional losses ------------------------------------------------------------------------


class _Flat:
    """A call with a weight [C, d1, ..., dK, D]: one call of a head for each of d1 x ...
    x dK positions.
    """

    def __init__(
        self, input: Tensor, weight: Tensor, target: Tensor, bias: Tensor | None, is_soft: bool
    ) -> None:
        self.input, self.is_soft, self.positions = input, is_soft, weight.shape[1:-1]
        if target.shape[2 if is_soft else 1 :] != self.positions:
            raise CallTypeError(
                f"target has shape {tuple(target.shape)}; linear_weight {tuple(weight.shape)} wants "
                f"{(input.shape[0], *self.positions)}"
            )
        self.weight = weight.flatten(1, -2)  # [C, positions, D]
        self.target = target.flatten(2 if is_soft else 1)
        self.bias = None if bias is None else bias.flatten(1)

    def loss(self, text: Any, reduction: str, bound: dict[str, Any], inputs: dict[str, Any]) -> Tensor:
        """[N, d1, ..., dK], or the reduced loss."""
        run = head(text, reduction="none" if reduction == "none" else "sum", **bound)
        parts = []
        for place in range(self.weight.shape[1]):
            bias = {} if self.bias is None else {"bias": self.bias[:, place]}
            target = self.target[..., place]
            parts.append(_loss(run(self.input, self.weight[:, place], target=target, **inputs, **bias)))
        if reduction == "none":
            return torch.stack(parts, -1).unflatten(-1, self.positions)
        total = torch.stack(parts).sum()
        return total if reduction == "sum" else self._mean(total, bound, inputs.get("class_weight"))

    def _mean(self, total: Tensor, bound: dict[str, Any], class_weight: Tensor | None) -> Tensor:
        """The sum over what counts; NaN with gradients of 0 where nothing does, as torch has it."""
        if self.is_soft:
            count = total.new_tensor(self.target.shape[0] * self.target.shape[2])
        else:
            counts = self.target != bound["ignore_index"]
            weights = 1.0 if class_weight is None else class_weight[torch.where(counts, self.target, 0)]
            count = (weights * counts).sum().to(total.dtype)
        safe = torch.where(count == 0, 1.0, count)
        return torch.where(count == 0, torch.nan, total / safe)
