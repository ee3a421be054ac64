"""Edits eval sets: opened as raw JSON, changed by edits that are values, saved so that what no edit names stays byte for byte.

    opened = open_set(path)                                   # 10,000 cases in about a second; no ADK model is built
    work = SetWork(opened, open_beside(opened.path))          # with the recorded environment that lies beside it
    work.apply(SetText(case="refund", where=("conversation", 0, "user_content"), text="Where is it?"))
    work.apply(ReviewCase(case="refund", review=CaseReview(status="approved", reviewer="Ann")))   # <set>.review.json
    work.undo(); work.redo()                                  # at any depth, also after a save
    changes(work).cases                                       # what a save would change, case by case
    save(work)                                                # checked by ADK's models, atomic, under the file's lock
    conflicts(work, open_set(path)); merged(...)              # where somebody else has written it meanwhile

Errors are `EditError` for what does not fit, and `EvalSetError` for a file; all are ValueErrors with a text for a person.
"""
