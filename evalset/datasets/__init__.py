"""What evaluation datasets of Agent Platform (`*-dataset.json`, as `agents-cli eval` reads them) are made of, and the projects that hold them.

`evalset.exporting` writes them, `evalset.importing` reads them, `evalset.doctor` checks them. Nothing here imports ADK.
"""
