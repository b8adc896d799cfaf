//! Serves one connection until it ends or must close.

use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, Version, header};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use pin_project_lite::pin_project;
use skep_tls::Socket;

use super::{Activity, LastingBody, UnderWay, Verdict, Watched};
use crate::stop::Stopper;

pub type Connection = Pin<Box<dyn Future<Output = ()> + Send>>;

/// This part of the grace of a stop is for a next request over HTTP/1.1, whose answer ends its connection: 1 s of 5 s.
pub const LAST_ANSWER: u32 = 5;

/// A connection that has just been made.
pub struct Accepted {
    /// The address that it comes from.
    pub peer: IpAddr,
    pub socket: Socket,
    pub activity: Arc<Activity>,
    /// How long an idle connection that is asked to close may take.
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
        peer: _,
    } = accepted;
    let seen = Arc::clone(&activity);
    let service = service_fn(move |request: Request<Incoming>| {
        let under_way = seen.request();
        let can_leave = request.version() < Version::HTTP_2;
        if can_leave {
            seen.partial(false, false);
        }
        Served {
            answer: service(request),
            under_way: Some(under_way),
            activity: Arc::clone(&seen),
            can_leave,
        }
    });
    let io = Watched::new(socket, Arc::clone(&activity), ping_interval);
    let connection = server
        .serve_connection(TokioIo::new(io), service)
        .into_owned();
    Box::pin(async move {
        let connection = pin!(connection);
        let ended = attend(connection, &activity, patience, |it| it.graceful_shutdown());
        if let Err(error) = ended.await.unwrap_or(Ok(())) {
            tracing::debug!(%error, "a connection failed");
        }
    })
}

pin_project! {
    /// The answer to a request. An async block would hold the future that makes it twice, and each request would pay for
    /// moving it.
    struct Served<F> {
        #[pin]
        answer: F,
        under_way: Option<UnderWay>,
        activity: Arc<Activity>,
        can_leave: bool,
    }
}

impl<F, B, E> Future for Served<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<LastingBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut response = ready!(this.answer.poll(cx))?;
        if *this.can_leave && this.activity.is_leaving() {
            let headers = response.headers_mut();
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if let Some(end) = response.extensions_mut().remove::<Arc<Stopper>>() {
            this.activity.stream(&end);
        }
        let under_way = this.under_way.take();
        Poll::Ready(Ok(response.map(|body| LastingBody::new(body, under_way))))
    }
}

/// Serves a connection until it ends, or a verdict ends it; `None`: it was cut.
async fn attend<C: Future>(
    mut connection: Pin<&mut C>,
    activity: &Activity,
    patience: Duration,
    shut_down: impl Fn(Pin<&mut C>),
) -> Option<C::Output> {
    let mut asked = None;
    loop {
        // The connection first: it is woken for each request, and the verdict comes once.
        let ended = poll_fn(|cx| match connection.as_mut().poll(cx) {
            Poll::Ready(ended) => Poll::Ready(Ok(ended)),
            Poll::Pending => activity.poll_verdict(cx, &mut asked).map(Err),
        });
        match ended.await {
            Ok(ended) => return Some(ended),
            // GOAWAY: requests in progress are finished, and the client opens another connection for later ones.
            Err(Verdict::Old) => {
                shut_down(connection.as_mut());
                activity.acted_on_age();
            }
            Err(verdict) => {
                tracing::debug!(?verdict, "a connection is closed");
                let end = End {
                    verdict,
                    activity,
                    patience,
                };
                return end.of(connection, shut_down).await;
            }
        }
    }
}

/// How a connection is ended.
struct End<'a> {
    verdict: Verdict,
    activity: &'a Activity,
    patience: Duration,
}

impl End<'_> {
    /// Output of the ended connection; `None`: it was cut.
    async fn of<C: Future>(
        self,
        mut connection: Pin<&mut C>,
        shut_down: impl Fn(Pin<&mut C>),
    ) -> Option<C::Output> {
        match self.verdict {
            Verdict::TooSlow => return None,
            Verdict::Idle => {
                shut_down(connection.as_mut());
                return tokio::time::timeout(self.patience, connection).await.ok();
            }
            Verdict::Old => {}
            Verdict::Stopping if self.activity.speaks_http2() => {}
            Verdict::Stopping => {
                // Closing it while a request is on its way would leave the client in doubt, so the next answer says that it
                // is the last one. A client that sends no request meanwhile has to check the connection before it does.
                self.activity.leave();
                let time = self.patience / LAST_ANSWER;
                if let Ok(ended) = tokio::time::timeout(time, connection.as_mut()).await {
                    return Some(ended);
                }
            }
        }
        shut_down(connection.as_mut());
        Some(connection.await)
    }
}
