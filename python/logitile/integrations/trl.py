"""TRL 1.16: the two functions that give its trainers log-probabilities and divergences, on heads.

    from logitile.integrations import trl as lt_trl

    lt_trl.patch()  # then SFTTrainer, DPOTrainer, GRPOTrainer, ... as before

TRL's trainers give their models a forward of their own, which hands hidden states and the weight of
the output layer to these functions. docs/integrations/trl.md says what is supported.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import losses
from ..errors import CallTypeError, CallValueError
from ..language import functions as lt
from ..language.annotations import Logits, Scalar, Token, Vocab
from ..language.definition import loss
from ..language.outputs import Outputs
from .coefficients import Coefficient, check, constant, is_number, value_of
from .divergences import of_share
from .heads import head

__all__ = ("ChunkedDivergenceFunction", "ChunkedLogProbFunction", "patch", "unpatch")

_OPTIONAL_OUTPUTS = ("entropy", "log_sum_sq_probs", "mean_logits", "is_top1")


# ---- losses --------------------------------------------------------------------------------------


@loss
def log_probabilities(
    z: Logits,
    target: Token[int],
    temperature: Scalar,
    *,
    bias: Vocab[float] | None = None,
    softcap: float | None = None,
    scale: float = 1.0,
    returns: tuple[str, ...] = (),
):
    """log p[y], and TRL's other outputs that `returns` names.
    Of these, only `entropy` has a gradient.
    """
    z = _scaled(z, bias, scale, softcap) / temperature
    log_p = lt.log_softmax(z)
    others = {
        "entropy": lambda: -lt.sum(lt.exp(log_p) * log_p),
        "log_sum_sq_probs": lambda: lt.stop_gradient(lt.logsumexp(2 * log_p)),
        "mean_logits": lambda: lt.stop_gradient(lt.mean(z)),
        "is_top1": lambda: lt.argmax(z) == target,
    }
    return Outputs(log_probs=log_p[target], **{name: others[name]() for name in returns})


@loss
def divergence(
    student: Logits,
    teacher: Logits,
    temperature: Scalar,
    beta: Scalar | None = None,
    *,
    student_bias: Vocab[float] | None = None,
    teacher_bias: Vocab[float] | None = None,
    student_softcap: float | None = None,
    teacher_softcap: float | None = None,
    student_scale: float = 1.0,
    teacher_scale: float = 1.0,
    is_reverse: bool = False,
    is_any_share: bool = False,
):
    """The Jensen-Shannon divergence with the teacher's share `beta`, and the student's entropy.
    The entropy has no gradient. Without `beta` the divergence is KL(teacher || student), or with
    `is_reverse` KL(student || teacher). With `is_any_share`, `beta` may be 0 and 1 too, which
    select these two.
    """
    pair = (
        _scaled(student, student_bias, student_scale, student_softcap) / temperature,
        _scaled(teacher, teacher_bias, teacher_scale, teacher_softcap) / temperature,
    )
    if is_any_share:
        value = of_share(lt.log_softmax(pair[1]), lt.log_softmax(pair[0]), beta)
    elif beta is not None:
        value = losses.jensen_shannon(*pair, beta=beta)
    else:
        value = losses.reverse_kl(*pair) if is_reverse else losses.forward_kl(*pair)
    return Outputs(divergence=value, entropy=lt.stop_gradient(losses.entropy(pair[0])))


def _scaled(z: Any, bias: Any, scale: float, softcap: float | None) -> Any:
    """Logits as models of Transformers have them: with a bias, then scaled, then capped."""
    z = z if bias is None else z + bias
    z = z if scale == 1 else z * scale
    return z if softcap is None else softcap * lt.tanh(z / softcap)


# ---- TRL's functions -----------------------------------------------------------------------------


class ChunkedLogProbFunction:
    """`trl.kernels.ChunkedLogProbFunction`."""

    @staticmethod
    def apply(
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        temperature: Coefficient,
        chunk_size: int,
        final_logit_softcapping: float | None = None,
        logit_scale: float = 1.0,
        outputs: Sequence[str] = _OPTIONAL_OUTPUTS,
    ) -> tuple[Tensor | None, ...]:
        """Log-probabilities of the targets and other numbers per token.

        Args:
            hidden: [N, H].
            weight: [V, H]; it is converted to the type of `hidden` if it has another.
            bias: [V].
            targets: [N], each from 0 to V - 1; no value is ignored.
            temperature: logits are divided by it, after scale and cap. It may be a tensor without
                axes, which gets a gradient if it requires one.
            chunk_size: the width of TRL's tiles. It has no effect on results,
                and heads have tiles of their own.
            final_logit_softcapping: s of s tanh(z / s), after the scale.
            logit_scale: logits are multiplied by it.
            outputs: what to return beside the log-probabilities: "entropy", "log_sum_sq_probs",
                "mean_logits", "is_top1".

        Returns: log-probabilities, entropy, log(sum(p**2)), mean logits, all float32, and whether
            the target is the most likely entry. What `outputs` does not name is None. The first two
            have gradients.

        Raises:
            CallError: shapes, types or values do not agree.
        """
        returns = tuple(name for name in _OPTIONAL_OUTPUTS if name in outputs)
        softcap = _softcap("final_logit_softcapping", final_logit_softcapping)
        made = head(
            log_probabilities,
            ignore_index=None,
            softcap=softcap,
            scale=float(constant("logit_scale", logit_scale)),
            returns=returns,
        )
        inputs: dict[str, Any] = {"temperature": _number("temperature", temperature)}
        inputs |= {} if bias is None else {"bias": bias}
        result = made(hidden, _weight(weight, hidden), target=targets, **inputs)
        return (result.log_probs, *(getattr(result, name, None) for name in _OPTIONAL_OUTPUTS))


class ChunkedDivergenceFunction:
    """`trl.kernels.chunked_divergence.ChunkedDivergenceFunction`."""

    @staticmethod
    def apply(
        student_hidden: Tensor,
        student_weight: Tensor,
        student_bias: Tensor | None,
        teacher_hidden: Tensor,
        teacher_weight: Tensor,
        teacher_bias: Tensor | None,
        beta: Coefficient,
        temperature: Coefficient = 1.0,
        student_logit_scale: float = 1.0,
        student_final_logit_softcapping: float | None = None,
        teacher_logit_scale: float = 1.0,
        teacher_final_logit_softcapping: float | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Divergence of student and teacher, and entropy of the student, per token.

        Args:
            student_hidden, teacher_hidden: [N, H] each; H may differ.
            student_weight, teacher_weight: [V, H] each. Rows of the teacher after the student's V
                are left out, as in TRL. The teacher gets no gradient.
            student_bias, teacher_bias: [V] each.
            beta: from 0, KL(teacher || student), to 1, KL(student || teacher).
            temperature: logits are divided by it, after scale and cap. Like `beta` it may be a
                tensor without axes, which gets a gradient if it requires one.
            student_logit_scale, teacher_logit_scale: logits are multiplied by it.
            student_final_logit_softcapping, teacher_final_logit_softcapping: s of s tanh(z / s),
                after the scale.

        Returns: both in float32; the entropy has no gradient.

        Raises:
            CallError: shapes, types or values do not agree.
        """
        check("beta", beta, 0, 1)
        made = head(
            divergence,
            ignore_index=None,
            student_scale=float(constant("student_logit_scale", student_logit_scale)),
            teacher_scale=float(constant("teacher_logit_scale", teacher_logit_scale)),
            student_softcap=_softcap("student_final_logit_softcapping", student_final_logit_softcapping),
            teacher_softcap=_softcap("teacher_final_logit_softcapping", teacher_final_logit_softcapping),
            is_any_share=isinstance(beta, Tensor),
            is_reverse=True if is_number(beta, 1) else False,  # not a symbol of torch.compile
        )
        vocab = student_weight.shape[0]
        inputs: dict[str, Any] = {"temperature": _number("temperature", temperature)}
        inputs |= {"beta": _number("beta", beta)} if isinstance(beta, Tensor) or 0 < beta < 1 else {}
        inputs |= {} if student_bias is None else {"student_bias": student_bias}
        inputs |= {} if teacher_bias is None else {"teacher_bias": teacher_bias.detach()[:vocab]}
        taught = teacher_hidden.detach()
        result = made(
            student_hidden,
            _weight(student_weight, student_hidden),
            taught,
            _weight(teacher_weight, taught).detach()[:vocab],
            **inputs,
        )
        return result.divergence, result.entropy


def _number(name: str, value: Any) -> Any:
    """A coefficient as heads take it: a tensor stays one, so that it may have a gradient."""
    value_of(name, value)  # refuses axes
    return value if isinstance(value, Tensor) else float(value)


def _weight(weight: Tensor, hidden: Tensor) -> Tensor:
    """The weight in the type of hidden states, as TRL converts it where autocast is off."""
    if hasattr(weight, "ds_id"):
        raise CallTypeError(
            "the weight of the output layer is partitioned by DeepSpeed ZeRO-3, which frees it before the "
            "backward pass; use ZeRO-2 or FSDP2, or lt_trl.unpatch()"
        )
    return weight if torch.is_autocast_enabled(hidden.device.type) else weight.to(hidden.dtype)


def _softcap(name: str, softcap: Any) -> float | None:
    number: float | None = constant(name, softcap)
    if number is not None and not number > 0:
        raise CallValueError(f"{name}={number} must be a number above 0, or None")
    return number


# ---- in the place of TRL's -----------------------------------------------------------------------

_PLACES: dict[tuple[str, str], Any] = {
    ("trl.trainer.utils", "_ChunkedLogProbFunction"): ChunkedLogProbFunction,
    ("trl.trainer.distillation_trainer", "ChunkedDivergenceFunction"): ChunkedDivergenceFunction,
}
_THEIRS: dict[tuple[str, str], Any] = {}  # what was there before the patch


def patch() -> None:
    """Replaces TRL's functions by those of this module, for all trainers of the process.
    A trainer looks them up at each step, so it may exist already. Patching again changes nothing.

    Raises:
        CallTypeError: TRL is not the version that this module knows.
        ImportError: TRL is not installed.
    """
    if _THEIRS:
        return
    found = {place: _found(*place, mine) for place, mine in _PLACES.items()}
    _THEIRS.update(found)
    for (module, name), mine in _PLACES.items():
        setattr(importlib.import_module(module), name, mine)


def unpatch() -> None:
    """Undoes `patch`; without one it changes nothing."""
    for (module, name), theirs in _THEIRS.items():
        setattr(importlib.import_module(module), name, theirs)
    _THEIRS.clear()


def _found(module: str, name: str, mine: Any) -> Any:
    """The function of TRL, whose arguments are those of `mine`."""
    theirs = getattr(importlib.import_module(module), name, None)
    wanted = list(inspect.signature(mine.apply).parameters)
    have = [] if theirs is None else list(inspect.signature(theirs.forward).parameters)[1:]
    if have != wanted:
        version = importlib.import_module("trl").__version__
        raise CallTypeError(
            f"TRL {version} has no {module}.{name} with the arguments {', '.join(wanted)}; "
            "logitile knows TRL 1.16"
        )
    return theirs
