"""Patched models under DDP and FSDP2: two gloo processes have the gradients of one."""

import pytest
import transformers_jobs as jobs
from teams import Team


@pytest.mark.full
@pytest.mark.parametrize("tied", [False, True])
def test_gradients_are_those_of_one_process(tied):
    team = Team(jobs.WORLD)
    try:
        team.run(jobs.check, tied)
    finally:
        team.close()
