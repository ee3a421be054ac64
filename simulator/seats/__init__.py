"""The seats: what the user, the agent and the environment are asked (`requests`), and what they may answer (`answers`).

Pure values. A new kind of request needs its fact, its place in the fold, and its panel.
"""
