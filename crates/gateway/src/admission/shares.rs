//! Shares: how much of what takes long one client may have in progress. At its share, a client's further requests wait for its
//! earlier ones, and other clients notice nothing.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use skep_protocol::command::Peer;
use skep_protocol::origin::Claims;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The sender of a request, as far as the gateway can tell.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    pub claims: &'a Claims,
    pub peer: IpAddr,
}

/// Whose share a request counts for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Client {
    User(Arc<str>),
    /// A client of OpenID Connect.
    Oidc(Arc<str>),
    /// A caller without a name. Connections cost nothing, so all of an address are one client.
    Address(IpAddr),
}

impl Client {
    fn of(sender: Sender<'_>) -> Client {
        match sender.claims {
            Claims::User(principal) => Client::User(principal.id.clone()),
            Claims::Client(principal) => Client::Oidc(principal.id.clone()),
            Claims::Anonymous | Claims::Internal => Client::Address(sender.peer),
        }
    }
}

/// The shares of all clients in one kind of work.
#[derive(Clone, Debug)]
pub struct Shares {
    /// Requests of one client in progress at a time.
    pub size: usize,
    /// Only clients with requests are listed.
    clients: Arc<Mutex<HashMap<Client, Requests>>>,
}

#[derive(Debug)]
struct Requests {
    /// Those in progress have a permit.
    permits: Arc<Semaphore>,
    /// In progress or waiting.
    count: usize,
}

/// A request that counts for the share of its client, until this is dropped.
#[derive(Debug)]
pub struct Counted {
    client: Client,
    clients: Arc<Mutex<HashMap<Client, Requests>>>,
    permits: Arc<Semaphore>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Shares {
    pub fn new(size: usize) -> Shares {
        Shares {
            size,
            clients: Arc::default(),
        }
    }

    /// Counts a request of this client. It may begin after [`Counted::turn`].
    pub fn count(&self, sender: Sender<'_>) -> Counted {
        let client = Client::of(sender);
        let mut clients = self.clients.lock();
        let requests = clients.entry(client.clone()).or_insert_with(|| Requests {
            permits: Arc::new(Semaphore::new(self.size)),
            count: 0,
        });
        requests.count += 1;
        Counted {
            client,
            clients: Arc::clone(&self.clients),
            permits: Arc::clone(&requests.permits),
            permit: None,
        }
    }
}

impl Counted {
    /// Where the request comes from, if its sender has no name.
    pub fn peer(&self) -> Peer {
        match self.client {
            Client::Address(address) => Peer::Address(address),
            Client::User(_) | Client::Oidc(_) => Peer::Unknown,
        }
    }

    /// Waits until fewer of the client's requests are in progress than its share; first come, first served.
    pub async fn turn(mut self) -> Counted {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        // Nobody closes it.
        self.permit = permit.ok();
        self
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut clients = self.clients.lock();
        let requests = clients.get_mut(&self.client);
        debug_assert!(
            requests.is_some(),
            "a client with requests in progress is listed"
        );
        if let Some(requests) = requests {
            requests.count -= 1;
            if requests.count == 0 {
                clients.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::task::{Context, Poll, Waker};

    use skep_protocol::origin::Principal;

    use super::*;

    const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn named(id: &str) -> Claims {
        Claims::User(Arc::new(Principal {
            id: id.into(),
            ..Principal::default()
        }))
    }

    /// The request, unless it must wait.
    fn begun(shares: &Shares, claims: &Claims, peer: IpAddr) -> Option<Counted> {
        let mut turn = Box::pin(shares.count(Sender { claims, peer }).turn());
        match turn.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(counted) => Some(counted),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_client_at_its_share_waits_and_others_do_not() {
        let shares = Shares::new(2);
        let (anna, ben) = (named("anna"), named("ben"));
        let first = begun(&shares, &anna, HOME).unwrap();
        let _second = begun(&shares, &anna, HOME).unwrap();
        assert!(begun(&shares, &anna, HOME).is_none());
        let _other = begun(&shares, &ben, HOME).unwrap();
        drop(first);
        assert!(begun(&shares, &anna, HOME).is_some());
    }

    #[test]
    fn callers_without_a_name_are_one_client_per_address() {
        let shares = Shares::new(1);
        let elsewhere = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
        let first = begun(&shares, &Claims::Anonymous, HOME).unwrap();
        assert_eq!(first.peer(), Peer::Address(HOME));
        assert!(begun(&shares, &Claims::Anonymous, HOME).is_none());
        let _other = begun(&shares, &Claims::Anonymous, elsewhere).unwrap();
    }

    #[test]
    fn a_user_and_a_client_with_the_same_id_have_a_share_each() {
        let shares = Shares::new(1);
        let Claims::User(principal) = named("anna") else {
            unreachable!()
        };
        let user = begun(&shares, &Claims::User(principal.clone()), HOME).unwrap();
        assert_eq!(user.peer(), Peer::Unknown);
        let _client = begun(&shares, &Claims::Client(principal), HOME).unwrap();
    }

    #[tokio::test]
    async fn requests_that_wait_get_their_turn_or_are_given_up() {
        let shares = Shares::new(1);
        let anna = named("anna");
        let of_anna = Sender {
            claims: &anna,
            peer: HOME,
        };
        let first = begun(&shares, &anna, HOME).unwrap();
        let given_up = shares.count(of_anna).turn();
        drop(given_up);
        let waiting = shares.count(of_anna).turn();
        let (second, ()) = tokio::join!(waiting, async { drop(first) });
        assert_eq!(shares.clients.lock().len(), 1);
        drop(second);
        assert!(
            shares.clients.lock().is_empty(),
            "clients without requests are not listed"
        );
    }
}
