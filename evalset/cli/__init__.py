"""The console command `golden-trace`: `main` starts its commands, `studio` the page. Importing this imports no ADK."""
