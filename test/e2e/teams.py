"""Processes that run jobs together, as a torch.distributed program does: gloo on the CPU,
one thread each.
"""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import tempfile
import time
import traceback

LIMIT = 60  # seconds of a job


@dataclasses.dataclass
class Outcome:
    """What a job came to on one process.

    Args:
        result: what it returned.
        error: the name of the type of what it raised, or "".
        text: of the error.
        trace: of the error.
        seconds: that it took.
    """

    result: object = None
    error: str = ""
    text: str = ""
    trace: str = ""
    seconds: float = 0.0


class Team:
    """Processes of one group.

    Args:
        count: of processes.
        timeout: of the group in seconds.
    """

    def __init__(self, count, timeout=LIMIT):
        context = multiprocessing.get_context("spawn")
        self.count, self.folder = count, tempfile.TemporaryDirectory()
        self.pipes, self.members = [], []
        for rank in range(count):
            pipe, theirs = context.Pipe()
            arguments = (rank, count, f"file://{self.folder.name}/store", timeout, theirs)
            member = context.Process(target=_member, args=arguments, daemon=True)
            member.start()
            theirs.close()  # so that the end of a process is the end of its pipe
            self.pipes.append(pipe)
            self.members.append(member)

    def attempted(self, job, *arguments, **named):
        """The outcome of a job on every process; None where the process has ended.

        Args:
            job: a function of a module, which takes the rank and the number of processes first.
        """
        for pipe in self.pipes:
            pipe.send((job, arguments, named))
        end = time.monotonic() + LIMIT
        return [self._outcome(pipe, end) for pipe in self.pipes]

    def run(self, job, *arguments, **named):
        """What a job returns on every process. Fails where one of them does."""
        outcomes = self.attempted(job, *arguments, **named)
        for rank, outcome in enumerate(outcomes):
            assert outcome is not None, f"process {rank} has ended"
            assert not outcome.error, f"process {rank}: {outcome.trace}"
        return [outcome.result for outcome in outcomes]

    def _outcome(self, pipe, end):
        assert pipe.poll(max(end - time.monotonic(), 0)), f"a job takes more than {LIMIT} s"
        try:
            return pipe.recv()
        except EOFError:
            return None

    def close(self):
        for member in self.members:
            member.kill()
            member.join()
        self.folder.cleanup()


def _member(rank, count, store, timeout, pipe):
    for variable in ("OMP_NUM_THREADS", "LOGITILE_NUM_THREADS"):
        os.environ[variable] = "1"
    import datetime

    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    limit = datetime.timedelta(seconds=timeout)
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=count, timeout=limit)
    while True:
        job, arguments, named = pipe.recv()
        start = time.monotonic()
        try:
            outcome = Outcome(job(rank, count, *arguments, **named))
        except Exception as error:
            outcome = Outcome(None, type(error).__name__, str(error), traceback.format_exc())
        outcome.seconds = time.monotonic() - start
        pipe.send(outcome)
