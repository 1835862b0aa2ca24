"""The text of stage spec: its contents, that it is canonical, and that logitile-opt reads it."""

import re
import struct

import logitile as lt
import numpy as np
import pytest
from cases import CASES
from inputs import arguments
from logitile.language.definition import Specialisation
from logitile.spec.float32 import f32_text, round_to_f32
from logitile.spec.operations import scalar_operations


def body(loss, **specialisation):
    """The canonical text of the operations."""
    text = loss.trace(Specialisation(50, **specialisation)).text(locations=False)
    return text[text.index("{") + 2 : text.rindex("}")]


@lt.loss
def cross_entropy(z: lt.Logits, target: lt.Token[int], *, eps: float = 0.1):
    lse = lt.logsumexp(z)
    loss = lse - z[target]
    return lt.Outputs(loss=loss + eps * lse, best=lt.argmax(z))


def test_canonical_text():
    spec = cross_entropy.trace(Specialisation(32000))
    assert (
        spec.text(of=["loss"], wrt=["z"], locations=False)
        == """\
logitile.loss @cross_entropy vocab 32000 outputs ["loss", "best"] gradient of ["loss"] wrt ["z"] {
  %0 = logitile.input logits "z" : f32
  %1 = logitile.input token "target" : i32
  %2 = logitile.reduce logsumexp %0 : f32 -> f32
  %3 = logitile.gather %0[%1] : f32
  %4 = arith.subf %2, %3 : f32
  %5 = arith.constant 0.1 : f32
  %6 = arith.mulf %5, %2 : f32
  %7 = arith.addf %4, %6 : f32
  %8 = logitile.reduce argmax %0 : f32 -> i32
  logitile.yield %7, %8 : f32, i32
}
"""
    )


def test_text_with_locations_has_the_users_names_and_lines():
    text = cross_entropy.trace(Specialisation(32000)).text()
    line = cross_entropy.function.__code__.co_firstlineno
    file = re.escape(__file__)
    assert re.search(
        rf'%lse = logitile.reduce logsumexp %z : f32 -> f32 loc\("lse"\("{file}":{line + 2}:11\)\)', text
    )
    assert re.search(rf'%loss = arith.subf %lse, %3 : f32 loc\("loss"\("{file}":{line + 3}:12\)\)', text)
    assert re.search(rf'logitile.gather %z\[%target\] : f32 loc\("{file}":{line + 3}:18\)', text)
    assert re.search(rf'^}} loc\("cross_entropy"\("{file}":{line}:1\)\)$', text, re.M)


def test_of_and_wrt_belong_together():
    with pytest.raises(ValueError, match="'of' and 'wrt' belong together"):
        cross_entropy.trace(Specialisation(5)).text(of=["loss"])


def test_canonical_text_does_not_depend_on_place_or_run():
    source = "def loss(z: lt.Logits, y: lt.Token[int]):\n    a = lt.logsumexp(z)\n    return a - z[y]\n"
    moved = "\n\n\n" + source.replace("a - z[y]", "(a\n            - z[y])").replace(" a ", " lse ").replace(
        "(a", "(lse"
    )
    texts = []
    for text, file in ((source, "one.py"), (moved, "elsewhere/two.py"), (source, "one.py")):
        scope = {"lt": lt}
        exec(compile(text, file, "exec"), scope)
        spec = lt.loss(scope["loss"]).trace(Specialisation(7))
        texts.append(spec.text(locations=False))
        assert file in spec.text()
    assert texts[0] == texts[1] == texts[2]


def test_canonical_text_depends_on_everything_that_matters():
    def text(loss=cross_entropy, constants=None, ignore_index=-100, **specialisation):
        return loss.trace(Specialisation(**{"vocab": 9, **specialisation}), constants, ignore_index).text(
            locations=False
        )

    assert text() != text(vocab=10)
    assert text() != text(constants={"eps": 0.2})
    assert text(entries_loss, entries=(("t", 2),)) != text(entries_loss, entries=(("t", 3),))
    assert text(entries_loss, entries=(("t", 2),)) != text(entries_loss, entries=(("t", 2),), ignore_index=-1)
    assert text(either) != text(either, per_token=frozenset({"a"}))
    assert text(optional) != text(optional, present=frozenset({"b"}))


@lt.loss
def entries_loss(z: lt.Logits, t: lt.Token[int, lt.K]):
    return sum(z[k] for k in t)


@lt.loss
def either(z: lt.Logits, a: lt.Scalar | lt.Token[float]):
    return lt.mean(z) * a


@lt.loss
def optional(z: lt.Logits, b: lt.Vocab[float] | None = None):
    return lt.logsumexp(z if b is None else z + b)


def test_what_no_output_needs_is_left_out():
    @lt.loss
    def loss(z: lt.Logits):
        lt.sum(lt.tanh(z))
        return lt.mean(z)

    assert "tanh" not in body(loss)


def test_the_same_operation_is_recorded_once():
    @lt.loss
    def loss(z: lt.Logits):
        return lt.sum(lt.softmax(z) * lt.log_softmax(z)) + lt.logsumexp(z)

    assert body(loss).count("logsumexp") == 1


def test_reassigned_and_strange_names(logitile_opt):
    @lt.loss
    def verlust_ä(z: lt.Logits, größe: lt.Scalar):
        z = z * größe
        z = z + 1
        für = lt.logsumexp(z)
        return lt.Outputs(loss=für, andere_ö=für * 2)

    text = verlust_ä.trace(Specialisation(5)).text()
    assert 'logitile.loss @"verlust_\\C3\\A4"' in text
    assert 'logitile.input scalar "gr\\C3\\B6\\C3\\9Fe"' in text
    assert text.count("%z = ") == 1
    printed = logitile_opt(text, "--verify-roundtrip", "--mlir-use-nameloc-as-prefix")
    assert "%z_0 = " in printed


@pytest.mark.parametrize("number", [
    0.0, -0.0, 1.0, -1.0, 0.1, 1 / 3, 2.0**-149, 2.0**-126, 3.4028234663852886e38, 1e-5, 1e20, 16777217.0,
    0.3,
    1e-45,
    float("inf"), float("-inf"), float("nan"), 123456.789, 2.5e-8,
])  # fmt: skip
def test_constants_keep_their_bits(number, logitile_opt):
    rounded = round_to_f32(number)

    @lt.loss
    def loss(z: lt.Logits):
        return lt.mean(z) * number

    text = loss.trace(Specialisation(5)).text()
    assert f"arith.constant {f32_text(rounded)} : f32" in text
    printed = logitile_opt(text, "--mlir-print-op-generic", "--mlir-elide-elementsattrs-if-larger=0")
    literal = re.search(r"value = ([^ ]+) : f32", printed)[1]
    bits = (
        int(literal, 16)
        if literal.startswith("0x")
        else struct.unpack("<I", np.float32(float(literal)).tobytes())[0]
    )
    assert bits == struct.unpack("<I", np.float32(rounded).tobytes())[0]


def test_random_constants_keep_their_bits():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 5000, dtype=np.uint32)
    for number in bits.view(np.float32)[np.isfinite(bits.view(np.float32))]:
        assert np.float32(float(f32_text(float(number)))) == number


def test_infinities_and_nan_are_hexadecimal():
    assert f32_text(float("inf")) == "0x7F800000"
    assert f32_text(float("-inf")) == "0xFF800000"
    assert f32_text(float("nan")) == "0x7FC00000"


def test_every_kind_of_operation_survives_logitile_opt(logitile_opt):
    @lt.loss
    def loss(
        z: lt.Logits, t: lt.Logits, y: lt.Token[int], f: lt.Token[bool], k: lt.Token[int, lt.K],
        b: lt.Vocab[float], g: lt.Vocab[int], m: lt.Vocab[bool], d: lt.Dense[float], e: lt.Dense[bool],
        s: lt.Scalar,
    ):  # fmt: skip
        x = (
            lt.clamp(z, -2.0, s)
            + lt.abs(t) * lt.sign(b) * lt.exp(b)
            - lt.floor(z) / lt.minimum(z, t)
            + lt.maximum(t, 0.0)
        )
        x = x + lt.exp2(z) * lt.expm1(z) + lt.log(t) + lt.log2(t) + lt.log1p(z) + lt.tanh(z) ** s
        x = (
            x
            + lt.sqrt(t)
            + lt.rsqrt(t)
            + lt.softplus(z)
            + lt.sigmoid(t)
            + lt.log_sigmoid(d)
            + lt.square(z)
            - (-z)
            + lt.erf(z) * lt.sin(t)
            + lt.cos(z)
        )
        x = lt.where(m & e | ~(g == y) & lt.isfinite(z) | lt.isnan(t), x, lt.to_float(g) + lt.to_float(m))
        i = lt.maximum(lt.clamp(y - 1, 0, 4), lt.minimum(y * 2, -y)) + lt.count(z > t) + lt.argmin(z)
        ok = (
            lt.any(z < t)
            & lt.all(z <= t)
            & (z[y] >= t[y])
            & (y != i)
            & (y < i)
            & (f == lt.valid(k[0]))
            & (g[y] > i)
        )
        total = (
            lt.sum(x) + lt.mean(x) + lt.max(z) + lt.min(z) + z[i] + x[k[1]] + lt.to_float(lt.column()[k[1]])
        )
        total = (
            total
            + lt.where(m[k[0]] & ok, lt.stop_gradient(total), 1.0)
            + lt.where(z[0] != 0.5, 1.0, lt.logsumexp(d))
            + lt.uniform(y)[0]
        )
        return lt.Outputs(loss=total, best=lt.argmax(x), flag=ok, index=i)

    spec = loss.trace(Specialisation(50, entries=(("k", 2),)))
    for text in (
        spec.text(),
        spec.text(locations=False),
        spec.text(of=["loss"], wrt=["z", "t", "b", "d", "s"]),
    ):
        logitile_opt(text, "--verify-roundtrip")
    others = ["input", "column", "reduce", "gather"]
    everything = {
        *(name for name, _ in scalar_operations()),
        "arith.constant",
        *(f"logitile.{name}" for name in others),
    }
    # no function of the language writes them
    written_by_others = {"logitile.multiply_no_nan", "math.absi"}
    assert {op.name for op in spec.ops} == everything - written_by_others


def test_cases_and_library_survive_logitile_opt(logitile_opt):
    texts = []
    for loss in [case[0] for case in CASES.values()] + [
        x for x in vars(lt.losses).values() if isinstance(x, lt.Loss)
    ]:
        head = lt.jit(loss)
        spec = head._bind(**arguments(loss)).form.spec
        texts += [
            spec.text(),
            spec.text(of=spec.output_names[:1], wrt=[p.name for p in loss.signature.pairs]),
        ]
    logitile_opt("\n// -----\n".join(texts), "--split-input-file", "--verify-roundtrip")
