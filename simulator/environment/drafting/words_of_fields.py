"""Lists what fields hold, by the words of their names: texts, kinds of made-up texts, and ranges of numbers."""

from __future__ import annotations

NAMES = ("Ada Moreno", "Jonas Weber", "Mei Tanaka", "Priya Nair", "Lucas Silva", "Amara Okafor")
CITIES = ("Lisbon", "Oslo", "Kyoto", "Toronto", "Nairobi", "Vienna")
COUNTRIES = ("Portugal", "Norway", "Japan", "Canada", "Kenya", "Austria")
PRODUCTS = ("Desk lamp", "Travel mug", "Wireless keyboard", "Notebook", "Backpack", "Water bottle")
COMPANIES = ("Northwind Traders", "Blue Harbour Ltd", "Cedar & Co", "Alpine Systems")
HOTELS = ("Harbour View Hotel", "Garden Palace", "Station Inn", "Hotel Linden", "The Old Mill")
AIRLINES = ("Blue Fjord Air", "Atlantic Wings", "Alpine Airways")
RESTAURANTS = ("The Copper Pot", "Trattoria Sole", "Cafe Linden")
SENTENCES = (
    "Everything is in order.",
    "Handled as requested.",
    "The request was processed.",
    "No problems were found.",
)

TEXTS: tuple[tuple[frozenset[str], tuple[str, ...]], ...] = (
    (frozenset({"status", "state", "outcome"}), ("success",)),
    (frozenset({"hotel", "hostel", "accommodation", "lodging", "property", "room"}), HOTELS),
    (frozenset({"airline", "carrier", "flight"}), AIRLINES),
    (frozenset({"restaurant", "cafe", "bar"}), RESTAURANTS),
    (frozenset({"currency"}), ("EUR", "USD", "GBP")),
    (
        frozenset({"city", "town", "destination", "origin", "location", "place", "from", "to", "airport"}),
        CITIES,
    ),
    (frozenset({"country", "nation"}), COUNTRIES),
    (frozenset({"product", "item", "article", "title", "goods"}), PRODUCTS),
    (
        frozenset({"company", "vendor", "supplier", "merchant", "organization", "shop", "store", "account"}),
        COMPANIES,
    ),
    (frozenset({"language", "locale"}), ("en", "de", "pt")),
    (frozenset({"timezone", "tz"}), ("UTC", "Europe/Lisbon", "Asia/Tokyo")),
    (frozenset({"color", "colour"}), ("blue", "green", "black")),
    (frozenset({"unit", "units"}), ("piece", "kg", "celsius")),
    (
        frozenset({"weather", "conditions", "condition", "forecast", "outlook"}),
        ("sunny", "light rain", "partly cloudy"),
    ),
    (frozenset({"category", "type", "kind"}), ("standard", "basic", "premium")),
    (frozenset({"priority", "severity", "level"}), ("normal", "low", "high")),
    (frozenset({"tag", "label", "keyword"}), ("priority", "gift", "new")),
    (
        frozenset({"name", "user", "customer", "author", "owner", "assignee", "employee", "person", "guest"}),
        NAMES,
    ),
    (
        frozenset(
            {
                "message",
                "summary",
                "description",
                "note",
                "report",
                "text",
                "details",
                "detail",
                "explanation",
            }
            | {
                "reason",
                "comment",
                "remark",
                "policy",
                "feedback",
                "justification",
                "rationale",
                "info",
                "answer",
            }
            | {"content", "body", "reply", "instructions", "advice", "recommendation"}
        ),
        SENTENCES,
    ),
)

FAKED: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"first", "name"}), "first_name"),
    (frozenset({"given", "name"}), "first_name"),
    (frozenset({"last", "name"}), "last_name"),
    (frozenset({"family", "name"}), "last_name"),
    (frozenset({"surname"}), "last_name"),
    (frozenset({"user", "name"}), "user_name"),
    (frozenset({"username"}), "user_name"),
    (frozenset({"login"}), "user_name"),
    (frozenset({"file", "name"}), "file_name"),
    (frozenset({"filename"}), "file_name"),
    (frozenset({"street"}), "street_address"),
    (frozenset({"address"}), "street_address"),
    (frozenset({"zip"}), "postcode"),
    (frozenset({"zipcode"}), "postcode"),
    (frozenset({"postcode"}), "postcode"),
    (frozenset({"postal"}), "postcode"),
    (frozenset({"company"}), "company"),
    (frozenset({"vendor"}), "company"),
    (frozenset({"supplier"}), "company"),
    (frozenset({"merchant"}), "company"),
    (frozenset({"organization"}), "company"),
    (frozenset({"job"}), "job"),
    (frozenset({"occupation"}), "job"),
    (frozenset({"profession"}), "job"),
    (frozenset({"iban"}), "iban"),
    (frozenset({"isbn"}), "isbn13"),
    (frozenset({"plate"}), "license_plate"),
    (frozenset({"slogan"}), "catch_phrase"),
)

ALLOWANCES = frozenset(
    {"allowed", "approved", "granted", "remaining", "limit", "budget", "balance", "allowance", "credit"}
)
"""Words of amounts that a request is measured against."""

NUMBERS: tuple[tuple[frozenset[str], float, float, int], ...] = (
    (
        frozenset(
            {"quantity", "count", "qty", "number", "items", "stock", "seats", "nights", "guests", "attempts"}
        ),
        1,
        6,
        0,
    ),
    (frozenset({"duration", "minutes", "seconds", "hours", "days", "months"}), 1, 45, 0),
    (ALLOWANCES - {"allowed", "approved", "granted"}, 1_000, 5_000, 0),
    (
        frozenset({"price", "amount", "total", "cost", "fee", "subtotal", "fare", "refund"}),
        9,
        250,
        2,
    ),
    (frozenset({"temperature", "temp", "celsius"}), 8, 29, 1),
    (frozenset({"rating", "stars"}), 3, 5, 1),
    (frozenset({"percent", "percentage", "humidity", "progress"}), 5, 95, 0),
    (frozenset({"probability", "confidence", "score", "rate", "ratio"}), 0.55, 0.98, 2),
    (frozenset({"latitude", "lat"}), 35, 60, 4),
    (frozenset({"longitude", "lon", "lng"}), -9, 30, 4),
    (frozenset({"year"}), 2026, 2027, 0),
    (frozenset({"speed"}), 3, 28, 0),
    (frozenset({"floor", "beds", "bedrooms", "bathrooms", "rooms", "adults", "children"}), 1, 5, 0),
    (frozenset({"points", "miles", "views", "likes", "followers", "downloads"}), 120, 4_800, 0),
    (frozenset({"weight"}), 2, 80, 1),
    (frozenset({"height"}), 20, 190, 0),
    (frozenset({"distance", "km"}), 1, 40, 1),
    (frozenset({"capacity", "pages"}), 20, 320, 0),
    (frozenset({"population"}), 60_000, 900_000, 0),
    (frozenset({"salary", "income", "revenue", "sales", "profit"}), 38_000, 92_000, 0),
    (frozenset({"calories"}), 180, 760, 0),
    (frozenset({"bytes", "size"}), 1_200, 880_000, 0),
    (frozenset({"servings"}), 2, 6, 0),
    (frozenset({"age"}), 21, 64, 0),
    (frozenset({"code"}), 200, 200, 0),
    (frozenset({"high"}), 15, 29, 0),
    (frozenset({"low"}), 3, 13, 0),
)
