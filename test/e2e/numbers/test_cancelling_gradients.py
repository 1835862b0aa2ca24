"""Where one entry of the vocabulary has the whole probability,
gradients are sums of parts that cancel.
"""

import logitile as lt
import numpy as np
import pytest
from backends import brought_back, jit, moved
from test_consistency import TOKENS

SURE = {
    "beside another sum": lambda z, w, s: (lt.sum(lt.softmax(z * z) * w) - entropy_of(z * z), 2 * z),
    "a third beside another sum": lambda z, w, s: (
        entropy_of(z * w / 3.0) + lt.sum(lt.softmax(z * w / 3.0) * w),
        w / 3.0,
    ),
    "quotient": lambda z, w, s: (entropy_of(z * z / 0.37), 2 * z / 0.37),
    "number in front": lambda z, w, s: (0.3 * entropy_of(z * 2.7), 0.3 * 2.7),
    "product with a difference": lambda z, w, s: (entropy_of((z - w) * z * s), (2 * z - w) * s),
}


def entropy_of(x):
    log_p = lt.log_softmax(x)
    return -lt.sum(lt.exp(log_p) * log_p)


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("of", range(len(SURE)), ids=list(SURE))
@pytest.mark.parametrize("scale", [1e2, 1e5, 1e8], ids=str)
def test_gradients_of_sure_tokens_cancel(of, scale):
    """With one entry of the vocabulary, what is left of a gradient is a rounding of its parts."""

    @lt.loss
    def loss(z: lt.Logits, w: lt.Vocab[float], s: lt.Scalar, *, of: int = of):
        value, slope = list(SURE.values())[of](z, w, s)
        return lt.Outputs(
            loss=value, slope=lt.stop_gradient(slope + 0.0 * z)[0], others=lt.stop_gradient(w[0] + s)
        )

    rng = np.random.default_rng(3)
    hidden, weight = scale * rng.normal(size=(TOKENS, 1)), rng.normal(size=(1, 1))
    head = jit(loss, reduction="none")
    here = {"z.hidden": hidden, "z.weight": weight, "w": rng.normal(size=1), "s": np.float64(1.3)}
    here = {name: moved(item.astype(np.float32), head.options.backend) for name, item in here.items()}
    operands, numbers = [here.pop("z.hidden"), here.pop("z.weight")], here
    up = moved(rng.normal(size=TOKENS).astype(np.float32), head.options.backend)
    out, gradients = head.value_and_grad(*operands, **numbers, wrt=("hidden",), grad_output={"loss": up})
    parts = np.abs(brought_back(out.slope) * brought_back(up) * weight[0, 0])
    assert (np.abs(brought_back(gradients["hidden"])[:, 0]) <= 2.0**-20 * parts).all()


EXPONENTS = {  # with their derivatives by z
    "negative product": lambda z, w, s: (z * w * -1.0, -w),
    "third of a square": lambda z, w, s: (z * z * s / 3.0, z * s * (2 / 3)),
    "less a multiple": lambda z, w, s: (z - z * s, 1.0 - s),
    "less an input": lambda z, w, s: (w - z, -1.0),
}


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("of", range(len(EXPONENTS)), ids=list(EXPONENTS))
@pytest.mark.parametrize("scale", [1e2, 1e6], ids=str)
def test_gradients_of_an_entropy_and_a_mean_of_one_softmax_cancel(of, scale):
    """Small numbers do not have the rounding of the exponents."""

    @lt.loss
    def loss(z: lt.Logits, w: lt.Vocab[float], s: lt.Scalar, *, of: int = of):
        x, slope = list(EXPONENTS.values())[of](z, w, s)
        largest = lt.argmax(x)
        others = lt.where(lt.column() == largest, -float("inf"), x)
        return lt.Outputs(
            loss=lt.sum(lt.softmax(x) * lt.cos(w)) - 0.3 * entropy_of(x),
            slope=lt.stop_gradient(slope + 0.0 * z)[largest],
            gap=lt.max(x) - lt.max(others),
            used=lt.stop_gradient(s),
        )

    rng = np.random.default_rng(3)
    hidden, weight = (scale * rng.normal(size=(64, 3)), rng.normal(size=(2, 3)))
    head = jit(loss, reduction="none")
    here = {"z.hidden": hidden, "z.weight": weight, "w": rng.normal(size=2), "s": np.float64(2.5)}
    here = {name: moved(item.astype(np.float32), head.options.backend) for name, item in here.items()}
    operands, numbers = [here.pop("z.hidden"), here.pop("z.weight")], here
    up = moved(rng.normal(size=64).astype(np.float32), head.options.backend)
    out, gradients = head.value_and_grad(*operands, **numbers, wrt=("hidden",), grad_output={"loss": up})
    is_sure = brought_back(out.gap) > 120
    parts = np.abs(brought_back(out.slope) * brought_back(up))[:, None] * np.abs(weight).sum(0)
    assert is_sure.sum() > 10
    assert (np.abs(brought_back(gradients["hidden"])) <= 2.0**-20 * parts)[is_sure].all()


@lt.loss
def scaled_distance(z: lt.Logits, y: lt.Token[int], b: lt.Token[float]):
    return lt.softmax((z - z[y]) * b)[y]


@pytest.mark.contract("5 one value")
@pytest.mark.parametrize("scale", [1e3, 1e9], ids=str)
def test_a_scale_of_distances_has_a_gradient_of_distances(scale):
    """That of b is made of z - z[y], which is 0 for three entries, and not of z and of z[y]."""
    logits = np.array([[2.7, 2.7, 2.7, -1.0], [-1.0, 3.1, 3.1, 3.1]], np.float32) * np.float32(scale)
    given = {"y": np.array([0, 2]), "b": np.array([0.3, 0.7], np.float32)}
    head = jit(scaled_distance, reduction="none")
    here = {name: moved(item, head.options.backend) for name, item in given.items()}
    operands = [moved(item, head.options.backend) for item in (logits, np.eye(4, dtype=np.float32))]
    up = moved(np.ones(2, np.float32), head.options.backend)
    _, gradients = head.value_and_grad(*operands, **here, wrt=("b",), grad_output=up)
    assert (brought_back(gradients["b"]) == 0).all()
