"""A chart file with its functions, and a look at a chart's faults."""

from __future__ import annotations

from tests.charts import functions

SUPPORT = """
    $schema: urn:gatechart:chart:1
    id: support
    version: 2.10
    description: A case.
    context: Case
    on_refusal: raise
    max_microsteps: 7
    entry_points:
      - IDLE
      - {state: WORK.first, name: door, opens_on: GO, takes: CaseFile, guard: is_ready, description: The door.}
      - {state: '#past', takes: Brought, maps: {text: query}, entities: text, opens_on: [X, Y]}
      - {state: '*', name: again, takes: Brought, maps: filled}
    initial: {target: WORK, actions: note}
    on: {STOPPED: '#support.END'}
    states:
      IDLE:
        description: Nothing to do.
        entry: note
        exit: [note, {type: add, params: {amount: 2}}]
        on:
          STARTED:
            - {target: WORK.second, guard: is_ready, actions: [note], description: At once.}
            - {target: BOTH, guard: {type: is_below, params: {limit: 3}}}
            - .
          NOTED: {actions: note}
        always: {target: END, guard: {cel: context.retries > 5}}
        after:
          30: WORK
          1m:
            - {target: END, guard: is_ready}
            - {target: IDLE, actions: note, internal: true}
      WORK:
        id: work
        initial: second
        invoke:
          - {src: search, onDone: .first, onError: [{target: END, guard: is_ready}]}
          - {src: wait, id: other, params: {for_s: 2}, timeout_s: 30}
          - {src: look, retry: {attempts: 3, first_s: 0.5}}
        onDone: IDLE
        states:
          first: {on: {GO: second}}
          second: {on: {GO: '#work.over'}}
          past: {type: history, history: deep, target: second, actions: [note], id: past}
          over: {type: final, data: result}
      BOTH:
        type: parallel
        states: {left: , right: {states: {r1: {on: {GO: r2}}, r2: }}}
      END: {type: final}
"""


def look(context, work):
    pass


BIND = [functions, {"look": look}]


DATA = SUPPORT.replace("- .\n", "- IDLE\n")
