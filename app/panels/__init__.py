"""The parts of the page: each takes what it shows and gives back what a person asked for, or None."""
