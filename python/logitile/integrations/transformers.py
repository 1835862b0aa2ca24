"""Hugging Face Transformers: `patch(model)` fuses the output layer of a causal language
model with its loss.

    from logitile.integrations import transformers as lt_transformers

    lt_transformers.patch(model)
    loss = model(input_ids, labels=labels).loss  # without logits in memory

In training the output layer gives logits that are not computed yet (`deferred.Deferred`), and the
model's loss function gives them to a head. No forward is replaced.
docs/integrations/transformers.md says what is supported.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .. import losses
from ..arguments.kept import word
from ..errors import CallTypeError, CallValueError
from ..jit import jit
from ..language.annotations import Annotation, Logits, Token, Vocab
from ..language.definition import Kept, Loss, Specialisation
from ..language.definition import loss as as_loss
from ..language.signature import JIT_OPTIONS
from . import shards
from .deferred import Deferred, DeferringLinear, Step, defer, deferring, fused_call, release, traced
from .plans import Plan, check_logits, check_weight, plan_of

__all__ = ("patch", "unpatch")

_IGNORED = -100
_SHIFTING = "ForCausalLMLoss"  # the loss function of Transformers for causal models


def patch(model: Any, loss: Loss | None = None, **options: Any) -> Any:
    """Fuses the output layer of a model with a loss, in training.
    Evaluation and generation stay as they are.

    Args:
        model: a causal language model of Transformers, or of PEFT around one. Patch it before it is
            wrapped by accelerate, DDP or FSDP.
        loss: gets the logits for its first `lt.Logits`, and the shifted labels for `target`. Its
            other inputs are keywords of the model's call; those per token are shifted as the labels
            are. Tokens whose label is -100 do not count. Left out: `lt.losses.cross_entropy`,
            unless the model has a `loss_function` that was set.
        options: of `lt.jit`; constants of the loss; numbers or tensors for its inputs, such as
            `temperature=2.0`, where a tensor is read at each call and gets a gradient if it
            requires one; and for each further `lt.Logits` a model (`teacher=model`), which is run
            without gradients on the arguments of the call.

    Returns: the model.

    Raises:
        CallTypeError: the model has no output layer that can be fused, an option is unknown,
            or the loss has no output `loss`.
        CallValueError: the model is patched already,
            has a `loss_function` of its own and `loss` is left out, or an option cannot be.
        SpecError: the loss is wrong.
    """
    base = _base(model)
    if _fused_of(base) is not None:
        raise CallValueError(f"{type(base).__name__} is patched already; unpatch(model) first")
    if loss is None:
        _check_own(base)
        loss = losses.cross_entropy
    if not isinstance(loss, Loss):
        raise CallTypeError(f"patch takes a loss, not {loss!r}; decorate the function with lt.loss")
    fused = _FusedLoss(base, loss, options)
    plans = {one: _plans(one) for one in (base, *fused.teachers.values())}
    _check_meshes(base, fused.teachers, plans)
    _check_loss_function(base)
    _check_trace(fused, next(iter(plans[base])).out_features)
    for layer, plan in (item for one in plans.values() for item in one.items()):
        defer(layer, fused, plan)
    base.register_forward_pre_hook(fused.remember, with_kwargs=True)
    base.loss_function = fused
    return model


def unpatch(model: Any) -> Any:
    """Undoes `patch`.

    Raises:
        CallValueError: the model is not patched.
    """
    base = _base(model)
    fused = _fused_of(base)
    if fused is None:
        raise CallValueError(f"{type(base).__name__} is not patched")
    for one in (base, *fused.teachers.values()):
        for layer in _output_layer(one).modules():
            if type(layer) is DeferringLinear:
                release(layer, fused)
    _forget(base, fused)
    if base.__dict__.get("_loss_function") is fused:  # else it was set after patch
        base.__dict__.pop("_loss_function")
        if fused.original is not None:
            base.loss_function = fused.original
    return model


# ---- models --------------------------------------------------------------------------------------


def _base(model: Any) -> Any:
    """The model of Transformers inside of PEFT's."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    if not hasattr(type(base), "loss_function") or not hasattr(base, "get_output_embeddings"):
        raise CallTypeError(
            f"{type(model).__name__} is no model of Transformers with a loss function; give the model "
            "itself, before DDP, FSDP or torch.compile wrap it"
        )
    return base


def _check_loss_function(base: Any) -> None:
    """That the model hands logits and labels to its loss function, which shifts the labels.

    Raises:
        CallTypeError: it does not, so that another loss would not be called,
            or with labels of other tokens.
    """
    name, kinds = type(base).__name__, type(base).__mro__
    forwards = [inspect.unwrap(vars(kind)["forward"]) for kind in kinds if "forward" in vars(kind)]
    if not any("loss_function" in one.__code__.co_names for one in forwards if inspect.isfunction(one)):
        raise CallTypeError(
            f"the forward of {name} does not call its loss_function, so that no other loss can take its place"
        )
    own = getattr(_default_of(base), "__name__", "")
    if own != _SHIFTING:
        raise CallTypeError(
            f"the loss of {name} is {own}; only models whose loss is {_SHIFTING}, which shifts labels, "
            "can be patched"
        )


def _default_of(base: Any) -> Any:
    """The loss function that a model has where none was set."""
    own = base.__dict__.pop("_loss_function", None)
    try:
        return base.loss_function
    finally:
        if own is not None:
            base.loss_function = own


def _check_own(base: Any) -> None:
    """That a model has no loss function of the user's, which cross entropy would take the place of.

    Raises:
        CallValueError: it has one.
    """
    own = base.__dict__.get("_loss_function")
    if own is None or getattr(own, "__name__", "") == _SHIFTING:
        return
    raise CallValueError(
        f"the loss_function of {type(base).__name__} was set to {getattr(own, '__name__', own)}, which "
        "training would no longer use; write it with lt.loss and give it as patch(model, loss=...), or give "
        "loss=lt.losses.cross_entropy to train with that"
    )


def _fused_of(base: Any) -> _FusedLoss | None:
    """What `patch` made for a model. Its hook stays if another loss function is set later."""
    owners = (getattr(hook, "__self__", None) for hook in base._forward_pre_hooks.values())
    return next((owner for owner in owners if isinstance(owner, _FusedLoss)), None)


def _forget(base: Any, fused: _FusedLoss) -> None:
    """Removes the hook of a patched model. A copy of the model has a hook that no handle knows."""
    for number, hook in list(base._forward_pre_hooks.items()):
        if getattr(hook, "__self__", None) is fused:
            del base._forward_pre_hooks[number]
            base._forward_pre_hooks_with_kwargs.pop(number, None)


def _output_layer(base: Any) -> nn.Module:
    layer = base.get_output_embeddings()
    if not isinstance(layer, nn.Module):
        raise CallTypeError(
            f"{type(base).__name__} has no output layer: get_output_embeddings() is {layer!r}"
        )
    return layer


def _linear_layers(base: Any) -> list[nn.Linear]:
    """The linear layers that make the logits: the output layer,
    or its copies and adapters under PEFT.

    Raises:
        CallTypeError: none of them is a plain linear layer.
    """
    layer, name, plain = _output_layer(base), type(base).__name__, (nn.Linear, DeferringLinear)
    if type(layer) in plain:
        found = [layer]
    else:
        inside = [module for module in layer.modules() if type(module) in plain]
        columns = max((module.out_features for module in inside), default=0)
        found = [module for module in inside if module.out_features == columns]
    if not found:
        raise CallTypeError(
            f"the output layer of {name} is a {type(layer).__name__}; only layers that are, or adapt, a "
            "torch.nn.Linear can be fused"
        )
    return found


def _plans(base: Any) -> dict[nn.Linear, Plan | None]:
    """The linear layers that make the logits, each with the tensor parallel plan that it is under.

    Raises:
        CallTypeError, CallValueError: a layer is wrapped or sharded in a way that cannot be fused.
    """
    name, found = type(base).__name__, {}
    for layer in _linear_layers(base):
        plan = layer.__dict__.get("plan") or plan_of(layer, name)
        if plan is not None:
            check_weight(layer, plan, name)
            check_logits(plan, name)
        elif "forward" in vars(layer) or getattr(layer, "_hf_hook", None) is not None:
            raise CallTypeError(
                f"the output layer of {name} has its own forward, which device maps and accelerate install "
                "there; patch the model before that, or do without them"
            )
        elif hasattr(layer.weight, "placements"):
            raise CallTypeError(
                f"the weight of the output layer of {name} is sharded over processes (a DTensor placed as "
                f"{list(layer.weight.placements)}), but no tensor parallel plan says where its hidden states "
                "are; patch the model before FSDP, and name the output layer in a tensor parallel plan"
            )
        found[layer] = plan
    if _output_layer(base) not in found and any(plan and plan.mesh for plan in found.values()):
        raise CallTypeError(
            f"the output layer of {name} is a {type(_output_layer(base)).__name__} around a layer under a "
            "tensor parallel plan, but its adapter has no plan; leave the output layer out of target_modules"
        )
    return found


def _check_meshes(base: Any, teachers: Mapping[str, Any], plans: Mapping[Any, dict[Any, Any]]) -> None:
    """That processes with slices of a teacher are those with slices of the model.

    Raises:
        CallValueError: they are not, so that processes that share one have other hidden
            states of the other.
    """
    own = next((plan.mesh for plan in plans[base].values() if plan and plan.mesh), None)
    for name, teacher in teachers.items():
        other = next((plan.mesh for plan in plans[teacher].values() if plan and plan.mesh), None)
        if other is not None and other != own:
            raise CallValueError(
                f"the output layer of '{name}' is under a tensor parallel plan on {other}, but that of "
                f"{type(base).__name__} is {'under none' if own is None else f'on {own}'}; load both models "
                "with a plan on one mesh"
            )


# ---- the loss of a model -------------------------------------------------------------------------


class _FusedLoss:
    """The loss function of a patched model.

    Args:
        base: the model.
        loss: of the heads.
        options: see `patch`.
    """

    def __init__(self, base: Any, loss: Loss, options: Mapping[str, Any]):
        signature = loss.signature
        _check(loss, options)
        first, *further = (parameter.name for parameter in signature.pairs)
        inputs = {
            parameter.name
            for parameter in signature.others
            if not parameter.constant or isinstance(options.get(parameter.name), Tensor)
        }
        self.loss, self.first = loss, first
        self.original = base.__dict__.get("_loss_function")
        self.default = base.loss_function
        self.teachers = {name: _base(options[name]) for name in further if options.get(name) is not None}
        self.fixed = {name: item for name, item in options.items() if name in inputs}
        self.bound = {n: item for n, item in options.items() if n not in inputs and n not in further}
        self.is_default = loss is losses.cross_entropy and not options and self.default is _default_of(base)
        self.heads = Kept()
        self._call: tuple[bool, tuple[Any, ...], dict[str, Any]] = (False, (), {})

    def __deepcopy__(self, memo: dict[int, Any]) -> _FusedLoss:
        """That of a copy of the model: another loss with the same heads and teachers."""
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        for teacher in self.teachers.values():
            for layer, plan in _plans(teacher).items():
                defer(layer, made, plan)
        return made

    def __reduce__(self) -> Any:
        raise CallTypeError("a patched model cannot be pickled; save its state_dict, or unpatch(model) first")

    def remember(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before the model's forward: whether it trains, and what teachers are to be run with.

        Raises:
            CallTypeError: a trainer of TRL makes the call, whose forward computes its own loss.
            CallValueError: another loss function was set after `patch`, and the model trains.
        """
        own = getattr(model, "_loss_function", None)
        if not isinstance(own, _FusedLoss) and model.training and torch.is_grad_enabled():
            raise CallValueError(
                f"the loss_function of {type(model).__name__} was set to {getattr(own, '__name__', own)} "
                f"after patch, in the place of '{self.loss.name}'; unpatch(model) to train with it, or write "
                "it with lt.loss, unpatch(model) and patch(model, loss=...)"
            )
        if kwargs.get("fused_lm_head"):
            raise CallTypeError(
                "a trainer of TRL computes its loss from hidden states, so that patch(model) has no effect "
                "there; unpatch(model), and call logitile.integrations.trl.patch() instead"
            )
        self._call = (model.training, args, kwargs) if self.teachers else (model.training, (), {})

    def __call__(
        self,
        logits: Any,
        labels: Tensor,
        vocab_size: int | None = None,
        num_items_in_batch: Any = None,
        ignore_index: int | None = None,
        shift_labels: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """The loss; arguments are those of the loss functions of Transformers."""
        if not isinstance(logits, Deferred):
            given = {"num_items_in_batch": num_items_in_batch, "shift_labels": shift_labels, **kwargs}
            given |= {} if ignore_index is None else {"ignore_index": ignore_index}
            return self._dense(logits, labels=labels, vocab_size=vocab_size, **given)
        if ignore_index is None:
            ignore_index = self.bound.get("ignore_index", _IGNORED)
        target = _shifted(labels, ignore_index) if shift_labels is None else shift_labels
        inputs = {**self.fixed, **self._per_call(kwargs, labels, shifts=shift_labels is None)}
        if self.needs_target:
            inputs["target"] = target.to(logits.device)
        if num_items_in_batch is None:
            return self._fused(logits, inputs, ignore_index)
        # Under torch.nn.DataParallel the Trainer gives each replica its number with
        # axes of one entry.
        shape = num_items_in_batch.shape if getattr(num_items_in_batch, "shape", None) else ()
        is_one = bool(shape) and num_items_in_batch.numel() == 1
        inputs["divisor"] = num_items_in_batch.reshape(()) if is_one else num_items_in_batch
        loss = self._fused(logits, inputs, ignore_index)
        return loss.reshape(shape) if is_one else loss

    def _per_call(self, kwargs: Mapping[str, Any], labels: Tensor, shifts: bool) -> dict[str, Any]:
        """Inputs of the loss among the keywords of the model's call."""
        found = {}
        for parameter in self.loss.signature.others:
            item = kwargs.get(parameter.name)
            if parameter.name == "target" or item is None:
                continue
            is_per_token = isinstance(item, Tensor) and item.shape[: labels.ndim] == labels.shape
            moves = shifts and is_per_token and any(kind.axis == "token" for kind in parameter.kinds)
            found[parameter.name] = _shifted(item, 0, labels.ndim - 1) if moves else item
        return found

    def _fused(self, logits: Deferred, inputs: dict[str, Any], ignore_index: int) -> Tensor:
        pairs = {self.first: logits, **self._taught()}
        projections = [one for pair in pairs.values() for one in pair.projections]
        steps = tuple((name, pair.step, len(pair.projections)) for name, pair in pairs.items())

        def call(operands: list[tuple[Tensor, Tensor, Tensor | None]]) -> Any:
            own, taught = operands[: len(logits.projections)], operands[len(logits.projections) :]
            operands = [*own, *(_constant(operand) for operand in taught)]
            has_bias = tuple(bias is not None for _, _, bias in operands)
            projections = [(hidden, weight) for hidden, weight, _ in operands]
            biases = {_bias(k): bias for k, (_, _, bias) in enumerate(operands) if bias is not None}
            head = getattr(self.heads, _head(self, steps, has_bias, ignore_index))
            return shards.call(head, projections, {**inputs, **biases})

        result = fused_call(projections, call)
        if isinstance(result, Tensor):
            return result
        if not hasattr(result, "loss"):
            raise CallTypeError(f"'{self.loss.name}' has no output 'loss', which training needs")
        loss: Tensor = result.loss
        return loss

    def _taught(self) -> dict[str, Deferred]:
        """The logits of the teachers for the arguments of the present call."""
        _, args, kwargs = self._call
        self._call = (False, (), {})
        own = {"labels", "shift_labels", "num_items_in_batch"} | {p.name for p in self.loss.signature.others}
        kept = {"use_cache": False, **{name: item for name, item in kwargs.items() if name not in own}}
        return {name: _logits_of(teacher, name, args, kept) for name, teacher in self.teachers.items()}

    @property
    def needs_target(self) -> bool:
        """Whether heads take the labels."""
        return self.loss.signature.input("target") is not None or "ignore" not in self.bound

    def _dense(self, logits: Tensor, **given: Any) -> Any:
        """The loss that the model had, for ordinary logits: those of evaluation."""
        is_training = self._call[0] and torch.is_grad_enabled()
        if is_training and not self.is_default:
            raise CallTypeError(
                f"'{self.loss.name}' cannot be fused with this model: between its output layer and its loss "
                "it does more than scaling, capping by tanh and adding of logits, or its output layer was "
                "replaced after patch"
            )
        if is_training:
            warnings.warn(
                "logits of a training step were computed in full: the output layer of the model was replaced "
                "after patch, or does more than a linear layer and LoRA",
                stacklevel=3,
            )
        return self.default(logits=logits, **given)


def _check(loss: Loss, options: Mapping[str, Any]) -> None:
    """That options are ones that a patched model can have."""
    signature = loss.signature
    known = {*JIT_OPTIONS, *(p.name for p in signature.inputs), *(c.name for c in signature.constants)}
    for name in options:
        if name not in known - {signature.pairs[0].name, "target"}:
            raise CallTypeError(f"'{name}' is no option of lt.jit, and no input or constant of '{loss.name}'")
    for pair in signature.pairs[1:]:
        if not pair.optional and options.get(pair.name) is None:
            raise CallTypeError(
                f"'{loss.name}' needs a model for '{pair.name}': patch(..., {pair.name}=model)"
            )
    target = signature.input("target")
    if target is not None and not any(
        (k.axis, k.element, k.entries) == ("token", "int", None) for k in target.kinds
    ):
        raise CallTypeError(
            f"'{loss.name}' takes 'target' as {target.annotation}, but the labels of a model are one index "
            "per token; name that input otherwise, and give it as a keyword of the model's call"
        )
    _check_options(options)
    for parameter in signature.others:
        item = options.get(parameter.name)
        is_known = item is None or isinstance(item, (int, float)) or hasattr(item, "__dlpack__")
        if not (parameter.constant or is_known):
            raise CallTypeError(
                f"{parameter.name}={item!r}: '{loss.name}' takes it as {parameter.annotation}; give a number "
                "or a tensor"
            )


def _check_options(options: Mapping[str, Any]) -> None:
    """That options of lt.jit are ones that fit the loss of a model."""
    if options.get("reduction") == "none":
        raise CallValueError("reduction='none' leaves no loss for a training step; leave it out")
    if options.get("reduction") == "sum":
        raise CallValueError(
            "reduction='sum' cannot be divided by num_items_in_batch, which a Trainer gives to each call; "
            "leave it out, and give num_items_in_batch=1 to the calls whose sum you want"
        )
    if options.get("ignore_index", _IGNORED) is None:
        raise CallValueError(
            "ignore_index=None: the last token of a sequence has no label, so one index must be ignored"
        )
    if options.get("weight_layout") == "dv":
        raise CallValueError(
            "weight_layout='dv': the weight of an output layer is [V, D]; leave the option out"
        )


def _check_trace(fused: _FusedLoss, vocab: int) -> None:
    """That the loss can be traced, and has a loss to train with: with what `patch` was given,
    or with all that a call may add.
    """
    inputs, first = fused.loss.signature.inputs, ("projection", 0)
    steps = [(name, first, 1) for name in (fused.first, *fused.teachers)]
    adapted = _adapted(fused.loss, steps, [False for _ in steps], fused.needs_target)
    bound = jit(adapted, **{"ignore": "target", **fused.bound})
    known = {p.name for p in inputs if not any(kind.entries is not None for kind in p.kinds)}
    if any(not (p.optional or p.name in known) for p in inputs):
        return  # how many entries there are is known at a call
    given = {name for name, item in fused.fixed.items() if item is not None} | fused.teachers.keys()
    more = {p.name for p in fused.loss.signature.others if p.optional and p.name in known}
    failed: Exception | None = None
    for present in (given, given | more - fused.bound.keys()):
        try:
            what = Specialisation(vocab, frozenset(present))
            spec = fused.loss.trace(what, bound.constants, bound.options.ignore_index)
        except Exception as error:  # of the text of the loss
            failed = failed or error
            continue
        if "loss" in spec.output_names:
            return
        failed = failed or CallTypeError(f"'{fused.loss.name}' has no output 'loss', which training needs")
    assert failed is not None
    raise failed


# ---- heads ---------------------------------------------------------------------------------------


# torch.compile shall not look into how a head is made.
@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _head(fused: _FusedLoss, steps: tuple[Any, ...], has_bias: tuple[bool, ...], ignore_index: int) -> str:
    """The attribute with the head for logits that are made so."""
    name = word(repr((steps, has_bias, ignore_index)))
    if not hasattr(fused.heads, name):
        options = {"ignore": "target", **fused.bound, "ignore_index": ignore_index}
        adapted = _adapted(fused.loss, steps, has_bias, fused.needs_target)
        setattr(fused.heads, name, jit(adapted, **options))
    return name


def _adapted(
    loss: Loss, steps: Sequence[tuple[str, Step, int]], has_bias: Sequence[bool], needs_target: bool
) -> Loss:
    """A loss that makes the logits of `loss` from projections.

    Args:
        steps: for each lt.Logits of `loss` its name, what its logits are,
            and of how many projections.
        has_bias: of each projection.
        needs_target: it has an input `target`, which tells ignored tokens,
            also where `loss` has none.
    """
    adds_target = needs_target and loss.signature.input("target") is None
    names = [name if k == 0 else f"{name}_{k}" for name, _, count in steps for k in range(count)]

    def adapted(**given: Any) -> Any:
        logits = [given.pop(name) for name in names]
        logits = [z + given.pop(_bias(k)) if has_bias[k] else z for k, z in enumerate(logits)]
        if adds_target:
            del given["target"]
        for name, step, count in steps:
            given[name] = traced(step, logits[:count])
            logits = logits[count:]
        return loss(**given)

    annotations: dict[str, Any] = {name: Logits for name in names}
    annotations |= {_bias(k): Vocab[float] for k, has in enumerate(has_bias) if has}
    annotations |= {"target": Token[int]} if adds_target else {}
    annotations |= {p.name: Annotation(p.kinds, p.optional) for p in loss.signature.others if not p.constant}
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=annotation,
            default=None if annotation.optional else inspect.Parameter.empty,
        )
        for name, annotation in annotations.items()
    ]
    either = {p.name: Annotation(p.kinds, p.optional, p.constant) for p in loss.signature.others}
    parameters += [
        inspect.Parameter(
            constant.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=either.get(constant.name, inspect.Parameter.empty),
            default=constant.default,
        )
        for constant in loss.signature.constants
    ]
    adapted.__name__ = loss.name
    adapted.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return as_loss(adapted)


def _constant(operand: tuple[Tensor, Tensor, Tensor | None]) -> tuple[Tensor, Tensor, Tensor | None]:
    """Hidden states, weight and bias of a teacher, which get no gradients."""
    hidden, weight, bias = operand
    return hidden.detach(), weight.detach(), None if bias is None else bias.detach()


def _bias(number: int) -> str:
    """The name of the bias of a projection in heads."""
    return f"layer_bias_{number}"


def _logits_of(teacher: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Deferred:
    """The logits of a teacher, deferred and without gradients."""
    with torch.no_grad(), deferring(_output_layer(teacher)):
        logits = teacher(*args, **kwargs).logits
    if not isinstance(logits, Deferred):
        raise CallTypeError(
            f"'{name}': {type(teacher).__name__} does more with its logits than scaling, capping by tanh and "
            "adding, so that it cannot be fused"
        )
    return logits


def _shifted(item: Tensor, last: int, dim: int = -1) -> Tensor:
    """What each position has for the next one; the last position has `last`."""
    dim = dim % item.ndim
    moved = item.narrow(dim, 1, item.shape[dim] - 1)
    return torch.cat((moved, torch.full_like(item.narrow(dim, 0, 1), last)), dim)
