"""Models that are asked about the environment: for drafts, and how tools are connected; and which agents' models can be reached.

`json_client` asks for JSON, with limits and one repair.
"""
