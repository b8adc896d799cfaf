//! The gRPC side of the fake.

use std::{
    pin::Pin,
    sync::{Arc, atomic::Ordering},
};

use skep_proto::gateway_protocol::{
    gateway_server::{Gateway, GatewayServer},
    *,
};
use tokio::net::TcpListener;
use tokio_stream::{Stream, StreamExt as _, wrappers::TcpListenerStream};
use tonic::{Request, Response, Status};

use super::{Closed, Fault, Script, variables};

struct Fake(Arc<Script>);

pub fn serve(listener: TcpListener, script: Arc<Script>) {
    let server = tonic::transport::Server::builder()
        .add_service(GatewayServer::new(Fake(script)))
        .serve_with_incoming(TcpListenerStream::new(listener));
    tokio::spawn(server);
}

impl Fake {
    async fn fault(&self) -> Result<(), Status> {
        match self.0.next_fault() {
            None => Ok(()),
            Some(Fault::Exhausted) => Err(Status::resource_exhausted("told to")),
            Some(Fault::Unavailable) => Err(Status::unavailable("told to")),
            Some(Fault::NotFound) => Err(Status::not_found("told to")),
            Some(Fault::Silence) => std::future::pending().await,
        }
    }
}

fn job(key: i64) -> ActivatedJob {
    ActivatedJob {
        key,
        r#type: "t".into(),
        process_instance_key: 7,
        bpmn_process_id: "p".into(),
        element_id: "task".into(),
        custom_headers: "{}".into(),
        retries: 3,
        variables: variables(),
        kind: 0,
        listener_event_type: 6,
        ..ActivatedJob::default()
    }
}

type Pushed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Gateway for Fake {
    type ActivateJobsStream = Pushed<ActivateJobsResponse>;
    type StreamActivatedJobsStream = Pushed<ActivatedJob>;

    async fn activate_jobs(
        &self,
        _request: Request<ActivateJobsRequest>,
    ) -> Result<Response<Self::ActivateJobsStream>, Status> {
        self.fault().await?;
        // Ten more than any test requests in one poll.
        let jobs: Vec<_> = (0..20).map_while(|_| self.0.next_job()).map(job).collect();
        if jobs.is_empty() {
            std::future::pending::<()>().await;
        }
        let answer = tokio_stream::once(Ok(ActivateJobsResponse { jobs }));
        Ok(Response::new(Box::pin(answer)))
    }

    async fn stream_activated_jobs(
        &self,
        _request: Request<StreamActivatedJobsRequest>,
    ) -> Result<Response<Self::StreamActivatedJobsStream>, Status> {
        self.fault().await?;
        let script = self.0.clone();
        script.streams.fetch_add(1, Ordering::SeqCst);
        let limit = script.jobs_per_stream.load(Ordering::SeqCst);
        let limit = if limit == 0 { u64::MAX } else { limit };
        let mut sent = 0;
        let closed = Closed(script.stream_closed.clone());
        let jobs = tokio_stream::iter(std::iter::from_fn(move || {
            if sent == limit {
                return None;
            }
            sent += 1;
            script.next_job().map(|key| Ok(job(key)))
        }));
        if limit == u64::MAX {
            return Ok(Response::new(Box::pin(jobs.chain(closed.and_silence()))));
        }
        Ok(Response::new(Box::pin(jobs)))
    }

    async fn complete_job(
        &self,
        request: Request<CompleteJobRequest>,
    ) -> Result<Response<CompleteJobResponse>, Status> {
        self.fault().await?;
        let key = request.into_inner().job_key;
        self.0.completed.lock().unwrap().push(key);
        Ok(Response::new(CompleteJobResponse {}))
    }

    async fn fail_job(
        &self,
        request: Request<FailJobRequest>,
    ) -> Result<Response<FailJobResponse>, Status> {
        let failure = request.into_inner();
        let seen = (failure.job_key, i64::from(failure.retries));
        self.0.failed.lock().unwrap().push(seen);
        Ok(Response::new(FailJobResponse {}))
    }

    async fn create_process_instance(
        &self,
        request: Request<CreateProcessInstanceRequest>,
    ) -> Result<Response<CreateProcessInstanceResponse>, Status> {
        self.fault().await?;
        self.0
            .bodies
            .lock()
            .unwrap()
            .push(request.into_inner().variables);
        Ok(Response::new(CreateProcessInstanceResponse {
            process_definition_key: 12,
            bpmn_process_id: "p".into(),
            version: 2,
            process_instance_key: 2251799813685249,
            tenant_id: "<default>".into(),
            ..Default::default()
        }))
    }

    async fn deploy_resource(
        &self,
        request: Request<DeployResourceRequest>,
    ) -> Result<Response<DeployResourceResponse>, Status> {
        for resource in request.into_inner().resources {
            let text = format!("{}: {:?}", resource.name, resource.content);
            self.0.bodies.lock().unwrap().push(text);
        }
        let process = ProcessMetadata {
            bpmn_process_id: "p".into(),
            version: 2,
            process_definition_key: 12,
            resource_name: "p.bpmn".into(),
            tenant_id: "<default>".into(),
        };
        Ok(Response::new(DeployResourceResponse {
            key: 11,
            deployments: vec![Deployment {
                metadata: Some(deployment::Metadata::Process(process)),
            }],
            tenant_id: "<default>".into(),
        }))
    }

    async fn topology(
        &self,
        _request: Request<TopologyRequest>,
    ) -> Result<Response<TopologyResponse>, Status> {
        Ok(Response::new(TopologyResponse {
            brokers: vec![BrokerInfo {
                node_id: 0,
                host: "h".into(),
                port: 1,
                partitions: vec![Partition {
                    partition_id: 1,
                    role: 0,
                    health: 0,
                }],
                version: "8.9.0".into(),
            }],
            cluster_size: 1,
            partitions_count: 1,
            replication_factor: 1,
            gateway_version: "8.9.0".into(),
            cluster_id: String::new(),
        }))
    }

    async fn cancel_process_instance(
        &self,
        _request: Request<CancelProcessInstanceRequest>,
    ) -> Result<Response<CancelProcessInstanceResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn create_process_instance_with_result(
        &self,
        _request: Request<CreateProcessInstanceWithResultRequest>,
    ) -> Result<Response<CreateProcessInstanceWithResultResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn evaluate_decision(
        &self,
        _request: Request<EvaluateDecisionRequest>,
    ) -> Result<Response<EvaluateDecisionResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn deploy_process(
        &self,
        _request: Request<DeployProcessRequest>,
    ) -> Result<Response<DeployProcessResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn throw_error(
        &self,
        _request: Request<ThrowErrorRequest>,
    ) -> Result<Response<ThrowErrorResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn publish_message(
        &self,
        _request: Request<PublishMessageRequest>,
    ) -> Result<Response<PublishMessageResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn resolve_incident(
        &self,
        _request: Request<ResolveIncidentRequest>,
    ) -> Result<Response<ResolveIncidentResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn set_variables(
        &self,
        _request: Request<SetVariablesRequest>,
    ) -> Result<Response<SetVariablesResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn update_job_retries(
        &self,
        _request: Request<UpdateJobRetriesRequest>,
    ) -> Result<Response<UpdateJobRetriesResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn modify_process_instance(
        &self,
        _request: Request<ModifyProcessInstanceRequest>,
    ) -> Result<Response<ModifyProcessInstanceResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn migrate_process_instance(
        &self,
        _request: Request<MigrateProcessInstanceRequest>,
    ) -> Result<Response<MigrateProcessInstanceResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn update_job_timeout(
        &self,
        _request: Request<UpdateJobTimeoutRequest>,
    ) -> Result<Response<UpdateJobTimeoutResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn delete_resource(
        &self,
        _request: Request<DeleteResourceRequest>,
    ) -> Result<Response<DeleteResourceResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn broadcast_signal(
        &self,
        _request: Request<BroadcastSignalRequest>,
    ) -> Result<Response<BroadcastSignalResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }

    async fn evaluate_conditional(
        &self,
        _request: Request<EvaluateConditionalRequest>,
    ) -> Result<Response<EvaluateConditionalResponse>, Status> {
        Err(Status::unimplemented("not in the fake"))
    }
}
