"""The environment's side: injections, drafts and checks of tool answers."""
