"""How the entry advisor decides: it looks one rule up and says it in a sentence."""

from __future__ import annotations

import re

from simulator.agents.demo_model import DemoModel, Steps, Talk, asked, call, pick_number
from simulator.agents.demos.travel_planner.handover import sorry
from simulator.agents.demos.travel_planner.places import COUNTRIES, PEOPLES

_QUESTION = re.compile(
    r"passport (?:of|from) (?P<passport>.+?) need a visa for (?P<country>[^?]+)", re.IGNORECASE
)


class EntryAdvisorModel(DemoModel):
    """Decides as the entry advisor's instruction says."""

    def think(self, talk: Talk) -> Steps[str]:
        """Look up the rule for the passport and the country of the request."""
        passport, country = _countries(talk.said)
        if not (passport and country):
            return "Please name the country of the passport and the country to enter."
        rule = call("look_up_entry_rules", passport_country=passport, destination_country=country)
        answer = yield from asked(rule)
        if answer.failure and answer.failure.is_missing:
            return f"I have no rule for a passport of {passport} in {country}; please ask the embassy."
        if answer.failure:
            return f"I could not look up the rules for {country}: {sorry(answer.failure)}"
        record = answer.record("rule", "data", passport_country=passport)
        needed = record.get("visa_required")
        if not isinstance(needed, bool):
            return f"The rules for {country} are not clear ({answer}); please ask the embassy."
        days = pick_number(record, "max_days", "days")
        length = "" if days is None else f" for up to {days:.0f} days"
        need = "needs a visa" if needed else "needs no visa"
        return f"A traveller with a passport of {passport} {need} to enter {country}{length}."


def _countries(said: str) -> tuple[str, str]:
    match = _QUESTION.search(said)
    if match:
        return match["passport"].strip(), match["country"].strip()
    named = [PEOPLES[word] for word in re.findall(r"[a-z]+", said.lower()) if word in PEOPLES]
    known = [
        country for country in dict.fromkeys((*COUNTRIES.values(), *PEOPLES.values())) if country in said
    ]
    found = list(dict.fromkeys((*named, *sorted(known, key=said.index))))
    return (found[0], found[1]) if len(found) > 1 else ("", "")
