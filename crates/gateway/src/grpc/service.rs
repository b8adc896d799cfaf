//! The rpcs.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use prost::Message;
use skep_proto::gateway_protocol as pb;
use skep_proto::gateway_protocol::gateway_server::Gateway;
use skep_protocol::command::{Class, Draft, Held};
use skep_protocol::origin::Claims;
use skep_protocol::{Failure, Response as Answer};
use skep_query::BoxFuture;
use tonic::{Request, Response, Status};

use super::body::CallContext;
use super::rpcs::ACTIVATE_JOBS;
use super::status::status;
use super::stream::GrpcJobStream;
use super::{decode, encode, modification};
use crate::admission::{Purpose, Sender, Slot};
use crate::budget::Share;
use crate::call::{FrontEnd, Sent, Stopwatch};
use crate::check::Tenancy;
use crate::undelivered::ActivationStream;

type Reply<T> = Result<Response<T>, Status>;

pub struct GatewayService {
    front: Arc<FrontEnd>,
}

/// A call whose message has arrived.
struct Call<T> {
    message: T,
    watch: Stopwatch,
    share: Share,
    claims: Claims,
    peer: IpAddr,
}

impl<T: Message> Call<T> {
    /// # Errors
    /// The request did not come through the door. Nobody would be checked.
    fn of(request: Request<T>) -> Result<Call<T>, Status> {
        let context = request.extensions().get::<Arc<CallContext>>();
        let known = context.and_then(|context| Some((context, context.caller()?)));
        let Some((context, (claims, checked))) = known else {
            return Err(Status::unauthenticated("The caller is not known."));
        };
        let (mut watch, peer, mut share) = (context.watch, context.peer, context.take_share());
        watch.authenticated(checked);
        let message = request.into_inner();
        // A compressed message had reserved the most that it could unpack to.
        if !share.is_empty() {
            share.shrink_to(message.encoded_len());
        }
        Ok(Call {
            message,
            watch,
            share,
            claims,
            peer,
        })
    }
}

/// A call whose message was decoded into a request to the broker.
struct Decoded {
    request: skep_protocol::command::Request,
    watch: Stopwatch,
    share: Share,
    peer: IpAddr,
}

fn decoded<T: Message>(
    request: Request<T>,
    decode: impl FnOnce(T) -> Result<Draft, Failure>,
) -> Result<Decoded, Status> {
    let Call {
        message,
        mut watch,
        share,
        claims,
        peer,
    } = Call::of(request)?;
    let request = decode(message).map_err(status)?.by(claims);
    watch.decoded();
    Ok(Decoded {
        request,
        watch,
        share,
        peer,
    })
}

/// A command that the broker has, and the gateway resources it holds.
type UnderWay = (Sent, Stopwatch, Held);

/// State of a command when its future is made.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are sent, and a box for each would cost more than the room"
)]
enum Way<'a> {
    Sent(UnderWay),
    /// There is no slot.
    Waits(BoxFuture<'a, Result<UnderWay, Status>>),
    Refused(Box<Status>),
}

impl Decoded {
    fn sender(&self) -> Sender<'_> {
        Sender {
            claims: &self.request.claims,
            peer: self.peer,
        }
    }

    fn send(self, front: &FrontEnd, slot: Slot) -> UnderWay {
        let Decoded {
            mut request,
            watch,
            share,
            peer: _,
        } = self;
        request.peer = slot.peer();
        let held = Held::new((slot, share));
        request.held = held.clone();
        let sent = front.send(request, front.config.request_timeout, &watch);
        (sent, watch, held)
    }
}

impl GatewayService {
    pub fn new(front: Arc<FrontEnd>) -> GatewayService {
        GatewayService { front }
    }

    /// How tenants are named in messages.
    fn tenancy(&self) -> Tenancy {
        self.front.config.security.tenancy
    }

    /// The path of a command: a slot, the broker, the answer.
    fn command<T: Message>(
        &self,
        request: Request<T>,
        decode: impl FnOnce(T) -> Result<Draft, Failure>,
    ) -> impl Future<Output = Result<Answer, Status>> + Send {
        self.carry_out(request, decode, Ok)
    }

    /// A command whose answer is empty.
    fn done<T: Message, A: Default>(
        &self,
        request: Request<T>,
        decode: impl FnOnce(T) -> Result<Draft, Failure>,
    ) -> impl Future<Output = Reply<A>> + Send {
        self.carry_out(request, decode, |_| Ok(Response::new(A::default())))
    }

    /// If there is a slot, the broker has the command before the future is made, which therefore holds neither the message
    /// nor the request.
    fn carry_out<T: Message, A>(
        &self,
        request: Request<T>,
        decode: impl FnOnce(T) -> Result<Draft, Failure>,
        encode: fn(Answer) -> Result<A, Status>,
    ) -> impl Future<Output = Result<A, Status>> + Send {
        let front = &self.front;
        let way = match decoded(request, decode) {
            Ok(mut decoded) => {
                let purpose = Purpose::Command(decoded.request.command.class());
                match front.gate.enter_at_once(purpose) {
                    Some(slot) => Way::Sent(decoded.send(front, slot)),
                    None => Way::Waits(Box::pin(async move {
                        let sender = decoded.sender();
                        let slot = front.gate.enter(purpose, sender).await.map_err(status)?;
                        decoded.watch.queued();
                        Ok(decoded.send(front, slot))
                    })),
                }
            }
            Err(refused) => Way::Refused(Box::new(refused)),
        };
        async move {
            let (sent, watch, held) = match way {
                Way::Sent(under_way) => under_way,
                Way::Waits(slot) => slot.await?,
                Way::Refused(refused) => return Err(*refused),
            };
            let (result, timings) = front.answered(sent.await, &watch);
            drop(held);
            front.book(&watch, &timings);
            result.map_err(status).and_then(encode)
        }
    }

    /// A command whose client asked to wait for more than its commit: it waits without a slot.
    async fn waiting<T: Message>(
        &self,
        request: Request<T>,
        decode: impl FnOnce(T) -> Result<Draft, Failure>,
        timeout: Duration,
    ) -> Result<Answer, Status> {
        let front = &self.front;
        let decoded = decoded(request, decode)?;
        let purpose = Purpose::Command(decoded.request.command.class());
        let entered = front.gate.enter(purpose, decoded.sender()).await;
        let slot = entered.map_err(status)?;
        let Decoded {
            mut request,
            mut watch,
            share,
            peer: _,
        } = decoded;
        watch.queued();
        request.peer = slot.peer();
        request.held = Held::new((slot, share));
        let (result, _) = front.execute_waiting(request, timeout, &watch).await;
        result.map_err(status)
    }
}

fn unexpected<T>(rpc: &str) -> Reply<T> {
    Err(Status::internal(format!(
        "The broker answered '{rpc}' with an unexpected kind of result."
    )))
}

#[tonic::async_trait]
impl Gateway for GatewayService {
    type ActivateJobsStream = ActivationStream;
    type StreamActivatedJobsStream = GrpcJobStream;

    async fn activate_jobs(
        &self,
        request: Request<pb::ActivateJobsRequest>,
    ) -> Reply<Self::ActivateJobsStream> {
        let Call {
            message,
            claims,
            peer,
            ..
        } = Call::of(request)?;
        let front = &self.front;
        let wait = front.long_poll(message.request_timeout);
        let command = decode::activate(message, self.tenancy()).map_err(status)?;
        let polling = Purpose::Command(Class::Polling);
        let sender = Sender {
            claims: &claims,
            peer,
        };
        drop(front.gate.enter(polling, sender).await.map_err(status)?);
        let jobs = front
            .activate(command, claims, wait)
            .await
            .map_err(status)?;
        let activated = encode::activated(jobs, front.config.max_message_size);
        for job in &activated.too_large {
            front.refuse(job);
        }
        if let (true, Some(job)) = (activated.messages.is_empty(), activated.too_large.first()) {
            return Err(Status::resource_exhausted(job.to_string()));
        }
        let messages = activated.messages;
        front
            .metrics
            .grpc
            .sent(ACTIVATE_JOBS, messages.len() as u64);
        let broker = Arc::clone(&front.broker);
        Ok(Response::new(ActivationStream::new(broker, messages)))
    }

    async fn stream_activated_jobs(
        &self,
        request: Request<pb::StreamActivatedJobsRequest>,
    ) -> Reply<GrpcJobStream> {
        let Call {
            message,
            watch,
            claims,
            ..
        } = Call::of(request)?;
        let spec = decode::stream(message, self.tenancy()).map_err(status)?;
        let jobs = self.front.open_job_stream(spec, claims).map_err(status)?;
        let front = Arc::clone(&self.front);
        let end = jobs.end();
        let mut response = Response::new(GrpcJobStream::new(jobs, front, watch));
        response.extensions_mut().insert(end);
        Ok(response)
    }

    async fn complete_job(
        &self,
        request: Request<pb::CompleteJobRequest>,
    ) -> Reply<pb::CompleteJobResponse> {
        self.done(request, decode::complete).await
    }

    async fn fail_job(&self, request: Request<pb::FailJobRequest>) -> Reply<pb::FailJobResponse> {
        self.done(request, decode::fail).await
    }

    async fn throw_error(
        &self,
        request: Request<pb::ThrowErrorRequest>,
    ) -> Reply<pb::ThrowErrorResponse> {
        self.done(request, decode::throw_error).await
    }

    async fn update_job_retries(
        &self,
        request: Request<pb::UpdateJobRetriesRequest>,
    ) -> Reply<pb::UpdateJobRetriesResponse> {
        self.done(request, decode::update_retries).await
    }

    async fn update_job_timeout(
        &self,
        request: Request<pb::UpdateJobTimeoutRequest>,
    ) -> Reply<pb::UpdateJobTimeoutResponse> {
        self.done(request, decode::update_timeout).await
    }

    async fn create_process_instance(
        &self,
        request: Request<pb::CreateProcessInstanceRequest>,
    ) -> Reply<pb::CreateProcessInstanceResponse> {
        let (tenancy, tenant) = (self.tenancy(), encode::tenant(&request.get_ref().tenant_id));
        let decode = |r| decode::create(r, None, tenancy);
        match self.command(request, decode).await? {
            Answer::ProcessInstanceCreated(created) => {
                Ok(Response::new(encode::created(created, tenant)))
            }
            _ => unexpected("CreateProcessInstance"),
        }
    }

    async fn create_process_instance_with_result(
        &self,
        request: Request<pb::CreateProcessInstanceWithResultRequest>,
    ) -> Reply<pb::CreateProcessInstanceWithResultResponse> {
        let asked = request.get_ref();
        let timeout = self.front.await_timeout(asked.request_timeout);
        let tenant = asked.request.as_ref().map_or("", |one| &one.tenant_id);
        let (tenancy, tenant) = (self.tenancy(), encode::tenant(tenant));
        let decode = |r| decode::create_with_result(r, tenancy);
        match self.waiting(request, decode, timeout).await? {
            Answer::ProcessInstanceResult { created, variables } => {
                Ok(Response::new(encode::ended(created, variables, tenant)))
            }
            _ => unexpected("CreateProcessInstanceWithResult"),
        }
    }

    async fn cancel_process_instance(
        &self,
        request: Request<pb::CancelProcessInstanceRequest>,
    ) -> Reply<pb::CancelProcessInstanceResponse> {
        self.done(request, decode::cancel).await
    }

    async fn set_variables(
        &self,
        request: Request<pb::SetVariablesRequest>,
    ) -> Reply<pb::SetVariablesResponse> {
        match self.command(request, decode::set_variables).await? {
            Answer::VariablesSet { key } => {
                Ok(Response::new(pb::SetVariablesResponse { key: key.0 }))
            }
            _ => unexpected("SetVariables"),
        }
    }

    async fn deploy_resource(
        &self,
        request: Request<pb::DeployResourceRequest>,
    ) -> Reply<pb::DeployResourceResponse> {
        let tenancy = self.tenancy();
        match self
            .command(request, |r| decode::deploy(r, tenancy))
            .await?
        {
            Answer::Deployed(deployed) => Ok(Response::new(pb::DeployResourceResponse {
                key: deployed.deployment_key.0,
                tenant_id: deployed.tenant.to_string(),
                deployments: encode::deployments(deployed),
            })),
            _ => unexpected("DeployResource"),
        }
    }

    async fn deploy_process(
        &self,
        request: Request<pb::DeployProcessRequest>,
    ) -> Reply<pb::DeployProcessResponse> {
        let tenancy = self.tenancy();
        let decode = |r| decode::deploy_process(r, tenancy);
        match self.command(request, decode).await? {
            Answer::Deployed(deployed) => Ok(Response::new(pb::DeployProcessResponse {
                key: deployed.deployment_key.0,
                processes: deployed
                    .processes
                    .into_iter()
                    .map(encode::process)
                    .collect(),
            })),
            _ => unexpected("DeployProcess"),
        }
    }

    async fn delete_resource(
        &self,
        request: Request<pb::DeleteResourceRequest>,
    ) -> Reply<pb::DeleteResourceResponse> {
        let resource_key = request.get_ref().resource_key.to_string();
        let answer = self.command(request, decode::delete_resource).await?;
        Ok(Response::new(encode::resource_deleted(
            resource_key,
            &answer,
        )))
    }

    async fn publish_message(
        &self,
        request: Request<pb::PublishMessageRequest>,
    ) -> Reply<pb::PublishMessageResponse> {
        let (tenancy, tenant_id) = (self.tenancy(), encode::tenant(&request.get_ref().tenant_id));
        let decode = |r| decode::publish(r, tenancy);
        match self.command(request, decode).await? {
            Answer::MessagePublished { message_key } => {
                Ok(Response::new(pb::PublishMessageResponse {
                    key: message_key.0,
                    tenant_id,
                }))
            }
            _ => unexpected("PublishMessage"),
        }
    }

    async fn resolve_incident(
        &self,
        request: Request<pb::ResolveIncidentRequest>,
    ) -> Reply<pb::ResolveIncidentResponse> {
        self.done(request, decode::resolve_incident).await
    }

    async fn topology(&self, _: Request<pb::TopologyRequest>) -> Reply<pb::TopologyResponse> {
        Ok(Response::new(encode::topology(
            self.front.broker.topology(),
            &self.front.config.api_version,
        )))
    }

    async fn evaluate_decision(
        &self,
        request: Request<pb::EvaluateDecisionRequest>,
    ) -> Reply<pb::EvaluateDecisionResponse> {
        let tenancy = self.tenancy();
        let decode = |r| decode::evaluate_decision(r, tenancy);
        match self.command(request, decode).await? {
            Answer::DecisionEvaluated { key, evaluation } => {
                Ok(Response::new(encode::evaluation(key, &evaluation)))
            }
            _ => unexpected("EvaluateDecision"),
        }
    }

    async fn modify_process_instance(
        &self,
        request: Request<pb::ModifyProcessInstanceRequest>,
    ) -> Reply<pb::ModifyProcessInstanceResponse> {
        self.done(request, modification::modify).await
    }

    async fn migrate_process_instance(
        &self,
        request: Request<pb::MigrateProcessInstanceRequest>,
    ) -> Reply<pb::MigrateProcessInstanceResponse> {
        self.done(request, decode::migrate).await
    }

    async fn broadcast_signal(
        &self,
        request: Request<pb::BroadcastSignalRequest>,
    ) -> Reply<pb::BroadcastSignalResponse> {
        let (tenancy, tenant_id) = (self.tenancy(), encode::tenant(&request.get_ref().tenant_id));
        let decode = |r| decode::broadcast_signal(r, tenancy);
        match self.command(request, decode).await? {
            Answer::SignalBroadcast { signal_key } => {
                Ok(Response::new(pb::BroadcastSignalResponse {
                    key: signal_key.0,
                    tenant_id,
                }))
            }
            _ => unexpected("BroadcastSignal"),
        }
    }

    async fn evaluate_conditional(
        &self,
        request: Request<pb::EvaluateConditionalRequest>,
    ) -> Reply<pb::EvaluateConditionalResponse> {
        let tenancy = self.tenancy();
        let decode = |r| decode::evaluate_conditional(r, tenancy);
        match self.command(request, decode).await? {
            Answer::ConditionalsEvaluated(evaluated) => {
                Ok(Response::new(encode::conditionals(evaluated)))
            }
            _ => unexpected("EvaluateConditional"),
        }
    }
}
