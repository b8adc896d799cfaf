"""camunda-orchestration-sdk (PyPI, REST of 8.10), unchanged: jobs and its worker, searches and gets, whose answers have the members
of 8.10 too, and what is of 8.10.
"""

import asyncio
import json
import os
import sys
import time
from io import BytesIO
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))
sys.dont_write_bytecode = True

import camunda_orchestration_sdk as sdk  # noqa: E402
from camunda_orchestration_sdk import CamundaAsyncClient, CamundaClient  # noqa: E402
from camunda_orchestration_sdk.runtime.job_worker import WorkerConfig  # noqa: E402
from camunda_orchestration_sdk.types import File  # noqa: E402
from checks import Fixture, finish, report, until, wanted  # noqa: E402

CHECKS = []
FORM = {"id": "order", "type": "default", "schemaVersion": 16, "components": []}
SCRIPT = {"id": "robot", "executionPlatform": "Camunda Cloud", "script": "*** Tasks ***\n"}


def check(function):
    CHECKS.append(function)
    return function


def only(answer):
    assert len(answer.items) == 1, answer.items
    return answer.items[0]


def query(kind, **filters):
    return getattr(sdk, kind).from_dict({"filter": filters})


def deploy(c, name: str) -> Fixture:
    fixture = Fixture(name)
    c.deploy_resources_from_files(fixture.paths)
    return fixture


def create(c, process_id: str, variables: dict, **more) -> str:
    body = {"processDefinitionId": process_id, "variables": variables, **more}
    created = c.create_process_instance(data=sdk.ProcessCreationById.from_dict(body))
    return created.process_instance_key


@check
def processes_and_what_is_in_their_instances(c):
    f = deploy(c, "one-task")
    instance = create(c, f.id, {"amount": 12.5})
    definition = only(c.search_process_definitions(data=query("ProcessDefinitionSearchQuery", processDefinitionId=f.id)))
    assert c.get_process_definition(definition.process_definition_key) == definition
    assert f.id in c.get_process_definition_xml(definition.process_definition_key)
    assert c.get_process_definition_statistics(definition.process_definition_key).items
    assert c.get_process_definition_instance_statistics().items
    own = {"processInstanceKey": instance}
    element = only(c.search_element_instances(data=query("ElementInstanceSearchQuery", elementId="task", **own)))
    assert c.get_element_instance(element.element_instance_key) == element
    assert [flow.element_id for flow in c.get_process_instance_sequence_flows(instance).items] == ["start-to-task"]
    assert c.get_process_instance_statistics(instance).items
    variable = only(c.search_variables(data=query("VariableSearchQuery", name="amount", **own)))
    assert c.get_variable(variable.variable_key).value == "12.5"


@check
def the_configuration_has_the_members_of_8_10(c):
    told = c.get_system_configuration()
    assert told.components.active == [], told
    assert not told.deployment.is_multi_tenancy_enabled and told.deployment.max_request_size > 0, told
    assert (told.authentication.can_logout, told.authentication.is_login_delegated, told.cloud.stage) == (False, False, None), told


@check
def a_job_is_activated_and_completed(c):
    f = deploy(c, "one-task")
    instance = create(c, f.id, {"name": "Jürgen"}, businessId=f.id)
    wanted = {"type": f.name("one-task"), "timeout": 60000, "maxJobsToActivate": 5, "requestTimeout": 10000, "worker": "w"}
    jobs = c.activate_jobs(data=sdk.JobActivationRequest.from_dict(wanted)).jobs
    job = only(type("Jobs", (), {"items": jobs}))
    assert (job.process_instance_key, job.business_id, job.priority, job.physical_tenant_id) == (instance, f.id, 0, "default"), job
    # The client sends ü as an escape.
    found = c.search_variables(data=query("VariableSearchQuery", processInstanceKey=instance, value='"Jürgen"'))
    assert only(found).value == '"Jürgen"', found
    c.complete_job(job.job_key, data=sdk.JobCompletionRequest.from_dict({"variables": {"done": True}}))
    own = query("ProcessInstanceSearchQuery", processInstanceKey=instance)
    assert only(c.search_process_instances(data=own)).state == "COMPLETED"


@check
def a_worker_completes_jobs(c):
    f = deploy(c, "one-task")
    instances = {create(c, f.id, {"n": n}) for n in range(5)}
    seen = []

    async def handle(job):
        seen.append(job.process_instance_key)
        return {"by": "worker"}

    async def work():
        configuration = {"CAMUNDA_REST_ADDRESS": os.environ["SKEP_REST"], "CAMUNDA_AUTH_STRATEGY": "NONE"}
        async with CamundaAsyncClient(configuration=configuration) as client:
            config = WorkerConfig(job_type=f.name("one-task"), job_timeout_milliseconds=60000)
            client.create_job_worker(config, handle)
            working = asyncio.create_task(client.run_workers())
            ended = query("ProcessInstanceSearchQuery", processDefinitionId=f.id, state="COMPLETED")
            for _ in range(600):
                if len(c.search_process_instances(data=ended).items) == len(instances) or working.done():
                    break
                await asyncio.sleep(0.05)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    asyncio.run(work())
    assert set(seen) == instances, (seen, instances)
    ended = query("ProcessInstanceSearchQuery", processDefinitionId=f.id, state="COMPLETED")
    assert len(c.search_process_instances(data=ended).items) == len(instances)


@check
def what_is_found_has_the_members_of_8_10(c):
    f = deploy(c, "one-task")
    own = {"processInstanceKey": create(c, f.id, {"amount": 1}, businessId=f.id)}
    instance = only(c.search_process_instances(data=query("ProcessInstanceSearchQuery", **own)))
    assert (instance.business_id, instance.suspended_date) == (f.id, None), instance
    assert c.get_process_instance(instance.process_instance_key) == instance
    job = only(c.search_jobs(data=query("JobSearchQuery", **own)))
    assert (job.business_id, job.priority) == (f.id, 0), job

    f = deploy(c, "search-user-task")
    instance = create(c, f.name("review"), {}, businessId=f.id)
    tasks = query("UserTaskSearchQuery", businessId=f.id)
    task = only(c.search_user_tasks(data=tasks))
    assert (task.process_instance_key, task.business_id) == (instance, f.id), task
    assert c.get_user_task(task.user_task_key) == task

    f = deploy(c, "message-catch")
    instance = create(c, f.id, {"orderId": "8.10"}, businessId=f.id)
    waiting = only(c.search_message_subscriptions(data=query("MessageSubscriptionSearchQuery", businessId=f.id)))
    told = (waiting.process_instance_key, waiting.process_definition_version, waiting.tool_name)
    assert told == (instance, 1, None), waiting
    message = {"name": waiting.message_name, "correlationKey": waiting.correlation_key}
    c.publish_message(data=sdk.MessagePublicationRequest.from_dict(message))
    correlated = query("CorrelatedMessageSubscriptionSearchQuery", businessId=f.id)
    found = until("the message is correlated", lambda: c.search_correlated_message_subscriptions(data=correlated).items)
    assert [item.process_instance_key for item in found] == [instance], found


@check
def variables_of_the_cluster_and_what_users_did(c):
    data = sdk.CreateClusterVariableRequest.from_dict({"name": "limits", "value": {"most": 7}})
    made = c.create_global_cluster_variable(data=data)
    assert (made.kind, made.metadata.to_dict()) == ("JSON", {}), made
    found = only(c.search_cluster_variables(data=query("ClusterVariableSearchQueryRequest", name="limits")))
    assert json.loads(found.value) == {"most": 7}, found
    entries = c.search_audit_logs().items
    assert all(entry.inbound_channel_type is None for entry in entries), entries
    assert c.get_topology().brokers[0].broker_id == "0"


@check
def what_is_waited_for_and_names_of_variables(c):
    f = deploy(c, "one-task")
    instance = create(c, f.id, {"amount": 12.5, "customer": "Anna"})
    waits = only(c.get_process_instance_wait_state_statistics(instance))
    assert (waits.element_id, waits.waiting_count) == ("task", 1), waits
    own = query("ElementInstanceWaitStateQuery", processInstanceKey=instance, waitStateType="JOB", elementType="SERVICE_TASK")
    state = only(c.search_element_instance_wait_states(data=own))
    element = only(c.search_element_instances(data=query("ElementInstanceSearchQuery", elementId="task", processInstanceKey=instance)))
    assert (state.element_instance_key, state.bpmn_process_id) == (element.element_instance_key, f.id), state
    assert isinstance(state.details, sdk.JobWaitStateDetails) and state.details.retries == 3, state
    definition = only(c.search_process_definitions(data=query("ProcessDefinitionSearchQuery", processDefinitionId=f.id)))
    names = c.search_process_definition_variable_names(definition.process_definition_key)
    assert {item.name for item in names.items} == {"amount", "customer"}, names


@check
def incidents(c):
    f = deploy(c, "exclusive-without-default")
    instance = create(c, f.id, {"amount": -1})
    incident = only(c.search_incidents(data=query("IncidentSearchQuery", state="ACTIVE", processInstanceKey=instance)))
    assert c.get_incident(incident.incident_key) == incident
    assert only(c.search_process_instance_incidents(instance)) == incident
    assert c.get_process_instance_statistics_by_error().items


@check
def decisions(c):
    f = deploy(c, "dish.dmn")
    found = c.search_decision_definitions(data=query("DecisionDefinitionSearchQuery", decisionDefinitionId=f.name("dish")))
    decision = only(found)
    assert c.get_decision_definition(decision.decision_definition_key) == decision
    assert f.name("dish") in c.get_decision_definition_xml(decision.decision_definition_key)
    assert c.search_decision_requirements().items
    data = {"decisionDefinitionId": f.name("dish"), "variables": {"month": 12, "guests": 4}}
    c.evaluate_decision(data=sdk.DecisionEvaluationByID.from_dict(data))
    evaluations = query("DecisionInstanceSearchQuery", decisionDefinitionId=f.name("dish"))
    assert only(c.search_decision_instances(data=evaluations)).business_id is None


@check
def forms_and_other_resources(c):
    Path("order.form").write_text(json.dumps(FORM))
    Path("robot.rpa").write_text(json.dumps(SCRIPT))
    deployed = c.deploy_resources_from_files(["order.form", "robot.rpa"])
    form = deployed.forms[0]
    assert c.get_form_by_key(form.form_key).form_id == "order"
    resource = only(c.search_resources(data=query("ResourceSearchQuery", resourceId="robot")))
    assert c.get_resource_content_binary(resource.resource_key).payload.read() == Path("robot.rpa").read_bytes()


@check
def documents(c):
    metadata = sdk.DocumentMetadata.from_dict({"fileName": "Zettel.txt", "customProperties": {"pages": 1}})
    file = File(payload=BytesIO(b"some content"), file_name="note.txt", mime_type="text/plain")
    reference = c.create_document(data=sdk.CreateDocumentData(file=file, metadata=metadata))
    assert reference.metadata.custom_properties.to_dict() == {"pages": 1}
    content = c.get_document(reference.document_id, content_hash=reference.content_hash)
    assert content.payload.read() == b"some content"
    c.delete_document(reference.document_id)


def main() -> int:
    configuration = {"CAMUNDA_REST_ADDRESS": os.environ["SKEP_REST"], "CAMUNDA_AUTH_STRATEGY": "NONE"}
    with CamundaClient(configuration=configuration) as client:
        for function in CHECKS:
            name = function.__name__.replace("_", " ")
            if not wanted(name):
                continue
            started, error = time.monotonic(), None
            try:
                function(client)
            except Exception as caught:
                error = caught
            report(name, started, error)
    return finish()


if __name__ == "__main__":
    sys.exit(main())
