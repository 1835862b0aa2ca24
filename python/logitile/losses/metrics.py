"""Numbers about a prediction that are not trained on. None of them has an output `loss`."""

from __future__ import annotations

from ..language import functions as lt
from ..language.annotations import Logits, Token
from ..language.definition import loss
from ..language.outputs import Outputs
from .ranges import check_integer


@loss
def prediction(z: Logits):
    """The most likely entry of every token, the lowest of those that are equal.

    Returns: `Outputs(index)`.
    """
    return Outputs(index=lt.argmax(z))


@loss
def accuracy(z: Logits, target: Token[int]):
    """Whether the most likely entry is the target.

    Args:
        target: y, one per token.

    Returns: `Outputs(correct)`, bools.
    """
    return Outputs(correct=lt.argmax(z) == target)


@loss
def rank(z: Logits, target: Token[int]):
    """The target's place among all entries, 1 for the best, and its reciprocal.

    Args:
        target: y, one per token. Entries with the same logit rank after it.

    Returns: `Outputs(rank, reciprocal_rank)`.
    """
    place = 1 + lt.count((z > z[target]) & (lt.column() != target))
    return Outputs(rank=place, reciprocal_rank=1 / lt.to_float(place))


@loss
def top_logprobs(z: Logits, *, k: int = 5):
    """The k most likely entries of every token and their log-probabilities, the best first.

    Args:
        k: how many, from 1 to V, and at most 1024. They are found in one sweep over the vocabulary.

    Returns: `Outputs(index, logprob)`, [..., k] each. They carry no gradient.
    """
    vocab = lt.vocab_size()
    why = ", the number of vocabulary entries" if vocab <= lt.MOST_PLACES else ", the longest list"
    check_integer("k", k, 1, min(vocab, lt.MOST_PLACES), why)
    logprob, index = lt.topk(lt.log_softmax(z), k)
    return Outputs(index=index, logprob=logprob)
