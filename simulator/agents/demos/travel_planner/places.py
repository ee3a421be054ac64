"""The cities, countries and peoples that the travel planner knows by name."""

from __future__ import annotations

AIRPORTS = {
    "Athens": "ATH",
    "Bergen": "BGO",
    "Berlin": "BER",
    "Copenhagen": "CPH",
    "Lisbon": "LIS",
    "London": "LON",
    "Madrid": "MAD",
    "New York": "NYC",
    "Oslo": "OSL",
    "Paris": "PAR",
    "Rome": "ROM",
    "Tokyo": "TYO",
    "Vienna": "VIE",
}

COUNTRIES = {
    "Athens": "Greece",
    "Bergen": "Norway",
    "Berlin": "Germany",
    "Copenhagen": "Denmark",
    "Lisbon": "Portugal",
    "London": "United Kingdom",
    "Madrid": "Spain",
    "New York": "United States",
    "Oslo": "Norway",
    "Paris": "France",
    "Rome": "Italy",
    "Tokyo": "Japan",
    "Vienna": "Austria",
}

PEOPLES = {
    "american": "United States",
    "austrian": "Austria",
    "british": "United Kingdom",
    "danish": "Denmark",
    "french": "France",
    "german": "Germany",
    "greek": "Greece",
    "indian": "India",
    "italian": "Italy",
    "japanese": "Japan",
    "norwegian": "Norway",
    "portuguese": "Portugal",
    "spanish": "Spain",
    "swedish": "Sweden",
}
