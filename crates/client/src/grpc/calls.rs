//! The operations, as rpcs.

use std::time::Duration;

use bytes::Bytes;
use skep_proto::gateway_protocol as pb;

use super::{GrpcClient, GrpcJobs, framed};
use crate::{
    ActivateJobs, BrokerInfo, CreateInstance, Deployed, Deployment, Error, FailJob, Instance,
    InstanceResult, Job, Message, PartitionInfo, ProcessRef, PublishedMessage, Resource,
    StreamJobs, ThrowError, Topology,
    client::{AwaitCompletion, millis},
    net::{ByteStream, Framed, Http2Channel, Windows},
};

macro_rules! rpc {
    ($name:literal) => {
        concat!("/gateway_protocol.Gateway/", $name)
    };
}

impl GrpcClient {
    pub(crate) async fn topology(&self) -> Result<Topology, Error> {
        let answer: pb::TopologyResponse = self
            .call(rpc!("Topology"), &pb::TopologyRequest::default())
            .await?;
        Ok(Topology {
            brokers: answer.brokers.into_iter().map(broker).collect(),
            cluster_size: answer.cluster_size,
            partitions_count: answer.partitions_count,
            replication_factor: answer.replication_factor,
            gateway_version: answer.gateway_version,
            skep_version: None,
        })
    }

    pub(crate) async fn deploy(
        &self,
        resources: &[Resource],
        tenant_id: Option<&str>,
    ) -> Result<Deployment, Error> {
        let request = pb::DeployResourceRequest {
            resources: resources
                .iter()
                .map(|resource| pb::Resource {
                    name: resource.name.clone(),
                    content: resource.content.clone(),
                })
                .collect(),
            tenant_id: tenant_id.unwrap_or_default().into(),
        };
        let answer: pb::DeployResourceResponse =
            self.call(rpc!("DeployResource"), &request).await?;
        Ok(Deployment {
            key: answer.key,
            tenant_id: answer.tenant_id,
            items: answer
                .deployments
                .into_iter()
                .filter_map(|item| item.metadata)
                .map(deployed)
                .collect(),
        })
    }

    pub(crate) async fn delete_resource(&self, key: i64) -> Result<(), Error> {
        let request = pb::DeleteResourceRequest {
            resource_key: key,
            ..Default::default()
        };
        let _: pb::DeleteResourceResponse = self.call(rpc!("DeleteResource"), &request).await?;
        Ok(())
    }

    pub(crate) fn create_body(request: &CreateInstance, wait: Option<&AwaitCompletion>) -> Bytes {
        let (process_definition_key, bpmn_process_id, version) = match &request.process {
            ProcessRef::Id { id, version } => (0, id.clone(), version.unwrap_or(-1)),
            ProcessRef::Key(key) => (*key, String::new(), 0),
        };
        let create = pb::CreateProcessInstanceRequest {
            process_definition_key,
            bpmn_process_id,
            version,
            variables: request.variables.clone().unwrap_or_default(),
            start_instructions: request
                .start_elements
                .iter()
                .map(|id| pb::ProcessInstanceCreationStartInstruction {
                    element_id: id.clone(),
                })
                .collect(),
            tenant_id: request.tenant_id.clone().unwrap_or_default(),
            operation_reference: request.operation_reference,
            runtime_instructions: Vec::new(),
            tags: request.tags.clone(),
            business_id: request.business_id.clone(),
        };
        match wait {
            None => framed(&create),
            Some(wait) => framed(&pb::CreateProcessInstanceWithResultRequest {
                request: Some(create),
                request_timeout: millis(wait.timeout),
                fetch_variables: wait.fetch_variables.clone(),
            }),
        }
    }

    pub(crate) async fn create_instance(
        &self,
        body: Bytes,
        wait: Option<Duration>,
    ) -> Result<InstanceResult, Error> {
        let timeout = self.config.request_timeout;
        match wait {
            None => {
                let answer: pb::CreateProcessInstanceResponse = self
                    .unary(rpc!("CreateProcessInstance"), body, timeout)
                    .await?;
                Ok(InstanceResult {
                    instance: Instance {
                        process_instance_key: answer.process_instance_key,
                        process_definition_key: answer.process_definition_key,
                        process_id: answer.bpmn_process_id,
                        version: answer.version,
                        tenant_id: answer.tenant_id,
                    },
                    variables: "{}".into(),
                })
            }
            Some(wait) => {
                let answer: pb::CreateProcessInstanceWithResultResponse = self
                    .unary(
                        rpc!("CreateProcessInstanceWithResult"),
                        body,
                        timeout + wait,
                    )
                    .await?;
                Ok(InstanceResult {
                    instance: Instance {
                        process_instance_key: answer.process_instance_key,
                        process_definition_key: answer.process_definition_key,
                        process_id: answer.bpmn_process_id,
                        version: answer.version,
                        tenant_id: answer.tenant_id,
                    },
                    variables: answer.variables,
                })
            }
        }
    }

    pub(crate) async fn cancel_instance(&self, key: i64) -> Result<(), Error> {
        let request = pb::CancelProcessInstanceRequest {
            process_instance_key: key,
            operation_reference: None,
        };
        let _: pb::CancelProcessInstanceResponse =
            self.call(rpc!("CancelProcessInstance"), &request).await?;
        Ok(())
    }

    pub(crate) async fn activate_jobs(&self, request: &ActivateJobs) -> Result<Vec<Job>, Error> {
        let body = framed(&pb::ActivateJobsRequest {
            r#type: request.job_type.clone(),
            worker: request.worker.clone(),
            timeout: millis(request.timeout),
            max_jobs_to_activate: request.max_jobs,
            fetch_variable: request.fetch_variables.clone(),
            request_timeout: request.long_poll.map_or(-1, millis),
            tenant_ids: request.tenant_ids.clone(),
            tenant_filter: 0,
        });
        let timeout = self.config.request_timeout + request.long_poll.unwrap_or_default();
        let exchange = async {
            let stream = self
                .stream::<pb::ActivateJobsResponse>(&self.channel, rpc!("ActivateJobs"), body)
                .await?;
            let batches = stream.collect().await?;
            Ok(batches
                .into_iter()
                .flat_map(|batch| batch.jobs)
                .map(super::jobs::job)
                .collect())
        };
        tokio::time::timeout(timeout, exchange)
            .await
            .map_err(|_| Error::Timeout(timeout))?
    }

    pub(crate) async fn stream_jobs(
        &self,
        request: &StreamJobs,
    ) -> Result<Framed<ByteStream, GrpcJobs>, Error> {
        let body = framed(&pb::StreamActivatedJobsRequest {
            r#type: request.job_type.clone(),
            worker: request.worker.clone(),
            timeout: millis(request.timeout),
            fetch_variable: request.fetch_variables.clone(),
            tenant_ids: request.tenant_ids.clone(),
            tenant_filter: 0,
        });
        // The head of the answer may come only with the first job, so that only connecting is timed.
        let windows = Windows::one_stream(self.config.stream_window);
        let channel = Http2Channel::new(self.endpoint.clone(), 1, windows);
        let response = channel
            .send(|| self.head(rpc!("StreamActivatedJobs")), body)
            .await?;
        let (head, body) = response.into_parts();
        super::status::check_head(head.status, &head.headers)?;
        let limit = self.config.max_message_size + super::PREFIX;
        Ok(Framed::new(
            ByteStream::http2(body, None),
            GrpcJobs::default(),
            limit,
        ))
    }

    pub(crate) async fn complete_job(
        &self,
        key: i64,
        variables: Option<&str>,
    ) -> Result<(), Error> {
        let request = pb::CompleteJobRequest {
            job_key: key,
            variables: variables.unwrap_or_default().into(),
            result: None,
        };
        let _: pb::CompleteJobResponse = self.call(rpc!("CompleteJob"), &request).await?;
        Ok(())
    }

    pub(crate) async fn fail_job(&self, key: i64, failure: &FailJob) -> Result<(), Error> {
        let request = pb::FailJobRequest {
            job_key: key,
            retries: failure.retries,
            error_message: failure.message.clone(),
            retry_back_off: millis(failure.back_off),
            variables: failure.variables.clone().unwrap_or_default(),
        };
        let _: pb::FailJobResponse = self.call(rpc!("FailJob"), &request).await?;
        Ok(())
    }

    pub(crate) async fn throw_error(&self, key: i64, error: &ThrowError) -> Result<(), Error> {
        let request = pb::ThrowErrorRequest {
            job_key: key,
            error_code: error.code.clone(),
            error_message: error.message.clone(),
            variables: error.variables.clone().unwrap_or_default(),
        };
        let _: pb::ThrowErrorResponse = self.call(rpc!("ThrowError"), &request).await?;
        Ok(())
    }

    pub(crate) async fn update_job_retries(&self, key: i64, retries: i32) -> Result<(), Error> {
        let request = pb::UpdateJobRetriesRequest {
            job_key: key,
            retries,
            operation_reference: None,
        };
        let _: pb::UpdateJobRetriesResponse = self.call(rpc!("UpdateJobRetries"), &request).await?;
        Ok(())
    }

    pub(crate) async fn update_job_timeout(
        &self,
        key: i64,
        timeout: Duration,
    ) -> Result<(), Error> {
        let request = pb::UpdateJobTimeoutRequest {
            job_key: key,
            timeout: millis(timeout),
            operation_reference: None,
        };
        let _: pb::UpdateJobTimeoutResponse = self.call(rpc!("UpdateJobTimeout"), &request).await?;
        Ok(())
    }

    pub(crate) async fn publish_message(
        &self,
        message: &Message,
    ) -> Result<PublishedMessage, Error> {
        let request = pb::PublishMessageRequest {
            name: message.name.clone(),
            correlation_key: message.correlation_key.clone(),
            time_to_live: millis(message.time_to_live),
            message_id: message.message_id.clone().unwrap_or_default(),
            variables: message.variables.clone().unwrap_or_default(),
            tenant_id: message.tenant_id.clone().unwrap_or_default(),
        };
        let answer: pb::PublishMessageResponse =
            self.call(rpc!("PublishMessage"), &request).await?;
        Ok(PublishedMessage {
            key: answer.key,
            tenant_id: answer.tenant_id,
        })
    }

    pub(crate) async fn set_variables(
        &self,
        element_instance_key: i64,
        variables: &str,
        local: bool,
    ) -> Result<(), Error> {
        let request = pb::SetVariablesRequest {
            element_instance_key,
            variables: variables.into(),
            local,
            operation_reference: None,
        };
        let _: pb::SetVariablesResponse = self.call(rpc!("SetVariables"), &request).await?;
        Ok(())
    }

    pub(crate) async fn resolve_incident(&self, key: i64) -> Result<(), Error> {
        let request = pb::ResolveIncidentRequest {
            incident_key: key,
            operation_reference: None,
        };
        let _: pb::ResolveIncidentResponse = self.call(rpc!("ResolveIncident"), &request).await?;
        Ok(())
    }
}

fn broker(broker: pb::BrokerInfo) -> BrokerInfo {
    let partition = |part: pb::Partition| PartitionInfo {
        partition_id: part.partition_id,
        role: part.role().as_str_name().to_lowercase(),
        health: part.health().as_str_name().to_lowercase(),
    };
    BrokerInfo {
        node_id: broker.node_id,
        host: broker.host,
        port: broker.port,
        version: broker.version,
        partitions: broker.partitions.into_iter().map(partition).collect(),
    }
}

fn deployed(metadata: pb::deployment::Metadata) -> Deployed {
    use pb::deployment::Metadata;
    match metadata {
        Metadata::Process(process) => Deployed::Process {
            id: process.bpmn_process_id,
            version: process.version,
            key: process.process_definition_key,
            resource_name: process.resource_name,
        },
        Metadata::Decision(decision) => Deployed::Decision {
            id: decision.dmn_decision_id,
            version: decision.version,
            key: decision.decision_key,
        },
        Metadata::DecisionRequirements(requirements) => Deployed::DecisionRequirements {
            id: requirements.dmn_decision_requirements_id,
            version: requirements.version,
            key: requirements.decision_requirements_key,
            resource_name: requirements.resource_name,
        },
        Metadata::Form(form) => Deployed::Form {
            id: form.form_id,
            version: form.version,
            key: form.form_key,
            resource_name: form.resource_name,
        },
    }
}
