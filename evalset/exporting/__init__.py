"""Exports cases in the forms that others read: eval sets, tests of `adk test`, scenario files, pytest files, ADK's simulation config.

`export_forms` lists the forms; a module beside it writes each. Exported files may use `evalset.verify.report` and nothing else of ours that has no promise.
"""
