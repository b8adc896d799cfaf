"""Runs each model of examples/ to its end: a table says what is done, and how the instance must end.

Nothing here depends on time: jobs are long polled, messages are kept until somebody waits for them, and what has to be
there first (`waits`) is polled with a deadline.
"""

import json
import os
import urllib.error
import urllib.request
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from checks import DEADLINE, until

EXAMPLES = Path(os.environ["SKEP_ROOT"]) / "examples"


def call(method: str, path: str, body: dict | bytes, content: str = "application/json") -> dict:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["SKEP_REST"] + path, data, {"content-type": content}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=2 * DEADLINE) as answer:
            return json.loads(answer.read() or "{}")
    except urllib.error.HTTPError as refused:
        raise AssertionError(f"{method} {path}: {refused.code} {refused.read().decode()}") from None


def post(path: str, body: dict) -> dict:
    return call("POST", path, body)


def deploy(*names: str) -> None:
    limit = uuid.uuid4().hex
    parts = [
        f'--{limit}\r\nContent-Disposition: form-data; name="resources"; filename="{name}"\r\n\r\n'.encode()
        + (EXAMPLES / name).read_bytes()
        + b"\r\n"
        for name in names
    ]
    body = b"".join(parts) + f"--{limit}--\r\n".encode()
    call("POST", "/v2/deployments", body, f"multipart/form-data; boundary={limit}")


class Run:
    """One instance of an example. The steps of the table are the methods of this class."""

    def __init__(self, process: str):
        self.process = process
        self.key: str | None = None
        self._completion: Future | None = None

    # How it begins

    def start(self, **variables) -> None:
        body = {"processDefinitionId": self.process, "variables": variables}
        self.key = post("/v2/process-instances", body)["processInstanceKey"]

    def message_starts(self, name: str, /, **variables) -> None:
        self.key = post("/v2/messages/correlation", {"name": name, "variables": variables})["processInstanceKey"]

    def conditions_start(self, **variables) -> None:
        (begun,) = post("/v2/conditionals/evaluation", {"variables": variables})["processInstances"]
        self.key = begun["processInstanceKey"]

    def signal_starts(self, name: str) -> None:
        post("/v2/signals/broadcast", {"signalName": name})
        found = {"filter": {"processDefinitionId": self.process, "state": "ACTIVE"}}
        (begun,) = until("the signal has started an instance", lambda: self._found("process-instances", found))
        self.key = begun["processInstanceKey"]

    # What happens to it

    def job(self, kind: str, /, expect: dict | None = None, result: dict | None = None, **variables) -> None:
        """A worker completes the next job of this type, after a look at the variables that it sees."""
        job = self._activated(kind)
        seen = {name: job["variables"].get(name) for name in expect or {}}
        assert seen == (expect or {}), f"the job {kind} sees {job['variables']}"
        post(f"/v2/jobs/{job['jobKey']}/completion", {"variables": variables, "result": result})

    def error(self, kind: str, code: str, /) -> None:
        """A worker throws a BPMN error."""
        post(f"/v2/jobs/{self._activated(kind)['jobKey']}/error", {"errorCode": code})

    def message(self, name: str, correlation: str, /, **variables) -> None:
        body = {"name": name, "correlationKey": correlation, "timeToLive": 600_000, "variables": variables}
        post("/v2/messages/publication", body)

    def signal(self, name: str) -> None:
        post("/v2/signals/broadcast", {"signalName": name})

    def waits(self, element: str) -> None:
        """Until the element is active, and so listens."""
        found = {"filter": {"processInstanceKey": self.key, "elementId": element, "state": "ACTIVE"}}
        until(f"{element} is active", lambda: self._found("element-instances", found))

    def task(self, element: str, /, expect: dict, **variables) -> None:
        """Somebody completes the user task, once it is there as expected."""

        def ready() -> dict | None:
            found = {"filter": {"processInstanceKey": self.key, "elementId": element, "state": "CREATED"}}
            return next(iter(self._found("user-tasks", found)), None)

        task = until(f"the user task {element} is there", ready)
        assert {name: task[name] for name in expect} == expect, task
        form = call("GET", f"/v2/user-tasks/{task['userTaskKey']}/form", b"")
        assert form["formId"] == self.process, form
        self._completion = self._beside(f"/v2/user-tasks/{task['userTaskKey']}/completion", {"variables": variables})

    def answered(self) -> None:
        """The completion of the user task is answered, now that its listeners have run."""
        self._completion.result(DEADLINE)

    def set(self, **variables) -> None:
        """Somebody sets variables of the instance."""
        call("PUT", f"/v2/element-instances/{self.key}/variables", {"variables": variables})

    # How it ends

    def ends(self, *visited: str, never: tuple = (), **variables) -> None:
        """Completed, by way of these elements and not of those, with these variables."""

        def over() -> bool:
            found = self._found("process-instances", {"filter": {"processInstanceKey": self.key}})
            return bool(found) and (found[0]["state"] == "COMPLETED" or self._incidents())

        until(f"{self.process} is over", over)
        mine = {"filter": {"processInstanceKey": self.key}, "page": {"limit": 100}}
        elements = self._found("element-instances", mine)
        completed = {e["elementId"] for e in elements if e["state"] == "COMPLETED"}
        assert completed >= set(visited), f"not completed: {set(visited) - completed}, but {completed}"
        assert not completed & set(never), f"completed: {completed & set(never)}"
        values = {v["name"]: json.loads(v["value"]) for v in self._found("variables", mine) if v["scopeKey"] == self.key}
        assert {name: values.get(name) for name in variables} == variables, values

    def _incidents(self) -> bool:
        found = self._found("incidents", {"filter": {"processInstanceKey": self.key}})
        assert not found, f"the instance has incidents: {found}"
        return False

    def _found(self, entity: str, query: dict) -> list:
        return post(f"/v2/{entity}/search", query)["items"]

    def _activated(self, kind: str) -> dict:
        wanted = {"type": kind, "timeout": 600_000, "maxJobsToActivate": 1, "requestTimeout": 30_000}
        jobs = post("/v2/jobs/activation", wanted)["jobs"]
        assert len(jobs) == 1, f"no job {kind}"
        assert jobs[0]["rootProcessInstanceKey"] == self.key, f"a job {kind} of another instance: {jobs[0]}"
        return jobs[0]

    def _beside(self, path: str, body: dict) -> Future:
        """A request that is answered only after later steps; `answered` waits for it."""
        one = ThreadPoolExecutor(1)
        answer = one.submit(post, path, body)
        one.shutdown(wait=False)
        return answer


def step(name: str, *arguments, **named) -> tuple:
    return name, arguments, named


def does(tool: str, **parameters) -> dict:
    """The result of an ad-hoc sub-process' job: this tool is wanted."""
    chosen = {"elementId": tool, "variables": {"toolCall": parameters}}
    return {"type": "adHocSubProcess", "activateElements": [chosen]}


DONE = {"type": "adHocSubProcess", "isCompletionConditionFulfilled": True}


# What is deployed, the example first (its file is named like its process), and runs of it: a name, and what happens.
MODELS = [
    (("leave-request.bpmn", "leave-request.form"), {
        "granted": [
            step("start", employee="ben", days=3),
            step("job", "find-manager", {"employee": "ben"}, {"type": "userTask", "corrections": {"assignee": "anna"}}),
            step("task", "decide", {"assignee": "anna", "candidateGroups": ["managers"]}, approved=True),
            step("job", "file-decision", {"approved": True}),
            step("answered"),
            step("ends", "decide", "granted", never=("denied",), approved=True),
        ],
    }),
    (("invoice.bpmn",), {
        "made": [
            step("start", customer={"name": "acme", "country": "DE"}, lines=[{"count": 2, "price": 10}, {"count": 1, "price": 5.5}]),
            step("job", "number-invoice", {"prefix": "ACM", "place": {"country": "DE"}}, next=7),
            step("ends", "add-up", "number", "tax", invoice={"number": "ACM-7", "net": 25.5, "gross": 30.345}, prefix=None, next=None),
        ],
    }),
    (("discount.bpmn", "discount.dmn"), {
        "regular": [step("start", customer="regular", amount=2000), step("ends", "priced", discount=10, price=1800)],
        "new": [step("start", customer="new", amount=2000), step("ends", "priced", discount=0, price=2000)],
    }),
    (("parcel.bpmn",), {
        "dear and urgent": [
            step("start", value=900, urgent=True),
            step("job", "label-parcel"), step("job", "pack-parcel"), step("job", "hurry-parcel"), step("job", "insure-parcel"),
            step("ends", "pack", "label", "packed", "insure", "hurry", "extras-done", "sent"),
        ],
        "urgent": [
            step("start", value=9, urgent=True),
            step("job", "pack-parcel"), step("job", "label-parcel"), step("job", "hurry-parcel"),
            step("ends", "hurry", "sent", never=("insure",)),
        ],
        "plain": [
            step("start", value=9, urgent=False),
            step("job", "pack-parcel"), step("job", "label-parcel"),
            step("ends", "sent", never=("insure", "hurry")),
        ],
    }),
    (("payment.bpmn",), {
        "paid": [
            step("start", invoiceId="i-1", patience="PT1H"),
            step("message", "invoice-paid", "i-1", amount=99),
            step("ends", "arrived", "paid", never=("patience-ends",), amount=99),
        ],
        "dunned": [
            step("start", invoiceId="i-2", patience="PT0.1S"),
            step("job", "dun-customer", {"invoiceId": "i-2"}),
            step("ends", "patience-ends", "dunned", never=("arrived",)),
        ],
    }),
    (("ticket.bpmn",), {
        "answered": [
            step("message_starts", "ticket-opened", ticketId="t-1", remindEvery="PT0.1S", giveUpAfter="PT1H"),
            step("job", "remind-customer", {"ticketId": "t-1"}), step("job", "remind-customer"),
            step("message", "customer-answered", "t-1", answer="it works"),
            step("ends", "opened", "hear", "reminded", "answered", never=("given-up",), answer="it works"),
        ],
        "given up": [
            step("message_starts", "ticket-opened", ticketId="t-2", remindEvery="PT1H", giveUpAfter="PT0.1S"),
            step("ends", "too-long", "given-up", never=("answered", "reminded")),
        ],
    }),
    (("till.bpmn",), {
        "closed": [
            step("signal_starts", "shop-opens"),
            step("waits", "serve"),
            step("signal", "shop-closes"),
            step("job", "count-money", total=1234),
            step("ends", "closes", "count", "counted", never=("serve", "empty"), total=1234),
        ],
    }),
    (("repair.bpmn",), {
        "dear": [
            step("start", item="clock"),
            step("job", "estimate-repair", cost=150),
            step("job", "mend-item", {"item": "clock"}), step("job", "write-to-owner", {"cost": 150}),
            step("ends", "tell-owner", "dear-repair-told", "written", "mended", "workshop", "repaired"),
        ],
        "cheap": [
            step("start", item="clock"),
            step("job", "estimate-repair", cost=50), step("job", "mend-item"),
            step("ends", "mended", "repaired", never=("tell-owner", "write")),
        ],
    }),
    (("trip.bpmn",), {
        "booked": [
            step("start", traveller="cleo"),
            step("job", "book-hotel", hotel="h-1"), step("job", "book-flight", flight="f-1"), step("job", "charge-trip"),
            step("ends", "booked", never=("undo", "cancel-hotel", "cancel-flight"), hotel="h-1", flight="f-1"),
        ],
        "undone": [
            step("start", traveller="cleo"),
            step("job", "book-hotel", hotel="h-2"), step("job", "book-flight", flight="f-2"),
            step("error", "charge-trip", "CARD_REFUSED"),
            step("job", "cancel-flight", {"flight": "f-2"}), step("job", "cancel-hotel", {"hotel": "h-2"}),
            step("ends", "refused", "undo", "cancel-flight", "cancel-hotel", "not-booked", never=("charge", "booked")),
        ],
    }),
    (("stock.bpmn",), {
        "filled": [
            step("conditions_start", stock=2, item="tea"),
            step("job", "order-more", {"item": "tea"}),
            step("waits", "enough"),
            step("set", stock=12),
            step("ends", "low", "enough", "filled", stock=12),
        ],
    }),
    (("magazine.bpmn",), {
        "delivered": [
            step("start", reader="r-1", address="here"),
            step("job", "deliver-magazine", {"address": "here"}),
            step("ends", "delivered", never=("noted", "refunded")),
        ],
        "moved and cancelled": [
            step("start", reader="r-2", address="here"),
            step("message", "address-changed", "r-2", address="there"),
            step("job", "print-label", {"address": "there"}),
            step("message", "subscription-cancelled", "r-2"),
            step("job", "refund-reader", {"reader": "r-2"}),
            step("ends", "move", "noted", "cancellation", "refunded", never=("deliver", "delivered"), address="there"),
        ],
    }),
    (("vote.bpmn",), {
        "two said yes": [
            step("start", members=["anna", "ben", "cleo"]),
            step("job", "ask-member", {"member": "anna"}, vote="yes"), step("job", "ask-member", {"member": "ben"}, vote="yes"),
            step("job", "tell-member", {"member": "anna"}), step("job", "tell-member", {"member": "ben"}),
            step("job", "tell-member", {"member": "cleo"}),
            step("ends", "ask", "tell", "told", votes=[{"member": "anna", "vote": "yes"}, {"member": "ben", "vote": "yes"}, None]),
        ],
    }),
    (("inspection.bpmn",), {
        "all checked": [
            step("start", checks=["brakes", "lights"]),
            step("job", "check-lights", finding="bright"), step("job", "check-brakes", finding="good"),
            step("ends", "brakes", "lights", "inspect", "inspected", never=("rust",), findings=["bright", "good"]),
        ],
        "dangerous": [
            step("start", checks=["brakes", "lights", "rust"]),
            step("job", "check-brakes", finding="none left", dangerous=True),
            step("ends", "brakes", "inspect", "inspected", never=("lights", "rust"), findings=["none left"]),
        ],
    }),
    (("assistant.bpmn",), {
        "answered": [
            step("start", question="how many bees are in ten hives?"),
            step("job", "assistant", {"results": []}, does("search", word="hive")),
            step("job", "search-archive", {"word": "hive"}, found="50000 bees live in a hive"),
            step("job", "assistant", {"results": ["50000 bees live in a hive"]}, does("calculate", term="10 * 50000")),
            step("job", "calculate", {"term": "10 * 50000"}, found=500000),
            step("job", "assistant", {"results": ["50000 bees live in a hive", 500000]}, DONE, answer="half a million"),
            step("ends", "search", "calculate", "agent", "answered", answer="half a million"),
        ],
    }),
    (("shop.bpmn", "first-process.bpmn"), {
        "bought": [
            step("start", basket={"number": "b-1", "total": 99}),
            step("job", "charge-card", {"orderId": "b-1", "amount": 99, "basket": None}, charged=True),
            step("ends", "order-basket", "bought", never=("left",), paid=True, charged=None),
        ],
        "left": [
            step("start", basket={"number": "b-2", "total": 9900}),
            step("job", "charge-card", {"orderId": "b-2"}, charged=False),
            step("ends", "order-basket", "left", never=("bought",), paid=False),
        ],
    }),
    (("audit.bpmn",), {
        "paid": [
            step("start", account="a-1"),
            step("job", "fetch-limit", {"account": "a-1"}, limit=100),
            step("job", "pay-out", {"limit": 100}, amount=80),
            step("job", "write-receipt", {"amount": 80}, receipt="r-1"),
            step("job", "archive", {"receipt": "r-1"}, archived=True),
            step("ends", "pay", "paid", receipt="r-1", archived=True, limit=None),
        ],
    }),
    (("quotes.bpmn",), {
        "the far one was faster": [
            step("start", item="pump"),
            step("job", "ask-far", {"item": "pump"}, quote=12),
            step("job", "buy-item", {"quote": 12}),
            step("ends", "far-answered", "answered", "buy", "bought", never=("ask-near", "near-answered"), quote=12),
        ],
    }),
]


def check(files: tuple, steps: list) -> None:
    """Deploys an example and takes the steps of one run."""
    deploy(*files)
    run = Run(files[0].removesuffix(".bpmn"))
    for name, arguments, named in steps:
        getattr(run, name)(*arguments, **named)


def untested() -> set[str]:
    """Models of examples/ that are in no row of the table."""
    named = {file for files, _ in MODELS for file in files}
    return {path.name for path in EXAMPLES.iterdir() if path.suffix in (".bpmn", ".dmn", ".form")} - named
