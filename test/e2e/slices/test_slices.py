"""The vocabulary in slices, all of them in one process:
outputs and gradients are those of the whole.
"""

import itertools
import pickle

import logitile as lt
import numpy as np
import pytest
import torch
from calls import records
from cases import CASES
from gate import Gates, Sample
from inputs import arguments
from logitile.spec.gradient_flow import differentiable_outputs
from random_specs import numpy_dtype

TOKENS, VOCAB, HIDDEN = 256, 83, 24
CUTS = [(0, VOCAB), (0, 41, VOCAB), (0, 41, 42, VOCAB)]  # few widths: each of them is compiled


# ---- running slices ------------------------------------------------------------------------------


def sliced_inputs(loss, given, first, end):
    """The arguments of one slice."""
    axes = {parameter.name: parameter.kinds[0].axis for parameter in loss.signature.inputs}
    cut = {
        "logits": lambda pair: (pair[0], pair[1][first:end]),
        "vocab": lambda array: array[first:end],
        "dense": lambda array: array[..., first:end],
    }
    return {name: cut.get(axes.get(name), lambda array: array)(item) for name, item in given.items()}


class Slices:
    """The slices of a call.

    Args:
        cuts: where they begin, and the end.
        given: arguments of the whole call.
    """

    def __init__(self, head, cuts, given, **call):
        self.head, self.vocab = head, cuts[-1]
        self.calls = [
            {**sliced_inputs(head.loss, given, a, b), **call, "column_offset": a, "vocab_size": self.vocab}
            for a, b in itertools.pairwise(cuts)
        ]

    def swept(self, **more):
        return [self.head.partial(**call, **more) for call in self.calls]

    def state(self, merge=lt.merge, **more):
        """After all sweeps."""
        state = merge(self.swept(**more))
        while state.next:
            state = merge(self.swept(state=state, grad_output=more.get("grad_output")))
        return state

    def gradients(self, state, **more):
        """The gradients of the whole from those of slices, by name."""
        parts = [self.head.finish_grad(state, **call, **more) for call in self.calls]
        axes = {parameter.name: parameter.kinds[0].axis for parameter in self.head.loss.signature.inputs}
        return {name: self.joined(axes.get(name), name, [part[name] for part in parts]) for name in parts[0]}

    def joined(self, axis, name, parts):
        if axis in ("token", "scalar"):  # complete on every slice
            for part in parts[1:]:
                np.testing.assert_array_equal(part, parts[0])
            return parts[0]
        if axis in ("vocab", "dense"):
            return np.concatenate(parts, axis=-1)
        if name.rpartition(".")[2] == "weight":
            return np.concatenate(parts)
        return sum(part.astype(np.float32) for part in parts).astype(parts[0].dtype)  # hidden


class Sliced(Sample):
    """A sample whose head runs on slices."""

    cuts = CUTS[0]

    def run(self):
        slices = Slices(self.head, self.cuts, self.given, **self.call)
        if not self.wrt:
            return self._named(self.head.finish(slices.state()), {})
        grad_output = self.arguments()["grad_output"]
        state = slices.state(wrt=self.wrt, grad_output=grad_output)
        return self._named(self.head.finish(state), slices.gradients(state, grad_output=grad_output))

    def check_all(self, several):
        """Every way to cut the vocabulary, against the same reference and gate."""
        gates = Gates(self, self.reference())
        for self.cuts in several:
            gates.check(self.run(), str(self))


def sample(loss, constants, dtype, **options):
    """Every output and every gradient."""
    given = arguments(loss, seed=3, tokens=TOKENS, vocab=VOCAB, hidden=HIDDEN)
    for key, item in given.items():
        if isinstance(item, tuple):
            given[key] = tuple(operand.astype(numpy_dtype(dtype)) for operand in item)
    several = sum(isinstance(item, tuple) for item in given.values()) > 1
    rng = np.random.default_rng(5)
    head = lt.jit(loss, **constants)
    spec = head._bind(**given).form.spec
    carrying = differentiable_outputs(spec)
    wrt = []
    for key, item in given.items():
        if isinstance(item, tuple):
            wrt += [f"{key}.{o}" if several else o for o in ("hidden", "weight")]
        elif np.asarray(item).dtype == np.float32:
            wrt.append(key)
    if "loss" in carrying:
        options = {"reduction": "none", **options}
    cotangent = {name: rng.normal(size=TOKENS).astype(np.float32) for name in carrying}
    return Sliced(loss, given, {**constants, **options}, tuple(wrt), cotangent)


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setenv("LOGITILE_NUM_THREADS", "2")


# ---- every loss ----------------------------------------------------------------------------------


@lt.loss
def many_inputs(
    z: lt.Logits,
    target: lt.Token[int],
    bias: lt.Vocab[float],
    scale: lt.Vocab[float],
    soft: lt.Dense[float],
    temperature: lt.Scalar,
    advantage: lt.Token[float],
):
    """Sparse terms of Vocab and Dense inputs, and a gradient for everything."""
    x = (z * scale + bias) / temperature
    picked = scale[target] * (lt.logsumexp(x) - x[target]) * advantage
    return picked + bias[lt.argmax(z)] * soft[target] - lt.sum(soft * lt.log_softmax(x)) + lt.max(x) / 16


@lt.loss
def nested(z: lt.Logits, target: lt.Token[int], scale: lt.Scalar):
    """The mean of absolute deviations: sweeps for the loss, and for its gradient."""
    centred = z - lt.mean(z)
    spread = lt.mean(lt.sqrt(centred**2 + 1))
    return lt.logsumexp(scale * centred / spread) - scale * centred[target] / spread


METRICS = ("accuracy", "prediction", "rank")  # no gradient
LOSSES = {n: (getattr(lt.losses, n), {}) for n in lt.losses.__all__ if n not in (*METRICS, "top_logprobs")}
LOSSES |= {loss.name: (loss, {}) for loss in (many_inputs, nested)}
OTHERS = {name: (loss, constants) for name, (loss, _, constants) in CASES.items()}
SOME = ("added_cost", "alpha_divergence", "standardised_kl", "kept_set", "teacher_at_argmax")


@pytest.mark.parametrize("name", LOSSES)
def test_slices_give_what_the_whole_gives(name):
    sample(*LOSSES[name], "float32").check_all(CUTS)


@pytest.mark.parametrize(
    "name", [*SOME, *(pytest.param(n, marks=pytest.mark.full) for n in OTHERS if n not in SOME)]
)
def test_other_losses(name):
    sample(*OTHERS[name], "float32").check_all(CUTS[2:])


@pytest.mark.parametrize("name", ["jensen_shannon", "top_k_kl", "many_inputs"])
@pytest.mark.parametrize("dtype", ["bfloat16", pytest.param("float16", marks=pytest.mark.full)])
def test_sixteen_bits(name, dtype):
    sample(*LOSSES[name], dtype).check_all(CUTS[2:])


# ---- outputs and reductions ----------------------------------------------------------------------

CUT = (0, 8, 9, 23)


def grid(loss, tokens=12, vocab=CUT[-1], seed=0):
    """Arguments with small integers: logits are exact, and many are equal."""
    rng = np.random.default_rng(seed)
    given = arguments(loss, seed, tokens=tokens, vocab=vocab)
    for name, item in given.items():
        if isinstance(item, tuple):
            given[name] = tuple(
                rng.integers(-1, 2, size=operand.shape).astype(np.float32) for operand in item
            )
    return given


def assert_same(mine, whole, rtol=2e-6):
    """Outputs of slices and of the whole: one value, or named ones."""
    if not isinstance(whole, tuple):
        mine, whole = (mine,), (whole,)
    for a, b in zip(mine, whole, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=0 if b.dtype.kind in "ib" else rtol, atol=1e-6)


def assert_same_gradients(mine, whole, rtol=2e-5):
    assert set(mine) == set(whole)
    for name in whole:
        assert np.asarray(mine[name]).dtype == np.asarray(whole[name]).dtype
        error = np.linalg.norm(np.asarray(mine[name], float) - np.asarray(whole[name], float))
        assert error <= rtol * max(np.linalg.norm(np.asarray(whole[name], float)), 1e-3), name


def check_call(head, cuts, given, wrt=("hidden", "weight"), grad_output=None, **call):
    """Slices against the whole, outputs and gradients."""
    slices = Slices(head, cuts, given, **call)
    state = slices.state(wrt=wrt, grad_output=grad_output)
    whole, gradients = head.value_and_grad(**given, wrt=wrt, grad_output=grad_output, **call)
    assert_same(head.finish(state), whole)
    assert_same_gradients(slices.gradients(state, grad_output=grad_output), gradients)
    return state


@pytest.mark.parametrize("name", METRICS)
def test_metrics_and_ties_are_exact(name):
    loss = getattr(lt.losses, name)
    given = grid(loss)
    for item in given.values():
        if isinstance(item, tuple):
            # equal columns in every slice, the best of some tokens
            item[1][[2, 8, 9, 22]] = 3 * item[1][8]
    head = lt.jit(loss)
    for cuts in (CUT, (0, 1, 2, 3, 23), (0, 9, 23)):
        state = Slices(head, cuts, given).state(merge=lambda states: lt.merge(reversed(list(states))))
        assert_same(head.finish(state), head(**given), rtol=0)


@lt.loss
def best_entry(z: lt.Logits, t: lt.Logits):
    return lt.Outputs(loss=lt.max(z) ** 2 + t[lt.argmax(z)], best=lt.argmax(z), worst=lt.argmin(z))


def test_the_gradient_of_a_tie_goes_to_the_lowest_column():
    given = grid(best_entry)
    given["z"][1][[3, 8, 9, 20]] = 2 * given["z"][1][8]
    wrt = ("z.hidden", "z.weight", "t.hidden", "t.weight")
    check_call(lt.jit(best_entry), CUT, given, wrt, {"loss": 1.0})


def test_picks_at_the_borders_of_slices():
    loss = lt.losses.cross_entropy
    given = arguments(loss, tokens=8, vocab=CUT[-1])
    given["target"] = np.array([0, 7, 8, 9, 22, 10, 8, 7])
    check_call(lt.jit(loss, reduction="none"), CUT, given, grad_output=np.arange(1, 9, dtype=np.float32))


@lt.loss
def neighbour(z: lt.Logits, target: lt.Token[int]):
    return lt.logsumexp(z) - z[target + 1]


def test_computed_indices():
    given = arguments(neighbour, tokens=8, vocab=CUT[-1])
    given["target"] = np.array([-1, 6, 7, 8, 21, 9, 0, 20])
    head = lt.jit(neighbour)
    check_call(head, CUT, given)
    given["target"][3] = 22
    with pytest.raises(
        lt.CallIndexError, match=r"computed for token \[3\] is 23, outside the vocabulary of 23"
    ):
        Slices(head, CUT, given).swept()


@lt.loss
def kinds_of_entries(
    z: lt.Logits, target: lt.Token[int], group: lt.Vocab[int], special: lt.Vocab[bool], seen: lt.Dense[bool]
):
    here = lt.where(special[target], 2.0, 1.0) + lt.where(seen[lt.argmax(z)], 0.5, 0.0)
    alike = lt.sum(lt.where(group == group[target], lt.softmax(z), 0.0))
    return lt.Outputs(loss=-here * lt.log(alike), group=group[target], special=special[target])


def test_entries_of_integers_and_bools():
    given = arguments(kinds_of_entries, tokens=16, vocab=CUT[-1])
    given["group"] = np.random.default_rng(0).integers(0, 4, size=CUT[-1])
    check_call(lt.jit(kinds_of_entries), CUT, given, grad_output={"loss": 1.0})


@lt.loss
def weighted(z: lt.Logits, target: lt.Token[int], importance: lt.Vocab[float]):
    weight = importance[target]
    return lt.Outputs(loss=weight * (lt.logsumexp(z) - z[target]), weight=weight, entropy=lt.max(z))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_reductions_with_weights_and_ignored_tokens(reduction):
    given = arguments(weighted, tokens=10, vocab=CUT[-1])
    given["target"][[0, 4, 9]] = -100
    given["z"][0][4] = np.nan
    head = lt.jit(weighted, reduction=reduction)
    up = np.linspace(0.5, 1.5, 10, dtype=np.float32)
    check_call(head, CUT, given, grad_output={"loss": up if reduction == "none" else 2.0, "entropy": up})
    if reduction == "mean":
        check_call(head, CUT, given, grad_output={"loss": 1.0}, divisor=7)
        check_call(head, CUT, given, ("hidden", "importance"), {"loss": 1.0}, divisor=7.5)


def test_the_mean_reaches_adjoint_sweeps():
    """Their cotangent holds the denominator, which only merged states tell."""

    @lt.loss
    def deviations(z: lt.Logits, target: lt.Token[int], importance: lt.Vocab[float]):
        spread = lt.mean(lt.sqrt((z - lt.mean(z)) ** 2 + 1))
        weight = importance[target]
        return lt.Outputs(loss=weight * lt.logsumexp(z / spread), weight=weight)

    given = arguments(deviations, tokens=9, vocab=CUT[-1])
    given["target"][2] = -100
    check_call(lt.jit(deviations), CUT, given, grad_output={"loss": 3.0})


@pytest.mark.parametrize("all_ignored", ["nan", "zero"])
def test_no_token_counts(all_ignored):
    head = lt.jit(lt.losses.cross_entropy, all_ignored=all_ignored)
    given = arguments(lt.losses.cross_entropy, tokens=5, vocab=CUT[-1])
    given["target"][:] = -100
    check_call(head, CUT, given)
    empty = arguments(lt.losses.cross_entropy, tokens=0, vocab=CUT[-1])
    state = check_call(head, CUT, empty)
    assert all(array.shape == (0,) for array in state.arrays().values())


def test_leading_dimensions_layouts_and_types_of_gradients():
    given = arguments(lt.losses.cross_entropy, tokens=12, vocab=CUT[-1])
    hidden, weight = given["z"]
    given = {"z": (hidden.reshape(3, 4, -1), weight), "target": given["target"].reshape(3, 4)}
    head = lt.jit(lt.losses.cross_entropy)
    state = check_call(head, CUT, given)
    assert all(array.shape == (3, 4) for array in state.arrays().values())
    turned = lt.jit(lt.losses.cross_entropy, weight_layout="dv")
    where = {"column_offset": 8, "vocab_size": 23}
    cut = {"z": (given["z"][0], weight[8:].T), "target": given["target"]}
    first = head.partial(
        given["z"][0], weight[:8], target=given["target"], column_offset=0, vocab_size=23, wrt="weight"
    )
    first_turned = turned.partial(
        (given["z"][0]), weight[:8].T, target=given["target"], column_offset=0, vocab_size=23, wrt="weight"
    )
    both = lt.merge([first_turned, turned.partial(**cut, **where, wrt="weight")])
    assert_same(turned.finish(both), head(**given))
    buffer = np.ones((hidden.shape[-1], 15), np.float32)
    made = turned.finish_grad(both, **cut, **where, weight_grad_out=buffer)["weight"]
    assert made is buffer
    np.testing.assert_allclose(
        buffer.T - 1, head.value_and_grad(**given, wrt="weight")[1]["weight"][8:], atol=1e-6
    )
    assert first.head == first_turned.head


# ---- states --------------------------------------------------------------------------------------


def test_merging_in_any_order_and_nesting():
    given = arguments(lt.losses.jensen_shannon, tokens=6, vocab=CUT[-1])
    head = lt.jit(lt.losses.jensen_shannon)
    whole = head(**given)
    slices = Slices(head, (0, 1, 8, 9, 20, 23), given)

    def nested(states):
        a, b, c, d, e = states
        return lt.merge([lt.merge([d, a]), lt.merge([lt.merge([e]), lt.merge([c, b])])])

    for merge in (lt.merge, nested, lambda states: lt.merge(states[::-1])):
        assert_same(head.finish(slices.state(merge)), whole)


def test_states_are_plain_data():
    given = arguments(lt.losses.jensen_shannon, tokens=6, vocab=CUT[-1])
    head, other = (lt.jit(lt.losses.jensen_shannon) for _ in range(2))
    slices, wrt = Slices(head, CUT, given), ("student.hidden", "teacher.weight")

    def sent(states):
        """As through a collective: pickled, or only arrays and columns."""
        first, second, third = states
        assert all(array.shape == (6,) for array in second.arrays().values())
        second = first.with_arrays(second.arrays(), second.columns)
        return lt.merge(pickle.loads(pickle.dumps([first, second, third])))

    state = slices.state(sent, wrt=wrt)
    assert state.columns == ((0, 23),) and state.next is None and state.vocab_size == 23
    value, gradients = head.value_and_grad(**given, wrt=wrt)
    assert_same(other.finish(state), value)
    slices.head = other
    assert_same_gradients(slices.gradients(state), gradients)


def test_tensors_that_require_gradients_are_data():
    given = arguments(lt.losses.cross_entropy, tokens=6, vocab=CUT[-1])
    hidden, weight = (torch.tensor(operand, requires_grad=True) for operand in given["z"])
    target = torch.tensor(given["target"])
    head = lt.jit(lt.losses.cross_entropy)
    whole = {"z": (hidden, weight), "target": target}
    slices = Slices(head, CUT, whole)
    state = slices.state(wrt=("hidden", "weight"))
    out = head.finish(state)
    assert isinstance(out, torch.Tensor) and not out.requires_grad
    assert all(isinstance(array, torch.Tensor) for array in state.arrays().values())
    head(hidden, weight, target=target).backward()
    parts = [head.finish_grad(state, **call) for call in slices.calls]
    torch.testing.assert_close(sum(part["hidden"] for part in parts), hidden.grad)
    torch.testing.assert_close(torch.cat([part["weight"] for part in parts]), weight.grad)


def test_a_state_remembers_autocast():
    """Its other calls round operands as the first one did,
    whether torch casts by itself then or not.
    """
    given = arguments(lt.losses.jensen_shannon, tokens=6, vocab=CUT[-1])
    given = {n: tuple(map(torch.tensor, i)) if isinstance(i, tuple) else i for n, i in given.items()}
    head, wrt = lt.jit(lt.losses.jensen_shannon), ("student.hidden", "teacher.weight")
    slices, results = Slices(head, CUT, given), {}
    for begun, ended in itertools.product((False, True), repeat=2):
        with torch.autocast("cpu", torch.bfloat16, enabled=begun):
            state = lt.merge(slices.swept(wrt=wrt))
        with torch.autocast("cpu", torch.bfloat16, enabled=ended):
            while state.next:
                state = lt.merge(slices.swept(state=state))
            gradients = [head.finish_grad(state, **call) for call in slices.calls]
            results[begun, ended] = [head.finish(state), *(part[n] for part in gradients for n in wrt)]
    for begun in (False, True):
        for a, b in zip(results[begun, False], results[begun, True], strict=True):
            assert a.dtype == b.dtype == torch.float32 and torch.equal(a, b)
    with torch.autocast("cpu", torch.bfloat16):
        assert_same(results[True, False][0], head(**given))
    assert not torch.equal(results[True, True][0], results[False, False][0])


@lt.loss
def without_logits(z: lt.Logits, a: lt.Token[float], b: lt.Scalar):
    """p ** 0 is 1: nothing is left to sum over the vocabulary."""
    return lt.Outputs(loss=lt.sum(lt.exp(z) ** 0) * a * b, twice=2 * a)


def test_a_loss_without_sweeps():
    given = arguments(without_logits, tokens=6, vocab=CUT[-1])
    head, reaching = lt.jit(without_logits), {"loss": 2.0, "twice": np.ones(6, np.float32)}
    assert head.explain(**given, grad=("a",)).forward_sweeps == 0
    state = check_call(head, CUT, given, wrt=("a", "b"), grad_output=reaching)
    assert state.next is None and state.arrays() == {}
    assert repr(state) == "<state of 'without_logits' of no sweep, columns [0, 23) of 23>"
    assert_same(head.finish(pickle.loads(pickle.dumps(state))), head(**given))


def test_the_workspace_holds():
    loss = lt.losses.cross_entropy
    given = arguments(loss, tokens=2000, vocab=1500, hidden=16)
    head = lt.jit(loss, workspace="6MiB")
    before = lt.history()[-1]["number"]
    check_call(head, (0, 700, 1500), given)
    records = [record for record in lt.history() if record["number"] > before]
    assert len(records) > 5 and max(record["measured_bytes"] for record in records) <= 6 * 2**20
    assert any(record["chunks"] > 1 for record in records)


def test_history_tells_what_slices_compile():
    @lt.loss  # of this test alone, so that none of its programs is there
    def squares(z: lt.Logits, target: lt.Token[int]):
        return lt.square(lt.logsumexp(z) - z[target])

    given, head = arguments(squares), lt.jit(squares)
    vocab = given["z"][1].shape[0]

    def run():
        slices = Slices(head, (0, vocab // 2, vocab), given)
        state = slices.state(wrt=("hidden", "weight"))
        head.finish(state)
        slices.gradients(state)

    first, second = records(run), records(run)
    assert all(record["event"] == "hit" and not record["stage_ms"] for record in second)
    made = [record for record in first if record["event"] == "compile"]
    # sweep, merge, finish, gradient
    assert len({record["key"] for record in first}) == len(made) >= 4
    assert all(record["stage_ms"]["obj"] > 0 for record in made)
