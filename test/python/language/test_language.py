"""What losses mean: masks, exponents, optional inputs, entries, constants, nested losses."""

import logitile as lt
import pytest
from logitile.language.definition import Specialisation
from logitile.reference.canonical import canonical
from logitile.testing import filecheck


def text(loss, vocab=50, constants=None, ignore_index=-100, **specialisation):
    spec = loss.trace(Specialisation(vocab, **specialisation), constants, ignore_index)
    return canonical(spec).text(locations=False)


def expression(use):
    """The text of sum(use(z, t, u, s)): z and t logits, u one per token, s a number."""

    @lt.loss
    def loss(z: lt.Logits, t: lt.Logits, u: lt.Token[float], s: lt.Scalar):
        everything = lt.mean(z) + lt.mean(t) + u + s
        return lt.sum(use(z, t, u, s)) + everything

    return text(loss)


def operations(use):
    """The names of the operations between the inputs and the sum, without constants."""
    lines = expression(use).splitlines()[5:]
    lines = lines[: next(i for i, line in enumerate(lines) if "reduce sum" in line)]
    common = ("reduce mean", "arith.constant")
    names = [line.split("= ")[1] for line in lines if not any(word in line for word in common)]
    return [name.split(" ")[0].partition(".")[2] for name in names[3:]]  # three sums of the inputs


# ---- masks: a weight of 0 wins -------------------------------------------------------------------


@pytest.mark.contract("3 multiply_no_nan")
def test_exponentials_weigh():
    filecheck(
        expression(lambda z, t, u, s: lt.exp(z) * t),
        """
        CHECK: %[[P:.*]] = math.exp %0
        CHECK-NEXT: logitile.multiply_no_nan %[[P]], %1
    """,
    )
    filecheck(
        expression(lambda z, t, u, s: t * lt.exp(z)),
        """
        CHECK: %[[P:.*]] = math.exp %0
        CHECK-NEXT: logitile.multiply_no_nan %[[P]], %1
    """,
    )


@pytest.mark.contract("3 multiply_no_nan")
@pytest.mark.parametrize("weight", [
    lambda z, u: lt.exp(z), lambda z, u: lt.exp2(z), lambda z, u: lt.softmax(z), lambda z, u: lt.sigmoid(z),
    lambda z, u: -lt.sigmoid(z), lambda z, u: lt.sqrt(lt.sigmoid(z)), lambda z, u: lt.sigmoid(z) ** u,
    lambda z, u: lt.sigmoid(z) ** 0.5, lambda z, u: lt.exp(z) / u, lambda z, u: lt.sigmoid(z) * lt.sigmoid(u),
    lambda z, u: lt.stop_gradient(lt.exp(z)), lambda z, u: 0.5 * lt.sigmoid(z), lambda z, u: lt.exp(z) ** u,
    lambda z, u: lt.where(z > 0, lt.sigmoid(z), 0.0), lambda z, u: lt.exp(z) * lt.exp(u),
])  # fmt: skip
def test_what_is_a_weight(weight):
    assert operations(lambda z, t, u, s: weight(z, u) * t)[-1] == "multiply_no_nan"
    assert operations(lambda z, t, u, s: t * weight(z, u))[-1] == "multiply_no_nan"


@pytest.mark.contract("3 multiply_no_nan")
@pytest.mark.parametrize("factor", [
    lambda z, u: lt.tanh(z), lambda z, u: lt.softplus(z), lambda z, u: lt.exp(z) + lt.exp(u),
    lambda z, u: 1 - lt.exp(z), lambda z, u: lt.expm1(z), lambda z, u: lt.where(z > 0, lt.exp(z), z),
    lambda z, u: lt.maximum(lt.exp(z), 0.5),
])  # fmt: skip
def test_what_is_no_weight(factor):
    assert operations(lambda z, t, u, s: factor(z, u) * t)[-1] == "mulf"


def test_a_constant_times_an_exponential_is_a_plain_product():
    assert operations(lambda z, t, u, s: 2.0 * lt.exp(z)) == ["exp", "mulf"]


def test_weights_come_first_in_longer_products():
    filecheck(
        expression(lambda z, t, u, s: (lt.sigmoid(z) * u) * t),
        """
        CHECK: %[[P:.*]] = logitile.sigmoid %0
        CHECK: %[[REST:.*]] = arith.mulf %2, %1
        CHECK-NEXT: logitile.multiply_no_nan %[[P]], %[[REST]]
    """,
    )
    assert operations(lambda z, t, u, s: t * (-(lt.sigmoid(z) * u)))[-1] == "multiply_no_nan"
    assert operations(lambda z, t, u, s: t * (2.0 * (lt.sigmoid(z) * u)))[-1] == "multiply_no_nan"
    assert operations(lambda z, t, u, s: t * ((lt.sigmoid(z) * u) / s))[-1] == "multiply_no_nan"


def test_a_product_of_weights_is_one():
    filecheck(
        expression(lambda z, t, u, s: (lt.sigmoid(z) * u) * (lt.sigmoid(t) * s)),
        """
        CHECK: %[[P:.*]] = logitile.sigmoid %0
        CHECK: %[[Q:.*]] = logitile.sigmoid %1
        CHECK: %[[W:.*]] = logitile.multiply_no_nan %[[P]], %[[Q]]
        CHECK: %[[REST:.*]] = arith.mulf %2, %3
        CHECK: logitile.multiply_no_nan %[[W]], %[[REST]]
    """,
    )


@pytest.mark.contract("3 multiply_no_nan")
def test_division_by_an_exponential_is_a_product():
    filecheck(
        expression(lambda z, t, u, s: t / lt.exp(z)),
        """
        CHECK: %[[N:.*]] = arith.negf %0
        CHECK: %[[R:.*]] = math.exp %[[N]]
        CHECK: logitile.multiply_no_nan %[[R]], %1
    """,
    )
    assert operations(lambda z, t, u, s: 1 / lt.exp(z)) == ["negf", "exp", "mulf"]


def test_in_a_quotient_of_exponentials_the_numerator_weighs():
    filecheck(
        expression(lambda z, t, u, s: lt.exp(t) / lt.exp(z)),
        """
        CHECK: %[[Q:.*]] = math.exp %1
        CHECK: %[[R:.*]] = math.exp
        CHECK: logitile.multiply_no_nan %[[Q]], %[[R]]
    """,
    )


# ---- exponents are not lost ----------------------------------------------------------------------


@pytest.mark.contract("1 softmax", "5 equivalent forms")
@pytest.mark.parametrize(("use", "expected"), [
    (lambda z, t, u, s: lt.log(lt.exp(z)), []),
    (lambda z, t, u, s: lt.log2(lt.exp2(z)), []),
    (lambda z, t, u, s: lt.log2(lt.exp(z)), ["mulf"]),
    (lambda z, t, u, s: lt.log(lt.exp2(z)), ["mulf"]),
    (lambda z, t, u, s: lt.log(lt.exp(z) * lt.exp(t)), ["addf"]),
    (lambda z, t, u, s: lt.log(4.0 * lt.exp(z)), ["addf"]),
    (lambda z, t, u, s: lt.log(-4.0 * lt.exp(z)), ["exp", "mulf", "log"]),
    (lambda z, t, u, s: lt.log(lt.exp(z) / lt.exp(t)), ["negf", "addf"]),
    (lambda z, t, u, s: lt.sqrt(lt.exp(z)), ["mulf", "exp"]),
    (lambda z, t, u, s: lt.rsqrt(lt.exp(z)), ["mulf", "exp"]),
    (lambda z, t, u, s: lt.sqrt(lt.exp(z) * lt.exp(t)), ["addf", "mulf", "exp"]),
    (lambda z, t, u, s: lt.exp(z) ** 3, ["mulf", "exp"]),
    (lambda z, t, u, s: lt.exp(z) ** u, ["multiply_no_nan", "exp"]),
    (lambda z, t, u, s: (lt.exp(z) * lt.exp(t)) ** 2.0, ["addf", "mulf", "exp"]),
    (lambda z, t, u, s: lt.exp(z) ** 0, ["exp", "powf"]),
    (lambda z, t, u, s: lt.log(lt.sigmoid(z)), ["sigmoid", "log"]),
    (lambda z, t, u, s: lt.sqrt(lt.sigmoid(z)), ["sigmoid", "sqrt"]),
])  # fmt: skip
def test_exponents(use, expected):
    assert operations(use) == expected


@pytest.mark.contract("5 equivalent forms")
def test_log_of_a_sum_of_exponentials_is_logsumexp():
    @lt.loss
    def loss(z: lt.Logits, t: lt.Logits, a: lt.Scalar):
        return (
            lt.log(lt.sum(lt.exp(z))) + lt.log2(lt.sum(lt.softmax(t) ** a)) + lt.log(lt.sum(3.0 * lt.exp(t)))
        )

    filecheck(
        text(loss),
        """
        CHECK: %[[A:.*]] = logitile.reduce logsumexp %0
        CHECK: %[[B:.*]] = logitile.reduce logsumexp %1
        CHECK: %[[LOGP:.*]] = arith.subf %1, %[[B]]
        CHECK: %[[POWER:.*]] = logitile.multiply_no_nan %2, %[[LOGP]]
        CHECK: logitile.reduce logsumexp %[[POWER]]
        CHECK-NOT: math.log
        CHECK-NOT: math.exp
        CHECK: logitile.yield
    """,
    )


@pytest.mark.contract("1 softmax")
def test_log_of_softmax_is_log_softmax():
    @lt.loss
    def one(z: lt.Logits, y: lt.Token[int]):
        return -lt.log(lt.softmax(z)[y])

    @lt.loss
    def other(z: lt.Logits, y: lt.Token[int]):
        return -lt.log_softmax(z)[y]

    assert text(one).partition("vocab")[2] == text(other).partition("vocab")[2]


def test_the_order_of_exponentials_is_that_of_their_exponents():
    @lt.loss
    def loss(z: lt.Logits):
        p = lt.softmax(z)
        return lt.Outputs(loss=lt.log(lt.max(p)) + lt.min(p), best=lt.argmax(p), worst=lt.argmin(lt.sqrt(p)))

    filecheck(
        text(loss),
        """
        CHECK: %[[LOGP:.*]] = arith.subf %0
        CHECK: %[[MAX:.*]] = logitile.reduce max %[[LOGP]]
        CHECK: %[[MIN:.*]] = logitile.reduce min %[[LOGP]]
        CHECK: %[[LEAST:.*]] = math.exp %[[MIN]]
        CHECK: arith.addf %[[MAX]], %[[LEAST]]
        CHECK: logitile.reduce argmax %[[LOGP]]
        CHECK: %[[HALF:.*]] = arith.mulf %{{.*}}, %[[LOGP]]
        CHECK: logitile.reduce argmin %[[HALF]]
    """,
    )


# ---- functions that stand for others -------------------------------------------------------------


@pytest.mark.contract("1 elementwise")
@pytest.mark.parametrize(("use", "expected"), [
    (lambda z, t, u, s: lt.log_softmax(z), ["reduce", "subf"]),
    (lambda z, t, u, s: lt.softmax(z), ["reduce", "subf", "exp"]),
    (lambda z, t, u, s: lt.square(z), ["mulf"]),
    (lambda z, t, u, s: lt.log_sigmoid(z), ["negf", "softplus", "negf"]),
    (lambda z, t, u, s: lt.sign(z), ["cmpf", "cmpf", "select", "select"]),
    (lambda z, t, u, s: lt.minimum(z, t), ["minimumf"]),
    (lambda z, t, u, s: lt.maximum(z, 0), ["maximumf"]),
    (lambda z, t, u, s: lt.clamp(z, u, 3), ["clampf"]),
    (lambda z, t, u, s: lt.where(~(z > t), z, t), ["cmpf", "xori", "select"]),
    (lambda z, t, u, s: +z, []),
    (lambda z, t, u, s: abs(z), ["absf"]),
    (lambda z, t, u, s: 2**z, ["powf"]),
    (lambda z, t, u, s: lt.to_float(lt.column()), ["column", "sitofp"]),
    (lambda z, t, u, s: lt.to_float(z > 0), ["cmpf", "uitofp"]),
    (lambda z, t, u, s: lt.to_float(z), []),
    (lambda z, t, u, s: lt.to_float(lt.clamp(-lt.column(), -5, 0)), ["column", "subi", "maxsi", "minsi",
     "sitofp"]),
    (lambda z, t, u, s: z * lt.to_float(3), ["mulf"]),
])  # fmt: skip
def test_functions(use, expected):
    assert operations(use) == expected


@pytest.mark.parametrize(("use", "predicate"), [
    (lambda a, b: a < b, "olt"), (lambda a, b: a <= b, "ole"), (lambda a, b: a > b, "ogt"),
    (lambda a, b: a >= b, "oge"), (lambda a, b: a == b, "oeq"), (lambda a, b: a != b, "une"),
])  # fmt: skip
def test_comparisons_of_floats_are_false_for_nan(use, predicate):
    assert f"arith.cmpf {predicate}, %0, %1 : f32" in expression(lambda z, t, u, s: lt.where(use(z, t), z, t))


def test_comparisons_of_integers_are_signed():
    @lt.loss
    def loss(z: lt.Logits, y: lt.Token[int], f: lt.Token[bool]):
        return lt.mean(z) + lt.to_float((y < 3) & (y != 1) & (f == (y >= 2)) & (True | f))

    filecheck(
        text(loss),
        "CHECK: arith.cmpi slt\nCHECK: arith.cmpi ne\nCHECK: arith.cmpi sge\nCHECK: arith.cmpi eq\nCHECK: "
        "arith.ori",
    )


# ---- inputs --------------------------------------------------------------------------------------


@pytest.mark.contract("1 optional")
def test_absent_inputs_are_none_while_tracing():
    @lt.loss
    def loss(z: lt.Logits, b: lt.Vocab[float] | None = None, t: lt.Logits | None = None):
        if b is not None:
            z = z + b
        return lt.logsumexp(z) if t is None else lt.sum(z * t)

    assert "addf" not in text(loss)
    assert "addf" in text(loss, present=frozenset("b"))
    assert 'logits "t"' in text(loss, present=frozenset("t"))


def test_scalar_or_token():
    @lt.loss
    def loss(z: lt.Logits, a: lt.Scalar | lt.Token[float]):
        return lt.mean(z) / a

    assert 'logitile.input scalar "a"' in text(loss)
    assert 'logitile.input token "a"' in text(loss, per_token=frozenset("a"))


@pytest.mark.contract("1 entries")
def test_entries_are_unrolled():
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[float, lt.K]):
        assert len(t) == 3 and len(list(t)) == 3
        return lt.mean(z) * t[0] + t[-1]

    filecheck(
        text(loss, entries=(("t", 3),)),
        """
        CHECK: logitile.input token "t"[0] : f32
        CHECK-NEXT: logitile.input token "t"[2] : f32
        CHECK-NOT: logitile.input
    """,
    )


@pytest.mark.parametrize("ignore_index", [-100, 7, None])
def test_picks_by_an_entry_are_guarded(ignore_index):
    @lt.loss
    def loss(z: lt.Logits, t: lt.Token[int, lt.K], m: lt.Vocab[bool]):
        return lt.where(m[t[0]], z[t[0]], lt.to_float(lt.column()[t[0]]))

    printed = text(loss, entries=(("t", 1),), ignore_index=ignore_index)
    if ignore_index is None:
        assert "cmpi" not in printed
        return
    filecheck(
        printed,
        f"""
        CHECK: %[[MASK:.*]] = logitile.gather %1[%2] : i1
        CHECK: %[[FALSE:.*]] = arith.constant false
        CHECK: %[[IGNORED:.*]] = arith.constant {ignore_index} : i32
        CHECK: %[[VALID:.*]] = arith.cmpi ne, %2, %[[IGNORED]] : i32
        CHECK: arith.select %[[VALID]], %[[MASK]], %[[FALSE]] : i1
        CHECK: %[[Z:.*]] = logitile.gather %0[%2] : f32
        CHECK: %[[NAN:.*]] = arith.constant 0x7FC00000 : f32
        CHECK: arith.select %[[VALID]], %[[Z]], %[[NAN]] : f32
        CHECK: %[[COLUMN:.*]] = logitile.gather
        CHECK: %[[NONE:.*]] = arith.constant -1 : i32
        CHECK: arith.select %[[VALID]], %[[COLUMN]], %[[NONE]] : i32
    """,
    )


def test_a_token_input_is_not_guarded():
    @lt.loss
    def loss(z: lt.Logits, y: lt.Token[int]):
        return z[y]

    assert "select" not in text(loss)


@pytest.mark.contract("1 valid")
def test_valid():
    @lt.loss
    def loss(z: lt.Logits, y: lt.Token[int]):
        return lt.where(lt.valid(y), lt.logsumexp(z), 0.0)

    assert "arith.constant -100 : i32" in text(loss)
    assert "arith.constant true" in text(loss, ignore_index=None)  # and 'y' counts as used


def test_the_ignoring_input_need_not_be_read():
    @lt.loss
    def loss(z: lt.Logits, target: lt.Token[int]):
        return lt.mean(z)

    assert [given.name for given in loss.trace(Specialisation(5)).inputs] == ["z", "target"]
    with pytest.raises(lt.SpecError, match="'target' of 'loss' does not reach any output"):
        loss.trace(Specialisation(5), ignore_index=None)


@pytest.mark.contract("1 constant")
def test_constants_are_python_values():
    @lt.loss
    def loss(z: lt.Logits, *, layers: tuple = (1, 2), cap: float | None = None, name: str = "mean"):
        if cap is not None:
            z = cap * lt.tanh(z / cap)
        return sum(layers) * (lt.mean(z) if name == "mean" else lt.logsumexp(z))

    assert "arith.constant 3.0" in text(loss)
    assert "arith.constant 30.0" in text(loss, constants={"cap": 30})
    assert loss.trace(Specialisation(5), {"name": "lse"}).constants == {
        "layers": (1, 2),
        "cap": None,
        "name": "lse",
    }


def test_direct_indices():
    @lt.loss
    def loss(z: lt.Logits, y: lt.Token[int], x: lt.Token[int], t: lt.Token[int, lt.K]):
        return z[y] + z[x + 1] + z[t[1]] + lt.to_float(t[0])

    spec = loss.trace(Specialisation(5, entries=(("t", 2),)))
    assert {(key.name, key.index) for key in spec.direct_indices} == {("y", None), ("t", 1)}


@pytest.mark.contract("1 column")
def test_vocab_size_is_a_python_int():
    @lt.loss
    def loss(z: lt.Logits):
        assert type(lt.vocab_size()) is int
        return lt.mean(z) * lt.vocab_size()

    assert "arith.constant 50.0" in text(loss)


# ---- losses inside losses ------------------------------------------------------------------------


def test_a_loss_may_call_losses():
    @lt.loss
    def both(z: lt.Logits, target: lt.Token[int], weights: lt.Vocab[float], k: lt.Token[int, lt.K]):
        found = lt.losses.cross_entropy(z / 2.0, target, class_weight=weights, label_smoothing=0.5)
        assert repr(found).startswith("lt.Outputs(loss=<'")
        return lt.Outputs(
            loss=found.loss + lt.losses.entropy(z) + entry(z, k) + entry(z, (target, k[0])),
            weight=found.weight,
        )

    @lt.loss
    def entry(z: lt.Logits, k: lt.Token[int, lt.K], scale: lt.Scalar | None = None):
        assert scale is None
        return z[k[1]]

    filecheck(
        text(both, entries=(("k", 2),)),
        "CHECK: arith.divf %0\nCHECK: reduce logsumexp\nCHECK: reduce logsumexp",
    )


def test_losses_inside_losses_are_named_after_their_variables():
    @lt.loss
    def outer(z: lt.Logits, target: lt.Token[int]):
        total = lt.losses.cross_entropy(z, target)
        return total

    labels = [op.label for op in outer.trace(Specialisation(5)).ops]
    assert "total" in labels and "lse" in labels
