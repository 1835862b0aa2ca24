"""Indices outside the vocabulary on GPUs, where no call waits for the host;
the emulator behaves alike.
"""

import logitile as lt
import numpy as np
import pytest
from logitile import losses

BACKEND = "emu:sm_80"


@lt.loss
def picks(z: lt.Logits, target: lt.Token[int]) -> lt.Outputs:
    return lt.Outputs(loss=-lt.log_softmax(z)[target], best=lt.argmax(z), sure=z[target] > 1e9)


@lt.loss
def shifted(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target + 1]


def operands():
    random = np.random.default_rng(5)
    hidden = random.standard_normal((5, 8), np.float32)
    weight = random.standard_normal((40, 8), np.float32)
    return hidden, weight, np.array([3, 7, 0, 39, 11])


@pytest.mark.contract("2 device index")
def test_results_of_a_wrong_index_and_the_error_of_a_later_call():
    hidden, weight, target = operands()
    target[3] = 40
    head = lt.jit(picks, backend=BACKEND, reduction="none")
    loss, best, sure = head(hidden, weight, target=target)
    np.testing.assert_array_equal(np.isnan(loss), [False, False, False, True, False])
    assert best[3] == -1 and best.min() == -1 and (best[[0, 1, 2, 4]] >= 0).all()
    assert not sure[3]
    with pytest.raises(lt.CallIndexError) as error:
        lt.check()
    assert str(error.value) == (
        "'target' was outside the vocabulary for token 3 of an earlier call (counted through the leading "
        "dimensions): its results are NaN, -1 or False; set LOGITILE_CHECK=1 to stop in the call itself"
    )
    lt.check()  # told once


def test_a_later_call_tells():
    hidden, weight, target = operands()
    head = lt.jit(picks, backend=BACKEND)
    head(hidden, weight, target=np.full(5, -1))
    with pytest.raises(lt.CallIndexError, match="for token 0 of an earlier call"):
        head(hidden, weight, target=target)
    head(hidden, weight, target=target)


def test_at_once_where_asked_for(monkeypatch):
    monkeypatch.setenv("LOGITILE_CHECK", "1")
    hidden, weight, target = operands()
    target[4] = 1 << 40
    with pytest.raises(lt.CallIndexError, match="'target' was outside the vocabulary for token 4"):
        lt.jit(picks, backend=BACKEND)(hidden, weight, target=target)
    lt.check()


def test_computed_indices():
    hidden, weight, target = operands()
    losses_ = lt.jit(shifted, backend=BACKEND, reduction="none")(hidden, weight, target=target)
    np.testing.assert_array_equal(np.isnan(losses_), [False, False, False, True, False])
    with pytest.raises(lt.CallIndexError, match="an index that the loss computes was outside"):
        lt.check()


def test_a_reduced_loss_is_nan():
    hidden, weight, target = operands()
    target[0] = 400
    assert np.isnan(lt.jit(picks, backend=BACKEND)(hidden, weight, target=target).loss)
    with pytest.raises(lt.CallIndexError):
        lt.check()


def test_ignored_tokens_are_exempt():
    hidden, weight, target = operands()
    hidden[1] = np.nan
    target[1] = -100
    head = lt.jit(losses.cross_entropy, backend=BACKEND)
    loss, gradients = head.value_and_grad(hidden, weight, target=target)
    lt.check()
    expected, exact = head.reference_grad(hidden, weight, target=target)
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    assert (gradients["hidden"][1] == 0).all()
    np.testing.assert_allclose(gradients["weight"], exact["weight"], rtol=1e-4, atol=1e-6)
