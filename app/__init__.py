"""The screen of Golden Trace Studio: one folder for each feature, `screens` that put them together, and what they share.

`main` starts it, `streamlit_app` is the script that Streamlit runs. Nothing else imports this package.
"""
