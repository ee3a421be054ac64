"""A help desk as people write one, the sessions that its agent has, and what its people accept as answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from typing_extensions import TypedDict

from tests.environment.domain_judges import Judge
from tests.environment.fresh_judging import is_moment, is_person, is_url, records_in

IT = re.compile(
    r"pass|log.?in|sign.?in|printer|vpn|mail|laptop|screen|monitor|access|account|network|softw|outage|error|slow|crash"
    r"|wi-?fi|internet|server|keyboard|mouse|phone|install|licen|permission|data|app|page|connect|update|backup|sync"
    r"|work|load|open|fail|share|file|drive|invoice|export|report|locked|reset|request|battery|camera|sound",
    re.IGNORECASE,
)
DATA: dict[str, Any] = {
    "tickets": [
        {"ticket_id": "HD-301", "title": "VPN drops every hour", "status": "open", "priority": "high",
         "assignee": "lena.koch@corp.io", "user_id": 12, "created_at": "2026-03-02T08:15:00Z"},
        {"ticket_id": "HD-302", "title": "Cannot print on floor 3", "status": "open", "priority": "low",
         "assignee": "omar.said@corp.io", "user_id": 15, "created_at": "2026-03-02T09:40:00Z"},
        {"ticket_id": "HD-303", "title": "New laptop for a starter", "status": "closed", "priority": "normal",
         "assignee": "lena.koch@corp.io", "user_id": 12, "created_at": "2026-02-27T13:05:00Z"},
    ],
    "users": [{"user_id": 12, "name": "Tom Baker"}, {"user_id": 15, "name": "Ines Prado"}],
}  # fmt: skip


class Comment(TypedDict):
    """A comment that was added."""

    comment_id: str
    ticket_id: str
    author: str
    text: str
    created_at: str


def get_ticket(ticket_id: str) -> dict:  # type: ignore[type-arg] # as people write it
    """Get a ticket by its id.

    Args:
        ticket_id: The id of the ticket.

    Returns:
        A dict with the ticket_id, title, status, priority, assignee and the created_at timestamp.
    """
    raise NotImplementedError


def list_tickets(status: str = "open") -> list[dict]:  # type: ignore[type-arg] # as people write it
    """List all tickets with the given status."""
    raise NotImplementedError


def create_ticket(title: str, priority: str) -> dict:  # type: ignore[type-arg] # as people write it
    """Create a new support ticket.

    Returns:
        A dict with the ticket_id, the status and the created_at timestamp.
    """
    raise NotImplementedError


def get_user(user_id: int) -> str:
    """Get the name of a user."""
    raise NotImplementedError


def add_comment(ticket_id: str, text: str) -> Comment:
    """Add a comment to a ticket."""
    raise NotImplementedError


def search_articles(query: str, limit: int = 3) -> list[dict]:  # type: ignore[type-arg] # as people write it
    """Search the knowledge base.

    Returns:
        List of dicts with id, title, url and score (how well it matches, from 0 to 1).
    """
    raise NotImplementedError


def is_service_available(service: Literal["mail", "vpn", "wifi"]) -> bool:
    """Check if a service is up right now."""
    raise NotImplementedError


def close_ticket(ticket_id: str, resolution: str) -> str:
    """Close a ticket and return a confirmation message for the user."""
    raise NotImplementedError


TOOLS = (
    get_ticket, list_tickets, create_ticket, get_user, add_comment, search_articles, is_service_available, close_ticket,
)  # fmt: skip


def morning(ask: Any) -> None:
    """Look through what is open, answer it, and close a part."""
    listed = ask("list_tickets", status="open")
    ask("get_ticket", ticket_id="HD-301")
    ask("get_user", user_id=12)
    ask("search_articles", query="vpn connection drops", limit=3)
    ask("is_service_available", service="vpn")
    ask("add_comment", ticket_id="HD-301", text="Please update the client to 5.2.")
    ask("close_ticket", ticket_id="HD-301", resolution="Client updated")
    ask("get_ticket", ticket_id="HD-301")
    ask("list_tickets", status="closed")
    made = ask("create_ticket", title="Outlook does not sync", priority="high")
    ask("get_ticket", ticket_id=made.get("ticket_id", "none"))
    ask("get_user", user_id=15)
    ask("get_user", user_id=12)
    for ticket in records_in(listed)[-1:]:
        ask("get_ticket", ticket_id=ticket.get("ticket_id", ticket.get("id", "none")))


def afternoon(ask: Any) -> None:
    """Take two new cases."""
    ask("search_articles", query="reset password", limit=2)
    first = ask("create_ticket", title="Locked out of the payroll portal", priority="urgent")
    ask("create_ticket", title="Second screen stays black", priority="low")
    ask("add_comment", ticket_id=first.get("ticket_id", "none"), text="Called back, no answer.")
    ask("list_tickets", status="open")
    ask("is_service_available", service="mail")
    ask("close_ticket", ticket_id=first.get("ticket_id", "none"), resolution="Account unlocked")
    ask("list_tickets", status="open")
    ask("get_user", user_id=77)
    ask("get_ticket", ticket_id="HD-302")


SCRIPTS = (morning, afternoon)


class HelpDeskJudge(Judge):
    """Knows the tickets and users of one session."""

    def __init__(self, data: dict[str, Any] | None) -> None:
        super().__init__(data)
        rows = data["tickets"] if data else []
        self.tickets: dict[str, dict[str, Any]] = {one["ticket_id"]: dict(one) for one in rows}
        self.users = {one["user_id"]: one["name"] for one in data["users"]} if data else {}

    def _ticket(self, ticket: dict[str, Any]) -> Iterator[str]:
        key = ticket.get("ticket_id", ticket.get("id"))
        title = ticket.get("title", ticket.get("subject", ticket.get("summary")))
        if not isinstance(key, (str, int)):
            yield f"a ticket without an id: {ticket}"
            return
        if not isinstance(title, str) or not (IT.search(title) or str(key) in self.tickets):
            yield f"no title of a ticket: {title!r}"
        if ticket.get("status") not in ("open", "closed", "in_progress", "new", "pending", "resolved"):
            yield f"status {ticket.get('status')!r}"
        known = self.tickets.setdefault(str(key), {})
        for name, value in ticket.items():
            if name in known and known[name] != value:
                yield f"{name} of {key} was {known[name]!r}, is {value!r}"
            known.setdefault(name, value)

    def get_ticket(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `get_ticket` says."""
        if args["ticket_id"] not in self.tickets and args["ticket_id"] in str(answer.get("error")):
            return
        fields = ("ticket_id", "title", "status", "priority", "assignee", "created_at")
        missing = [name for name in fields if name not in answer]
        if missing:
            yield f"lacks {missing}"
            return
        if answer["ticket_id"] != args["ticket_id"]:
            yield f"another ticket: {answer['ticket_id']}"
        if not is_moment(answer["created_at"]):
            yield f"created_at {answer['created_at']!r}"
        if not is_person(answer["assignee"]) and "@" not in str(answer["assignee"]):
            yield f"assignee {answer['assignee']!r}"
        yield from self._ticket(answer)

    def list_tickets(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `list_tickets` says."""
        rows = records_in(answer)
        if not isinstance(answer, list) or len(rows) != len(answer):
            yield f"no list of tickets: {answer!r}"
            return
        yield from (
            f"a ticket that is {row.get('status')!r}" for row in rows if row.get("status") != args["status"]
        )
        for row in rows:
            yield from self._ticket(row)
        asked = {key for key, one in self.tickets.items() if one.get("status") == args["status"]}
        shown = {str(row.get("ticket_id", row.get("id"))) for row in rows}
        if self.data and shown != asked:
            yield f"{asked} expected"
        elif asked - shown and len(rows) < len(asked):
            yield f"{asked - shown} forgotten"

    def create_ticket(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `create_ticket` says."""
        if not isinstance(answer, dict) or not {"ticket_id", "status", "created_at"} <= answer.keys():
            yield f"not what is described: {answer!r}"
            return
        yield from self._style(answer["ticket_id"], list(self.tickets))
        if answer["status"] not in ("open", "new", "created", "pending"):
            yield f"a new ticket is {answer['status']!r}"
        if not is_moment(answer["created_at"]):
            yield f"created_at {answer['created_at']!r}"
        self.tickets[answer["ticket_id"]] = {**args, **answer}

    def get_user(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `get_user` says."""
        known = self.users.get(args["user_id"])
        if known and answer != known:
            yield f"{answer!r} is {known}"
        elif not known and not is_person(answer) and not (self.data and "not" in str(answer)):
            yield f"no name of a user: {answer!r}"
        self.users.setdefault(args["user_id"], answer)

    def add_comment(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `add_comment` says."""
        if answer["ticket_id"] != args["ticket_id"] or answer["text"] != args["text"]:
            yield f"another comment: {answer}"
        if not is_person(answer["author"]):
            yield f"author {answer['author']!r}"
        if not is_moment(answer["created_at"]):
            yield f"created_at {answer['created_at']!r}"

    def search_articles(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `search_articles` says."""
        if not isinstance(answer, list) or not 1 <= len(answer) <= args["limit"]:
            yield f"no articles: {answer!r}"
            return
        words = set(args["query"].lower().split())
        for row in answer:
            if not {"id", "title", "url", "score"} <= row.keys():
                yield f"not what is described: {row}"
                continue
            if not words & set(re.findall(r"[a-z]+", str(row["title"]).lower())):
                yield f"{row['title']!r} is not about {args['query']!r}"
            if not is_url(row["url"]) or not 0 <= row["score"] <= 1:
                yield f"url or score: {row}"

    def is_service_available(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `is_service_available` says."""
        if answer is not True:
            yield f"{args['service']}: {answer!r}"

    def close_ticket(self, args: dict[str, Any], answer: Any) -> Iterator[str]:
        """Judge what `close_ticket` says."""
        if not isinstance(answer, str) or args["ticket_id"] not in answer or "clos" not in answer.lower():
            yield f"no confirmation: {answer!r}"
        self.tickets.setdefault(args["ticket_id"], {})["status"] = "closed"
