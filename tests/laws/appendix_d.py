"""W3C SCXML, Appendix D, written down as it stands there: slow, mutable, and the arbiter of the kernel.

The procedures have the names that they have in https://www.w3.org/TR/scxml/#AlgorithmforSCXMLInterpretation. It works
on the definition alone, and on charts without invokes and without events from actions.

It departs from Appendix D in what is marked as ours. The one that mends a flaw: `addAncestorStatesToEnter` goes up to
the parent of a history state even where that parent, and states in between, have stayed active. Appendix D then enters
these a second time, and begins their other regions anew beside what is active there, which section 3.11 forbids. Here
`is_active` keeps out what is in the configuration; what is exited has left that by then.
"""

from __future__ import annotations

from collections import deque
from copy import copy

from gatechart.graph.definition import ANY, Recall, State
from gatechart.values.agents import Event

from .strategies import every


class TooManyMicrosteps(Exception):  # noqa: N818
    pass


class Interpreter:
    def __init__(self, chart, most=20):
        self.root = State(ANY, states=chart.states)
        self.states = {state.name: state for state in every((self.root,))}
        self.order = {name: place for place, name in enumerate(self.states)}
        self.parent = {child.name: state.name for state in self.states.values() for child in state.states}
        self.transitions = {name: [each for each in chart.transitions if each.source == name] for name in self.states}
        self.most = most
        self.configuration = set()
        self.history_value = {}
        self.internal_queue = deque()
        self.running = True
        self.taken = 0

    def copied(self):
        """Another one in the same place, which goes on by itself."""
        other = copy(self)
        other.configuration = set(self.configuration)
        other.history_value = dict(self.history_value)
        other.internal_queue = deque(self.internal_queue)
        return other

    def leaves(self):
        return tuple(sorted(filter(self.is_atomic, self.configuration), key=self.order.get))

    # What kind of state it is, and where it stands.

    def is_history(self, name):
        return self.states[name].history is not None

    def is_compound(self, name):
        return bool(self.states[name].states) and not self.states[name].parallel

    def is_atomic(self, name):
        return not self.states[name].states and not self.is_history(name)

    def children(self, name):
        return [child.name for child in self.states[name].states if child.history is None]

    def proper_ancestors(self, name, up_to=None):
        found = []
        while name in self.parent and self.parent[name] != up_to:
            name = self.parent[name]
            found.append(name)
        return found

    def is_descendant(self, name, outer):
        return outer in self.proper_ancestors(name)

    def is_in_final_state(self, name):
        if self.states[name].parallel:
            return all(map(self.is_in_final_state, self.children(name)))
        return any(self.states[child].final and child in self.configuration for child in self.children(name))

    def initial_of(self, name):
        state = self.states[name]
        return state.initial.targets if state.initial else tuple(self.children(name)[:1])

    # The main loop.

    def interpret(self, target, context, event):
        """Begins in a state, as if a transition of the root led there."""
        self.taken = 0
        to_enter, by_default, default_history = [], [], {}
        self.configuration.add(ANY)
        self.add_descendant_states_to_enter(target, to_enter, by_default, default_history)
        self.add_ancestor_states_to_enter(target, ANY, to_enter, by_default, default_history)
        for state in self.effective_target_states((target,)):
            self.add_ancestor_states_to_enter(state, ANY, to_enter, by_default, default_history)
        self.enter(to_enter, by_default, default_history, context, event)
        self.macrostep(context, event)

    def external_event(self, context, event):
        """Whether the event enabled anything."""
        self.taken = 0
        enabled = self.select_transitions(event.name, context, event)
        if enabled:
            self.microstep(enabled, context, event)
            self.macrostep(context, event)
        return bool(enabled)

    def macrostep(self, context, event):
        while self.running:
            enabled = self.select_transitions(None, context, event)
            if not enabled:
                if not self.internal_queue:
                    return
                event = self.internal_queue.popleft()
                enabled = self.select_transitions(event.name, context, event)
            if enabled:
                self.microstep(enabled, context, event)

    def select_transitions(self, name, context, event):
        enabled = []
        for leaf in self.leaves():
            first = self.first_enabled(leaf, name, context, event)
            if first is not None and not any(each is first for each in enabled):
                enabled.append(first)
        return self.remove_conflicting_transitions(enabled)

    def first_enabled(self, leaf, name, context, event):
        for state in (leaf, *self.proper_ancestors(leaf)):
            for transition in self.transitions[state]:
                if name_match(transition.event, name) and (not transition.guard or transition.guard(context, event)):
                    return transition
        return None

    def remove_conflicting_transitions(self, enabled):
        filtered = []
        for first in enabled:
            to_remove, is_preempted = [], False
            for second in filtered:
                if self.compute_exit_set([first]) & self.compute_exit_set([second]):
                    if self.is_descendant(first.source, second.source):
                        to_remove.append(second)
                    else:
                        is_preempted = True
                        break
            if not is_preempted:
                filtered = [each for each in filtered if not any(each is gone for gone in to_remove)] + [first]
        return filtered

    def microstep(self, enabled, context, event):
        self.taken += len(enabled)
        if self.taken > self.most:
            raise TooManyMicrosteps
        self.exit_states(enabled, context, event)
        for transition in enabled:
            self.execute(transition.actions, context, event)
        to_enter, by_default, default_history = [], [], {}
        self.compute_entry_set(enabled, to_enter, by_default, default_history)
        self.enter(to_enter, by_default, default_history, context, event)

    def execute(self, actions, context, event):
        for action in actions:
            action(context, event)

    # What is left.

    def compute_exit_set(self, transitions):
        found = set()
        for transition in transitions:
            if self.targets_of(transition):
                domain = self.transition_domain(transition)
                found |= {state for state in self.configuration if self.is_descendant(state, domain)}
        return found

    def exit_states(self, enabled, context, event):
        to_exit = sorted(self.compute_exit_set(enabled), key=self.order.get, reverse=True)
        for name in to_exit:
            for history in (child for child in self.states[name].states if child.history is not None):
                deep = history.history is Recall.DEEP
                self.history_value[history.name] = [
                    state
                    for state in sorted(self.configuration, key=self.order.get)
                    if (
                        self.is_atomic(state) and self.is_descendant(state, name)
                        if deep
                        else self.parent.get(state) == name
                    )
                ]
        for name in to_exit:
            self.execute(self.states[name].on_exit, context, event)
            self.configuration.discard(name)

    # What is entered.

    def compute_entry_set(self, transitions, to_enter, by_default, default_history):
        for transition in transitions:
            for target in self.targets_of(transition):
                self.add_descendant_states_to_enter(target, to_enter, by_default, default_history)
            if not self.targets_of(transition):
                continue
            ancestor = self.transition_domain(transition)
            for state in self.effective_target_states(transition.targets):
                if state != ancestor:  # ours again
                    self.add_ancestor_states_to_enter(state, ancestor, to_enter, by_default, default_history)
            self.stay_in_source(transition, ancestor, to_enter, by_default, default_history)

    def is_active(self, name):
        """Ours: whether a state has stayed active, so that it is not to be entered."""
        return name in self.configuration

    def stay_in_source(self, transition, domain, to_enter, by_default, default_history):
        """Ours, beyond SCXML: an internal transition may leave from a parallel state, or lead to its own source."""
        if self.states[domain].parallel:
            self.enter_other_regions(domain, to_enter, by_default, default_history)
        if domain in to_enter:
            to_enter.remove(domain)

    def add_descendant_states_to_enter(self, name, to_enter, by_default, default_history):
        more = (to_enter, by_default, default_history)
        if self.is_history(name):
            if name not in self.history_value:
                default_history[self.parent[name]] = self.states[name].initial.actions
            remembered = self.history_value.get(name, self.states[name].initial.targets)
            self.add_all(remembered, self.parent[name], more)
            return
        if name not in to_enter and not self.is_active(name):
            to_enter.append(name)
        if self.is_compound(name):
            if name not in by_default:
                by_default.append(name)
            self.add_all(self.initial_of(name), name, more)
        elif self.states[name].parallel:
            self.enter_other_regions(name, *more)

    def add_all(self, targets, ancestor, more):
        for target in targets:
            self.add_descendant_states_to_enter(target, *more)
        for target in self.effective_target_states(targets):
            self.add_ancestor_states_to_enter(target, ancestor, *more)

    def add_ancestor_states_to_enter(self, name, ancestor, to_enter, by_default, default_history):
        for outer in self.proper_ancestors(name, ancestor):
            if self.is_active(outer):
                continue
            if outer not in to_enter:
                to_enter.append(outer)
            if self.states[outer].parallel:
                self.enter_other_regions(outer, to_enter, by_default, default_history)

    def enter_other_regions(self, name, to_enter, by_default, default_history):
        for child in self.children(name):
            if self.is_active(child):
                continue
            if not any(state == child or self.is_descendant(state, child) for state in to_enter):
                self.add_descendant_states_to_enter(child, to_enter, by_default, default_history)

    def enter(self, to_enter, by_default, default_history, context, event):
        for name in sorted(to_enter, key=self.order.get):
            state = self.states[name]
            self.configuration.add(name)
            self.execute(state.on_entry, context, event)
            if name in by_default and state.initial:
                self.execute(state.initial.actions, context, event)
            self.execute(default_history.get(name, ()), context, event)
            if state.final:
                self.ended(self.parent[name], event)

    def ended(self, name, event):
        if name == ANY:
            self.running = False
            return
        self.internal_queue.append(Event(f"done.state.{name}", {}, event.time))
        # Beyond Appendix D, which asks about the grandparent only: section 3.4 knows no such bound.
        outer = self.parent[name]
        while self.states[outer].parallel and all(map(self.is_in_final_state, self.children(outer))):
            self.internal_queue.append(Event(f"done.state.{outer}", {}, event.time))
            outer = self.parent[outer]

    # Where a transition leads.

    def effective_target_states(self, targets):
        found = []
        for target in targets:
            if not self.is_history(target):
                found.append(target)
            elif target in self.history_value:
                found += self.history_value[target]
            else:
                found += self.effective_target_states(self.states[target].initial.targets)
        return found

    def targets_of(self, transition):
        """Ours, beyond SCXML: an internal transition of a leaf to itself does as little as one without a target."""
        to_itself = transition.internal and transition.targets == (transition.source,)
        return () if to_itself and self.is_atomic(transition.source) else transition.targets

    def transition_domain(self, transition):
        states, source = self.effective_target_states(transition.targets), transition.source
        if transition.internal and all(
            target == source  # ours again
            or all(self.is_descendant(state, source) for state in self.effective_target_states((target,)))
            for target in transition.targets
        ):
            return source
        for outer in (*self.proper_ancestors(source), ANY):
            if self.is_compound(outer) and all(self.is_descendant(state, outer) for state in states):
                return outer
        raise AssertionError("the root contains all states")


def name_match(descriptor, name):
    if descriptor is None or name is None:
        return descriptor is name
    return f"{name}.".startswith(f"{descriptor}.")
