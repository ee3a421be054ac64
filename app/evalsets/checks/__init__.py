"""The doctor on an eval set's page: what is wrong with the files, fixes, and migrations of renamed tools.

`doctor_jobs` does the work on the server; `doctor_tab` draws it.
"""
