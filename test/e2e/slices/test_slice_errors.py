"""What slices of the vocabulary refuse, and in which words."""

import logitile as lt
import numpy as np
import pytest
import torch
from inputs import arguments
from test_slices import CUT, Slices, assert_same, nested, weighted


def cross_entropy_slices(cuts=CUT, tokens=6, **call):
    given = arguments(lt.losses.cross_entropy, tokens=tokens, vocab=CUT[-1])
    head = lt.jit(lt.losses.cross_entropy)
    return head, Slices(head, cuts, given, **call)


def refused(error, call):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_a_slice_lies_in_the_vocabulary():
    head, slices = cross_entropy_slices()
    call = slices.calls[0]
    assert refused(lt.CallValueError, lambda: head.partial(**{**call, "column_offset": 16})) == (
        "column_offset 16 and the 8 rows of weight make columns [16, 24), which vocab_size 23 does not hold; "
        "vocab_size counts all slices"
    )
    assert refused(lt.CallTypeError, lambda: head.partial(**{**call, "vocab_size": 23.0})) == (
        "'vocab_size' is 23.0; it must be an integer"
    )
    target = np.array([0, 1, 2, 3, 4, 23])
    assert refused(lt.CallIndexError, lambda: head.partial(**{**call, "target": target})) == (
        "'target'[5] is 23, outside the vocabulary of 23 entries: it must be 0 to 22 or ignore_index -100"
    )


def test_states_that_do_not_merge():
    head, slices = cross_entropy_slices()
    a, b, c = slices.swept()
    assert (
        refused(lt.CallTypeError, lambda: lt.merge([]))
        == "lt.merge takes states of head.partial, but there is none"
    )
    assert refused(lt.CallTypeError, lambda: lt.merge([a, {}])) == (
        "lt.merge takes states of head.partial, but dict is among these"
    )
    assert refused(lt.CallValueError, lambda: lt.merge([a, lt.merge([b, c]), b])) == (
        "columns [0, 23) and [8, 9) overlap; every column belongs to one slice, so check column_offset"
    )
    _, others = cross_entropy_slices(tokens=5)
    assert refused(lt.CallValueError, lambda: lt.merge([a, others.swept()[1]])) == (
        "states of tokens [6] and [5] do not merge; all slices see the same tokens"
    )
    _, divided = cross_entropy_slices(divisor=2)
    text = refused(lt.CallValueError, lambda: lt.merge([a, divided.swept()[1]]))
    assert text == (
        f"states of 'cross_entropy' (vocabulary 23, without divisor, digest {a.head}) and 'cross_entropy' "
        f"(vocabulary "
        f"23, with divisor, digest {divided.swept()[0].head}) do not merge; all slices need the same head, "
        f"gradients "
        "and kinds of inputs"
    )
    head = lt.jit(lt.losses.jensen_shannon)
    first = Slices(head, CUT, arguments(lt.losses.jensen_shannon, vocab=23))
    one = first.swept()
    two = first.swept(state=lt.merge(one))
    assert refused(lt.CallValueError, lambda: lt.merge([one[0], two[1]])) == (
        "states of sweep 1 and sweep 2 do not merge; merge those of one sweep, then run the next with the "
        "result"
    )


def test_what_is_missing_is_named():
    head, slices = cross_entropy_slices()
    a, b, c = slices.swept()
    assert refused(lt.CallValueError, lambda: head.finish(lt.merge([c, a]))) == (
        "the state covers columns [0, 8) and [9, 23) of a vocabulary of 23, so [8, 9) is missing; lt.merge "
        "the states "
        "of all slices before finish"
    )
    state = lt.merge([a, b, c])
    assert refused(lt.CallValueError, lambda: head.finish_grad(state, **slices.calls[0])) == (
        "the state was begun without gradients; name them there: head.partial(..., wrt=('hidden', 'weight'))"
    )
    assert refused(lt.CallValueError, lambda: head.partial(**slices.calls[0], state=state)) == (
        "all 1 sweeps of 'cross_entropy' have run; call finish or finish_grad"
    )
    assert refused(lt.CallTypeError, lambda: head.finish([state])) == (
        "'state' is list; give a state of head.partial or lt.merge"
    )
    assert refused(lt.CallTypeError, lambda: a.with_arrays({"max": 1}, a.columns)) == (
        "the arrays are 'max', but a state of this sweep has 'forward0.max0', 'forward0.exp1.high', "
        "'forward0.exp1.low' and 'forward0.pick2'; give what arrays() returned there"
    )
    short = {name: array[:4] for name, array in a.arrays().items()}
    assert refused(lt.CallValueError, lambda: a.with_arrays(short, a.columns)) == (
        "'forward0.max0' has shape [4], but the leading dimensions of hidden are [6]; give the arrays of "
        "the same tokens"
    )


def test_sweeps_that_are_missing():
    head = lt.jit(nested)
    slices = Slices(head, CUT, arguments(nested, vocab=23))
    state = lt.merge(slices.swept(wrt="hidden"))
    assert state.next == "forward"
    assert refused(lt.CallValueError, lambda: head.finish(state)) == (
        f"1 of {state.source.sweeps[0]} forward sweeps have run; run the others with head.partial(..., "
        f"state=state) "
        "while state.next == 'forward'"
    )
    while state.next == "forward":
        state = lt.merge(slices.swept(state=state))
    assert_same(head.finish(state), head(**arguments(nested, vocab=23)))
    done, total = state.sweep + 1, sum(state.source.sweeps)
    assert refused(lt.CallValueError, lambda: head.finish_grad(state, **slices.calls[0])) == (
        f"{done} of {total} sweeps have run; run the others with head.partial(..., state=state) while "
        f"state.next"
    )
    assert state.next == "backward"
    while state.next:
        state = lt.merge(slices.swept(state=state, grad_output=3.0))
    assert refused(
        lt.CallValueError, lambda: head.finish_grad(state, **slices.calls[0], grad_output=2.0)
    ) == ("grad_output of 'loss' is 2.0, but the backward sweeps had 3.0; give the same, or leave it out")
    kept, again = (head.finish_grad(state, **slices.calls[0], grad_output=up) for up in (None, 3.0))
    np.testing.assert_array_equal(kept["hidden"], again["hidden"])


def test_a_state_goes_with_its_head_and_its_inputs():
    head, slices = cross_entropy_slices()
    state = slices.state(wrt="hidden")
    other = lt.jit(lt.losses.focal)
    assert refused(lt.CallValueError, lambda: other.finish(state)) == (
        "the state is of 'cross_entropy', but the head is of 'focal'; a state goes with the head that made it"
    )
    smoothed = lt.jit(lt.losses.cross_entropy, label_smoothing=0.5)
    text = refused(lt.CallValueError, lambda: smoothed.finish(state))
    assert text.startswith(
        f"the state is of 'cross_entropy' (vocabulary 23, without divisor, digest {state.head}), but "
    )
    assert text.endswith("; a state goes with the head that made it, and with the inputs of its first sweep")
    assert refused(
        lt.CallValueError, lambda: head.finish_grad(state, **slices.calls[0], divisor=3)
    ).startswith("the state is of 'cross_entropy' (vocabulary 23, without divisor")
    _, others = cross_entropy_slices(tokens=5)
    assert refused(lt.CallValueError, lambda: head.finish_grad(state, **others.calls[0])) == (
        "leading dimensions [5] of hidden must equal [6] of the state; go on with the tokens that it was "
        "begun with"
    )
    weighted_head = lt.jit(weighted)
    whole = Slices(weighted_head, CUT, arguments(weighted, vocab=23))
    begun = whole.state(wrt="hidden", grad_output={"loss": 1.0})
    assert refused(
        lt.CallValueError,
        lambda: weighted_head.finish_grad(begun, **whole.calls[0], grad_output={"entropy": np.ones(6)}),
    ) == (
        "grad_output reaches 'entropy', but the state was begun for 'loss'; name the same outputs in the "
        "first call of "
        "head.partial"
    )


@lt.loss
def constant(z: lt.Logits):
    return lt.sum(lt.exp(z) ** 0)


def test_a_loss_that_reads_nothing():
    head, given = lt.jit(constant), arguments(constant, vocab=23)
    assert refused(lt.CallValueError, lambda: Slices(head, CUT, given).swept()) == (
        "'constant' depends on no logit and on no input per token, so its slices have nothing to tell each "
        "other; call the head itself, with the whole weight"
    )


def test_slices_that_are_rounded_differently():
    head, slices = cross_entropy_slices()
    call = {**slices.calls[0], "z": tuple(map(torch.tensor, slices.calls[0]["z"]))}
    plain = head.partial(**call)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = head.partial(**call)
    assert refused(lt.CallValueError, lambda: lt.merge([plain, rounded])).startswith(
        f"states of 'cross_entropy' (vocabulary 23, without divisor, digest {plain.head}) and"
    )
