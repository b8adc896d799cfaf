"""A worker for examples/first-process.bpmn with pyzeebe (gRPC).

    python3 -m venv .venv && .venv/bin/pip install pyzeebe
    .venv/bin/python examples/worker.py
"""

import asyncio
import os

from pyzeebe import ZeebeWorker, create_insecure_channel
from pyzeebe.errors import BusinessError


async def main() -> None:
    channel = create_insecure_channel(os.environ.get("ZEEBE_ADDRESS", "localhost:26500"))
    worker = ZeebeWorker(channel)

    # The arguments are the variables that the worker asks for, the answer is written back to the instance.
    @worker.task(task_type="charge-card")
    async def charge_card(orderId: str, amount: float) -> dict:
        if amount < 0:
            raise BusinessError("NEGATIVE_AMOUNT")  # a BPMN error: a boundary event can catch it
        print(f"{orderId}: charging {amount}", flush=True)
        return {"charged": amount <= 500}  # any other exception fails the job: it is retried, then an incident

    print("waiting for jobs; Ctrl+C ends", flush=True)
    await worker.work()


asyncio.run(main())
