//! The cost of the door alone: what it takes to know who calls, on one thread and without the way through HTTP.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::json;
use skep_gateway::Login;
use skep_gateway::door::guesses::GuessLimits;
use skep_gateway::door::passwords::Passwords;
use skep_gateway::door::secret::Secret;
use skep_gateway::door::visitor::Visitor;
use skep_gateway::door::{Counts, Door, Head};
use skep_identity::{Directory, Entry};
use skep_oidc::ProviderSettings;
use skep_protocol::Key;
use skep_protocol::value::UserValue;
use skep_service::Broker;
use skep_testbed::issuer::Issuer;

use super::GroupCommit;

/// Of the rounds, the fastest counts: nothing else makes code faster.
const ROUNDS: u32 = 5;
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Claims of a token that is about 1 KiB long, as providers make them.
const CLAIMS: usize = 500;

/// A door, and the users that it knows.
struct Callers {
    door: Door,
    directory: Arc<Directory>,
}

impl Callers {
    fn of(
        login: Login,
        providers: &[ProviderSettings],
        directory: Directory,
        passwords: Passwords,
    ) -> Callers {
        let broker: Arc<dyn Broker> = Arc::new(GroupCommit::start());
        let passwords = Arc::new(passwords);
        let door = Door::open(
            (login, false),
            providers,
            (passwords, GuessLimits::default()),
            Counts::default(),
            &broker,
        );
        Callers {
            door: door.expect("a door"),
            directory: Arc::new(directory),
        }
    }

    /// Comes in over a connection that has shown nothing yet.
    async fn comes(&self, headers: &HeaderMap, visitor: &Visitor) {
        let head = Head {
            method: &Method::POST,
            authority: None,
            headers,
            visitor,
        };
        let claims = self.door.check(&head, &self.directory).await;
        black_box(claims.expect("a good caller"));
    }

    /// Nanoseconds of a request with the header of the last one on its connection.
    async fn again(&self, headers: &HeaderMap, times: u32) -> f64 {
        let visitor = Visitor::new(PEER);
        self.comes(headers, &visitor).await;
        let head = Head {
            method: &Method::POST,
            authority: None,
            headers,
            visitor: &visitor,
        };
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            let began = Instant::now();
            for _ in 0..times {
                let claims = self
                    .door
                    .at_once(black_box(&head), || Ok(Arc::clone(&self.directory)));
                black_box(claims.expect("a good caller").expect("known at once"));
            }
            least = least.min(each(began, times));
        }
        least
    }

    /// Nanoseconds of the first request of a connection whose header this node knows.
    async fn elsewhere(&self, headers: &HeaderMap, times: u32) -> f64 {
        self.comes(headers, &Visitor::new(PEER)).await;
        let mut least = f64::INFINITY;
        for _ in 0..ROUNDS {
            let began = Instant::now();
            for _ in 0..times {
                self.comes(black_box(headers), &Visitor::new(PEER)).await;
            }
            least = least.min(each(began, times));
        }
        least
    }
}

/// Nanoseconds of each of so many.
fn each(began: Instant, times: u32) -> f64 {
    began.elapsed().as_secs_f64() * 1e9 / f64::from(times)
}

fn shown(text: &str) -> HeaderMap {
    let value = HeaderValue::from_str(text).expect("a header");
    HeaderMap::from_iter([(AUTHORIZATION, value)])
}

fn print(what: &str, nanoseconds: f64, goal: &str) {
    println!("{what:<58}{nanoseconds:>10.0} ns   goal {goal}");
}

/// `cost door`: prints a line for each way in.
pub fn measure() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        by_password().await;
        for (name, is_rsa, goal) in [("ES256", false, "45,000"), ("RS256", true, "19,000")] {
            let issuer = Issuer::start();
            if is_rsa {
                issuer.rotate_to_rsa();
            }
            by_token(&issuer, name, goal).await;
        }
    });
}

async fn by_password() {
    let passwords = Passwords::start().expect("threads");
    let hash = passwords.hash(Secret::new("right".into())).await;
    let user_key = Key::new(1, 1);
    let user = UserValue {
        user_key,
        username: "anna".into(),
        name: "Anna".into(),
        email: "anna@example.org".into(),
        password: hash.expect("a hash"),
    };
    let mut directory = Directory::default();
    directory.add(user_key, &Entry::User(user));
    let callers = Callers::of(Login::Basic, &[], directory, passwords);
    // anna:right
    let headers = shown("Basic YW5uYTpyaWdodA==");
    let again = callers.again(&headers, 1_000_000).await;
    print("name and password, the same again", again, "60");
    let elsewhere = callers.elsewhere(&headers, 200_000).await;
    print("name and password, another connection", elsewhere, "1,000");
}

async fn by_token(issuer: &Issuer, name: &str, goal: &str) {
    let settings = ProviderSettings {
        audiences: vec!["skep".to_string()],
        ..ProviderSettings::new("door", &issuer.uri())
    };
    let passwords = Passwords::start().expect("threads");
    let callers = Callers::of(Login::Bearer, &[settings], Directory::default(), passwords);
    let token = |number: u32| {
        let padding = "x".repeat(CLAIMS);
        let claims = json!({"sub": "anna", "aud": "skep", "jti": number, "padding": padding});
        shown(&format!("Bearer {}", issuer.token(&claims)))
    };
    let headers = token(0);
    let again = callers.again(&headers, 1_000_000).await;
    print(&format!("token ({name}), the same again"), again, "60");
    let elsewhere = callers.elsewhere(&headers, 200_000).await;
    print(
        &format!("token ({name}), another connection"),
        elsewhere,
        "1,000",
    );
    // None of these has come before.
    let mut least = f64::INFINITY;
    for round in 0..ROUNDS {
        let fresh: Vec<HeaderMap> = (1..=400).map(|n| token(round * 400 + n)).collect();
        let began = Instant::now();
        for headers in &fresh {
            callers.comes(headers, &Visitor::new(PEER)).await;
        }
        least = least.min(each(began, 400));
    }
    print(&format!("token ({name}), never seen"), least, goal);
}
