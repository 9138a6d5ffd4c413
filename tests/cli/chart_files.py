"""Chart files in three dialects for commands."""

TOGGLE = """\
{"id": "toggle", "initial": "off", "states": {
  "off": {"on": {"PRESSED": "on"}, "after": {"2000": "on"}}, "on": {"on": {"PRESSED": "off"}}}}
"""


SCXML = '<scxml name="light" initial="off"><state id="off"><transition event="on" target="on"/></state><final id="on"/>'


MACHINE = {"states": ["off", "on"], "initial": "off", "transitions": [["pressed", "off", "on"]]}
