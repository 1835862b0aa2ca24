"""The losses of the comparison, each for torch and for logitile.
Both give the same outputs by name.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

SMOOTHING, Z_LOSS, SOFTCAP, ENTROPY_BONUS = 0.1, 1e-4, 30.0, 0.01

Arrays = dict[str, Tensor]
Outputs = dict[str, Tensor]


# ---- torch: on logits in the type of the inputs, which is what costs it least --------------------


def torch_cross_entropy(arrays: Arrays) -> Outputs:
    return {"loss": F.cross_entropy(F.linear(arrays["hidden"], arrays["weight"]), arrays["target"])}


def torch_features(arrays: Arrays) -> Outputs:
    logits = F.linear(arrays["hidden"], arrays["weight"], arrays["bias"])
    logits = SOFTCAP * torch.tanh(logits / SOFTCAP)
    loss = F.cross_entropy(logits, arrays["target"], label_smoothing=SMOOTHING)
    return {"loss": loss + Z_LOSS * logits.logsumexp(-1).square().mean()}


def torch_logprob_entropy(arrays: Arrays) -> Outputs:
    log_p = F.log_softmax(F.linear(arrays["hidden"], arrays["weight"]), -1)
    logprob = log_p.gather(-1, arrays["target"][:, None])[:, 0]
    return {"logprob": logprob, "entropy": -(log_p.exp() * log_p).sum(-1)}


def torch_reverse_kl(arrays: Arrays) -> Outputs:
    log_p = F.log_softmax(F.linear(arrays["hidden"], arrays["weight"]), -1)
    log_q = F.log_softmax(F.linear(arrays["teacher_hidden"], arrays["teacher_weight"]), -1)
    return {"loss": (log_p.exp() * (log_p - log_q)).sum(-1).mean()}


TORCH: dict[str, Callable[[Arrays], Outputs]] = {
    "cross_entropy": torch_cross_entropy,
    "features": torch_features,
    "logprob_entropy": torch_logprob_entropy,
    "reverse_kl": torch_reverse_kl,
}


# ---- logitile ------------------------------------------------------------------------------------


def logitile_loss(name: str) -> Callable[[Arrays], Outputs]:
    """A loss of the comparison by its name."""
    import logitile as lt

    if name == "cross_entropy":
        head = lt.jit(lt.losses.cross_entropy)
        return lambda a: {"loss": head(a["hidden"], a["weight"], target=a["target"])}
    if name == "features":
        head = lt.jit(lt.losses.cross_entropy, label_smoothing=SMOOTHING, z_loss=Z_LOSS, softcap=SOFTCAP)
        return lambda a: {"loss": head(a["hidden"], a["weight"], target=a["target"], bias=a["bias"])}
    if name == "logprob_entropy":
        head = lt.jit(lt.losses.logprob_entropy)
        return lambda a: head(a["hidden"], a["weight"], target=a["target"])._asdict()
    head = lt.jit(lt.losses.reverse_kl)
    return lambda a: {
        "loss": head(student=(a["hidden"], a["weight"]), teacher=(a["teacher_hidden"], a["teacher_weight"]))
    }


# ---- what is differentiated ----------------------------------------------------------------------

TRAINED = ("hidden", "weight", "bias")


def objective(outputs: Outputs, arrays: Arrays) -> Tensor:
    """The number whose gradients are made: the loss,
    else that of a policy gradient with an entropy bonus.
    """
    if "loss" in outputs:
        return outputs["loss"]
    gain = arrays["advantage"] * outputs["logprob"] + ENTROPY_BONUS * outputs["entropy"]
    return -gain.mean()
