"""A clinic as people write one, the sessions that its agent has, and what its people accept as answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from typing_extensions import TypedDict

from tests.environment.domain_judges import ID, Judge
from tests.environment.fresh_judging import is_clock, is_moment, is_person

SUMMARY = re.compile(r"patient|histor|visit|condition|allerg|treat|medic|P-\d", re.IGNORECASE)


class Patient(BaseModel):
    """A patient of the clinic."""

    patient_id: str
    name: str
    date_of_birth: str
    phone: str
    email: str
    allergies: list[str]
    address: dict[str, Any]


class Coverage(TypedDict):
    """What an insurance pays."""

    patient_id: str
    procedure: str
    covered: bool
    copay: float
    currency: str


def get_patient(patient_id: str) -> Patient:
    """Fetch a patient's record."""
    raise NotImplementedError


def search_doctors(specialty: str, city: str | None = None) -> list[dict]:  # type: ignore[type-arg] # as people write it
    """Search doctors by specialty.

    :param specialty: e.g. cardiology
    :param city: optional city
    :return: A list of dictionaries, each containing ``doctor_id``, ``name``, ``specialty`` and ``next_available``.
    """
    raise NotImplementedError


def get_available_slots(doctor_id: str, date: str) -> list[str]:
    """Get the free time slots of a doctor on a day."""
    raise NotImplementedError


def book_appointment(patient_id: str, doctor_id: str, date: str, time: str) -> dict:  # type: ignore[type-arg] # as people write it
    """Book an appointment.

    @param patient_id: the patient
    @return: a dict with the appointment id, the date, the time and a confirmation code
    """
    raise NotImplementedError


def cancel_appointment(appointment_id: str):  # type: ignore[no-untyped-def] # noqa: ANN201, D103 - as people write it
    raise NotImplementedError


def check_insurance(patient_id: str, procedure: str) -> Coverage:
    """Check whether a procedure is covered."""
    raise NotImplementedError


def get_prescriptions(patient_id: str) -> dict:  # type: ignore[type-arg] # as people write it
    """Get the prescriptions of a patient.

    Returns:
        dict: The patient_id and a list of prescriptions, each with medication, dosage and prescribed_on.
    """
    raise NotImplementedError


def summarize_history(patient_id: str) -> str:
    """Summarise the medical history of a patient."""
    raise NotImplementedError


TOOLS = (
    get_patient, search_doctors, get_available_slots, book_appointment, cancel_appointment, check_insurance,
    get_prescriptions, summarize_history,
)  # fmt: skip


def reception(ask: Any) -> None:
    """Find a doctor and a time for two patients."""
    ask("get_patient", patient_id="P-100")
    doctors = ask("search_doctors", specialty="cardiology", city="Lisbon")
    doctor = next((one.get("doctor_id", "D-1") for one in doctors if isinstance(one, dict)), "D-1")
    ask("get_available_slots", doctor_id=doctor, date="2026-05-04")
    ask("check_insurance", patient_id="P-100", procedure="echocardiogram")
    made = ask("book_appointment", patient_id="P-100", doctor_id=doctor, date="2026-05-04", time="09:30")
    ask("get_prescriptions", patient_id="P-100")
    ask("summarize_history", patient_id="P-100")
    ask("cancel_appointment", appointment_id=made.get("appointment_id", "A-1"))
    ask("get_patient", patient_id="P-100")
    ask("get_patient", patient_id="P-101")
    ask("search_doctors", specialty="dermatology")
    ask("get_available_slots", doctor_id=doctor, date="2026-05-05")
    ask("book_appointment", patient_id="P-101", doctor_id=doctor, date="2026-05-05", time="14:00")


def ward(ask: Any) -> None:
    """Look after a patient who stays."""
    ask("summarize_history", patient_id="P-7")
    ask("get_patient", patient_id="P-7")
    ask("get_prescriptions", patient_id="P-7")
    ask("check_insurance", patient_id="P-7", procedure="knee MRI")
    ask("check_insurance", patient_id="P-7", procedure="physiotherapy")
    ask("search_doctors", specialty="orthopedics", city="Oslo")
    ask("get_available_slots", doctor_id="D-9", date="2026-06-01")
    ask("book_appointment", patient_id="P-7", doctor_id="D-9", date="2026-06-01", time="11:15")
    ask("book_appointment", patient_id="P-7", doctor_id="D-9", date="2026-06-08", time="11:15")
    ask("cancel_appointment", appointment_id="APT-3001")
    ask("get_prescriptions", patient_id="P-8")
    ask("get_patient", patient_id="P-8")


SCRIPTS = (reception, ward)
DATA = None


class ClinicJudge(Judge):
    """Knows the patients of one session."""

    def __init__(self, data: dict[str, Any] | None) -> None:
        super().__init__(data)
        self.patients: dict[str, Any] = {}
        self.appointments: list[str] = []

    def get_patient(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `get_patient` says."""
        if answer["patient_id"] != args["patient_id"] or not is_person(answer["name"]):
            yield f"no patient: {answer}"
        if not re.fullmatch(r"(19[2-9]\d|20[01]\d|202[0-5])-\d\d-\d\d", answer["date_of_birth"]):
            yield f"born {answer['date_of_birth']!r}"
        if "@" not in answer["email"] or not re.fullmatch(r"[+\d ()-]{7,20}", answer["phone"]):
            yield f"phone or mail: {answer}"
        for one in answer["allergies"]:
            if not re.fullmatch(r"[A-Za-z ]{3,25}", one) or is_person(one) or "allerg" in one.lower():
                yield f"allergy {one!r}"
        if not {"city", "street"} <= {key.partition("_")[0] for key in answer["address"]}:
            yield f"no address: {answer['address']}"
        if self.patients.setdefault(args["patient_id"], answer) != answer:
            yield f"was {self.patients[args['patient_id']]}"

    def search_doctors(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `search_doctors` says."""
        if not answer or len({str(one.get("doctor_id")) for one in answer}) != len(answer):
            yield f"no doctors: {answer}"
        for one in answer:
            if set(one) < {"doctor_id", "name", "specialty", "next_available"}:
                yield f"not what is described: {one}"
            elif not is_person(one["name"]) or one["specialty"] != args["specialty"]:
                yield f"no such doctor: {one}"
            elif not re.match(r"202\d-\d\d-\d\d", str(one["next_available"])):
                yield f"next available {one['next_available']!r}"

    def get_available_slots(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `get_available_slots` says."""
        if not answer or len(set(answer)) != len(answer) or sorted(answer) != answer:
            yield f"no slots in order: {answer}"
        for one in answer:
            if not is_clock(one) and not (is_moment(one) and one.startswith(args["date"])):
                yield f"no time of {args['date']}: {one!r}"

    def book_appointment(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `book_appointment` says."""
        if (
            not isinstance(answer, dict)
            or not {"appointment_id", "date", "time", "confirmation_code"} <= answer.keys()
        ):
            yield f"not what is described: {answer!r}"
            return
        yield from self._style(answer["appointment_id"], self.appointments)
        self.appointments.append(answer["appointment_id"])
        if (answer["date"], answer["time"]) != (args["date"], args["time"]):
            yield f"another time: {answer}"
        if not ID.fullmatch(str(answer["confirmation_code"])):
            yield f"code {answer['confirmation_code']!r}"

    def cancel_appointment(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `cancel_appointment` says."""
        if args["appointment_id"] not in self.appointments and "was found" in str(answer):
            return
        if args["appointment_id"] not in str(answer) or not re.search("cancel|success", str(answer)):
            yield f"is it cancelled? {answer!r}"

    def check_insurance(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `check_insurance` says."""
        if answer["patient_id"] != args["patient_id"] or answer["procedure"] != args["procedure"]:
            yield f"another question: {answer}"
        if not 0 <= answer["copay"] <= 2_000 or len(answer["currency"]) != 3:
            yield f"copay {answer}"

    def get_prescriptions(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `get_prescriptions` says."""
        rows = answer.get("prescriptions") if isinstance(answer, dict) else None
        if not isinstance(rows, list) or not rows or answer.get("patient_id") != args["patient_id"]:
            yield f"not what is described: {answer!r}"
            return
        for one in rows:
            if not isinstance(one, dict) or not {"medication", "dosage", "prescribed_on"} <= one.keys():
                yield f"not what is described: {one!r}"
                continue
            if not re.search(r"\d+ ?(mg|ml|g|mcg|units|IU|tablet)", str(one["dosage"])):
                yield f"dosage {one['dosage']!r}"
            if not re.fullmatch(r"[A-Z]?[a-z]{4,20}( \d+ ?m?g)?", str(one["medication"])):
                yield f"medication {one['medication']!r}"
            if not re.match(r"202\d-\d\d-\d\d", str(one["prescribed_on"])):
                yield f"prescribed on {one['prescribed_on']!r}"

    def summarize_history(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `summarize_history` says."""
        if not isinstance(answer, str) or len(answer.split()) < 4 or not SUMMARY.search(answer):
            yield f"no summary of {args['patient_id']}: {answer!r}"
