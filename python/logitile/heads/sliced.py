"""The part of Head for a vocabulary in slices: calls on one slice, and heads for jax.shard_map."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..arguments.outputs import check_default_dtype
from ..arguments.segments import Segments
from ..errors import CallTypeError
from ..frameworks.choice import has_jax, vocab_parallel
from ..routes.code import CodeRoute
from ..slices import sweeps as slices
from ..slices.states import SliceState
from .bound import BoundLoss


class SlicedHead(BoundLoss):
    """Calls of a head on slices of the vocabulary."""

    def partial(
        self,
        *args: object,
        column_offset: int,
        vocab_size: int,
        state: SliceState | None = None,
        wrt: Iterable[str] | None = None,
        grad_output: object = None,
        **inputs: object,
    ) -> SliceState:
        """One sweep over a slice of the vocabulary: the state of each token on this slice.
        Give the states of all slices to `lt.merge`, and the merged state to `finish` or the next
        sweep:

            where = {"column_offset": 4000, "vocab_size": 32000}  # of rows 4000, 4001, ...
            state = head.partial(hidden, weight, target=target, **where)

        Args:
            args, inputs: as for a call. The weight has the rows of the slice, Vocab and Dense
                inputs its entries; everything else is the same for every slice. Tensors that
                require a gradient are taken as data.
            column_offset: the slice's first column.
            vocab_size: of all slices together.
            state: the merged state of the previous sweep; None for the first sweep.
            wrt: in the first sweep, the names of gradients that `finish_grad` will return; by
                default none.
            grad_output: as for `value_and_grad`. Forward sweeps use only its names, backward sweeps
                also its values.

        Returns: a state. Its `next` is the kind of the next sweep after a merge: "forward",
        "backward" or None.

        Raises:
            CallError: the arguments do not fit, or the state does not cover all slices.
            SpecError: the loss is wrong.
        """
        where = (column_offset, vocab_size)
        check_default_dtype(self.options, "calls on slices of the vocabulary")
        return slices.partial(self._binder, args, inputs, where, state, wrt, grad_output)

    def finish(self, state: SliceState) -> Any:
        """The outputs of a call whose vocabulary is in slices; they are the same on every slice.

        Args:
            state: of all slices, merged, after the last forward sweep.

        Returns: the outputs for the whole vocabulary, in the framework of hidden.

        Raises:
            CallError: slices or sweeps are missing, or the state is of another head.
        """
        return slices.finish(self._binder, state)

    def finish_grad(
        self,
        state: SliceState,
        *args: object,
        column_offset: int,
        vocab_size: int,
        grad_output: object = None,
        grad_dtype: object = None,
        **inputs: object,
    ) -> dict[str, Any]:
        """The gradients of a slice, by name: those that the first `partial` named.

        Gradients of weights, Vocab and Dense inputs are the slice's own and complete. Those of
        hidden states are this slice's part: the sum over all slices is the gradient. Those of Token
        and Scalar inputs come from merged states: complete, and the same on every slice.

        Args:
            state: of all slices, merged, after the last sweep.
            args, inputs, column_offset, vocab_size: those of this slice, as for `partial`.
            grad_output: as for `value_and_grad`; not needed if a backward sweep had it.
            grad_dtype: "float32" for gradients in that type. By default each gradient has the type
                of its input.

        Raises:
            CallError: the arguments do not fit, slices or sweeps are missing,
                or the state is of another head.
        """
        where = (column_offset, vocab_size)
        return slices.finish_grad(self._binder, state, args, inputs, where, grad_output, grad_dtype)

    def vocab_parallel(self, axis: str) -> Callable[..., Any]:
        """The head inside of `jax.shard_map`, where each device has a slice of the vocabulary.

        Args:
            axis: the mesh axis over which weights, Vocab and Dense inputs are sharded in equal
                slices.

        Returns: a function with the arguments and results of the head, for one device: weights,
            Vocab and Dense inputs are its slice; everything else is the same as for the whole
            vocabulary. Its loss is a mean over the device's tokens.

        Raises:
            CallTypeError: 'axis' is not a name, or JAX is not imported.
        """
        if not isinstance(axis, str):
            raise CallTypeError(f"axis={axis!r} must be the name of an axis of the mesh")
        if not has_jax():
            raise CallTypeError("head.vocab_parallel is for jax.shard_map, but JAX is not imported here")
        check_default_dtype(self.options, "calls on several devices")
        parallel = vocab_parallel()

        def run(*args: Any, segments: Segments | None = None, **inputs: Any) -> Any:
            if segments is None:
                return parallel(self._capture, axis, args, inputs)
            return self._code.in_segments.through(on_slice).outputs(segments, args, inputs)

        def on_slice(code: CodeRoute) -> Callable[..., Any]:
            return lambda *args, **inputs: parallel(code.written.capture, axis, args, inputs)

        return run
