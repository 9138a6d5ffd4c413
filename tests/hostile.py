"""Documents that mean harm, each read in a process of its own within limits."""

import json
import os
import subprocess
import sys


def outcomes(program, documents, folder, timeout_s):
    """Run a program that reads the documents, given as files, and return what it printed of each, by name.

    program: Python text; it takes paths as arguments and prints lines of JSON, each with the "path" it is about.
    documents: contents by name. Each outcome has all facts printed of the document, and the errors of the whole run.
    """
    names = {}
    for number, (name, content) in enumerate(documents.items()):
        path = folder / str(number)
        path.write_bytes(content)
        names[str(path)] = name
    plain = {name: value for name, value in os.environ.items() if not name.startswith("COV")}  # measuring takes time
    command = [sys.executable, "-c", program, *names]
    done = subprocess.run(command, capture_output=True, check=True, timeout=timeout_s, env=plain, text=True)
    found = {name: {"errors": done.stderr} for name in documents}
    for line in done.stdout.splitlines():
        facts = json.loads(line)
        found[names[facts["path"]]] |= facts
    return found
