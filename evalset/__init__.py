"""What leaves the house: golden traces, and the eval sets they are kept in."""
