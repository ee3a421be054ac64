"""Runs `adk eval` itself as a process, hermetically or with the real tools, and reads the detailed results that it leaves.

    run = AdkEvalRun(EvalRunSpec(eval_set=..., agent=AgentPlace(...), config={...}, environment=...))
    run.start()
    run.view()     # where it stands: turns done, the end of its output, and the results once they are there
    run.stop()     # ends the process with all that it started

`missing()` says what has to be installed first, `read_results(text)` reads a results file of ADK, and `kept_results(folder)`
lists those that `adk eval` and `adk web` have kept. No file of the agent or of the eval set is changed.
"""
