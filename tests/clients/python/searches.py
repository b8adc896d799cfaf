"""camunda-orchestration-sdk (PyPI, REST of 8.9), unchanged: searches, gets, statistics and documents.

Not asked over it: the audit log, whose answers it cannot read where there is no batch operation, and message subscriptions, of
which it wants a field that is newer than 8.9.
"""

import os
from datetime import datetime, timedelta, timezone
from io import BytesIO

import camunda_orchestration_sdk as sdk
from camunda_orchestration_sdk import CamundaClient
from camunda_orchestration_sdk.types import File


def rest_client() -> CamundaClient:
    return CamundaClient(
        configuration={"CAMUNDA_REST_ADDRESS": os.environ["SKEP_REST"], "CAMUNDA_AUTH_STRATEGY": "NONE"})


def only(answer):
    assert len(answer.items) == 1, answer.items
    return answer.items[0]


def query(kind, **filters):
    return getattr(sdk, kind).from_dict({"filter": filters})


def instances(c, process_id, instance):
    own = {"processInstanceKey": str(instance)}
    found = only(c.search_process_instances(data=query("ProcessInstanceSearchQuery", processDefinitionId=process_id)))
    assert (found.process_instance_key, found.has_incident) == (str(instance), True), found
    assert c.get_process_instance(found.process_instance_key) == found
    definition = only(
        c.search_process_definitions(data=query("ProcessDefinitionSearchQuery", processDefinitionId=process_id)))
    assert definition.process_definition_key == found.process_definition_key
    assert c.get_process_definition(definition.process_definition_key) == definition
    assert process_id in c.get_process_definition_xml(definition.process_definition_key)
    assert c.get_process_definition_statistics(definition.process_definition_key).items
    assert c.get_process_definition_instance_statistics().items
    flows = c.get_process_instance_sequence_flows(found.process_instance_key)
    assert [flow.element_id for flow in flows.items] == ["start-to-task"], flows
    assert c.get_process_instance_statistics(found.process_instance_key).items
    c.get_process_instance_call_hierarchy(found.process_instance_key)
    elements = c.search_element_instances(data=query("ElementInstanceSearchQuery", elementId="task", **own))
    element = only(elements)
    assert c.get_element_instance(element.element_instance_key) == element
    variable = only(c.search_variables(data=query("SearchVariablesData", name="amount", **own)))
    assert variable.value == "12.5", variable
    assert c.get_variable(variable.variable_key).value == "12.5"


def work(c, process_id, instance):
    own = {"processInstanceKey": str(instance)}
    incident = only(c.search_incidents(data=query("IncidentSearchQuery", state="ACTIVE", **own)))
    assert incident.error_message == "no more paper", incident
    assert c.get_incident(incident.incident_key) == incident
    assert only(c.search_process_instance_incidents(incident.process_instance_key)) == incident
    assert c.get_process_instance_statistics_by_error().items
    job = only(c.search_jobs(data=query("JobSearchQuery", **own)))
    assert (job.retries, job.error_message) == (0, "no more paper"), job
    now = datetime.now(timezone.utc)
    span = {"from_": now - timedelta(hours=1), "to": now + timedelta(minutes=1)}
    assert c.get_global_job_statistics(**span).failed.count > 0
    usage = c.get_usage_metrics(start_time=span["from_"], end_time=span["to"] + timedelta(minutes=10))
    assert usage.process_instances > 0, usage
    assert c.get_system_configuration().job_metrics.enabled


def user_tasks(c, instance):
    task = only(c.search_user_tasks(data=query("UserTaskSearchQuery", processInstanceKey=str(instance))))
    assert c.get_user_task(task.user_task_key) == task
    assert {v.name for v in c.search_user_task_variables(task.user_task_key).items} >= {"amount"}
    assert {v.name for v in c.search_user_task_effective_variables(task.user_task_key).items} >= {"amount"}


def documents(c):
    metadata = sdk.DocumentMetadata.from_dict({"fileName": "Zettel.txt", "customProperties": {"pages": 1}})
    file = File(payload=BytesIO(b"some content"), file_name="note.txt", mime_type="text/plain")
    reference = c.create_document(data=sdk.CreateDocumentData(file=file, metadata=metadata))
    known = reference.metadata
    assert (known.file_name, known.size, known.content_type) == ("Zettel.txt", 12, "text/plain"), known
    assert known.custom_properties.to_dict() == {"pages": 1}
    content = c.get_document(reference.document_id, content_hash=reference.content_hash)
    assert content.payload.read() == b"some content"
    c.delete_document(reference.document_id)
