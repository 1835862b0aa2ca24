"""Tokens drawn from a prediction, while its logits pass by and are not stored."""

from __future__ import annotations

import functools
import math
import operator

from ..language import functions as lt
from ..language.annotations import Logits, Scalar, Token, Vocab
from ..language.definition import loss
from ..language.outputs import Outputs
from ..language.values import Value
from .ranges import check, check_integer


@loss
def sample(
    z: Logits,
    seed: Scalar[int],
    target: Token[int] | None = None,
    *,
    bias: Vocab[float] | None = None,
    temperature: Scalar | Token[float] | None = None,
    min_p: Scalar | Token[float] | None = None,
    top_k: int = 0,
):
    """An entry of the vocabulary for every token, drawn with its probability; there is no loss field.

    Args:
        seed: of the random numbers, an integer of 32 bits. The same seed draws the same entries for the same
            logits; every call takes another one. See `lt.uniform`.
        target: one per token. It is not read: where it is given, tokens whose target is `ignore_index` get
            the index -1.
        bias: added to the logits of every token; -inf excludes an entry.
        temperature: T, 0 or more. Entries are drawn from softmax(z / T). 0 takes the most likely entry.
        min_p: from 0 to 1. Entries that are less than min_p times as likely as the most likely one, at this
            temperature, are not drawn.
        top_k: an integer that is compiled in. Only the k largest entries are drawn, and those that equal the
            last of them; with min_p as well, entries that both allow. 0 allows every entry. An entry that is
            NaN is always allowed. At most 1024; slices of the vocabulary refuse it.

    A temperature or min_p that is read at run time and lies outside of its range gives the token the index
    -1 and NaN.

    Returns: `Outputs(index, logprob, processed_logprob)`. `logprob` is the log-probability of the entry under
        softmax(z), whatever temperature and min_p are: the `raw_logprobs` of vLLM, which are its default, and
        what `losses.logprob` gives of the entry. `processed_logprob` is that under the distribution from
        which the entry was drawn: vLLM's `processed_logprobs`, and the log-softmax of the `scores` of
        Hugging Face's `generate`. With a temperature of 0 it is 0.

    Source: the Gumbel-max trick, argmax(z + T * G) with independent Gumbel variables G (Gumbel 1954);
        min_p: Nguyen et al., arXiv:2407.01082.

    Raises:
        CallValueError: a temperature or min_p that is a constant of another loss lies outside of its range.
    """
    if temperature is not None:
        check("temperature", temperature, least=0)
    if min_p is not None:
        check("min_p", min_p, least=0, most=1)
    check_integer("top_k", top_k, least=0, most=lt.MOST_PLACES)
    z = z if bias is None else z + bias
    heat = 1.0 if temperature is None else temperature
    kept = _all_of(
        None if min_p is None else _likely(z, heat, min_p),
        _largest(z, top_k) if 0 < top_k < lt.vocab_size() else None,
    )
    noise = -lt.log(-lt.log1p(-lt.uniform(seed)))
    index = lt.argmax(_only(kept, z + heat * noise))
    logprob = z[index] - lt.logsumexp(z)
    processed = logprob
    if temperature is not None or kept is not None:
        processed = _processed(_only(kept, z / _divisor(heat)), index, logprob, heat)
    allowed = _is_fine(temperature) & _is_fine(min_p, most=1)
    nothing = float("nan")
    return Outputs(
        index=lt.where(allowed, index, -1),
        logprob=lt.where(allowed, logprob, nothing),
        processed_logprob=lt.where(allowed, processed, nothing),
    )


def _likely(z: Value, heat: object, min_p: object) -> Value:
    """The most likely entry, and those that are at least min_p times as likely at this temperature."""
    limit = lt.where(min_p > 0, heat * lt.log(min_p), -math.inf)  # not 0 * -inf
    return (lt.column() == lt.argmax(z)) | (z - lt.max(z) >= limit)


def _largest(z: Value, k: int) -> Value:
    """The k largest entries, and those that equal the last of them."""
    return ~(z < lt.topk(z, k)[0][k - 1])


def _all_of(*conditions: Value | None) -> Value | None:
    given = [condition for condition in conditions if condition is not None]
    return functools.reduce(operator.and_, given) if given else None


def _only(kept: Value | None, z: Value) -> Value:
    return z if kept is None else lt.where(kept, z, -math.inf)


def _divisor(heat: object) -> object:
    """The temperature; 1 where it is 0, and what is divided does not matter."""
    return lt.where(heat > 0, heat, 1.0) if isinstance(heat, Value) else heat or 1.0


def _processed(scores: Value, index: Value, logprob: Value, heat: object) -> Value:
    """The log-probability under softmax(scores). At a temperature of 0 the entry is certain."""
    certain = lt.where(lt.isnan(logprob), logprob, 0.0)  # no entry is, where a logit is NaN
    drawn = scores[index] - lt.logsumexp(scores)
    if not isinstance(heat, Value):
        return drawn if heat else certain
    return lt.where(heat > 0, drawn, certain)


def _is_fine(number: object, most: float = math.inf) -> object:
    """Whether a number that is read at run time lies in its range."""
    if not isinstance(number, Value):
        return True
    return (number >= 0) & (number <= most) & lt.isfinite(number)
