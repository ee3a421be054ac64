"""What models are asked about the environment, and how their answers are read."""
