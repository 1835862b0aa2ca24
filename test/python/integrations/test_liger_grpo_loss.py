"""Liger's loss of policies on given logits: that of the drop-in with a projection, which has tests
of its own against dense logits, and its numbers per token.
"""

import inspect

import logitile as lt
import pytest
import torch
from dense import close
from logitile.integrations.liger import chunked_loss
from logitile.integrations.liger.transformers.grpo_loss import fused_selective_log_softmax, triton_grpo_loss

BATCH, LENGTH, HIDDEN, VOCAB = 4, 6, 16, 61
TYPES = ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo")


def inputs(masked=True):
    """Hidden states, a weight, and the other arguments of triton_grpo_loss."""
    torch.manual_seed(0)
    hidden, weight = torch.randn(BATCH, LENGTH + 1, HIDDEN), 0.5 * torch.randn(VOCAB, HIDDEN)
    mask = torch.ones(BATCH, LENGTH)
    if masked:
        mask[0, 3:], mask[2, 1:] = 0, 0
    ids = torch.randint(VOCAB, (BATCH, LENGTH))
    old, reference = ((0.4 * torch.randn(BATCH, LENGTH) - 4.5) for _ in range(2))
    return hidden, weight, {
        "old_logp": old, "ref_logp": reference, "completion_ids": ids, "advantages": torch.randn(BATCH),
        "completion_mask": mask,
    }  # fmt: skip


def projected(hidden, weight, given, **options):
    """The loss of the drop-in that has a projection."""
    names = {"eps_low": "epsilon_low", "eps_high": "epsilon_high"}
    options = {"temperature": 0.9, "beta": 0.04, "epsilon_high": 0.4} | options
    options = {names.get(name, name): value for name, value in options.items()}
    return chunked_loss.liger_fused_linear_grpo(
        hidden[:, :-1], weight, given["completion_ids"], given["completion_mask"], given["advantages"],
        ref_per_token_logps=given["ref_logp"], old_per_token_logps=given["old_logp"], **options,
    )  # fmt: skip


def compare(given, **options):
    hidden, weight, given = given
    logits = (hidden @ weight.T).requires_grad_()
    loss, metrics = triton_grpo_loss(logits, **given, reduce=True, **options)
    (found,) = torch.autograd.grad(loss, logits)
    leaf = weight.clone().requires_grad_()
    length = {"max_completion_length": LENGTH} if options.get("loss_type") == "dr_grpo" else {}
    wanted, others = projected(hidden, leaf, given, **{**options, **length})
    wanted.backward()
    assert loss.dtype == torch.float32 and close(loss, wanted, 1e-5)
    assert isinstance(metrics, list) and len(metrics) == len(others)
    assert all(close(mine, other, 1e-5) for mine, other in zip(metrics, others, strict=True))
    assert close(torch.einsum("btv,btd->vd", found, hidden), leaf.grad, 1e-5)
    assert not found[:, -1].any()


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("loss_type", TYPES)
@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_reduced(loss_type, beta):
    # Only tokens of the mask are summed here;
    # the loss with a projection sums all of them for LUSPO.
    compare(inputs(masked=loss_type != "luspo"), loss_type=loss_type, beta=beta)


@pytest.mark.parametrize("options", [
    {"importance_sampling_level": "sequence"},
    {"importance_sampling_level": "sequence", "loss_type": "grpo", "use_bias_correction_kl": True},
    {"delta": 1.2, "loss_type": "bnpo"},
    {"use_bias_correction_kl": True},
    {"vllm_is_ratio": torch.tensor([0.5, 1.0, 1.5, 2.0])},
    {"vllm_is_ratio": torch.tensor([0.5, 1.0, 1.5, 2.0])[:, None], "loss_type": "vespo"},
    {"num_items_in_batch": 50.0},
    {"eps_low": 0.1, "eps_high": 0.1, "temperature": 1.3},
])  # fmt: skip
def test_options(options):
    compare(inputs(), **options)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("beta", [0.0, 0.1])
def test_numbers_of_tokens(level, beta):
    hidden, weight, given = inputs()
    logits = (hidden @ weight.T).requires_grad_()
    options = {"beta": beta, "importance_sampling_level": level}
    results = triton_grpo_loss(logits, **given, **options)
    exact = logits.detach().double().requires_grad_()
    ids, mask = given["completion_ids"], given["completion_mask"]
    log_p = (exact[:, :-1] / 0.9).log_softmax(-1).gather(2, ids[..., None])[..., 0]
    log_ratio, advantages = log_p - given["old_logp"], given["advantages"][:, None]
    if level == "sequence":
        log_ratio = (log_ratio * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True)
    ratio = log_ratio.exp()
    value = -torch.minimum(ratio * advantages, ratio.clamp(0.8, 1.4) * advantages)
    distance = given["ref_logp"] - log_p
    penalty = distance.exp() - distance - 1
    clipped = ((ratio < 0.8) & (advantages < 0)) | ((ratio > 1.4) & (advantages > 0))
    wanted = ((value + beta * penalty) * mask, penalty * mask if beta else None, clipped * mask)
    for result, other in zip(results, wanted, strict=True):
        assert (result is None) == (other is None)
        assert result is None or (result.shape == (BATCH, LENGTH) and close(result, other, 1e-5))
    assert [r.requires_grad for r in results if r is not None] == [True, *[False] * (1 + (beta > 0))]
    upstream = torch.rand(BATCH, LENGTH)
    results[0].backward(upstream)
    wanted[0].backward(upstream.double())
    assert close(logits.grad, exact.grad, 1e-5)


def test_what_is_left_out():
    """No mask, no old log-probabilities, no reference: the ratio is 1, and has a gradient."""
    hidden, weight, given = inputs(masked=False)
    logits = (hidden @ weight.T).requires_grad_()
    loss, penalty, clipped = triton_grpo_loss(
        logits, None, None, given["completion_ids"], given["advantages"], beta=0.0
    )
    torch.testing.assert_close(loss, -given["advantages"][:, None].expand(BATCH, LENGTH))
    loss.sum().backward()
    assert penalty is None and not clipped.any() and logits.grad.any()


def test_tokens_outside_of_the_mask_may_be_anything():
    hidden, weight, given = inputs()
    logits = hidden @ weight.T
    wanted = triton_grpo_loss(logits, **given)
    outside = given["completion_mask"] == 0
    given["completion_ids"] = torch.where(outside, VOCAB + 5, given["completion_ids"])
    given["old_logp"] = torch.where(outside, torch.nan, given["old_logp"])
    assert all(torch.equal(*pair) for pair in zip(triton_grpo_loss(logits, **given), wanted, strict=True))


def test_log_probabilities():
    hidden, weight, given = inputs()
    logits = (hidden @ weight.T).requires_grad_()
    ids = torch.cat([torch.full((BATCH, 2), 10**6), given["completion_ids"]], 1)
    mask = torch.cat([torch.ones(BATCH, 2), given["completion_mask"]], 1)
    found = fused_selective_log_softmax(logits, ids, 0.7, mask)
    wanted = (logits[:, :-1].double() / 0.7).log_softmax(-1).gather(2, ids[:, 2:, None])[..., 0]
    assert close(found, wanted * given["completion_mask"], 1e-6) and not found.requires_grad


@pytest.mark.contract("8 same names")
def test_names_and_order():
    names = [
        "logits", "old_logp", "ref_logp", "completion_ids", "advantages", "completion_mask", "temperature",
        "beta", "eps_low", "eps_high", "inplace", "loss_type", "max_completion_length",
        "importance_sampling_level", "reduce", "sapo_temperature_pos", "sapo_temperature_neg",
        "vllm_is_ratio", "delta", "use_bias_correction_kl", "num_items_in_batch", "vespo_k_pos",
        "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg",
    ]  # fmt: skip
    assert list(inspect.signature(triton_grpo_loss).parameters) == names
    names = ["logits", "input_ids", "temperature", "mask"]
    assert list(inspect.signature(fused_selective_log_softmax).parameters) == names


@pytest.mark.contract("8 refusals")
@pytest.mark.parametrize(("options", "message"), [
    ({"loss_type": "ppo"},
     "loss_type='ppo' is none of 'grpo', 'bnpo', 'dr_grpo', 'dapo', 'cispo', 'sapo', 'luspo' and 'vespo'"),
    ({"loss_type": "sapo", "delta": 2.0}, "delta is not supported for loss_type='sapo'; leave it out"),
    ({"ref_logp": None}, "beta=0.04 needs 'ref_logp'; give it, or beta=0"),
    ({"completion_ids": torch.zeros(4, 7).long()}, "logits has shape (4, 7, 61); it must be (4, 8, 61)"),
    ({"old_logp": torch.zeros(4)}, "old_logp has shape (4,); it must be (4, 6)"),
    ({"advantages": torch.zeros(4, 1)}, "advantages has shape (4, 1); it must be (4,)"),
    ({"vllm_is_ratio": torch.zeros(3)}, "vllm_is_ratio has shape (3,); it must be (4,), (4, 1) or (4, 6)"),
])  # fmt: skip
def test_what_is_refused(options, message):
    hidden, weight, given = inputs()
    with pytest.raises(lt.CallError) as caught:
        triton_grpo_loss(hidden @ weight.T, **given | options)
    assert str(caught.value) == message
