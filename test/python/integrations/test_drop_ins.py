"""What holds for every drop-in: no array of logits exists,
and nothing is imported that nobody asked for.
"""

import pathlib
import subprocess
import sys

import logitile
import pytest
import torch
from logitile.integrations import cut_cross_entropy, megatron, pytorch, torchtune, trl
from logitile.integrations.liger import chunked_loss, ops, transformers
from logitile.integrations.liger.transformers.model import loss_utils
from torch.utils._python_dispatch import TorchDispatchMode

# logits would be far larger than hidden states and weights
BATCH, LENGTH, HIDDEN, VOCAB = 4, 512, 8, 1024
PYTHON = pathlib.Path(logitile.__file__).parents[1]
MODULES = (
    "pytorch",
    "torchtune",
    "cut_cross_entropy",
    "liger.transformers",
    "liger.chunked_loss",
    "liger.ops",
    "liger.transformers.functional",
    "liger.transformers.grpo_loss",
    "liger.transformers.model.loss_utils",
    "megatron",
    "trl",
)


def inputs():
    hidden = torch.randn(BATCH, LENGTH, HIDDEN, requires_grad=True)
    weight = torch.randn(VOCAB, HIDDEN, requires_grad=True)
    return hidden, weight, torch.randint(VOCAB, (BATCH, LENGTH))


def torchtune_loss(hidden, weight, labels):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.output = torch.nn.Linear(HIDDEN, VOCAB)

    loss = torchtune.LinearCrossEntropyLoss()
    loss.set_model_output(Model())
    return loss(hidden, labels)


def torchtune_grpo(hidden, weight, labels):
    model = torch.nn.Module()
    model.output = torch.nn.Linear(HIDDEN, VOCAB)
    loss = torchtune.LinearGRPOLoss()
    loss.set_model_output(model)
    return loss(hidden, labels, torch.zeros(BATCH, LENGTH), torch.ones(BATCH))[0]


def grpo(hidden, weight, labels):
    reference = torch.zeros(BATCH, LENGTH)
    return chunked_loss.liger_fused_linear_grpo(
        hidden, weight, labels, torch.ones(BATCH, LENGTH), torch.ones(BATCH), ref_per_token_logps=reference
    )[0]


CALLS = {
    "pytorch": lambda h, w, y: pytorch.linear_cross_entropy(
        h.flatten(0, 1), w, y.flatten(), label_smoothing=0.1
    ),
    "torchtune": torchtune_loss,
    "torchtune, GRPO": torchtune_grpo,
    "torchtune, distillation": lambda h, w, y: torchtune.SymmetricKLLoss()(
        (h, w), (0.9 * h.detach(), w.detach()), y
    ),
    "cut_cross_entropy": lambda h, w, y: cut_cross_entropy.linear_cross_entropy(h, w, y, shift=1),
    "liger": lambda h, w, y: transformers.LigerFusedLinearCrossEntropyLoss(lse_square_scale=0.1)(
        w, h.flatten(0, 1), y.flatten()
    ),
    "liger, divergence": lambda h, w, y: transformers.liger_fused_linear_jsd(
        h.flatten(0, 1), w, h.flatten(0, 1), w, y.flatten()
    ),
    "liger, scaled": lambda h, w, y: sum(
        result.sum()
        for result in ops.LigerFusedLinearScaledCrossEntropyFunction.apply(
            h.flatten(0, 1), w, y.flatten(), 0.9, return_entropy=True, selected_token_ids=torch.arange(3)
        )
    ),
    "liger, both terms": lambda h, w, y: sum(
        result.sum()
        for result in transformers.LigerFusedCETVDLoss()(
            (h.flatten(0, 1), w), (0.9 * h.flatten(0, 1), w), y.flatten()
        )
    ),
    "liger, models": lambda h, w, y: loss_utils.LigerForCausalLMLoss(h, w, y, HIDDEN),
    "liger, pairs": lambda h, w, y: chunked_loss.liger_fused_linear_orpo(h, w, y)[0],
    "liger, KTO": lambda h, w, y: chunked_loss.liger_fused_linear_kto(
        h, w, y, torch.ones(BATCH).bool(), use_ref_model=False, average_log_prob=True
    )[0],
    "liger, distillation": lambda h, w, y: chunked_loss.liger_fused_linear_jsd(
        h.flatten(0, 1), w, h.flatten(0, 1), w, y.flatten()
    ),
    "liger, GRPO": grpo,
    "TRL": lambda h, w, y: trl.ChunkedLogProbFunction.apply(
        h.flatten(0, 1), w, None, y.flatten(), 0.9, 256
    )[0].sum(),
    "TRL, distillation": lambda h, w, y: trl.ChunkedDivergenceFunction.apply(
        h.flatten(0, 1), w, None, 0.9 * h.flatten(0, 1), w, None, 0.5
    )[0].sum(),
    "megatron": lambda h, w, y: megatron.linear_cross_entropy(h, w, y, reduction="none").mean(),
}  # fmt: skip


class Largest(TorchDispatchMode):
    """The most elements of any tensor that an operator of torch returns."""

    elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        results = function(*args, **(kwargs or {}))
        several = results if isinstance(results, (tuple, list)) else (results,)
        for item in several:
            if torch.is_tensor(item):
                self.elements = max(self.elements, item.numel())
        return results


@pytest.mark.contract("8 no logits")
@pytest.mark.parametrize("name", CALLS)
def test_no_array_of_logits_exists(name):
    hidden, weight, labels = inputs()
    with Largest() as largest:
        loss = CALLS[name](hidden, weight, labels)
        loss.backward()
    assert hidden.grad.any()
    assert 0 < largest.elements < BATCH * LENGTH * VOCAB / 8


def run(code):
    code = f"import sys; sys.path.insert(0, {str(PYTHON)!r}); {code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.contract("8 imports")
def test_the_package_imports_no_drop_in():
    assert (
        run("import logitile; print([n for n in sys.modules if 'integrations' in n or n == 'torch'])") == "[]"
    )


@pytest.mark.contract("8 imports")
def test_drop_ins_import_no_project():
    projects = ("torchtune", "liger_kernel", "transformers", "cut_cross_entropy", "megatron", "triton", "trl")
    imports = "; ".join(f"import logitile.integrations.{module}" for module in MODULES)
    assert run(f"{imports}; print([name for name in {projects} if name in sys.modules])") == "[]"
