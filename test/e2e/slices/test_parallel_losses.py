"""Losses whose vocabulary is in slices on several processes of torch.distributed, against the gate.

All processes have the same bits of what all of them have.
"""

import atexit
import functools

import logitile as lt
import numpy as np
import parallel_jobs
import pytest
from cases import CASES
from gate import Sample
from inputs import arguments
from random_specs import numpy_dtype
from teams import Team
from test_canaries import CANARIES, canary

pytest.importorskip("torch")
from logitile.spec.gradient_flow import differentiable_outputs  # noqa: E402

METRICS = ("accuracy", "prediction", "rank")  # without gradients
LISTS = {"top_logprobs": {"k": 40}, "sample": {"top_k": 9}}
LIBRARY = [name for name in lt.losses.__all__ if name not in (*METRICS, "top_logprobs")]
SHAPE = (256, 301, 24)  # tokens, vocabulary, hidden
FEW = ("cross_entropy", "jensen_shannon", "top_k_kl")  # of the library, in every run
# backward sweeps, two passes, index
FEW_CANARIES = ("standardised_kl", "teacher_at_argmax", "next_column")


@functools.cache
def team(count):
    made = Team(count)
    atexit.register(made.close)
    return made


class TeamSample(Sample):
    """A call on several processes.

    Args:
        count: of processes.
        is_split: whether each has a part of the tokens, too.
        gives_part: whether outputs are those of the part.
    """

    count, is_split, gives_part = 2, False, False

    def on(self, count, is_split=False, gives_part=False):
        self.count, self.is_split, self.gives_part = count, is_split, gives_part
        return self

    def run(self):
        of_all = team(self.count).run(
            parallel_jobs.call,
            self.head,
            self.given,
            self.wrt,
            self.cotangent,
            self.is_split,
            self.gives_part,
        )
        axes = {given.name: given.axis for given in self.spec.inputs}
        joined = {name: self._joined(name, axes, [one[name] for one in of_all]) for name in of_all[0]}
        plain = {name: item for name, item in joined.items() if not name.startswith("grad ")}
        gradients = {name[5:]: item for name, item in joined.items() if name.startswith("grad ")}
        return plain | {f"grad {self._full(name)}": item for name, item in gradients.items()}

    def _joined(self, name, axes, parts):
        """The whole of what every process has."""
        plain = name.removeprefix("grad ")
        if name == plain:
            is_part, axis = self.gives_part and parts[0].ndim, 0
        elif plain.rpartition(".")[2] == "weight" or axes.get(plain) in ("vocab", "dense"):
            is_part, axis = True, -1 if axes.get(plain) == "dense" else 0
        else:
            is_part, axis = self.is_split and axes.get(plain) != "scalar", 0
        if is_part:
            return np.concatenate(parts, axis)
        for other in parts[1:]:
            np.testing.assert_array_equal(other, parts[0])
        return parts[0]


def library_sample(name, dtype="float32"):
    """Every output and every gradient of a loss of the library."""
    loss = getattr(lt.losses, name)
    tokens, vocab, hidden = SHAPE
    given = arguments(loss, seed=7, tokens=tokens, vocab=vocab, hidden=hidden)
    pairs = [key for key, item in given.items() if isinstance(item, tuple)]
    wrt = []
    for key, item in given.items():
        if key in pairs:
            given[key] = tuple(operand.astype(numpy_dtype(dtype)) for operand in item)
            wrt += [f"{key}.{o}" if len(pairs) > 1 else o for o in ("hidden", "weight")]
        elif np.asarray(item).dtype == np.float32:
            wrt.append(key)
    head = lt.jit(loss)
    outputs = differentiable_outputs(head._bind(**given).form.spec)
    options = {"reduction": "none"} if "loss" in outputs else {}
    rng = np.random.default_rng(8)
    cotangent = {output: rng.normal(size=tokens).astype(np.float32) for output in outputs}
    return TeamSample(loss, given, options, tuple(wrt), cotangent)


def canary_sample(name):
    made = canary(name, SHAPE)
    return TeamSample(made.loss, made.given, made.options, made.wrt, made.cotangent, made.call)


def some(names, few):
    return [pytest.param(name, marks=() if name in few else pytest.mark.full) for name in names]


@pytest.mark.contract("7 every loss", "7 same bits")
@pytest.mark.parametrize("name", some(LIBRARY, FEW))
def test_library(name):
    library_sample(name).on(2).check()


@pytest.mark.contract("7 every loss", "7 same bits")
@pytest.mark.parametrize("name", some(sorted({*CASES, *CANARIES}), FEW_CANARIES))
def test_losses_in_use_and_canaries(name):
    canary_sample(name).on(2).check()


@pytest.mark.contract("7 every loss")
@pytest.mark.full
@pytest.mark.parametrize("name", LIBRARY)
def test_library_on_four_processes_with_split_tokens(name):
    library_sample(name).on(4, is_split=True, gives_part=True).check()


@pytest.mark.contract("7 every loss", "7 same bits")
@pytest.mark.full
@pytest.mark.parametrize("name", sorted({*CASES, *CANARIES})[::2])
def test_losses_in_use_and_canaries_on_four_processes(name):
    canary_sample(name).on(4).check()


@pytest.mark.contract("7 sequence parallel")
@pytest.mark.parametrize("gives_part", [False, True])
def test_split_tokens(gives_part):
    library_sample("jensen_shannon").on(2, True, gives_part).check()


@pytest.mark.contract("7 dX in float32")
@pytest.mark.parametrize("dtype", ["bfloat16", pytest.param("float16", marks=pytest.mark.full)])
@pytest.mark.parametrize("is_split", [False, True])
def test_sixteen_bits(dtype, is_split):
    library_sample("cross_entropy", dtype).on(2, is_split).check()


@pytest.mark.parametrize("name", METRICS)
def test_metrics(name):
    loss = getattr(lt.losses, name)
    given = arguments(loss, seed=7, tokens=50, vocab=101, hidden=16)
    made = TeamSample(loss, given, {}, (), {}).on(2).run()
    whole = lt.jit(loss)(**given)
    np.testing.assert_array_equal(made["loss"] if "loss" in made else next(iter(made.values())),
                                  np.asarray(whole[0] if isinstance(whole, tuple) else whole))  # fmt: skip


@pytest.mark.contract("7 every loss", "5 lists of slices")
@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("is_split", [False, True])
def test_lists(name, is_split):
    """The entries are those of one process, and all processes have the same bits."""
    loss = getattr(lt.losses, name)
    given = arguments(loss, seed=7, tokens=50, vocab=101, hidden=16)
    made = TeamSample(loss, given, LISTS[name], (), {}).on(2, is_split).run()
    whole = lt.jit(loss, **LISTS[name])(**given)._asdict()
    np.testing.assert_array_equal(made.pop("index"), whole.pop("index"))
    for output, expected in whole.items():
        np.testing.assert_allclose(made[output], expected, rtol=1e-5, atol=1e-6)
