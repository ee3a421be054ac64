"""The travel planner's agents: the coordinator, the two it hands over to, and the one it asks as a tool."""

from google.adk.agents import LlmAgent
from google.adk.tools.agent_tool import AgentTool

from simulator.agents.demos.travel_planner.advisor import EntryAdvisorModel
from simulator.agents.demos.travel_planner.coordinator import CoordinatorModel
from simulator.agents.demos.travel_planner.flights import FlightModel
from simulator.agents.demos.travel_planner.hotels import HotelModel
from simulator.agents.demos.travel_planner.tools import (
    book_flight,
    book_hotel,
    get_weather,
    look_up_entry_rules,
    search_flights,
    search_hotels,
)

entry_advisor = LlmAgent(
    name="entry_advisor",
    description="Says which papers a traveller needs: give the passport's country and the destination.",
    model=EntryAdvisorModel(model="entry-advisor-demo"),
    instruction="""\
Answer with one sentence: whether a traveller with that passport needs a visa for that country, and for how long
it is good. Look it up with look_up_entry_rules; where it has no rule, say that the embassy must be asked.
""",
    tools=[look_up_entry_rules],
)

flight_agent = LlmAgent(
    name="flight_agent",
    description="Searches and books flights.",
    model=FlightModel(model="flight-demo"),
    instruction="""\
You search and book flights. Search all dates and cities that the traveller asks about at once. Name the cheapest
flight of each search with its id. Book only when you are asked to and know the passenger's name.
Hand over to hotel_agent where a hotel is wanted too, and to travel_planner for everything else.
""",
    tools=[search_flights, book_flight],
)

hotel_agent = LlmAgent(
    name="hotel_agent",
    description="Searches and books hotels.",
    model=HotelModel(model="hotel-demo"),
    instruction="""\
You search and book hotels. Search all cities that the traveller asks about at once. Name the cheapest hotel of
each search with its id. Book only when you are asked to and know the guest's name.
Hand over to flight_agent where a flight is wanted too, and to travel_planner for everything else.
""",
    tools=[search_hotels, book_hotel],
)

root_agent = LlmAgent(
    name="travel_planner",
    description="Plans a trip: the weather and the papers itself, flights and hotels through its sub-agents.",
    model=CoordinatorModel(model="coordinator-demo"),
    instruction="""\
You plan trips. Ask get_weather about the weather and entry_advisor about visas, all cities at once. Hand over to
flight_agent for flights and to hotel_agent for hotels, flights first. Ask for what is missing: the destination,
the date of departure, the city to leave from.
""",
    tools=[get_weather, AgentTool(entry_advisor)],
    sub_agents=[flight_agent, hotel_agent],
)
