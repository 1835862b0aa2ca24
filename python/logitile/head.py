"""`lt.jit` and Head: a loss bound to its options and constants, and all that can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from .arguments.binder import Binder
from .arguments.call import Call
from .arguments.given import GivenLogits, given_names, with_zeros
from .arguments.given_gradients import refuse_given
from .arguments.kept import forget, kept
from .arguments.options import Options, checked_constants, checked_options
from .arguments.outputs import check_default_dtype, with_dtype
from .arguments.segments import Segments
from .calls import execute
from .calls.captured import HeadCapture
from .calls.demands import by_names
from .calls.plans import Plan, plan_from_text
from .calls.programs import Programs
from .calls.segmented import NOT_JOINED, SegmentedCalls, ignoring_name, without_divisor
from .errors import CallTypeError, CallValueError
from .frameworks.choice import gradient_tracer, has_jax, has_shards, is_read, tracer, vocab_parallel
from .frameworks.dtypes import dtype_name
from .inspected import InspectedHead
from .language.definition import Loss
from .slices import sweeps as slices
from .slices.states import SliceState
from .slices.traced import sliced_call
from .tuned.lookup import TunedKeys

if TYPE_CHECKING:
    import numpy

    from .reference.sequences import Sequences


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
        loss: what `lt.loss` made of a function.
        reduction: "mean", "sum" or "none", applied to the output `loss` only. Left out: "mean" if there is a
            loss.
        ignore_index: tokens whose ignoring input equals it count nowhere; None ignores nothing.
        ignore: name of the lt.Token[int] input that tells ignored tokens. Left out: "target" if there is one.
        all_ignored: a mean over no token is "nan" or "zero".
        workspace: byte budget beyond inputs and outputs: "auto", an int, or text such as "512MiB".
        chunks: number of chunks of tokens, instead of a budget.
        backend: "auto" (follows the arrays), "cpu", "cuda", "cuda:sm_90", "emu:sm_90", ...; or "reference",
            the interpreter, which computes in float64 with all logits in memory.
        weight_layout: "vd" for weights [V, D], "dv" for [D, V].
        output_dtype: the type of float outputs, or "hidden" for that of the first hidden states or logits.
            Left out: float32, which kernels write; another type is a conversion of the results.
        tiles: tile sizes such as "TM=64,TN=128", in the place of the target's own
            (docs/guides/tile-tables.md). Left out: those of tuning, or of the target's table.
        constants: values of the loss's keyword-only constants.

    Raises:
        CallTypeError, CallValueError: an option or a constant is not possible.
        TargetError: `backend` names a target that there is not.
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
    """What `lt.jit` makes, or a head that was made here before with the same options and constants."""
    head: Head = kept(Head, loss, given)
    return head


class Head(InspectedHead):
    """A loss with its options. Calling it gives the outputs; see `lt.jit` for the options.

    A call takes hidden states [..., D] and weights [V, D] of each lt.Logits parameter by position, or by its
    name as a tuple, and every other input by name:

        head(hidden, weight, target=target)
        head(student=(hidden, weight), teacher=(hidden2, weight2), divisor=None)
        head(student=(hidden, weight), teacher=logits)

    Logits [..., V] that exist already may be given by name in the place of a pair.

    Arrays are those of NumPy, PyTorch, JAX, or of anything else with `__dlpack__`. Beside inputs there are
    `divisor`, a number or array without axes that replaces the denominator of a mean, `weight_grad_out`,
    float32 buffers that weight gradients are added into, and `segments`, an lt.Segments that says which
    tokens are one sequence: every output is then the sum or the mean of each sequence's tokens, [S].
    """

    def __init__(self, loss: Loss, options: Options, constants: dict[str, object]):
        self._binder = Binder(loss, options, constants)
        self._programs = Programs(TunedKeys())
        self._capture = HeadCapture(self._binder, self._programs, sliced_call)
        self._bound = {**constants, **options.chosen}
        self._is_reference = options.is_reference
        self._plain = None if options.output_dtype is None else self._with_float32()
        self._pair_names = loss.signature.pair_names
        self._segmented = None if options.reduces == "none" else _segmented(loss, options, constants)
        self._given = {} if isinstance(loss, GivenLogits) else self._heads_of_given()

    @property
    def loss(self) -> Loss:
        """The loss that it is of."""
        return self._binder.loss

    @property
    def options(self) -> Options:
        """What it was bound to, beside the loss and its constants."""
        return self._binder.options

    @options.setter
    def options(self, options: Options) -> None:
        """Binds the loss anew: what was compiled is forgotten."""
        forget(self.loss, self)
        Head.__init__(self, self.loss, options, self.constants)

    @property
    def constants(self) -> dict[str, object]:
        """Values of the loss's keyword-only constants."""
        return self._binder.constants

    def __call__(self, *args: object, segments: Segments | None = None, **inputs: object) -> Any:
        """The outputs: one array, or a named tuple in the order of lt.Outputs.

        Args:
            args, inputs: see Head.
            segments: which sequence each token belongs to. With reduction="mean" each output is the mean over
                a sequence's tokens that are not ignored, of the loss by the output `weight` or the divisor;
                with "sum" it is their sum. Means are float32, sums of integers and bools int64. Left out: the
                loss alone is reduced, over all tokens.

        Floats are float32, or what `output_dtype` says; indices int64, bools bool. They are in the framework
        and the leading dimensions of hidden; the loss has no axis unless reduction="none". Under torch they
        are differentiable.

        Raises:
            CallError: the arguments do not fit, an index lies outside the vocabulary, or the workspace is too
                small.
            SpecError: the loss is wrong.
            TargetError: the arrays are on a device that no code is made for.
        """
        if self._plain is not None:
            result = self._plain(*args, segments=segments, **inputs)
            return with_dtype(result, self._output_dtype_of(args, inputs))
        if self._is_reference:
            from .reference.calls import outputs

            binder, inputs, _, sequences = self._of_reference(args, inputs, None, segments)
            return outputs(binder, args, inputs, sequences)
        if segments is not None:
            return self._in_segments.outputs(segments, args, inputs)
        for name in inputs:  # warm calls count their functions
            if name in self._pair_names:
                head, inputs, _ = self._of_given(args, inputs, None)
                if head is not self:
                    return head(*args, **inputs)
                break
        traced = tracer(args, inputs)
        if traced is not None:
            if has_shards(args, inputs):
                from .parallel.dtensors import distributed_call

                traced = distributed_call
            return traced(self._capture, args, inputs)
        call = self._binder.bind_rounded(args, inputs)
        return call.form.spec.result(execute.outputs(self._programs, call))

    def value_and_grad(
        self,
        *args: object,
        wrt: Iterable[str] | None = None,
        grad_output: object = None,
        grad_dtype: object = None,
        grad_out: Mapping[str, object] | None = None,
        segments: Segments | None = None,
        **inputs: object,
    ) -> tuple[Any, dict[str, Any]]:
        """The outputs of a call, and gradients by name.

        Args:
            wrt: names of gradients: `hidden`, `weight` (`student.hidden`, ... with several pairs) and inputs.
                Left out: the arrays that require one, else hidden and weight.
            grad_output: what reaches the outputs: an array or number for a bare result, a dictionary by
                output else. Left out: 1 for the loss.
            grad_dtype: "float32" for gradients in that type; left out, each has the type of its input.
            grad_out: arrays of NumPy or torch, by gradient, that gradients are written to, whatever was in
                them. Each has the shape and the type of its gradient, is contiguous, and shares memory with
                no other array of the call. Gradients that are not named get arrays of their own.
            segments: as for a call; what reaches an output is a number, or one for each sequence.

        Returns: the outputs as from a call, and the gradients, each in the shape of its input.

        Raises:
            CallError: the arguments do not fit, or a gradient does not exist.
            SpecError: the loss is wrong.
        """
        if self._plain is not None:
            how: dict[str, Any] = {
                "wrt": wrt, "grad_output": grad_output, "grad_dtype": grad_dtype, "grad_out": grad_out
            }  # fmt: skip
            result, gradients = self._plain.value_and_grad(*args, segments=segments, **how, **inputs)
            return with_dtype(result, self._output_dtype_of(args, inputs)), gradients
        if self._is_reference:
            refuse_given(grad_out, "backend='reference'")
            from .reference.calls import values_and_gradients

            binder, inputs, wrt, sequences = self._of_reference(args, inputs, wrt, segments)
            return values_and_gradients(binder, args, inputs, sequences, wrt, grad_output, grad_dtype)
        if segments is not None:
            refuse_given(grad_out, "calls with segments")
            return self._in_segments.value_and_grad(
                segments, args, inputs, wrt=wrt, grad_output=grad_output, grad_dtype=grad_dtype
            )
        for name in inputs:
            if name in self._pair_names:
                head, inputs, wrt = self._of_given(args, inputs, wrt)
                if head is not self:
                    refuse_given(grad_out, "calls with given logits")
                    return head.value_and_grad(
                        *args, wrt=wrt, grad_output=grad_output, grad_dtype=grad_dtype, **inputs
                    )
                break
        dtype = execute.checked_dtype(grad_dtype)
        traced = gradient_tracer(args, inputs)
        if traced is not None:
            refuse_given(grad_out, "traced arrays")
            return traced(self._capture, args, inputs, wrt, grad_output, dtype)
        call = self._binder.bind_rounded(args, inputs)
        outputs, gradients = execute.values_and_gradients(
            self._programs, call, wrt, grad_output, dtype, grad_out
        )
        return call.form.spec.result(outputs), gradients

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
        """One sweep over a slice of the vocabulary: what this slice knows of each token. The states of all
        slices go to `lt.merge`, and what it returns to `finish`, or to the next sweep:

            where = {"column_offset": 4000, "vocab_size": 32000}  # weight has rows 4000 and following
            state = head.partial(hidden, weight, target=target, **where)

        Args:
            args, inputs: as for a call, where weight has the rows of the slice, and Vocab and Dense inputs
                their entries; all else is the same for every slice. Tensors that require a gradient are taken
                as data.
            column_offset: the slice's first column.
            vocab_size: of all slices together.
            state: the merged state of the sweep before; left out for the first one.
            wrt: names of the gradients that `finish_grad` shall make, for the first sweep; left out: none.
            grad_output: as for `value_and_grad`. Forward sweeps look at its names only, backward ones at its
                values too.

        Returns: a state, which says in `next` what is to run once it is merged: a "forward" or a "backward"
        sweep, or None.

        Raises:
            CallError: the arguments do not fit, or the state is not that of all slices.
            SpecError: the loss is wrong.
        """
        where = (column_offset, vocab_size)
        check_default_dtype(self.options, "calls on slices of the vocabulary")
        return slices.partial(self._binder, args, inputs, where, state, wrt, grad_output)

    def finish(self, state: SliceState) -> Any:
        """The outputs of a call whose vocabulary is in slices; they are the same on every slice.

        Args:
            state: of all slices, merged, after the last forward sweep.

        Returns: what the head returns for the whole vocabulary, in the framework of hidden.

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

        Gradients of weights, Vocab and Dense inputs are the slice's own and complete. Those of hidden states
        are this slice's part: the sum over all slices is the gradient. Those of Token and Scalar inputs come
        from merged states: complete, and the same on every slice.

        Args:
            state: of all slices, merged, after the last sweep.
            args, inputs, column_offset, vocab_size: those of this slice, as for `partial`.
            grad_output: as for `value_and_grad`; left out where a backward sweep had it.
            grad_dtype: "float32" for gradients in that type; left out, each has the type of its input.

        Raises:
            CallError: the arguments do not fit, slices or sweeps are missing, or the state is of another
                head.
        """
        where = (column_offset, vocab_size)
        return slices.finish_grad(self._binder, state, args, inputs, where, grad_output, grad_dtype)

    def vocab_parallel(self, axis: str) -> Callable[..., Any]:
        """The head inside of `jax.shard_map`, where each device has a slice of the vocabulary.

        Args:
            axis: of the mesh, over which weights, Vocab and Dense inputs are sharded in equal slices.

        Returns: a function with the arguments and results of the head, for one device: weights, Vocab and
            Dense inputs are its slice, all else is that of all slices. Its loss is a mean over the device's
            tokens.

        Raises:
            CallTypeError: 'axis' is no name, or the process has no JAX.
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
            calls = self._in_segments.through(lambda head: head.vocab_parallel(axis))
            return calls.outputs(segments, args, inputs)

        return run

    def with_options(self, **options: object) -> Head:
        """The head of the same loss with other options of `lt.jit` or constants; what is not named stays.

        The same choice gives the same head, so that this may stand beside each call:

            head.with_options(reduction="sum")(hidden, weight, target=target)

        Raises:
            CallTypeError, CallValueError, TargetError: as for `lt.jit`.
        """
        return kept_head(self.loss, **{**self._bound, **options})

    def compile(self, *args: object, grad: Iterable[str] | None = None, **inputs: object) -> Plan:
        """A plan for calls with such arguments, which can be saved, loaded with lt.load_plan and run, also
        from C.

        Args:
            args, grad, inputs: as for `ir`.

        Raises:
            CallError: the arguments do not fit, or the workspace is too small.
        """
        check_default_dtype(self.options, "saved plans")
        call = self._binder.bind_rounded(args, inputs)
        if self.options.weight_layout != "vd":
            raise CallValueError(
                "a plan takes weights as [V, D]; give weight.T, of any strides, to weight_layout='vd'"
            )
        program = self._programs.program(call, by_names(call, grad))
        return Plan(program.plan(call.tokens), self.options)

    def compile_text(self, text: str, stage: str) -> Plan:
        """A plan from the text of a stage: of `ir` without `kernel`, as it is or edited. Its calls reduce the
        loss and ignore tokens as this head does.

        Args:
            text: with its request, which says what it is compiled for.
            stage: that the text is of: "spec", "plan", "tiles" or "device".

        A backend of the head takes the place of the target in the text: backend="emu:sm_90" runs on the
        emulator what was printed for "cuda:sm_90". From stage "plan" on, it has to be of the same kind. A
        process of its own compiles the text, with limits on memory and time. The code that comes out runs in
        this process: compile only texts whose code you would run.

        Raises:
            CompileError: the text is wrong; its message has places in the text.
            TargetError: this machine has no such device.
        """
        return plan_from_text(text, stage, self.options)

    def _bind(self, *args: object, **inputs: object) -> Call:
        """Checks the arguments of a call: hidden and weight by position, everything else by name.

        Raises:
            CallTypeError: a name is unknown, missing or doubled, or a type is wrong.
            CallValueError: shapes, devices or options do not agree.
        """
        return self._binder.bind_rounded(args, inputs)

    def reference(self, *args: object, segments: Segments | None = None, **inputs: object) -> Any:
        """The outputs in float64 NumPy, by an interpreter that is independent of the compiler.

        Args: as for a call.
        Returns: an array for a bare result, a named tuple for lt.Outputs.

        Raises:
            CallError: the arguments do not fit, or an index lies outside the vocabulary.
            SpecError: the loss is wrong.
        """
        from .reference.forward import evaluate

        binder, inputs, _, sequences = self._of_reference(args, inputs, None, segments)
        call = binder.bind_rounded(args, inputs)
        outputs = evaluate(call.form.spec, call.form.options, call)
        if sequences is not None:
            outputs = sequences.summed(call, outputs)
        return call.form.spec.result(outputs)

    def reference_grad(
        self,
        *args: object,
        wrt: Iterable[str] | None = None,
        grad_output: object = None,
        segments: Segments | None = None,
        **inputs: object,
    ) -> tuple[Any, dict[str, numpy.ndarray]]:
        """The outputs and gradients in float64 NumPy, by a reverse mode that is independent of the compiler.

        Args:
            wrt: names of gradients: `hidden`, `weight` (`student.hidden`, ... with several pairs) and inputs.
                Left out: the arrays that require one, else hidden and weight.
            grad_output: what reaches the outputs: an array or number for a bare result, a dictionary by
                output else. Left out: 1 for the loss.
            segments: as for `value_and_grad`.
        Returns: the outputs as from `reference`, and the gradients by name.

        Raises:
            CallError: the arguments do not fit, or a gradient does not exist.
            SpecError: the loss is wrong.
        """
        from .reference.forward import evaluate
        from .reference.gradient import evaluate_gradients

        binder, inputs, wrt, sequences = self._of_reference(args, inputs, wrt, segments)
        call = binder.bind_rounded(args, inputs)
        spec, options = call.form.spec, call.form.options
        outputs = evaluate(spec, options, call)
        if sequences is not None:
            grad_output = sequences.reaching(call, outputs, grad_output)
            outputs = sequences.summed(call, outputs)
        gradients = evaluate_gradients(spec, options, call, wrt, grad_output)
        return spec.result(outputs), gradients

    def _of_reference(
        self,
        args: tuple[object, ...],
        inputs: dict[str, Any],
        wrt: Iterable[str] | None,
        segments: Segments | None,
    ) -> tuple[Binder, dict[str, Any], Iterable[str] | None, Sequences | None]:
        """What the reference computes: by which binder, from which inputs, which gradients, and how tokens
        are joined.
        """
        head, sequences = self, None
        if segments is not None:
            from .reference.sequences import Sequences

            head = self._in_segments.head(inputs)
            inputs, divisor = without_divisor(self.options, inputs)
            sequences = Sequences(self.options, segments, divisor)
        head, inputs, wrt = head._of_given(args, inputs, wrt)
        return head._binder, inputs, wrt, sequences

    @property
    def _in_segments(self) -> SegmentedCalls:
        """How calls with `segments` are made.

        Raises:
            CallValueError: this head joins no tokens.
        """
        if self._segmented is None:
            raise CallValueError(NOT_JOINED)
        return self._segmented

    def _with_float32(self) -> Head:
        """The head without the option `output_dtype`."""
        return Head(self.loss, replace(self.options, output_dtype=None), self.constants)

    def _heads_of_given(self) -> dict[frozenset[str], Head]:
        """Heads of calls to which logits are given, by the names of these. They are made here, since
        torch.compile makes no head while it traces.
        """
        names = self._pair_names
        choices = [frozenset(some) for count in range(len(names)) for some in combinations(names, count + 1)]
        return {some: Head(GivenLogits(self.loss, some), self.options, self.constants) for some in choices}

    def _output_dtype_of(self, args: tuple[Any, ...], inputs: dict[str, Any]) -> str:
        """The type of the float outputs of a call."""
        if self.options.output_dtype != "hidden":
            return str(self.options.output_dtype)
        names = (pair.name for pair in self.loss.signature.pairs)
        first = args or next(inputs[name] for name in names if name in inputs)
        return dtype_name((first[0] if isinstance(first, (tuple, list)) else first).dtype)

    def _of_given(
        self, args: tuple[object, ...], inputs: dict[str, Any], wrt: Iterable[str] | None
    ) -> tuple[Head, dict[str, Any], Iterable[str] | None]:
        """The head and the inputs of a call to which logits are given, and its gradients; any other call has
        its own.
        """
        names = given_names(self.loss.signature, args, inputs)
        if not names:
            return self, inputs, wrt
        head = self._given[names]
        loss: Any = head.loss
        return head, with_zeros(loss, inputs), loss.gradients(inputs) if wrt is None else wrt

    def __repr__(self) -> str:
        """The loss, its constants, and the options that are not the defaults."""
        told = "".join(f", {name}={value!r}" for name, value in self._bound.items())
        return f"<head of '{self.loss.name}'{told}>"

    def __reduce__(self) -> tuple[object, ...]:
        """Copied and pickled without what was compiled."""
        return Head, (self.loss, self.options, self.constants)


def _segmented(loss: Loss, options: Options, constants: dict[str, object]) -> SegmentedCalls:
    """How calls with `segments` of such a head are made: by heads per token."""
    weighted = replace(options, by_token=True)
    heads = (Head(loss, how, constants) for how in (weighted, replace(weighted, reduction="sum")))
    return SegmentedCalls(options, ignoring_name(loss.signature, options), *heads)
