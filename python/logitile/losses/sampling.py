"""Draws tokens from a prediction during a pass over its logits, without storing them."""

from __future__ import annotations

import functools
import math
import operator

from ..errors import CallValueError
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
    top_p: Scalar | Token[float] | None = None,
    k: Token[int] | None = None,
    top_k: int = 0,
    candidates: int = 64,
):
    """Draws an entry of the vocabulary for every token; there is no output `loss`.

    Args:
        seed: of the random numbers, an integer of 32 bits. The same seed draws the same entries for
            the same logits; every call takes another one. See `lt.uniform`.
        target: one per token. It is not read: where it is given,
            tokens whose target is `ignore_index` get the index -1.
        bias: added to the logits of every token; -inf excludes an entry.
        temperature: T, 0 or more. Entries are drawn from softmax(z / T).
            0 takes the most likely entry.
        min_p: from 0 to 1. Entries that are less than min_p times as likely as the most likely one,
            at this temperature, are not drawn.
        top_k: an integer that is compiled in. Only the k largest entries are drawn, and those that
            equal the last of them. 0 allows every entry. An entry that is NaN is always allowed. At
            most 1024.
        k: a top_k for every token, in the place of the one that is compiled in: from 0 to
            `candidates`. 0 allows every entry, and so does V or more.
        top_p: from 0 to 1. Only the nucleus is drawn: the fewest of the most likely entries that
            have this part of the probability together, and those that equal the last of them. 0
            leaves the most likely entry. With top_k or k, it is the nucleus of the k entries.
        candidates: an integer that is compiled in: how many entries are put in order for top_p and
            k, where there is no top_k. A nucleus without k that needs more entries is not known. At
            most 1024; all V of a smaller vocabulary.

    With several of them, entries that all allow are drawn.

    A temperature, min_p, top_p or k that is read at run time and lies outside of its range gives
    the token the index -1 and NaN. So does a nucleus of more entries than candidates.

    Returns: `Outputs(index, logprob, processed_logprob)`. `logprob` is the log-probability of the
        entry under softmax(z), whatever restricts the draw: the `raw_logprobs` of vLLM, which are
        its default, and what `losses.logprob` gives of the entry. `processed_logprob` is that under
        the distribution from which the entry was drawn: vLLM's `processed_logprobs`, and the
        log-softmax of the `scores` of Hugging Face's `generate`. With a temperature of 0 it is 0.

    Source: the Gumbel-max trick, argmax(z + T * G) with independent Gumbel variables G (Gumbel
        1954); min_p: Nguyen et al., arXiv:2407.01082; the nucleus: Holtzman et al.,
        arXiv:1904.09751.

    Raises:
        CallValueError: a temperature, min_p or top_p that is a constant of another loss lies
            outside of its range; k beside a top_k.
    """
    if temperature is not None:
        check("temperature", temperature, least=0)
    if min_p is not None:
        check("min_p", min_p, least=0, most=1)
    if top_p is not None:
        check("top_p", top_p, least=0, most=1)
    check_integer("top_k", top_k, least=0, most=lt.MOST_PLACES)
    check_integer("candidates", candidates, least=1, most=lt.MOST_PLACES)
    if k is not None and top_k:
        raise CallValueError(f"k is a top_k for every token and takes the place of top_k={top_k}; give one")
    z = z if bias is None else z + bias
    heat = 1.0 if temperature is None else temperature
    largest = _Largest(z, top_k, k, candidates)
    cut, is_known = largest.cut(), True
    if top_p is not None:
        cut, is_known = largest.nucleus(top_p, _divisor(heat))
    kept = _all_of(
        None if min_p is None else _likely(z, heat, min_p),
        None if cut is None else ~(z < cut),
    )
    noise = -lt.log(-lt.log1p(-lt.uniform(seed)))
    index = lt.argmax(_only(kept, z + heat * noise))
    logprob = z[index] - lt.logsumexp(z)
    processed = logprob
    if temperature is not None or kept is not None:
        processed = _processed(_only(kept, z / _divisor(heat)), index, logprob, heat)
    is_fine = _is_fine(temperature) & _is_fine(min_p, most=1) & _is_fine(top_p, most=1)
    allowed = is_fine & largest.is_fine() & (is_known | (heat == 0))
    nothing = float("nan")
    return Outputs(
        index=lt.where(allowed, index, -1),
        logprob=lt.where(allowed, logprob, nothing),
        processed_logprob=lt.where(allowed, processed, nothing),
    )


def _likely(z: Value, heat: object, min_p: object) -> Value:
    """The most likely entry, and those that are at least min_p times as likely as it."""
    limit = lt.where(min_p > 0, heat * lt.log(min_p), -math.inf)  # not 0 * -inf
    return (lt.column() == lt.argmax(z)) | (z - lt.max(z) >= limit)


class _Largest:
    """The largest entries, the best first. top_k and k limit them; a nucleus is made of them."""

    def __init__(self, z: Value, top_k: int, k: Value | None, candidates: int):
        self.z, self.k, self.vocab = z, k, lt.vocab_size()
        self.count = min(top_k or candidates, self.vocab)
        self.is_whole = not 0 < top_k < self.vocab if k is None else (k <= 0) | (k >= self.vocab)

    def is_fine(self) -> object:
        """Whether k lies in its range."""
        if self.k is None:
            return True
        return (self.k >= 0) & ((self.k <= self.count) | (self.k >= self.vocab))

    def cut(self) -> Value | None:
        """The last value that top_k or k allows; entries below it are not drawn."""
        if self.k is None:
            return None if self.is_whole else self._values[-1]
        cut = -math.inf
        for place, value in enumerate(self._values):
            cut = lt.where(self.k == place + 1, value, cut)
        return cut

    def nucleus(self, top_p: object, divisor: object) -> tuple[Value, Value]:
        """The last value of the nucleus, and whether it is among the candidates."""
        best = self._values[0]
        # beside that of the best
        masses = [lt.exp((value - best) / divisor) for value in self._values]
        wanted = lt.where(top_p < 1, top_p * self._total(masses, divisor), math.inf)
        cut, mass = best, masses[0]
        for place in range(1, self.count):
            cut = lt.where((mass < wanted) & self._allows(place), self._values[place], cut)
            mass = mass + masses[place]
        if self.is_whole is False or self.count == self.vocab:
            return cut, True
        everything = self.is_whole & (top_p >= 1)
        is_known = lt.where(self.is_whole & (top_p < 1), ~(mass < wanted), True)
        return lt.where(everything, -math.inf, cut), is_known

    @functools.cached_property
    def _values(self) -> list[Value]:
        values, _ = lt.topk(self.z, self.count)
        return [values[place] for place in range(self.count)]

    def _total(self, masses: list[Value], divisor: object) -> Value:
        """The mass of all entries that top_k or k allows."""
        everything = lt.exp(lt.logsumexp(self.z / divisor) - self._values[0] / divisor)
        if self.is_whole is True:
            return everything
        listed = _sum([lt.where(self._allows(place), mass, 0.0) for place, mass in enumerate(masses)])
        return lt.where(self.is_whole, everything, listed)

    def _allows(self, place: int) -> object:
        """Whether top_k or k allows a place of the list. Without a limit every place is allowed."""
        return True if self.k is None else self.is_whole | (self.k > place)


def _sum(terms: list[Value]) -> Value:
    """Joined in pairs: a loss has a limit of operations one after the other."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return _sum(terms[:middle]) + _sum(terms[middle:])


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
