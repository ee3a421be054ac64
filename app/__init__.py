"""The screen of Golden Trace Studio. Nothing else imports it."""
