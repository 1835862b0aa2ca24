"""What Liger's forwards of models call, against cross-entropy on dense logits in float64."""

import inspect

import logitile as lt
import pytest
import torch
import torch.nn.functional as F
from dense import check
from logitile.integrations.liger import transformers as mine
from logitile.integrations.liger.transformers.model import loss_utils

BATCH, LENGTH, HIDDEN, VOCAB = 3, 7, 16, 61


def arguments():
    torch.manual_seed(0)
    labels = torch.randint(VOCAB, (BATCH, LENGTH))
    labels[0, :3] = -100
    return {
        "hidden_states": torch.randn(BATCH, LENGTH, HIDDEN).requires_grad_(),
        "lm_head_weight": (0.5 * torch.randn(VOCAB, HIDDEN)).requires_grad_(),
        "labels": labels,
    }


def dense(
    hidden_states, lm_head_weight, labels, hidden_size, num_items_in_batch=None, ignore_index=-100,
    shift_labels=None, final_logit_softcapping=None, label_smoothing=0.0, **others,
):  # fmt: skip
    z = hidden_states @ lm_head_weight.T
    if final_logit_softcapping is not None:
        z = final_logit_softcapping * torch.tanh(z / final_logit_softcapping)
    if shift_labels is None:
        shift_labels = torch.cat([labels[:, 1:], torch.full((len(labels), 1), ignore_index)], 1)
    options = {"ignore_index": ignore_index, "label_smoothing": label_smoothing}
    loss = F.cross_entropy(z.flatten(0, 1), shift_labels.flatten(), reduction="sum", **options)
    count = num_items_in_batch
    return loss / ((shift_labels != ignore_index).sum() if count is None else count)


@pytest.mark.contract("8 same results")
@pytest.mark.parametrize("options", [
    {},
    {"num_items_in_batch": 40},
    {"num_items_in_batch": torch.tensor(40)},
    {"final_logit_softcapping": 5.0, "label_smoothing": 0.1},
    {"shift_labels": torch.arange(BATCH * LENGTH).view(BATCH, LENGTH), "ignore_index": 3},
    {"cache_position": None, "use_cache": False},
])  # fmt: skip
def test_a_causal_model(options):
    check(loss_utils.LigerForCausalLMLoss, dense, arguments(), hidden_size=HIDDEN, **options)


def test_what_is_returned_beside_the_loss():
    given = arguments()
    result = loss_utils.LigerForCausalLMLoss(
        **given, hidden_size=HIDDEN, num_items_in_batch=10, return_token_accuracy=True,
        return_predicted_tokens=True, return_z_loss=True, lse_square_scale=0.1,
    )  # fmt: skip
    assert isinstance(result, mine.CrossEntropyOutput) and result.z_loss is None
    assert 0 <= result.token_accuracy <= 1 and result.predicted_tokens.shape == (BATCH * LENGTH,)
    alone = loss_utils.LigerForCausalLMLoss(
        **given, hidden_size=HIDDEN, num_items_in_batch=10, return_z_loss=True, lse_square_scale=0.1
    )
    torch.testing.assert_close(alone, result.loss)


def test_unpacking():
    loss, index = torch.tensor(1.0), torch.tensor([3])
    unpack = loss_utils.unpack_cross_entropy_result
    assert unpack(loss) == (loss, None, None, None)
    assert unpack((loss, None, index)) == (loss, None, index, None)
    assert unpack(mine.CrossEntropyOutput(loss, predicted_tokens=index)) == (loss, None, None, index)


@pytest.mark.contract("8 refusals")
def test_no_labels():
    with pytest.raises(lt.CallTypeError) as caught:
        loss_utils.LigerForCausalLMLoss(**arguments() | {"labels": None}, hidden_size=HIDDEN)
    assert str(caught.value) == "labels is None; give labels, or shift_labels"


@pytest.mark.contract("8 same names")
def test_names_and_order():
    common = ["num_items_in_batch", "ignore_index", "final_logit_softcapping"]
    flags = ["return_token_accuracy", "return_predicted_tokens", "kwargs"]
    causal = ["hidden_states", "lm_head_weight", "labels", "hidden_size", *common, *flags]
    causal.insert(6, "shift_labels")
    assert list(inspect.signature(loss_utils.LigerForCausalLMLoss).parameters) == causal
    fixed = ["hidden_states", "lm_head_weight", "target", *common, "accum_dtype", *flags]
    assert list(inspect.signature(loss_utils.fixed_fused_linear_cross_entropy).parameters) == fixed
