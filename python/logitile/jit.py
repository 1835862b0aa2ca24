"""`lt.jit`: binds a loss to its options and returns a Head."""

from __future__ import annotations

from .arguments.kept import kept
from .arguments.options import checked_constants, checked_options
from .errors import CallTypeError
from .frameworks.choice import is_read
from .head import Head
from .language.definition import Loss


def jit(
    loss: Loss,
    /,
    *,
    reduction: str | None = None,
    ignore_index: int | None = -100,
    ignore: str | None = None,
    all_ignored: str = "nan",
    workspace: str | int = "auto",
    chunks: int | None = None,
    backend: str = "auto",
    weight_layout: str = "vd",
    output_dtype: object = None,
    tiles: str = "",
    **constants: object,
) -> Head:
    """Binds a loss to its options.

    Args:
        loss: a function with the decorator `lt.loss`.
        reduction: "mean", "sum" or "none", applied to the output `loss` only. The default is
            "mean" if there is a loss.
        ignore_index: tokens whose input `ignore` equals it count nowhere; None ignores nothing.
        ignore: name of the lt.Token[int] input that is compared with `ignore_index`. The default
            is "target" if there is such an input.
        all_ignored: the mean if no token counts: "nan" or "zero".
        workspace: budget in bytes beyond inputs and outputs: "auto", an int, or "512MiB".
        chunks: number of chunks of tokens, instead of a budget.
        backend: "auto" (follows the arrays), "cpu", "cuda", "cuda:sm_90", "emu:sm_90", ...; or
            "reference", the interpreter, which computes in float64 with all logits in memory.
        weight_layout: "vd" for weights [V, D], "dv" for [D, V].
        output_dtype: the type of float outputs, or "hidden" for the type of the first hidden
            states or logits. The default is float32, which kernels write; results are converted
            to another type.
        tiles: tile sizes such as "TM=64,TN=128", which replace the target's own
            (docs/guides/tile-tables.md). The default is the sizes of tuning, or of the target's
            table.
        constants: values of the loss's keyword-only constants.

    Returns: the head. A call of it returns one array for a bare value, and a named tuple for
        lt.Outputs, even with one output. So `lt.jit(lt.losses.logprob)` gives a tuple with one
        field, `logprob`.

    Raises:
        CallTypeError, CallValueError: an option or a constant is not possible.
        TargetError: `backend` names a target that does not exist.
    """
    if not isinstance(loss, Loss):
        raise CallTypeError(f"lt.jit takes a loss, not {loss!r}; decorate the function with lt.loss")
    options: dict[str, object] = dict(
        reduction=reduction, ignore_index=ignore_index, ignore=ignore, all_ignored=all_ignored,
        workspace=workspace, chunks=chunks, backend=backend, weight_layout=weight_layout,
        output_dtype=output_dtype, tiles=tiles,
    )  # fmt: skip
    if is_read():
        return kept_head(loss, **options, **constants)
    checked = checked_options(loss.signature, **options)
    return Head(loss, checked, checked_constants(loss.signature, constants))


def kept_head(loss: Loss, **given: object) -> Head:
    """A new head, or one that was made here before with the same options and constants."""
    head: Head = kept(Head, loss, given)
    return head
