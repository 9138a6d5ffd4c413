"""The server program of `gatechart serve` by itself: it reads a request and answers with as many bytes."""

import asyncio

from benchmarks.ring import EVENT, STATES
from gatechart.api.codec import OUTCOME
from gatechart.serving import listening
from gatechart.values.agents import Outcome, Status

ANSWER = OUTCOME.write(Outcome(EVENT, (STATES[0],), 7, Status.ACTIVE, ("A --GO--> B",)))


async def application(scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(ANSWER))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": ANSWER})


async def main():
    async with listening(application, host="127.0.0.1", port=0, has_token=False) as server:
        print(f'{{"url":"{server.url}"}}', flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
