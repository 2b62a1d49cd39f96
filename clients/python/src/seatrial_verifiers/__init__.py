"""The taskset of seatrial.verifiers under a name without a dot, which vf-eval needs."""

from seatrial.verifiers import SeatrialTaskset

__all__ = ["SeatrialTaskset"]
