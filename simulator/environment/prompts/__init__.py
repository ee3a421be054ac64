"""What models are asked about the environment, and how JSON is read out of their answers.

Texts and parsing only; who sends them is in `simulator.runtime.models`.
"""
