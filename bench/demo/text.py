"""The demo's text: sources of Python's standard library,
split by a byte-pair vocabulary trained on them.
"""

from __future__ import annotations

import sysconfig
from pathlib import Path

import numpy
import tokenizers

VOCABULARY = 32768


# not everywhere, or not the library's own
_LEFT_OUT = {"site-packages", "dist-packages", "test", "tests"}


def sources() -> list[str]:
    """The texts of the standard library's Python files, in the order of their names."""
    library = Path(sysconfig.get_path("stdlib"))
    files = (file for file in library.rglob("*.py") if not _LEFT_OUT & set(file.relative_to(library).parts))
    return [file.read_text(encoding="utf-8", errors="replace") for file in sorted(files)]


def trained_tokenizer(texts: list[str]) -> tokenizers.Tokenizer:
    """A byte-level byte-pair tokenizer with VOCABULARY entries.

    Raises:
        RuntimeError: the text is too small for such a vocabulary.
    """
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        min_frequency=2,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() < VOCABULARY:
        raise RuntimeError(
            f"the text gives a vocabulary of {tokenizer.get_vocab_size()} entries, not {VOCABULARY}; "
            "it needs more Python sources"
        )
    return tokenizer


def tokens(tokenizer: tokenizers.Tokenizer, texts: list[str], count: int) -> numpy.ndarray:
    """The entries of as many texts, in random order, as give `count` of them: int32 [count].

    Raises:
        RuntimeError: all texts together are too short.
    """
    parts: list[numpy.ndarray] = []
    for index in numpy.random.default_rng(0).permutation(len(texts)):
        parts.append(numpy.asarray(tokenizer.encode(texts[index]).ids, dtype=numpy.int32))
        if sum(map(len, parts)) >= count:
            return numpy.concatenate(parts)[:count]
    raise RuntimeError(f"the text has {sum(map(len, parts))} entries, but {count} are needed")
