"""Random numbers of the language in NumPy, written from the paper and not from the compiler's code.

Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_ROUNDS = 10
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_STEPS = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(2**32 - 1)
_HIGH = np.uint64(32)
_WORD_STEP = 8  # the columns c, c + 8, c + 16 and c + 24 have the four words of one block


def philox(counter: Sequence[np.ndarray], key: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Philox 4x32-10.

    Args:
        counter: four arrays of uint32 that broadcast with each other and with the key.
        key: two arrays of uint32.

    Returns: four arrays of uint32.
    """
    words = [np.asarray(word, np.uint32).astype(np.uint64) for word in counter]
    first, second = (np.asarray(word, np.uint32).astype(np.uint64) for word in key)
    for round in range(_ROUNDS):
        step, other = (np.uint64(round * size % 2**32) for size in _STEPS)
        a, b = words[0] * _MULTIPLIERS[0], words[2] * _MULTIPLIERS[1]
        words = [
            (b >> _HIGH) ^ words[1] ^ (first + step & _LOW),
            b & _LOW,
            (a >> _HIGH) ^ words[3] ^ (second + other & _LOW),
            a & _LOW,
        ]
    return tuple(word.astype(np.uint32) for word in words)


def uniform(seed: np.ndarray, stream: np.ndarray, token: np.ndarray, column: np.ndarray) -> np.ndarray:
    """What `lt.uniform` is: the float32 nearest to (word + 0.5) / 2**32, below 1, as float64.

    Args: arrays of integers of 32 bits.
    """
    seed, stream, token, column = (
        np.asarray(word).astype(np.int64).astype(np.uint32) for word in (seed, stream, token, column)
    )
    place = column // np.uint32(_WORD_STEP) % np.uint32(4)
    block = column - place * np.uint32(_WORD_STEP)
    words = philox((block, token, np.uint32(0), np.uint32(0)), (seed, stream))
    number = np.choose(place, words).astype(np.float32)
    number = number * np.float32(2.0**-32) + np.float32(2.0**-33)
    return np.minimum(number, np.float32(1 - 2.0**-24)).astype(np.float64)
