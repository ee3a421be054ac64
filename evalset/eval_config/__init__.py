"""The criteria of an `adk eval`: what there are, how a document of them is edited, checked with ADK's own models, loaded and saved.

document = read_document(text)                                    # or ConfigError with line and column
document = with_criterion(document, "response_match_score", 0.8)  # on, or off with None
flaws = check(document)                                           # errors and warnings, each with its place
save(config_of(eval_set), written(document), before=loaded.text)  # atomically; refuses where somebody else wrote meanwhile
"""
