"""Losses of torchtune: those that apply a model's output layer, and its distillation losses, of
projections or of logits.

    from logitile.integrations.torchtune import LinearCrossEntropyLoss

docs/integrations/torchtune.md says what differs.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor

from .. import losses
from ..errors import CallTypeError, CallValueError
from ..language import functions as lt
from ..language.annotations import Logits, Scalar, Token, Vocab
from ..language.definition import loss
from ..messages.names import listed
from . import shards
from .coefficients import Coefficient, check
from .heads import head
from .plans import plan_of
from .shapes import check_shape

__all__ = (
    "ForwardKLLoss",
    "ForwardKLWithChunkedOutputLoss",
    "LinearCrossEntropyLoss",
    "LinearGRPOLoss",
    "ReverseKLLoss",
    "ReverseKLWithChunkedOutputLoss",
    "SymmetricKLLoss",
    "SymmetricKLWithChunkedOutputLoss",
)


class _AppliesOutputLayer(torch.nn.Module):
    """A loss that has the output layer of a model, whose model gives hidden states."""

    def __init__(self) -> None:
        super().__init__()
        self.linear_projection: Any = None

    def apply_compile_strategy(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the loss itself: its kernels are compiled already."""
        return self

    def set_model_output(self, model: Any) -> None:
        """Takes the output layer of a model, which skips it from now on.

        Raises:
            CallTypeError: the layer is no plain linear layer.
        """
        _check_linear(model.output)
        model.skip_output_layer = True
        self.linear_projection = model.output

    def _run(self, made: Any, hidden: Tensor, target: Tensor) -> Any:
        """The head `made` for the output layer."""
        if self.linear_projection is None:
            raise AttributeError("the loss has no output layer yet; call set_model_output(model) first")

        def call(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Any:
            return shards.call(made, [(hidden, weight)], {"target": target, "bias": bias})

        return _through(self.linear_projection, hidden, call)


class LinearCrossEntropyLoss(_AppliesOutputLayer):
    """The cross-entropy of a model whose output layer the loss applies.

    Args:
        num_output_chunks: chunks of tokens.
        ignore_index: the target of tokens that count nowhere.
        tp_enabled: has no effect: an output layer under a tensor parallel plan is seen as one.
        mask_ignored_tokens: has no effect on results;
            ignored tokens are always dropped before the work.
    """

    def __init__(
        self,
        num_output_chunks: int = 8,
        ignore_index: int = -100,
        tp_enabled: bool = False,
        mask_ignored_tokens: bool = True,
    ):
        super().__init__()
        self.num_output_chunks = num_output_chunks
        self.ignore_index = ignore_index
        self.tp_enabled = tp_enabled
        self.mask_ignored_tokens = mask_ignored_tokens

    def patch_tp_plan(self, tp_plan: Any) -> dict[str, Any]:
        """Returns the plan itself: logits need no layout, since there are none.

        Raises:
            CallValueError: the plan leaves the output layer whole.
        """
        if not {"output", "decoder.output"} & set(tp_plan):
            raise CallValueError(
                f"the tensor parallel plan has rules for {listed(sorted(tp_plan))}, but none for the output "
                "layer; add 'output', such as ColwiseParallel(input_layouts=Shard(1))"
            )
        return tp_plan

    @property
    def tp_requires_loss_parallel_ctx_manager(self) -> bool:
        """False: there are no logits that a context could shard."""
        return False

    def compute_cross_entropy(self, hidden_chunk: Tensor, target_chunk: Tensor) -> Tensor:
        """The sum over the tokens that count.

        Args:
            hidden_chunk: [..., D].
            target_chunk: the leading dimensions of `hidden_chunk`.
        """
        return self._call(hidden_chunk, target_chunk, reduction="sum")

    def forward(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean over the tokens that count; 0 if there is none.

        Args:
            outputs: hidden states of the model, [batch, sequence, D]; under a tensor parallel plan
                a DTensor, or what the plan of the output layer takes.
            targets: [batch, sequence], the same on every process of the plan.

        Returns: float32, without an axis.

        Raises:
            AttributeError: `set_model_output` was not called.
            CallError: shapes or types do not agree, or a target lies outside the vocabulary.
        """
        return self._call(
            outputs, targets, reduction="mean", all_ignored="zero", chunks=self.num_output_chunks
        )

    def _call(self, outputs: Tensor, targets: Tensor, **options: Any) -> Tensor:
        made = head(losses.cross_entropy, ignore_index=self.ignore_index, **options)
        result: Tensor = self._run(made, outputs, targets)
        return result


class LinearGRPOLoss(_AppliesOutputLayer):
    """GRPO on answers that the policy itself has sampled, as torchtune.dev.rl has it:
    nothing is clipped.

    Args:
        num_output_chunks: chunks of tokens.
        epsilon: not read, as in torchtune: the ratio of the policy to itself is 1.
        kl_coeff: the weight of the divergence from the reference. It may be a tensor without axes,
            which gets a gradient if it requires one.
        ignore_index: the target of tokens whose log-probability is 0, without a gradient.
            torchtune knows -100 alone.
        mask_pre_projection: not read, as in torchtune.
    """

    def __init__(
        self,
        num_output_chunks: int = 8,
        epsilon: float = 0.1,
        kl_coeff: Coefficient = 0.1,
        ignore_index: int = -100,
        mask_pre_projection: bool = True,
    ):
        super().__init__()
        self.num_output_chunks = num_output_chunks
        self.epsilon = epsilon
        self.kl_coeff = kl_coeff
        self.ignore_index = ignore_index
        self.mask_pre_projection = mask_pre_projection

    def forward(
        self,
        pi_old_outputs: Tensor,
        pi_outputs: Tensor,
        ref_outputs: Tensor,
        advantages: Tensor,
        padding_masks: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The mean over answers of the mean over the tokens of each; 0 for an answer without one.

        The names of arguments are torchtune's.

        Args:
            pi_old_outputs: hidden states of the policy, [answers, length, D].
            pi_outputs: the sampled tokens, [answers, length].
            ref_outputs: their log-probabilities by the reference, [answers, length];
                they get no gradient.
            advantages: [answers].
            padding_masks: which tokens count, [answers, length]; None means all.

        Returns: the loss, its policy term, the divergence, 1 (the ratio), 0 (what is clipped), and
            the log-probabilities [answers, length]. All are float32; the first and the last have
            gradients.

        Raises:
            AttributeError: `set_model_output` was not called.
            CallError: shapes or types do not agree, or a token lies outside the vocabulary.
        """
        shape = tuple(pi_outputs.shape)
        check_shape("ref_outputs", ref_outputs, shape)
        check_shape("advantages", advantages, shape[:1])
        check_shape("padding_masks", padding_masks, shape)
        made = head(losses.logprob, ignore_index=self.ignore_index, chunks=self.num_output_chunks)
        log_p: Tensor = self._run(made, pi_old_outputs, pi_outputs).logprob
        gap = ref_outputs.detach() - log_p
        divergence = gap.exp() - gap - 1
        policy = (log_p - log_p.detach()).exp() * advantages[:, None]
        counts = torch.ones_like(log_p) if padding_masks is None else padding_masks.to(log_p.dtype)
        count = counts.sum(1).clamp(min=1e-9)

        def mean(values: Tensor) -> Tensor:
            return ((values * counts).sum(1) / count).mean()

        loss = mean(self.kl_coeff * divergence - policy)
        ratio, clipped = log_p.new_ones(()), log_p.new_zeros(())
        return loss, mean(policy.detach()), mean(divergence.detach()), ratio, clipped, log_p


# ---- output layers -------------------------------------------------------------------------------


def _check_linear(layer: Any) -> None:
    """That a layer is its weight and bias:
    adapters and quantised layers have a forward of their own.
    """
    if isinstance(getattr(layer, "tied_module", None), torch.nn.Module):  # weights of an embedding
        return
    if getattr(getattr(layer, "forward", None), "__func__", None) is torch.nn.Linear.forward:
        return
    raise CallTypeError(
        f"the output layer is a {type(layer).__name__}, whose forward is not that of torch.nn.Linear; only "
        "a plain or tied linear layer can be fused with the loss"
    )


def _through(layer: Any, hidden: Tensor, call: Any) -> Tensor:
    """`call(hidden, weight, bias)` inside the call of a layer, so that its hooks run: those of FSDP
    gather the weight. Hooks of a tensor parallel plan, which are for logits, are set aside.
    """
    tied = getattr(layer, "tied_module", None)
    if tied is not None:
        return call(hidden, tied.weight, None)
    if not (layer._forward_pre_hooks or layer._forward_hooks):
        return call(hidden, layer.weight, layer.bias)
    plan = plan_of(layer, "the model")
    if plan is not None:
        hidden = plan.placed(hidden)
    with contextlib.nullcontext() if plan is None else plan.aside(layer):
        layer.forward = lambda states: call(states, layer.weight, layer.bias)
        try:
            return layer(hidden)
        finally:
            del layer.forward


# ---- distillation --------------------------------------------------------------------------------


@loss
def teacher_cross_entropy(
    student: Logits,
    teacher: Logits,
    target: Token[int],
    *,
    student_bias: Vocab[float] | None = None,
    teacher_bias: Vocab[float] | None = None,
    is_masked: bool = False,
):
    """-sum(q log p): KL(q || p) without the entropy of the teacher.
    With `is_masked`, infinite logits of the student do not count.
    """
    return -_cross(*_biased(student, teacher, student_bias, teacher_bias), is_masked)


@loss
def student_relative_entropy(
    student: Logits,
    teacher: Logits,
    target: Token[int],
    *,
    student_bias: Vocab[float] | None = None,
    teacher_bias: Vocab[float] | None = None,
    is_masked: bool = False,
):
    """KL(p || q) = sum(p (log p - log q)).
    With `is_masked`, infinite logits of either model do not count.
    """
    return _relative(*_biased(student, teacher, student_bias, teacher_bias), is_masked)


@loss
def symmetric(
    student: Logits,
    teacher: Logits,
    target: Token[int],
    ratio: Scalar,
    *,
    student_bias: Vocab[float] | None = None,
    teacher_bias: Vocab[float] | None = None,
    is_masked: bool = False,
):
    """ratio times teacher_cross_entropy and 1 - ratio times student_relative_entropy."""
    z, t = _biased(student, teacher, student_bias, teacher_bias)
    return -ratio * _cross(z, t, is_masked) + (1 - ratio) * _relative(z, t, is_masked)


def _biased(student, teacher, student_bias, teacher_bias):
    student = student if student_bias is None else student + student_bias
    return student, teacher if teacher_bias is None else teacher + teacher_bias


def _cross(student, teacher, is_masked):
    """sum(q log p)."""
    products = lt.softmax(teacher) * lt.log_softmax(student)
    return lt.sum(lt.where(_is_finite(student), products, 0.0) if is_masked else products)


def _relative(student, teacher, is_masked):
    log_p, log_q = lt.log_softmax(student), lt.log_softmax(teacher)
    products = lt.exp(log_p) * (log_p - log_q)
    kept = _is_finite(student) & _is_finite(teacher)
    return lt.sum(lt.where(kept, products, 0.0) if is_masked else products)


def _is_finite(logits):
    """Whether logits are finite; NaN passes, as it does in torchtune."""
    return ~(abs(logits) == float("inf"))


class _Distillation(torch.nn.Module):
    """What the losses of distillation share:
    `text` is the loss of one token, `all_ignored` the option.
    """

    text: Any
    all_ignored = "zero"

    def __init__(self, ignore_index: int, **options: Any):
        super().__init__()
        self.ignore_index, self.options = ignore_index, options

    def _call(
        self, student: Any, teacher: Any, labels: Tensor, normalize: bool = True, **numbers: Any
    ) -> Tensor:
        how = {"reduction": "mean", "all_ignored": self.all_ignored} if normalize else {"reduction": "sum"}
        return self._run(student, teacher, labels, how | self.options, numbers)

    def _in_chunks(self, student: Any, teacher: Any, labels: Tensor, **numbers: Any) -> Tensor:
        """The mean, also of logits that are given as lists of chunks."""
        if not (isinstance(student, list) or isinstance(teacher, list)):
            return self._call(student, teacher, labels, **numbers)
        parts = _cut(student, teacher, labels)
        total = torch.stack([self._run(*part, {"reduction": "sum"}, numbers) for part in parts]).sum()
        count = (labels != self.ignore_index).sum()
        return total / (count.clamp(min=1) if self.all_ignored == "zero" else count)

    def _run(
        self, student: Any, teacher: Any, labels: Tensor, how: dict[str, Any], numbers: dict[str, Any]
    ) -> Tensor:
        inputs = _logits("student", student) | _logits("teacher", teacher)
        first = inputs["student"]
        tokens = (first if isinstance(first, Tensor) else first[0]).shape[:-1]
        if labels.numel() != tokens.numel():
            raise CallValueError(
                f"labels of shape {tuple(labels.shape)} are not one for each of the {tokens.numel()} tokens "
                f"of student_logits, {tuple(tokens)}"
            )
        labels = labels.reshape(tokens)
        # a bias, or given logits
        is_masked = any(isinstance(item, Tensor) for item in inputs.values())
        run = head(self.text, ignore_index=self.ignore_index, is_masked=is_masked, **how)
        pairs = [inputs[name] for name in ("student", "teacher")]
        result: Tensor
        if any(isinstance(pair, Tensor) for pair in pairs):
            result = run(target=labels, **inputs, **numbers)
        else:
            rest = {name: item for name, item in inputs.items() if name not in ("student", "teacher")}
            result = shards.call(run, pairs, {"target": labels, **rest, **numbers})
        return result

    def apply_compile_strategy(self, *args: Any, **kwargs: Any) -> Any:
        """Returns the loss itself: its kernels are compiled already."""
        return self


class ForwardKLLoss(_Distillation):
    """KL(teacher || student) without the teacher's entropy, which has no gradient for the student.

    Args:
        ignore_index: the label of tokens that count nowhere.
    """

    text = teacher_cross_entropy

    def __init__(self, ignore_index: int = -100):
        super().__init__(ignore_index)

    def forward(
        self, student_logits: Any, teacher_logits: Any, labels: Tensor, normalize: bool = True
    ) -> Tensor:
        """The mean over tokens that count (0 if there is none), or with normalize=False the sum.

        Args:
            student_logits, teacher_logits: each a projection, (hidden, weight) or (hidden, weight,
                bias), or logits [..., V]; hidden sizes may differ. Infinite logits mask vocabulary
                entries.
            labels: the leading dimensions, or as many entries.

        Raises:
            CallError: shapes or types do not agree.
        """
        return self._call(student_logits, teacher_logits, labels, normalize)


class ReverseKLLoss(ForwardKLLoss):
    """KL(student || teacher); arguments as of ForwardKLLoss."""

    text = student_relative_entropy


class SymmetricKLLoss(_Distillation):
    """sym_kd_ratio times the forward and 1 - sym_kd_ratio times the reverse loss.

    Args:
        sym_kd_ratio: from 0 to 1. It may be a tensor without axes,
            which gets a gradient if it requires one.
        ignore_index: the label of tokens that count nowhere.
    """

    text = symmetric

    def __init__(self, sym_kd_ratio: Coefficient = 0.5, ignore_index: int = -100):
        super().__init__(ignore_index)
        check("sym_kd_ratio", sym_kd_ratio, 0, 1)
        self.sym_kd_ratio = sym_kd_ratio

    def forward(
        self, student_logits: Any, teacher_logits: Any, labels: Tensor, normalize: bool = True
    ) -> Tensor:
        """As ForwardKLLoss.forward."""
        return self._call(student_logits, teacher_logits, labels, normalize, ratio=self.sym_kd_ratio)


class ForwardKLWithChunkedOutputLoss(_Distillation):
    """ForwardKLLoss in chunks of tokens; its mean.

    Args:
        num_output_chunks: how many, of what is given whole.
        ignore_index: the label of tokens that count nowhere.
    """

    text = teacher_cross_entropy

    def __init__(self, num_output_chunks: int = 8, ignore_index: int = -100):
        super().__init__(ignore_index, chunks=num_output_chunks)
        self.num_output_chunks = num_output_chunks

    def forward(self, student_logits: Any, teacher_logits: Any, labels: Tensor) -> Tensor:
        """As ForwardKLLoss.forward, or with a list of chunks for each of the logits.

        Args:
            student_logits, teacher_logits: of each chunk [batch, length / chunks, V], or
                [batch * length / chunks, V].
            labels: [batch, length].
        """
        return self._in_chunks(student_logits, teacher_logits, labels)


class ReverseKLWithChunkedOutputLoss(ForwardKLWithChunkedOutputLoss):
    """ReverseKLLoss in chunks of tokens; its mean, which is NaN if no token counts."""

    text = student_relative_entropy
    all_ignored = "nan"


class SymmetricKLWithChunkedOutputLoss(_Distillation):
    """SymmetricKLLoss in chunks of tokens; its mean, which is NaN if no token counts.

    Args:
        num_output_chunks: how many, of what is given whole.
        sym_kd_ratio, ignore_index: as of SymmetricKLLoss.
    """

    text = symmetric
    all_ignored = "nan"

    def __init__(self, num_output_chunks: int = 8, sym_kd_ratio: Coefficient = 0.5, ignore_index: int = -100):
        super().__init__(ignore_index, chunks=num_output_chunks)
        check("sym_kd_ratio", sym_kd_ratio, 0, 1)
        self.num_output_chunks, self.sym_kd_ratio = num_output_chunks, sym_kd_ratio

    def forward(self, student_logits: Any, teacher_logits: Any, labels: Tensor) -> Tensor:
        """As ForwardKLWithChunkedOutputLoss.forward."""
        return self._in_chunks(student_logits, teacher_logits, labels, ratio=self.sym_kd_ratio)


def _logits(name: str, given: Any) -> dict[str, Any]:
    """The inputs of a head for logits, or for the projection that makes them."""
    if isinstance(given, Tensor):
        return {name: given}
    if not isinstance(given, tuple) or len(given) not in (2, 3):
        what = f"a list of {len(given)}" if isinstance(given, list) else repr(given)
        raise CallTypeError(
            f"{name}_logits is {what}; give logits [..., V], or (hidden, weight) or (hidden, weight, bias), "
            "from which logits are made inside the kernels"
        )
    hidden, weight, *bias = given
    return {name: (hidden, weight), f"{name}_bias": bias[0] if bias else None}


def _cut(student: Any, teacher: Any, labels: Tensor) -> list[tuple[Tensor, Tensor, Tensor]]:
    """The chunks of student and teacher, each with its labels.

    Raises:
        CallTypeError: only one of them is a list.
        CallValueError: they have other numbers of chunks, or of tokens.
    """
    if not (isinstance(student, list) and isinstance(teacher, list)):
        raise CallTypeError(
            f"student_logits is a {type(student).__name__} and teacher_logits a {type(teacher).__name__}; "
            "give both as lists of chunks, or both whole"
        )
    if not student or len(student) != len(teacher):
        raise CallValueError(
            f"student_logits has {len(student)} chunks and teacher_logits {len(teacher)}; both must have the "
            "same number, at least one"
        )
    batch, length = labels.shape if labels.dim() == 2 else (1, labels.numel())
    lengths = [chunk.shape[:-1].numel() // max(batch, 1) for chunk in student]
    if sum(lengths) != length:
        raise CallValueError(
            f"labels have the shape {tuple(labels.shape)}, but the chunks of student_logits have {lengths} "
            f"tokens of each of {batch} sequences"
        )
    return list(zip(student, teacher, labels.reshape(batch, length).split(lengths, 1), strict=True))
