"""The interface of every home of agents, and the JSON of its commands in both directions.

`home.AgentHome` has each verb once; a home implements `execute`. A process that serves a home reads a command with
`commands.COMMANDS.validate_json`, executes it with `home.execute(command)`, and answers with
`command.answer.write(result)` or the JSON of `errors.ErrorDocument.of(error)`. A client inherits from `AgentHome`, too:
its `execute` sends the command to that process.

Each command is in the module of its noun, with the verb that makes it: `gatechart.api.events.SendCommand`.
"""
