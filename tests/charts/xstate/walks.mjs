// What XState makes of walks: reads {module, walks: [{machine, events: [...]}]}, writes for each walk what follows each event.
import { pathToFileURL } from "node:url";

let input = "";
for await (const chunk of process.stdin) input += chunk;
const { module, walks } = JSON.parse(input);
const { SimulatedClock, assign, createActor, createMachine, fromPromise, raise } = await import(pathToFileURL(module));

function* values(part, key) {
  if (Array.isArray(part)) for (const each of part) yield* values(each, key);
  else if (part && typeof part === "object")
    for (const [name, each] of Object.entries(part)) {
      if (name === key) yield* Array.isArray(each) ? each : [each];
      yield* values(each, key);
    }
}

const names = (machine, key) => new Set([...values(machine, key)].filter((each) => typeof each === "string"));
const functions = (found, make) => Object.fromEntries([...found].map((name) => [name, make(name)]));

function provided(config) {
  const options = { maxIterations: LONGEST };
  const machine = createMachine({ ...config, options, context: { notes: [], ...config.context } });
  return machine.provide({
    guards: {
      ...functions(names(config, "guard"), (name) => ({ event }) => (event.yes ?? []).includes(name)),
      below: ({ context }, { field, limit }) => context[field] < limit,
    },
    actions: {
      note: assign(({ context }, { what }) => ({ notes: [...context.notes, what] })),
      add: assign(({ context }, { field, amount }) => ({ [field]: context[field] + amount })),
      raise: raise((_, { name }) => ({ type: name })),
    },
    actors: functions(names(config, "src"), () => fromPromise(() => new Promise(() => {}))),
  });
}

function shown(actor) {
  const { _nodes: nodes, status, context } = actor.getSnapshot();
  const leaves = nodes.filter((node) => node.type === "atomic" || node.type === "final");
  return { leaves: leaves.map((node) => node.path), status, context };
}

const LONGEST = 200; // microsteps of a macrostep; one with more ends the actor with an error, and so the walk
const STEP = 100; // all delays are multiples; a timer that is set while the clock moves begins where the clock arrives

function pass(clock, time) {
  for (let passed = 0; passed < time; passed += STEP) clock.increment(STEP);
}

// XState asks `always` even after an event that nothing takes, which in gatechart changes nothing: so guards say no then.
function asked(actor, event) {
  return actor.getSnapshot().can(event) ? event : { ...event, yes: [] };
}

// Nobody but the child itself tells of its end: told without it, an error would end the whole machine.
function isOfRunning(actor, type) {
  const [, id] = type.match(/^xstate\.(?:done|error)\.actor\.(.*)$/) ?? [];
  return id === undefined || id in actor.getSnapshot().children;
}

function walk({ machine, events }) {
  const clock = new SimulatedClock();
  const actor = createActor(provided(machine), { clock });
  actor.subscribe({ error: () => {} });
  actor.start();
  return [
    shown(actor),
    ...events.map((event) => {
      if ("advance" in event) pass(clock, event.advance);
      else if (isOfRunning(actor, event.type)) actor.send(asked(actor, event));
      return shown(actor);
    }),
  ];
}

console.log(JSON.stringify(walks.map(walk)));
