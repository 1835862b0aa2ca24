"""Kinds of devices in the native module: their targets, and where their code finds arrays."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from ..errors import TargetError
from .engine import native


@dataclass(frozen=True)
class Platform:
    """A kind of device. Nothing else in the package knows one by its name.

    Args:
        name: what comes before the colon in the names of its targets: "cpu", "cuda", "emu".
        memory: where the arrays of its calls lie, as frameworks call it: "cpu" or "cuda".
        host_memory: that memory is the host's.
        host_threads: kernels run on threads of the host.
    """

    name: str
    memory: str
    host_memory: bool
    host_threads: bool


@functools.cache  # calls ask for it
def platform_of(target: str) -> Platform:
    """The platform of a target, "cuda:sm_90", or of its own name, "cuda".

    Raises:
        TargetError: there is no such device.
    """
    found = native().describe_target(target.partition(":")[0])
    return Platform(found["platform"], found["memory"], found["host_memory"], found["host_threads"])


def stages_of(target: str) -> list[str]:
    """The stages of a target, in their order.

    Raises:
        TargetError: there is no such target.
    """
    return native().describe_target(target)["stages"]


def target_of(platform: Platform, ordinal: int = 0) -> str:
    """What code is made for on a device of this machine, "cuda:sm_90".

    Raises:
        TargetError: there is no driver, or no such device.
    """
    if platform.host_threads:
        return native().device_target(platform.name)  # the environment may lower it at any time
    return device_target(platform.name, ordinal)


@functools.cache
def device_target(platform: str, ordinal: int) -> str:
    """The same for devices with a driver, which is asked once."""
    return native().device_target(platform, ordinal)


@functools.cache
def device_model(target: str, ordinal: int) -> tuple[str, str]:
    """What times depend on: the name of a device, and its driver or the instruction set.

    "none" stands for both where there is no such device: code for it may be looked at,
    but is never timed.
    """
    try:
        return native().device_model(target, ordinal)
    except TargetError:
        return "none", "none"
