//! Serving one connection until it ends or has to go.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use skep_tls::Socket;

use super::{Activity, LastingBody, Verdict, Watched};

pub type Connection = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A connection that has just been made.
pub struct Accepted {
    pub socket: Socket,
    pub activity: Arc<Activity>,
    /// How long an idle connection that is told to end may take for it.
    pub patience: Duration,
}

/// Serves requests until the connection ends.
pub fn serve<S, F, B, E>(
    server: &auto::Builder<TokioExecutor>,
    accepted: Accepted,
    ping_interval: Option<Duration>,
    service: S,
) -> Connection
where
    S: Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    let Accepted {
        socket,
        activity,
        patience,
    } = accepted;
    let seen = Arc::clone(&activity);
    let service = service_fn(move |request: Request<Incoming>| {
        let under_way = seen.request();
        if request.version() < Version::HTTP_2 {
            seen.partial(false, false);
        }
        let answer = service(request);
        async move {
            let response = answer.await?;
            Ok::<_, E>(response.map(|body| LastingBody::new(body, under_way)))
        }
    });
    let io = Watched::new(socket, Arc::clone(&activity), ping_interval);
    let connection = server
        .serve_connection(TokioIo::new(io), service)
        .into_owned();
    Box::pin(async move {
        let mut connection = pin!(connection);
        // The connection first: it is woken for each request, and the verdict comes once.
        let mut asked = None;
        let ended = poll_fn(|cx| match connection.as_mut().poll(cx) {
            Poll::Ready(ended) => Poll::Ready(Ok(ended)),
            Poll::Pending => activity.poll_verdict(cx, &mut asked).map(Err),
        });
        let ended = match ended.await {
            Ok(ended) => ended,
            Err(verdict) => {
                tracing::debug!(?verdict, "a connection is ended");
                match verdict {
                    Verdict::TooSlow => Ok(()),
                    Verdict::Idle => {
                        connection.as_mut().graceful_shutdown();
                        let ended = tokio::time::timeout(patience, connection).await;
                        ended.unwrap_or(Ok(()))
                    }
                    Verdict::Stopping => {
                        connection.as_mut().graceful_shutdown();
                        connection.await
                    }
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection broke off");
        }
    })
}
