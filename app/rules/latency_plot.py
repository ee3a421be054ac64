"""Shows how a latency is spread: how likely each time is, for a small chart. Pure."""

from __future__ import annotations

import math

from simulator.environment.injection.rule_effects import (
    MAX_LATENCY_SECONDS,
    LatencySpread,
    LogNormalLatency,
    UniformLatency,
)

POINTS = 48
_TAIL = 2.6
_NARROWEST = 1e-3


def curve(spread: LatencySpread) -> tuple[tuple[float, float], ...]:
    """Return points of the distribution: seconds, and how likely they are, from 0 to 1 relative to the likeliest."""
    match spread:
        case UniformLatency():
            return _box(spread.low, spread.high)
        case LogNormalLatency():
            return _tailed(spread.median, spread.sigma)


def quantiles(spread: LatencySpread) -> tuple[float, float, float]:
    """Return the seconds that half, 90 % and 99 % of the calls stay below."""
    match spread:
        case UniformLatency():
            width = spread.high - spread.low
            half, most, nearly_all = (spread.low + share * width for share in (0.5, 0.9, 0.99))
        case LogNormalLatency():
            half, most, nearly_all = (
                min(spread.median * math.exp(z * spread.sigma), MAX_LATENCY_SECONDS)
                for z in (0.0, 1.2816, 2.3263)
            )
    return half, most, nearly_all


def _box(low: float, high: float) -> tuple[tuple[float, float], ...]:
    margin = max((high - low) * 0.25, 0.05)
    start, end = max(low - margin, 0.0), high + margin
    times = [start + (end - start) * step / (POINTS - 1) for step in range(POINTS)]
    return tuple((time, 1.0 if low <= time <= high else 0.0) for time in times)


def _tailed(median: float, sigma: float) -> tuple[tuple[float, float], ...]:
    if sigma < _NARROWEST:
        return _box(median, median)
    end = min(median * math.exp(_TAIL * sigma), MAX_LATENCY_SECONDS)
    times = [end * (step + 1) / POINTS for step in range(POINTS)]
    heights = [math.exp(-(math.log(time / median) ** 2) / (2 * sigma**2)) / time for time in times]
    highest = max(heights)
    return ((0.0, 0.0), *((time, height / highest) for time, height in zip(times, heights, strict=True)))
