"""What names and answers say by convention: kinds of ids, roles of tools, and what an error looks like."""
