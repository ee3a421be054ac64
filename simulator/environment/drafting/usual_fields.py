"""Lists the fields that things of common kinds have, for tools that tell nothing of what they answer."""

from __future__ import annotations

from functools import lru_cache

from simulator.environment.conventions.kinds import kind_named

_USUAL: tuple[tuple[str, str], ...] = (
    ("line position", "product quantity unit_price"),
    (("user customer patient employee guest member student teacher contact client agent person passenger author owner"
     " candidate lead tenant subscriber applicant colleague participant"), "id name email phone"),
    ("doctor physician dentist specialist", "id name specialty phone"),
    ("ticket issue bug incident case request complaint problem", "id title status priority created_at"),
    ("task todo reminder job", "id title status due_date"),
    ("article document page post faq guide paper entry result chunk passage", "id title url summary"),
    ("news headline", "title source url published_at"),
    ("message email mail notification comment note reply", "id author text created_at"),
    ("review feedback rating", "id author rating text created_at"),
    ("order purchase sale", "id status total currency created_at"),
    ("invoice bill payment refund claim expense", "id amount currency status date"),
    ("transaction", "id date description amount currency"),
    ("account wallet", "id owner balance currency status"),
    ("card", "id holder last_four_digits expires_on status"),
    ("product item book_copy part accessory", "id name price currency stock"),
    ("flight", "flight_number airline origin destination departs arrives price currency"),
    ("train bus connection", "id origin destination departs arrives price currency"),
    ("hotel accommodation apartment", "id hotel city price_per_night currency rating"),
    ("room", "id room_type price_per_night currency available"),
    ("restaurant cafe", "id restaurant cuisine rating address"),
    ("event meeting appointment reservation booking visit", "id date time status"),
    ("weather", "city temperature unit conditions humidity wind_speed"),
    ("forecast", "date high low unit conditions"),
    ("address", "street city postcode country"),
    ("location coordinate position place", "city country latitude longitude"),
    ("insurance policy", "company policy_number valid_until"),
    ("shipment delivery package parcel tracking", "tracking_number status carrier estimated_delivery_date"),
    ("file attachment folder", "file_name size_bytes modified_at"),
    ("car vehicle", "id model year license_plate price"),
    ("movie film", "title year director rating"),
    ("book novel", "title author year isbn"),
    ("song track album", "title artist duration_seconds"),
    ("recipe dish meal", "title minutes servings rating"),
    ("stock quote share", "symbol price currency change_percent"),
    ("rate", "base quote rate"),
    ("company supplier vendor merchant organization", "id company city email"),
    ("project", "id name status owner due_date"),
    ("course lesson class", "id title teacher starts_on"),
    ("prescription medication medicine drug", "medication dosage prescribed_on"),
    ("prediction", "label probability"),
    ("repository repo", "id name url stars"),
    ("log event_log", "created_at level message"),
    (("metadata detail option preference setting config configuration extra attribute property parameter filter context"
     " payload tag header param stat metric data"), ""),
)  # fmt: skip
_FIELDS = {kind: tuple(fields.split()) for kinds, fields in _USUAL for kind in kinds.split()}


@lru_cache(maxsize=1024)
def usual_fields(kind: str) -> tuple[str, ...]:
    """Give the names of the fields that a thing of a kind, in the singular, usually has; its own id first.

    None at all where the kind is a bag of whatever there is, such as metadata; of a kind that is not known an id and a
    name.
    """
    whole = kind_named(kind)
    last = whole.rpartition("_")[2]
    fields = _FIELDS.get(whole, _FIELDS.get(last))
    if fields is None:
        fields = ("id", "name", "status") if whole else ()
    return tuple(f"{whole}_id" if name == "id" else name for name in fields)


def is_usual(kind: str) -> bool:
    """Tell whether the fields of things of a kind are known."""
    whole = kind_named(kind)
    return bool(_FIELDS.get(whole, _FIELDS.get(whole.rpartition("_")[2])))
