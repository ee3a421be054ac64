"""The tabs of the page of an eval set."""
