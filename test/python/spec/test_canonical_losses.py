"""The rules of meaning: compiler and reference make the same of a loss, each by its own code."""

import hashlib
import re

import logitile as lt
import pytest
from cases import CASES
from inputs import arguments
from logitile.reference.canonical import canonical
from random_specs import random_loss
from wild_specs import wild_loss

PASS = "--logitile-canonicalise-loss"


def random_spec(seed):
    random = random_loss(seed)
    return specialised(random.loss, random.arrays(3, 11, 4, seed=1))


def wild_spec(seed):
    wild = wild_loss(seed)
    return specialised(wild.loss, wild.arrays(2, 7, (3, 4)))


def specialised(loss, given):
    head = lt.jit(loss)
    try:
        return head._bind(**given).form.spec
    except lt.SpecError:
        return None


@lt.loss
def integers(z: lt.Logits, y: lt.Token[int], k: lt.Token[int, lt.K], g: lt.Vocab[int]):
    near = y * 3 + y * y - lt.count(z > 0.0) * -7
    far = lt.minimum(2**30 + lt.column() * g, y) - (-(2**31) - lt.maximum(g, y))
    picked = lt.exp(z)[k[0]] * lt.softmax(z)[lt.clamp(y * y * y, 0, 5)]
    return lt.log(picked) + z[y + 5 * k[1] - near] + lt.sum(lt.to_float(far)) + lt.to_float(near)


@lt.loss
def exponents(z: lt.Logits, t: lt.Logits, u: lt.Token[float], target: lt.Token[int]):
    p, q = lt.softmax(z), 2.0 * lt.exp2(t)
    several = (p * q) ** 0.5 * u + (p * u) * (-(q * z) / u) + lt.rsqrt(p) * t + p**u / q
    known = lt.log(lt.where(target > 0, (p * q)[target], float("nan"))) + lt.log2(lt.sum(p * q))
    rows = lt.log(lt.max(p) * lt.min(q)) + lt.to_float(lt.argmax(3.0 * p) - lt.argmin(q)) + p[target] ** 0
    return lt.sum(several) + known + rows


def case_specs():
    library = [x for x in vars(lt.losses).values() if isinstance(x, lt.Loss)]
    losses = [*(entry[0] for entry in CASES.values()), *library, integers, exponents]
    return [specialised(loss, arguments(loss)) for loss in losses]


SETS = {
    "cases": case_specs,
    "random": lambda: [random_spec(seed) for seed in range(120)],
    "wild": lambda: [wild_spec(seed) for seed in range(120)],
}


def meaning(text):
    """A digest of what a loss yields, whatever the names and the order of its values."""
    digests = {}
    for line in text.splitlines():
        if match := re.match(r"\s*(%[\w$.-]+) = (.*)", line):
            name, operation = match.groups()
            digests[name] = "%" + hashlib.sha256(replaced(operation, digests).encode()).hexdigest()
        elif "logitile.yield" in line:
            return replaced(line.strip(), digests)
    raise AssertionError(f"no yield in {text}")


def replaced(operation, digests):
    return re.sub(r"%[\w$.-]+", lambda match: digests[match.group()], operation)


@pytest.mark.contract("3 multiply_no_nan", "5 equivalent forms")
@pytest.mark.parametrize("name", SETS)
def test_compiler_and_reference_have_the_same_rules(name, logitile_opt):
    specs = [spec for spec in SETS[name]() if spec is not None]
    mark = "// -----"
    given = f"\n{mark}\n".join(spec.text(locations=False) for spec in specs)
    wanted = f"\n{mark}\n".join(canonical(spec).text(locations=False) for spec in specs)
    flags = "--split-input-file"
    ours = logitile_opt(given, flags, PASS).split(mark)
    theirs = logitile_opt(wanted, flags).split(mark)
    assert len(ours) == len(theirs) == len(specs)
    for spec, one, other in zip(specs, ours, theirs, strict=True):
        assert meaning(one) == meaning(other), (spec.text(), one, other)
