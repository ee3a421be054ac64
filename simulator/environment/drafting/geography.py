"""Knows which country a city lies in, and what is paid and which clock goes there."""

from __future__ import annotations

from functools import lru_cache

_TABLE = """
Amsterdam|Netherlands|NL|EUR|Europe/Amsterdam|AMS
Athens|Greece|GR|EUR|Europe/Athens|ATH
Bangkok|Thailand|TH|THB|Asia/Bangkok|BKK
Barcelona|Spain|ES|EUR|Europe/Madrid|BCN
Beijing|China|CN|CNY|Asia/Shanghai|PEK
Berlin|Germany|DE|EUR|Europe/Berlin|BER
Boston|United States|US|USD|America/New_York|BOS
Brussels|Belgium|BE|EUR|Europe/Brussels|BRU
Buenos Aires|Argentina|AR|ARS|America/Argentina/Buenos_Aires|EZE
Cairo|Egypt|EG|EGP|Africa/Cairo|CAI
Chicago|United States|US|USD|America/Chicago|ORD
Copenhagen|Denmark|DK|DKK|Europe/Copenhagen|CPH
Dubai|United Arab Emirates|AE|AED|Asia/Dubai|DXB
Dublin|Ireland|IE|EUR|Europe/Dublin|DUB
Hamburg|Germany|DE|EUR|Europe/Berlin|HAM
Helsinki|Finland|FI|EUR|Europe/Helsinki|HEL
Hong Kong|Hong Kong|HK|HKD|Asia/Hong_Kong|HKG
Istanbul|Turkey|TR|TRY|Europe/Istanbul|IST
Kyoto|Japan|JP|JPY|Asia/Tokyo|UKY
Lisbon|Portugal|PT|EUR|Europe/Lisbon|LIS
London|United Kingdom|GB|GBP|Europe/London|LHR
Los Angeles|United States|US|USD|America/Los_Angeles|LAX
Madrid|Spain|ES|EUR|Europe/Madrid|MAD
Mexico City|Mexico|MX|MXN|America/Mexico_City|MEX
Milan|Italy|IT|EUR|Europe/Rome|MXP
Mumbai|India|IN|INR|Asia/Kolkata|BOM
Munich|Germany|DE|EUR|Europe/Berlin|MUC
Nairobi|Kenya|KE|KES|Africa/Nairobi|NBO
New York|United States|US|USD|America/New_York|JFK
Oslo|Norway|NO|NOK|Europe/Oslo|OSL
Paris|France|FR|EUR|Europe/Paris|CDG
Prague|Czechia|CZ|CZK|Europe/Prague|PRG
Rome|Italy|IT|EUR|Europe/Rome|FCO
San Francisco|United States|US|USD|America/Los_Angeles|SFO
Seattle|United States|US|USD|America/Los_Angeles|SEA
Seoul|South Korea|KR|KRW|Asia/Seoul|ICN
Singapore|Singapore|SG|SGD|Asia/Singapore|SIN
Stockholm|Sweden|SE|SEK|Europe/Stockholm|ARN
Sydney|Australia|AU|AUD|Australia/Sydney|SYD
Tokyo|Japan|JP|JPY|Asia/Tokyo|HND
Toronto|Canada|CA|CAD|America/Toronto|YYZ
Vienna|Austria|AT|EUR|Europe/Vienna|VIE
Warsaw|Poland|PL|PLN|Europe/Warsaw|WAW
Zurich|Switzerland|CH|CHF|Europe/Zurich|ZRH
"""
_COLUMNS = ("city", "country", "country_code", "currency", "timezone", "airport")


@lru_cache(maxsize=1)
def _places() -> dict[str, dict[str, str]]:
    places: dict[str, dict[str, str]] = {}
    for line in _TABLE.split("\n"):
        values = line.split("|")
        if len(values) == len(_COLUMNS):
            place = dict(zip(_COLUMNS, values, strict=True))
            places[values[0].casefold()] = place
            places.setdefault(values[1].casefold(), {**place, "city": ""})
    return places


def place_of(name: str) -> dict[str, str]:
    """Give what is known of a city, or of a country, by its name; nothing where it is not known.

    The keys are `city` (empty for a country), `country`, `country_code`, `currency`, `timezone` and `airport`.
    """
    return _places().get(name.strip().casefold(), {})
