//! The gRPC side.

use std::{pin::Pin, sync::Arc};

use skep_proto::gateway_protocol::{
    gateway_server::{Gateway, GatewayServer},
    *,
};
use tokio::net::TcpListener;
use tokio_stream::{Stream, StreamExt as _, wrappers::TcpListenerStream};
use tonic::{Request, Response, Status};

use super::{Engine, instance_of};

struct Mock(Arc<Engine>);

pub fn serve(listener: TcpListener, engine: Arc<Engine>) {
    let server = tonic::transport::Server::builder()
        .add_service(GatewayServer::new(Mock(engine)))
        .serve_with_incoming(TcpListenerStream::new(listener).map(|stream| {
            if let Ok(stream) = &stream {
                let _ = stream.set_nodelay(true);
            }
            stream
        }));
    tokio::spawn(server);
}

fn job(key: i64) -> ActivatedJob {
    ActivatedJob {
        key,
        r#type: "skep-load".into(),
        process_instance_key: instance_of(key),
        retries: 3,
        variables: "{}".into(),
        ..ActivatedJob::default()
    }
}

type Pushed<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Gateway for Mock {
    type ActivateJobsStream = Pushed<ActivateJobsResponse>;
    type StreamActivatedJobsStream = Pushed<ActivatedJob>;

    async fn activate_jobs(
        &self,
        _request: Request<ActivateJobsRequest>,
    ) -> Result<Response<Self::ActivateJobsStream>, Status> {
        let mut jobs = vec![job(self.0.take().await)];
        jobs.extend(std::iter::from_fn(|| self.0.take_now()).take(9).map(job));
        let answer = tokio_stream::once(Ok(ActivateJobsResponse { jobs }));
        Ok(Response::new(Box::pin(answer)))
    }

    async fn stream_activated_jobs(
        &self,
        _request: Request<StreamActivatedJobsRequest>,
    ) -> Result<Response<Self::StreamActivatedJobsStream>, Status> {
        let jobs = futures_util::stream::unfold(self.0.clone(), |engine| async {
            let key = engine.take().await;
            Some((key, engine))
        });
        Ok(Response::new(Box::pin(jobs.map(|key| Ok(job(key))))))
    }

    async fn complete_job(
        &self,
        request: Request<CompleteJobRequest>,
    ) -> Result<Response<CompleteJobResponse>, Status> {
        self.0.complete(request.into_inner().job_key);
        Ok(Response::new(CompleteJobResponse {}))
    }

    async fn create_process_instance(
        &self,
        _request: Request<CreateProcessInstanceRequest>,
    ) -> Result<Response<CreateProcessInstanceResponse>, Status> {
        let created = self.0.create().await;
        Ok(Response::new(CreateProcessInstanceResponse {
            process_instance_key: created.ok_or_else(|| Status::resource_exhausted("full"))?,
            ..Default::default()
        }))
    }

    async fn create_process_instance_with_result(
        &self,
        _request: Request<CreateProcessInstanceWithResultRequest>,
    ) -> Result<Response<CreateProcessInstanceWithResultResponse>, Status> {
        let created = self.0.create().await;
        let key = created.ok_or_else(|| Status::resource_exhausted("full"))?;
        self.0.ended(key).await;
        Ok(Response::new(CreateProcessInstanceWithResultResponse {
            process_instance_key: key,
            variables: "{}".into(),
            ..Default::default()
        }))
    }

    async fn deploy_resource(
        &self,
        _request: Request<DeployResourceRequest>,
    ) -> Result<Response<DeployResourceResponse>, Status> {
        let process = ProcessMetadata {
            bpmn_process_id: format!("skep-load-{}", self.0.jobs_per_instance),
            version: 1,
            ..Default::default()
        };
        Ok(Response::new(DeployResourceResponse {
            key: 1,
            deployments: vec![Deployment {
                metadata: Some(deployment::Metadata::Process(process)),
            }],
            tenant_id: String::new(),
        }))
    }

    async fn cancel_process_instance(
        &self,
        _request: Request<CancelProcessInstanceRequest>,
    ) -> Result<Response<CancelProcessInstanceResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn evaluate_decision(
        &self,
        _request: Request<EvaluateDecisionRequest>,
    ) -> Result<Response<EvaluateDecisionResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn deploy_process(
        &self,
        _request: Request<DeployProcessRequest>,
    ) -> Result<Response<DeployProcessResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn fail_job(
        &self,
        _request: Request<FailJobRequest>,
    ) -> Result<Response<FailJobResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn throw_error(
        &self,
        _request: Request<ThrowErrorRequest>,
    ) -> Result<Response<ThrowErrorResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn publish_message(
        &self,
        _request: Request<PublishMessageRequest>,
    ) -> Result<Response<PublishMessageResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn resolve_incident(
        &self,
        _request: Request<ResolveIncidentRequest>,
    ) -> Result<Response<ResolveIncidentResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn set_variables(
        &self,
        _request: Request<SetVariablesRequest>,
    ) -> Result<Response<SetVariablesResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn topology(
        &self,
        _request: Request<TopologyRequest>,
    ) -> Result<Response<TopologyResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn update_job_retries(
        &self,
        _request: Request<UpdateJobRetriesRequest>,
    ) -> Result<Response<UpdateJobRetriesResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn modify_process_instance(
        &self,
        _request: Request<ModifyProcessInstanceRequest>,
    ) -> Result<Response<ModifyProcessInstanceResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn migrate_process_instance(
        &self,
        _request: Request<MigrateProcessInstanceRequest>,
    ) -> Result<Response<MigrateProcessInstanceResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn update_job_timeout(
        &self,
        _request: Request<UpdateJobTimeoutRequest>,
    ) -> Result<Response<UpdateJobTimeoutResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn delete_resource(
        &self,
        _request: Request<DeleteResourceRequest>,
    ) -> Result<Response<DeleteResourceResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn broadcast_signal(
        &self,
        _request: Request<BroadcastSignalRequest>,
    ) -> Result<Response<BroadcastSignalResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }

    async fn evaluate_conditional(
        &self,
        _request: Request<EvaluateConditionalRequest>,
    ) -> Result<Response<EvaluateConditionalResponse>, Status> {
        Err(Status::unimplemented("not in the mock"))
    }
}
