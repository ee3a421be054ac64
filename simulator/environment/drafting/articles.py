"""Knows what common articles and services cost, so that a mug is not drafted at the price of a laptop."""

from __future__ import annotations

from simulator.environment.conventions.chance import Chance
from simulator.environment.conventions.names import words_of

_ENDINGS = (0.0, 0.5, 0.9, 0.95, 0.99)
_ROUND_FROM = 60
"""From here on prices are whole amounts."""

_RANGES: tuple[tuple[str, float, float], ...] = (
    ("pen pencil eraser sticker postcard", 1, 4),
    ("coffee tea espresso juice soda snack", 2, 6),
    ("notebook notepad magazine candle socks cable charger", 5, 14),
    ("mug cup glass bottle plate bowl", 8, 19),
    ("book novel paperback poster cap hat umbrella", 9, 28),
    ("pizza burger pasta salad sandwich meal lunch breakfast", 8, 24),
    ("shirt tshirt tee mouse scarf belt toy puzzle plant", 14, 35),
    ("lamp pillow blanket towel clock speaker earbuds", 18, 60),
    ("dinner ticket concert taxi", 20, 75),
    ("headphones keyboard headset webcam jeans sweater router toaster kettle", 29, 119),
    ("backpack bag shoes boots sneakers jacket coat dress suitcase", 39, 139),
    ("chair desk shelf table mattress printer", 79, 299),
    ("flight airfare", 70, 380),
    ("train bus rail ferry", 15, 90),
    ("hotel room suite lodging accommodation stay night hostel", 65, 240),
    ("monitor screen display tablet phone smartphone smartwatch camera console watch bicycle bike", 129, 699),
    ("television tv sofa couch bed fridge refrigerator dishwasher oven", 299, 1_199),
    ("laptop notebook_computer computer pc macbook workstation", 649, 1_799),
    ("car vehicle", 9_000, 38_000),
    ("shipping delivery postage", 4, 12),
    ("subscription membership plan", 5, 30),
    ("fee surcharge", 5, 40),
)
_COSTS = {word: (low, high) for names, low, high in _RANGES for word in names.split()}


def price_of(article: str, chance: Chance) -> float | None:
    """Give a price of an article by its name or sku; None where no word of it is known. The last known word decides.

    The same article has the same price for one chance: a desk lamp is a lamp, and costs what a lamp costs.
    """
    for word in reversed(words_of(article)):
        found = _COSTS.get(word) or _COSTS.get(word.removesuffix("s")) or _COSTS.get(word.removesuffix("es"))
        if found is not None:
            low, high = found
            amount = chance.within(f"price:{article.lower()}", low, high, 0)
            return (
                float(amount)
                if low >= _ROUND_FROM
                else amount + chance.choice(f"cents:{article.lower()}", _ENDINGS)
            )
    return None
