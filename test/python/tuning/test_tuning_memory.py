"""Tuning goes on where a candidate does not fit the memory, and ends where the default does not.
Calls run also where what tuning chose cannot be used.
"""

from dataclasses import replace

import logitile as lt
import numpy as np
import pytest
import torch
from logitile.arguments.wanted import Wanted
from logitile.calls.program import default_key
from logitile.tuned import lookup as tuned
from logitile.tuned import store as tuning_store
from logitile.tuning.rounds import Contender

HEAD = lt.jit(lt.losses.cross_entropy)
OPERANDS = np.ones((9, 8), np.float32), np.ones((300, 8), np.float32)
TARGET = np.zeros(9, np.int64)


def tuned_where(runs_out, error, monkeypatch, tmp_path):
    """The result of tuning if the contenders that `runs_out` names run out of memory."""
    numbers, warm_up = iter(range(1000)), Contender.warm_up

    def full(contender):
        if runs_out(next(numbers)):
            raise error("it does not fit")
        return warm_up(contender)

    monkeypatch.setenv("LOGITILE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(Contender, "warm_up", full)
    return lt.autotune(HEAD, *OPERANDS, target=TARGET, budget_s=60)  # over when all rounds are


@pytest.mark.parametrize("error", [MemoryError, torch.OutOfMemoryError])
def test_candidates_may_run_out(error, monkeypatch, tmp_path):
    found = tuned_where(lambda number: number > 0, error, monkeypatch, tmp_path)
    assert "it does not fit" in {one.refusal for one in found.candidates}
    assert found.candidates[0].measured is not None


@pytest.mark.parametrize("error, first", [(MemoryError, 0), (RuntimeError, 1)])
def test_the_default_may_not_and_other_errors_are_told(error, first, monkeypatch, tmp_path):
    with pytest.raises(error, match="it does not fit"):
        tuned_where(lambda number: number >= first, error, monkeypatch, tmp_path)


def test_calls_run_whatever_is_wrong_with_the_tiles_that_were_chosen(monkeypatch):
    class Broken:
        def plan(self, tokens):
            raise lt.LogitileError("internal error: the plan is inconsistent")

    call = HEAD._bind(*OPERANDS, target=TARGET)
    key = replace(default_key(call, Wanted()), tiles="TM=96")
    monkeypatch.setattr(tuned, "Program", lambda *_: Broken())
    monkeypatch.setattr(tuning_store, "_told", set())
    with pytest.warns(lt.CacheWarning) as told:
        assert not tuned._is_usable(call, key)
    assert str(told[0].message) == (
        "tuning: 'TM=96' was chosen for 'cross_entropy' but cannot be used (internal error: the plan is "
        "inconsistent); the default is used"
    )
