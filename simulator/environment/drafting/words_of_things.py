"""Lists what fields of certain things say: the title of a ticket, the text of a booking, the dosage of a medicine."""

from __future__ import annotations

PROBLEMS = (
    "Cannot log in after the password reset", "Page loads very slowly", "Invoice export fails with an error",
    "App crashes when a file is opened", "No confirmation e-mail arrives", "Printer is offline",
    "Connection drops every few minutes", "Wrong amount on the last invoice", "Account locked after an update",
    "Search shows no results", "Data is missing in the monthly report", "Cannot install the update",
)  # fmt: skip
TASKS = (
    "Prepare the monthly report", "Call the supplier back", "Review the draft contract", "Update the price list",
    "Plan the team meeting", "Send the signed documents", "Check the open invoices", "Order office supplies",
)  # fmt: skip
MEETINGS = (
    "Weekly team meeting", "Project kick-off", "Budget review", "Interview with a candidate", "Customer demo",
    "Planning for next quarter", "Onboarding session", "Design workshop",
)  # fmt: skip
BOOKINGS = (
    "Card payment, supermarket", "Salary", "Rent", "Electricity bill", "Online order", "Cash withdrawal", "Insurance premium",
    "Restaurant", "Train ticket", "Mobile phone contract", "Standing order, savings", "Pharmacy",
)  # fmt: skip
GUIDES = (
    "Getting started", "Frequently asked questions", "How to reset a password", "Delivery and returns", "Account settings",
    "Billing and invoices", "Troubleshooting connection problems", "Data protection and privacy",
)  # fmt: skip
MESSAGES = (
    "Thanks, that works now.", "Could you send me the invoice again?", "I have attached the document.",
    "When can I expect an answer?", "Please call me back this afternoon.", "The appointment suits me well.",
)  # fmt: skip
REVIEWS = (
    "Good value for the price.", "Friendly staff and quick service.", "Works as described, would buy again.",
    "Took longer than expected, but fine in the end.", "Very pleased with it.",
)  # fmt: skip
PROJECTS = (
    "Website relaunch",
    "Office move",
    "Mobile app",
    "Data migration",
    "Customer portal",
    "Warehouse extension",
)
COURSES = (
    "Introduction to statistics",
    "Project management basics",
    "Spanish for beginners",
    "Data analysis with Python",
)
FILMS = ("The Long Harbour", "Winter Light", "A Quiet Mile", "Northern Line", "Paper Boats")
BOOKS = ("The Glass Orchard", "Letters from the Coast", "The Cartographer", "A Year of Rivers", "Small Hours")
SONGS = ("Evening Train", "Blue Window", "Slow River", "Halfway Home", "Paper Moonlight")
DISHES = (
    "Vegetable lasagne",
    "Lentil soup",
    "Chicken curry",
    "Mushroom risotto",
    "Greek salad",
    "Fish tacos",
)

_TITLES = frozenset({"title", "subject", "summary", "name", "headline", "topic"})
_BODIES = frozenset(
    {"description", "text", "body", "content", "message", "problem", "comment", "note", "snippet"}
)

OF_THINGS: tuple[tuple[frozenset[str], frozenset[str], tuple[str, ...]], ...] = (
    (
        frozenset({"ticket", "issue", "bug", "incident", "case", "complaint", "problem"}),
        _TITLES | {"description"},
        PROBLEMS,
    ),
    (frozenset({"task", "todo", "reminder", "milestone"}), _TITLES | {"description"}, TASKS),
    (frozenset({"event", "meeting"}), _TITLES | {"description"}, MEETINGS),
    (
        frozenset({"transaction", "payment", "statement", "expense", "debit", "withdrawal"}),
        frozenset({"description", "purpose", "memo", "text", "title", "details", "subject"}),
        BOOKINGS,
    ),
    (
        frozenset({"article", "page", "document", "post", "guide", "faq", "paper", "entry", "manual"}),
        _TITLES,
        GUIDES,
    ),
    (frozenset({"review", "feedback"}), _BODIES | {"title"}, REVIEWS),
    (frozenset({"message", "email", "mail", "comment", "note", "reply", "chat"}), _BODIES, MESSAGES),
    (frozenset({"project"}), _TITLES, PROJECTS),
    (frozenset({"course", "lesson", "training"}), _TITLES, COURSES),
    (frozenset({"movie", "film"}), _TITLES, FILMS),
    (frozenset({"book", "novel"}), _TITLES, BOOKS),
    (frozenset({"song", "track", "album"}), _TITLES, SONGS),
    (frozenset({"recipe", "dish", "meal"}), _TITLES, DISHES),
)
"""Things, the fields of theirs, and what those say."""

DOCUMENTS = frozenset(
    {
        "article",
        "page",
        "document",
        "post",
        "guide",
        "faq",
        "paper",
        "entry",
        "manual",
        "result",
        "news",
        "video",
        "chunk",
    }
    | {"passage", "headline", "web", "doc", "knowledge", "note", "hit", "match", "book", "course"}
)
"""Things that a search finds by what they are about."""
WARES = frozenset({"product", "item", "article", "goods", "catalog", "catalogue", "part", "gift"})

MORE_TEXTS: tuple[tuple[frozenset[str], tuple[str, ...]], ...] = (
    (frozenset({"medication", "medicine", "drug"}), ("Ibuprofen", "Amoxicillin", "Metformin", "Lisinopril", "Omeprazole")),
    (frozenset({"dosage", "dose"}), ("400 mg, twice a day", "500 mg, once a day", "20 mg, in the morning")),
    (frozenset({"allergy", "allergies", "allergen"}), ("penicillin", "peanuts", "latex", "pollen", "shellfish")),
    (frozenset({"symptom"}), ("headache", "fever", "cough", "back pain", "fatigue")),
    (frozenset({"diagnosis", "disease", "illness"}), ("hypertension", "type 2 diabetes", "seasonal allergy", "migraine")),
    (frozenset({"specialty", "speciality", "specialization"}), ("cardiology", "dermatology", "orthopedics", "pediatrics")),
    (frozenset({"department", "team", "division"}), ("sales", "engineering", "finance", "support", "operations")),
    (frozenset({"role", "position"}), ("manager", "analyst", "developer", "assistant")),
    (frozenset({"nationality", "citizenship"}), ("Portuguese", "Norwegian", "Japanese", "Canadian", "Kenyan")),
    (frozenset({"hours", "opening"}), ("08:00-18:00", "09:00-17:30", "07:00-10:30")),
    (frozenset({"weekday"}), ("Monday", "Tuesday", "Thursday")),
    (frozenset({"cuisine"}), ("Italian", "Indian", "Mexican", "Japanese", "Greek")),
    (frozenset({"gender", "sex"}), ("female", "male")),
    (frozenset({"blood"}), ("A+", "0+", "B+", "AB-", "0-")),
    (frozenset({"brand", "manufacturer", "maker"}), ("Northwind", "Alpine", "Cedar", "Blue Harbour")),
    (frozenset({"model"}), ("Classic 200", "Compact S", "Comfort 5", "Sport X")),
    (frozenset({"size"}), ("medium", "small", "large")),
    (frozenset({"material", "fabric"}), ("cotton", "oak", "steel", "wool")),
    (frozenset({"topic", "subject", "theme"}), ("account settings", "delivery", "billing", "getting started")),
    (frozenset({"source", "publisher", "channel"}), ("The Morning Post", "Daily Ledger", "City Herald")),
    (frozenset({"symbol", "ticker"}), ("NWT", "ALP", "CDR", "BHB")),
    (frozenset({"plan", "tier", "subscription", "membership"}), ("basic", "plus", "premium")),
    (frozenset({"genre"}), ("drama", "comedy", "documentary", "jazz")),
    (frozenset({"version", "release"}), ("2.4.1", "1.12.0", "3.0.2")),
    (frozenset({"operator", "brewery", "winery"}), ("Alpine Systems", "Cedar & Co", "Blue Harbour Ltd")),
    (frozenset({"sentiment", "mood"}), ("positive", "neutral")),
    (frozenset({"intent", "classification"}), ("question", "complaint", "order")),
    (frozenset({"relationship", "relation"}), ("spouse", "parent", "sibling")),
    (frozenset({"ip"}), ("192.0.2.17", "192.0.2.84")),
    (frozenset({"region", "state", "province"}), ("North", "West", "Central")),
    (frozenset({"method", "channel"}), ("card", "bank_transfer", "invoice")),
    (frozenset({"period", "quarter"}), ("2026-Q1", "2026-Q2")),
    (frozenset({"ingredient"}), ("tomatoes", "olive oil", "garlic", "rice", "basil")),
    (frozenset({"skill"}), ("Python", "negotiation", "accounting", "design")),
    (frozenset({"hobby", "interest"}), ("hiking", "photography", "cooking")),
    (frozenset({"feature", "amenity", "amenities"}), ("free wifi", "parking", "breakfast included", "pool")),
    (frozenset({"step", "instruction"}), ("Open the settings.", "Select the account.", "Confirm with OK.")),
)  # fmt: skip

KEYS: tuple[tuple[frozenset[str], tuple[str, ...]], ...] = (
    (frozenset({"rate", "exchange", "currency", "currencies"}), ("USD", "GBP", "CHF", "JPY", "NOK")),
    (
        frozenset({"price", "stock", "inventory", "sale", "quantity", "product", "level"}),
        ("Desk lamp", "Travel mug", "Notebook", "Backpack"),
    ),
    (
        frozenset({"temperature", "population", "weather", "distance", "city"}),
        ("Lisbon", "Oslo", "Kyoto", "Vienna"),
    ),
    (frozenset({"score", "vote", "salary", "grade", "point"}), ("Ada Moreno", "Jonas Weber", "Mei Tanaka")),
    (frozenset({"status", "count", "ticket", "order", "task"}), ("open", "in_progress", "closed")),
    (frozenset({"translation", "language"}), ("en", "de", "pt")),
    (
        frozenset({"setting", "preference", "config", "configuration", "option"}),
        ("language", "timezone", "theme"),
    ),
    (
        frozenset({"statistic", "stat", "metric", "summary", "figure"}),
        ("count", "average", "minimum", "maximum"),
    ),
    (frozenset({"hour", "opening"}), ("monday", "tuesday", "wednesday", "thursday", "friday")),
    (
        frozenset({"expense", "budget", "spending", "cost", "category"}),
        ("rent", "travel", "meals", "equipment"),
    ),
)
"""What the keys of an object are whose fields are data: of rates currencies, of prices products."""

STATES: tuple[tuple[frozenset[str], tuple[str, ...]], ...] = (
    (frozenset({"ticket", "issue", "bug", "incident", "case", "complaint", "task", "todo", "request"}),
     ("open", "in_progress")),
    (frozenset({"order", "purchase"}), ("processing", "shipped", "delivered")),
    (frozenset({"appointment", "booking", "reservation", "visit", "event", "meeting"}), ("confirmed",)),
    (frozenset({"invoice", "bill", "claim"}), ("open", "paid")),
    (frozenset({"payment", "transaction", "transfer"}), ("completed",)),
    (frozenset({"refund", "application", "expense", "return"}), ("pending", "approved")),
    (frozenset({"shipment", "delivery", "package", "parcel"}), ("in_transit", "delivered")),
    (frozenset({"account", "user", "customer", "member", "card", "subscription", "membership", "employee", "project"}
               | {"contract", "policy", "patient", "listing", "product", "service"}), ("active",)),
    (frozenset({"flight", "train", "bus"}), ("scheduled", "on time")),
    (frozenset({"build", "deployment", "run", "pipeline"}), ("running", "succeeded")),
    (frozenset({"prescription", "medication"}), ("active",)),
)  # fmt: skip
"""The states that things have, the one that they begin with first."""
