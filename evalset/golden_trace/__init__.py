"""Golden traces: an ADK `EvalCase` built from a session, what plain `adk eval` cannot repeat of it, and the way back to a script.

`builder` makes the case and invents nothing, `case_script` leads back.
"""
