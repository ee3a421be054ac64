"""What a person can ask for on the page beside answering: values that panels give back and the engine carries out."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from app.environment.environment_commands import Shape
from app.export.export_case import ExportForm
from app.live.session_opening import StartForm
from app.scripts.recorded_play import RecordedForm
from app.scripts.script_play import ScriptForm
from simulator.base.json_values import JsonObject
from simulator.environment.injection.rules import InjectionRule
from simulator.environment.recordings.recorded_calls import RecordedCall
from simulator.facts import EVERY, AgentPlayer, ToolPlayer, UserPlayer, Value

NEW_RULE = "\n"
"""Stands for the rule that is being written and has no id yet; no id has a line break."""


class StopTurn(Value):
    """End the turn that is running; what has happened so far stays."""

    kind: Literal["stop_turn"] = "stop_turn"


class UndoStep(Value):
    """Take back the last step that a person took."""

    kind: Literal["undo_step"] = "undo_step"


class RedoStep(Value):
    """Bring back the step that was taken back last."""

    kind: Literal["redo_step"] = "redo_step"


class GoTo(Value):
    """Go to a fact of the journal, on this branch or another one."""

    kind: Literal["go_to"] = "go_to"
    fact: int


class SetRules(Value):
    """Put these injection rules in force, in this order."""

    kind: Literal["set_rules"] = "set_rules"
    rules: tuple[InjectionRule, ...]


class SwitchRule(Value):
    """Switch one injection on or off."""

    kind: Literal["switch_rule"] = "switch_rule"
    rule_id: str
    enabled: bool


class ChangeSeat(Value):
    """Let somebody else play an agent or answer a tool: the one called `target`, or all others."""

    kind: Literal["change_seat"] = "change_seat"
    seat: Literal["agent", "tool"]
    target: str = EVERY
    player: AgentPlayer | ToolPlayer


class SeatUser(Value):
    """Let somebody else speak for the user; the fields are those of `Simulation.set_user`."""

    kind: Literal["seat_user"] = "seat_user"
    player: UserPlayer
    script: tuple[str | JsonObject, ...] = ()
    scenario: JsonObject | None = None
    config: JsonObject = Field(default_factory=dict)
    hold: bool = True


class AddScenario(Value):
    """Add a scenario to the eval set at this path."""

    kind: Literal["add_scenario"] = "add_scenario"
    scenario: JsonObject
    path: str


class OpenExport(Value):
    """Show the golden trace and the ways out for it."""

    kind: Literal["open_export"] = "open_export"


class OpenEnvironment(Value):
    """Show the page on which the environment is shaped; `rule` is the id of a rule to edit, `NEW_RULE` begins one."""

    kind: Literal["open_environment"] = "open_environment"
    rule: str | None = None


class CloseEnvironment(Value):
    """Go back from the environment to the session."""

    kind: Literal["close_environment"] = "close_environment"


class OpenBranches(Value):
    """Show the tree of the ways that the session went."""

    kind: Literal["open_branches"] = "open_branches"


class CloseBranches(Value):
    """Go back from the branches to the session."""

    kind: Literal["close_branches"] = "close_branches"


class TakeConfig(Value):
    """Put all of a configuration in force: its rules, and what it says of the environment beside them.

    What is empty changes nothing. `mock_tools` are answered by the environment's model from then on, `settings` are
    fields of the environment's settings by name.
    """

    kind: Literal["take_config"] = "take_config"
    rules: tuple[InjectionRule, ...]
    data: str = ""
    recorded: tuple[RecordedCall, ...] = ()
    settings: dict[str, Any] = Field(default_factory=dict)
    mock_tools: tuple[str, ...] = ()


class ShapeEnvironment(Value):
    """Change the environment of the session: its world, its sources, its tools."""

    kind: Literal["shape_environment"] = "shape_environment"
    what: Shape


class NewSession(Value):
    """Leave this session, which goes on living, and show the start page."""

    kind: Literal["new_session"] = "new_session"


class OpenSession(Value):
    """Show another live session."""

    kind: Literal["open_session"] = "open_session"
    session_id: str


class CloseSession(Value):
    """End a session and drop it from the server."""

    kind: Literal["close_session"] = "close_session"
    session_id: str


Command: TypeAlias = Annotated[
    StopTurn
    | UndoStep
    | RedoStep
    | GoTo
    | SetRules
    | SwitchRule
    | ChangeSeat
    | SeatUser
    | AddScenario
    | OpenExport
    | OpenEnvironment
    | CloseEnvironment
    | OpenBranches
    | CloseBranches
    | TakeConfig
    | ShapeEnvironment,
    Field(discriminator="kind"),
]
"""What is asked of the session on the screen."""


class DescribeSession(Value):
    """Say of a kept session what it is called, with which words it is found, and what is to be known of it."""

    kind: Literal["describe_session"] = "describe_session"
    session_id: str
    name: str
    tags: tuple[str, ...] = ()
    notes: str = ""


class ImportSession(Value):
    """Take in a session that was exported as a file; `text` may be anything."""

    kind: Literal["import_session"] = "import_session"
    text: str


class DuplicateSession(Value):
    """Make another session with the same facts."""

    kind: Literal["duplicate_session"] = "duplicate_session"
    session_id: str


class ArchiveSession(Value):
    """Put a kept session out of the way, or back."""

    kind: Literal["archive_session"] = "archive_session"
    session_id: str
    archived: bool = True


class DeleteSession(Value):
    """Delete a kept session, so that it can be restored; or restore it."""

    kind: Literal["delete_session"] = "delete_session"
    session_id: str
    deleted: bool = True


class PurgeSession(Value):
    """Delete a session for good that was deleted before: nothing brings it back."""

    kind: Literal["purge_session"] = "purge_session"
    session_id: str


class ShareSession(Value):
    """Let whoever has its link look at a kept session; or nobody any more."""

    kind: Literal["share_session"] = "share_session"
    session_id: str
    shared: bool = True


KeptCommand: TypeAlias = (
    DescribeSession
    | ImportSession
    | DuplicateSession
    | ArchiveSession
    | DeleteSession
    | PurgeSession
    | ShareSession
)
"""What is asked for of the sessions that are kept."""

MenuCommand: TypeAlias = (
    CloseSession | DescribeSession | DuplicateSession | ArchiveSession | DeleteSession | ShareSession
)
"""What is asked for in the menu of a session in the list."""


class OpenSets(Value):
    """Show the eval sets."""

    kind: Literal["open_sets"] = "open_sets"


SidebarCommand: TypeAlias = NewSession | OpenSets | OpenSession | CloseSession | KeptCommand
"""What is asked for beside it."""


class CopyShared(Value):
    """Make a session of one's own out of one that is shared."""

    kind: Literal["copy_shared"] = "copy_shared"


WatchCommand: TypeAlias = OpenBranches | OpenEnvironment | OpenExport | CopyShared
"""What is asked for by somebody who may only look at a session."""


class ChooseAgent(Value):
    """Show another agent on the start page."""

    kind: Literal["choose_agent"] = "choose_agent"
    name: str


class TryAgain(Value):
    """Load again what failed to load."""

    kind: Literal["try_again"] = "try_again"


class StopLoading(Value):
    """Give up the import of an agent that takes long."""

    kind: Literal["stop_loading"] = "stop_loading"
    name: str


class RestartProcess(Value):
    """Start the process of an agent anew; `key` is that of an `AgentProcess`."""

    kind: Literal["restart_process"] = "restart_process"
    key: str


class ChoosePython(Value):
    """Run an agent with another Python from now on; an empty path for that of its project."""

    kind: Literal["choose_python"] = "choose_python"
    name: str
    python: str = ""


class StartSession(Value):
    """Open a session with what was typed on the start page."""

    kind: Literal["start_session"] = "start_session"
    form: StartForm


class StartScript(Value):
    """Open a session and let a script play in it."""

    kind: Literal["start_script"] = "start_script"
    form: ScriptForm


class StartRecorded(Value):
    """Open a session and replay a recorded case in it."""

    kind: Literal["start_recorded"] = "start_recorded"
    form: RecordedForm


StartCommand: TypeAlias = Annotated[
    ChooseAgent
    | TryAgain
    | StopLoading
    | RestartProcess
    | ChoosePython
    | StartSession
    | StartScript
    | StartRecorded,
    Field(discriminator="kind"),
]
"""What is asked for on the start page."""


class StopScript(Value):
    """End the script that plays, where it is."""

    kind: Literal["stop_script"] = "stop_script"


class PlayScriptOn(Value):
    """Let the script go on where it was."""

    kind: Literal["play_script_on"] = "play_script_on"


class ForgetScript(Value):
    """Say no more of the script."""

    kind: Literal["forget_script"] = "forget_script"


class AddAnswers(Value):
    """Add what was answered in a session to the recorded case that it replays."""

    kind: Literal["add_answers"] = "add_answers"


ScriptCommand: TypeAlias = Annotated[
    StopScript | PlayScriptOn | ForgetScript | AddAnswers, Field(discriminator="kind")
]
"""What is asked of the script in a session."""


class CloseExport(Value):
    """Go back from the export to the session."""

    kind: Literal["close_export"] = "close_export"


class WriteTrace(Value):
    """Write the golden trace into its eval set."""

    kind: Literal["write_trace"] = "write_trace"
    form: ExportForm


class ReplayCase(Value):
    """Replay a case that was written, against its recording."""

    kind: Literal["replay_case"] = "replay_case"
    path: str
    eval_id: str


ExportCommand: TypeAlias = Annotated[CloseExport | WriteTrace | ReplayCase, Field(discriminator="kind")]
"""What is asked for in the export."""
