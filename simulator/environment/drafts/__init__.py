"""Offline drafts of responses, out of all that is known; each says where it comes from, and what nobody knows is a marked blank.

`candidates` asks each kind of evidence in the order of its worth. A new kind is a module beside `evidence_drafts`.
"""
