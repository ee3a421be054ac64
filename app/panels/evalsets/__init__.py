"""The page of an eval set: a module for each tab, and the editors of a case. A new tab is a module here and a line in `tabs`."""
