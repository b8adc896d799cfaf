//! The operations, as REST requests.

use std::time::Duration;

use bytes::Bytes;
use http::Method;

use super::{
    JSON, RestClient, RestJobs,
    answers::{
        CreatedAnswer, DeploymentAnswer, JobAnswer, JobsAnswer, MessageAnswer, TopologyAnswer,
    },
    body::JsonObject,
    decode, multipart,
};
use crate::{
    ActivateJobs, CorrelatedMessage, CreateInstance, Deployment, Error, FailJob, InstanceResult,
    Job, Message, ProcessRef, PublishedMessage, Resource, StreamJobs, ThrowError, Topology,
    client::{AwaitCompletion, millis},
    net::{ByteStream, Framed},
};

const EMPTY: Bytes = Bytes::from_static(b"{}");

impl RestClient {
    pub(crate) async fn topology(&self) -> Result<Topology, Error> {
        let timeout = self.config.request_timeout;
        let body = self
            .call(&Method::GET, "/v2/topology", None, Bytes::new(), timeout)
            .await?;
        let answer: TopologyAnswer<'_> =
            serde_json::from_slice(&body).map_err(|error| Error::Protocol(error.to_string()))?;
        Ok(answer.into_topology())
    }

    pub(crate) async fn deploy(
        &self,
        resources: &[Resource],
        tenant_id: Option<&str>,
    ) -> Result<Deployment, Error> {
        let (content_type, body) = multipart::deployment(resources, tenant_id)?;
        let timeout = self.config.request_timeout;
        let body = self
            .call(
                &Method::POST,
                "/v2/deployments",
                Some(&content_type),
                body,
                timeout,
            )
            .await?;
        Ok(decode::<DeploymentAnswer>(&body)?.into_deployment())
    }

    pub(crate) async fn delete_resource(&self, key: i64) -> Result<(), Error> {
        let path = format!("/v2/resources/{key}/deletion");
        self.post(&path, EMPTY).await.map(drop)
    }

    pub(crate) fn create_body(request: &CreateInstance, wait: Option<&AwaitCompletion>) -> Bytes {
        let capacity = 160 + request.variables.as_ref().map_or(0, String::len);
        let mut body = JsonObject::new(capacity);
        body = match &request.process {
            ProcessRef::Id { id, version } => {
                let body = body.string("processDefinitionId", id);
                match version {
                    Some(version) => body.number("processDefinitionVersion", i64::from(*version)),
                    None => body,
                }
            }
            ProcessRef::Key(key) => body.key("processDefinitionKey", *key),
        };
        body = body
            .json_if("variables", request.variables.as_deref())
            .string_if("tenantId", request.tenant_id.as_deref())
            .strings("tags", &request.tags)
            .string_if("businessId", request.business_id.as_deref());
        if let Some(reference) = request.operation_reference {
            body = body.number("operationReference", reference.cast_signed());
        }
        if !request.start_elements.is_empty() {
            let list: Vec<_> = request
                .start_elements
                .iter()
                .map(|id| serde_json::json!({ "elementId": id }))
                .collect();
            body = body.json(
                "startInstructions",
                &serde_json::Value::from(list).to_string(),
            );
        }
        if let Some(wait) = wait {
            body = body
                .bool("awaitCompletion", true)
                .number("requestTimeout", millis(wait.timeout))
                .strings("fetchVariables", &wait.fetch_variables);
        }
        body.finish()
    }

    pub(crate) async fn create_instance(
        &self,
        body: Bytes,
        wait: Option<Duration>,
    ) -> Result<InstanceResult, Error> {
        let timeout = self.config.request_timeout + wait.unwrap_or_default();
        let body = self
            .call(
                &Method::POST,
                "/v2/process-instances",
                Some(&JSON),
                body,
                timeout,
            )
            .await?;
        Ok(decode::<CreatedAnswer>(&body)?.into_result())
    }

    pub(crate) async fn cancel_instance(&self, key: i64) -> Result<(), Error> {
        let path = format!("/v2/process-instances/{key}/cancellation");
        self.post(&path, EMPTY).await.map(drop)
    }

    pub(crate) async fn activate_jobs(&self, request: &ActivateJobs) -> Result<Vec<Job>, Error> {
        let body = JsonObject::new(256)
            .string("type", &request.job_type)
            .string("worker", &request.worker)
            .number("timeout", millis(request.timeout))
            .number("maxJobsToActivate", i64::from(request.max_jobs))
            .number("requestTimeout", request.long_poll.map_or(-1, millis))
            .strings("fetchVariable", &request.fetch_variables)
            .strings("tenantIds", &request.tenant_ids)
            .finish();
        let timeout = self.config.request_timeout + request.long_poll.unwrap_or_default();
        let body = self
            .call(
                &Method::POST,
                "/v2/jobs/activation",
                Some(&JSON),
                body,
                timeout,
            )
            .await?;
        let answer: JobsAnswer = decode(&body)?;
        Ok(answer.jobs.into_iter().map(JobAnswer::into_job).collect())
    }

    pub(crate) async fn stream_jobs(
        &self,
        request: &StreamJobs,
    ) -> Result<Framed<ByteStream, RestJobs>, Error> {
        let body = JsonObject::new(256)
            .string("type", &request.job_type)
            .string("worker", &request.worker)
            .number("timeout", millis(request.timeout))
            .strings("fetchVariable", &request.fetch_variables)
            .strings("tenantIds", &request.tenant_ids)
            .finish();
        let stream = self.stream("/v2/jobs/stream", body).await?;
        let limit = self.config.max_message_size;
        Ok(Framed::new(stream, RestJobs::default(), limit))
    }

    pub(crate) async fn complete_job(
        &self,
        key: i64,
        variables: Option<&str>,
    ) -> Result<(), Error> {
        let body = match variables {
            None => EMPTY,
            Some(json) => JsonObject::new(json.len() + 20)
                .json("variables", json)
                .finish(),
        };
        let path = format!("/v2/jobs/{key}/completion");
        self.post(&path, body).await.map(drop)
    }

    pub(crate) async fn fail_job(&self, key: i64, failure: &FailJob) -> Result<(), Error> {
        let body = JsonObject::new(128)
            .number("retries", i64::from(failure.retries))
            .string("errorMessage", &failure.message)
            .number("retryBackOff", millis(failure.back_off))
            .json_if("variables", failure.variables.as_deref())
            .finish();
        self.post(&format!("/v2/jobs/{key}/failure"), body)
            .await
            .map(drop)
    }

    pub(crate) async fn throw_error(&self, key: i64, error: &ThrowError) -> Result<(), Error> {
        let body = JsonObject::new(128)
            .string("errorCode", &error.code)
            .string("errorMessage", &error.message)
            .json_if("variables", error.variables.as_deref())
            .finish();
        self.post(&format!("/v2/jobs/{key}/error"), body)
            .await
            .map(drop)
    }

    /// Updates retries or time-out.
    pub(crate) async fn update_job(&self, key: i64, member: &str, value: i64) -> Result<(), Error> {
        let body = Bytes::from(format!(r#"{{"changeset":{{"{member}":{value}}}}}"#));
        let timeout = self.config.request_timeout;
        let path = format!("/v2/jobs/{key}");
        self.call(&Method::PATCH, &path, Some(&JSON), body, timeout)
            .await
            .map(drop)
    }

    pub(crate) async fn publish_message(
        &self,
        message: &Message,
    ) -> Result<PublishedMessage, Error> {
        let body = message_body(message)
            .number("timeToLive", millis(message.time_to_live))
            .string_if("messageId", message.message_id.as_deref())
            .finish();
        let answer: MessageAnswer = decode(&self.post("/v2/messages/publication", body).await?)?;
        Ok(PublishedMessage {
            key: answer.message_key,
            tenant_id: answer.tenant_id,
        })
    }

    pub(crate) async fn correlate_message(
        &self,
        message: &Message,
    ) -> Result<CorrelatedMessage, Error> {
        let body = message_body(message).finish();
        let answer: MessageAnswer = decode(&self.post("/v2/messages/correlation", body).await?)?;
        Ok(CorrelatedMessage {
            key: answer.message_key,
            process_instance_key: answer.process_instance_key,
            tenant_id: answer.tenant_id,
        })
    }

    pub(crate) async fn set_variables(
        &self,
        element_instance_key: i64,
        variables: &str,
        local: bool,
    ) -> Result<(), Error> {
        let body = JsonObject::new(variables.len() + 40)
            .json("variables", variables)
            .bool("local", local)
            .finish();
        let path = format!("/v2/element-instances/{element_instance_key}/variables");
        let timeout = self.config.request_timeout;
        self.call(&Method::PUT, &path, Some(&JSON), body, timeout)
            .await
            .map(drop)
    }

    pub(crate) async fn resolve_incident(&self, key: i64) -> Result<(), Error> {
        let path = format!("/v2/incidents/{key}/resolution");
        self.post(&path, EMPTY).await.map(drop)
    }
}

fn message_body(message: &Message) -> JsonObject {
    JsonObject::new(160 + message.variables.as_ref().map_or(0, String::len))
        .string("name", &message.name)
        .string("correlationKey", &message.correlation_key)
        .json_if("variables", message.variables.as_deref())
        .string_if("tenantId", message.tenant_id.as_deref())
}
