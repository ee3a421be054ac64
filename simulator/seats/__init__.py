"""The seats: what each is asked, and what it may answer."""
