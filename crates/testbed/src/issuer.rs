//! An identity provider for tests: it has a discovery document and keys, and signs or misbehaves as the test directs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};

/// Interval between two checks whether an answer is still held.
const HELD: Duration = Duration::from_millis(5);

/// The access token that comes with each ID token.
const ACCESS: &str = "access-token-of-the-issuer";

/// Its behaviour when it receives a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Behaviour {
    Answers,
    /// Closes the connection.
    HangsUp,
    /// Sends nothing until its behaviour is changed, and then sends the withheld answer.
    Holds,
    /// Redirects to a place that has its keys.
    Redirects,
    /// Answers, and goes on with this many blanks, which JSON permits.
    Babbles(usize),
}

enum Key {
    Ecdsa(EcdsaKeyPair),
    Rsa(Box<RsaKeyPair>),
}

struct State {
    keys: Vec<(String, Key)>,
    made: usize,
    asked: usize,
    behaviour: Behaviour,
    logins: Vec<Login>,
    redeemed: Vec<Redemption>,
    /// Its user info for the holder of an access token; `None`: it has no such endpoint.
    user_info: Option<Value>,
    /// Lifetime of its access tokens in seconds; if set, it also gives refresh tokens.
    lives: Option<u64>,
    grants: Vec<Grant>,
    /// Claims of the next refreshed ID token that differ from those at login.
    news: Map<String, Value>,
    /// Its behaviour at the token endpoint.
    at_token: Behaviour,
    /// The error that it returns instead of tokens.
    error: Option<String>,
    /// Members of its discovery document that differ from the usual ones.
    described: Map<String, Value>,
}

/// A login with refresh tokens. Only the last one is valid; using an earlier one ends the login (RFC 9700, section 4.14.2).
struct Grant {
    claims: Value,
    given: Vec<String>,
    is_good: bool,
}

/// A request for the tokens of a login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redemption {
    /// The header `authorization`.
    pub authorization: Option<String>,
    pub form: BTreeMap<String, String>,
}

/// A completed login, whose code the browser delivers.
struct Login {
    code: String,
    challenge: String,
    redirect_uri: String,
    id_token: String,
    claims: Value,
}

/// See the [module](self). It runs until the process ends.
#[derive(Clone)]
pub struct Issuer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Issuer {
    /// Starts with one key, for ES256.
    pub fn start() -> Issuer {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("its port");
        let state = Arc::new(Mutex::new(State {
            keys: Vec::new(),
            made: 0,
            asked: 0,
            behaviour: Behaviour::Answers,
            logins: Vec::new(),
            redeemed: Vec::new(),
            user_info: None,
            lives: None,
            grants: Vec::new(),
            news: Map::new(),
            at_token: Behaviour::Answers,
            error: None,
            described: Map::new(),
        }));
        let issuer = Issuer {
            address,
            state: Arc::clone(&state),
        };
        issuer.rotate();
        let answering = issuer.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let issuer = answering.clone();
                std::thread::spawn(move || answer(&stream, &issuer));
            }
        });
        issuer
    }

    /// Its issuer URI.
    pub fn uri(&self) -> String {
        format!("http://{}", self.address)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces all keys by a new one.
    pub fn rotate(&self) {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
        self.is_key(Key::Ecdsa(key));
    }

    /// Signs tokens with a new key from now on; tokens signed with the old keys stay valid.
    pub fn adds_key(&self) {
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
        let mut before = std::mem::take(&mut self.state().keys);
        self.is_key(Key::Ecdsa(key));
        self.state().keys.append(&mut before);
    }

    /// Like [`rotate`](Self::rotate), with a key for RS256.
    pub fn rotate_to_rsa(&self) {
        let key = RsaKeyPair::generate(KeySize::Rsa2048).expect("a key");
        self.is_key(Key::Rsa(Box::new(key)));
    }

    fn is_key(&self, key: Key) {
        let mut state = self.state();
        state.made += 1;
        let id = format!("key-{}", state.made);
        state.keys = vec![(id, key)];
    }

    pub fn behaves(&self, behaviour: Behaviour) {
        self.state().behaviour = behaviour;
    }

    /// Logs a user in at the URL that a server redirected the browser to. Returns the query that the browser brings back. The ID token has
    /// these claims.
    pub fn logs_in(&self, sent_to: &str, claims: &Value) -> String {
        let asked = asked(sent_to);
        let said = |name: &str| asked.get(name).cloned().unwrap_or_default();
        let mut all = claims.clone();
        if let Some(all) = all.as_object_mut() {
            all.entry("nonce").or_insert_with(|| json!(said("nonce")));
            all.entry("aud").or_insert_with(|| json!(said("client_id")));
        }
        let id_token = self.token(&all);
        self.logs_in_with(sent_to, &all, id_token)
    }

    /// Likewise, with any ID token.
    pub fn logs_in_with(&self, sent_to: &str, claims: &Value, id_token: String) -> String {
        let asked = asked(sent_to);
        let said = |name: &str| asked.get(name).cloned().unwrap_or_default();
        let mut state = self.state();
        let code = format!("code-{}", state.logins.len());
        state.logins.push(Login {
            code: code.clone(),
            challenge: said("code_challenge"),
            redirect_uri: said("redirect_uri"),
            id_token,
            claims: claims.clone(),
        });
        format!("state={}&code={code}", said("state"))
    }

    /// Gives a refresh token at each login from now on; the access tokens, also those for clients, are valid for this many seconds.
    pub fn gives_refresh_tokens(&self, lives: u64) {
        self.state().lives = Some(lives);
    }

    /// Adds these claims to ID tokens given for refresh tokens from now on.
    pub fn says_at_refresh(&self, news: &Value) {
        self.state().news = news.as_object().cloned().unwrap_or_default();
    }

    /// Ends all logins: no refresh token is valid any more.
    pub fn revokes(&self) {
        for grant in &mut self.state().grants {
            grant.is_good = false;
        }
    }

    /// Whether all logins with refresh tokens are still valid: no token was used twice.
    pub fn all_last(&self) -> bool {
        self.state().grants.iter().all(|grant| grant.is_good)
    }

    /// Number of requests with a refresh token.
    pub fn refreshed(&self) -> usize {
        let redeemed = &self.state().redeemed;
        let shown = redeemed
            .iter()
            .filter(|it| it.form.contains_key("refresh_token"));
        shown.count()
    }

    /// The refresh tokens given so far.
    pub fn refresh_tokens(&self) -> Vec<String> {
        let state = self.state();
        let given = state.grants.iter().flat_map(|grant| grant.given.clone());
        given.collect()
    }

    /// Sets its behaviour at the token endpoint; it still serves its keys.
    pub fn at_token(&self, behaviour: Behaviour) {
        self.state().at_token = behaviour;
    }

    /// Sets the error that it returns to requests for tokens from now on.
    pub fn refuses_tokens(&self, error: Option<&str>) {
        self.state().error = error.map(str::to_string);
    }

    /// Serves these claims about users at its user info endpoint from now on.
    pub fn says_of_users(&self, claims: &Value) {
        self.state().user_info = Some(claims.clone());
    }

    /// Has these members in its discovery document from now on.
    pub fn is_described_with(&self, members: &Value) {
        self.state().described = members.as_object().cloned().unwrap_or_default();
    }

    /// The requests for tokens, in order.
    pub fn redeemed(&self) -> Vec<Redemption> {
        self.state().redeemed.clone()
    }

    /// Number of requests for its keys.
    pub fn asked(&self) -> usize {
        self.state().asked
    }

    /// A token with these claims, valid for five minutes unless they say otherwise.
    pub fn token(&self, claims: &Value) -> String {
        let header = {
            let state = self.state();
            let (id, key) = state.keys.first().expect("a key");
            let algorithm = match key {
                Key::Ecdsa(_) => "ES256",
                Key::Rsa(_) => "RS256",
            };
            json!({"alg": algorithm, "kid": id, "typ": "JWT"})
        };
        self.signed(&header, claims)
    }

    /// A token with an arbitrary header.
    pub fn signed(&self, header: &Value, claims: &Value) -> String {
        let mut all = Map::new();
        all.insert("iss".into(), json!(self.uri()));
        all.insert("exp".into(), json!(now() + 300));
        all.extend(claims.as_object().cloned().unwrap_or_default());
        all.retain(|_, value| !value.is_null());
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(header), part(&Value::Object(all)));
        let state = self.state();
        let random = SystemRandom::new();
        let signature = match state.keys.first() {
            Some((_, Key::Ecdsa(key))) => {
                let signature = key.sign(&random, text.as_bytes()).expect("a signature");
                signature.as_ref().to_vec()
            }
            Some((_, Key::Rsa(key))) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature)
                    .expect("a signature");
                signature
            }
            None => Vec::new(),
        };
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

/// The parameters of the URL that a server redirected a browser to.
fn asked(sent_to: &str) -> BTreeMap<String, String> {
    let query = sent_to.split_once('?').map_or("", |(_, query)| query);
    form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

/// Seconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Waits while answers are held, then returns the behaviour.
fn behaviour(issuer: &Issuer, of: impl Fn(&State) -> &Behaviour) -> Behaviour {
    loop {
        let behaviour = of(&issuer.state()).clone();
        match behaviour {
            Behaviour::Holds => std::thread::sleep(HELD),
            other => return other,
        }
    }
}

fn answer(stream: &TcpStream, issuer: &Issuer) {
    let (address, state) = (issuer.address, &*issuer.state);
    let mut reader = BufReader::new(stream);
    let mut lines = reader.by_ref().lines().map_while(Result::ok);
    let Some(first) = lines.next() else {
        return;
    };
    let wants_keys = first.starts_with("GET /keys ");
    let was_redirected = first.starts_with("GET /elsewhere ");
    let (length, authorization) = headers(&mut lines);
    if first.starts_with("POST /token ") {
        drop(lines);
        let mut form = vec![0; length];
        let read = reader.read_exact(&mut form);
        return read.map_or((), |()| redeem(stream, issuer, &form, authorization));
    }
    if first.starts_with("GET /userinfo ") {
        drop(lines);
        return send_user_info(stream, state, authorization.as_deref());
    }
    drop(lines);
    let document = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asked += usize::from(wants_keys);
        if wants_keys || was_redirected {
            let keys = state.keys.iter().map(|(id, key)| public(id, key));
            json!({"keys": keys.collect::<Vec<_>>()})
        } else {
            let mut document = discovery(address, state.user_info.is_some());
            if let Some(members) = document.as_object_mut() {
                members.extend(state.described.clone());
            }
            document
        }
    };
    let mut body = document.to_string();
    match behaviour(issuer, |state| &state.behaviour) {
        Behaviour::HangsUp => return,
        Behaviour::Redirects if !was_redirected => {
            let text = format!(
                "HTTP/1.1 302 Found\r\nlocation: http://{address}/elsewhere\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            let _ = { stream }.write_all(text.as_bytes());
            return;
        }
        Behaviour::Babbles(bytes) => body.push_str(&" ".repeat(bytes)),
        Behaviour::Answers | Behaviour::Holds | Behaviour::Redirects => {}
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _ = { stream }.write_all(head.as_bytes());
    let _ = { stream }.write_all(body.as_bytes());
}

/// The discovery document.
fn discovery(address: SocketAddr, has_user_info: bool) -> Value {
    let issuer = format!("http://{address}");
    let at = |path: &str| format!("{issuer}/{path}");
    json!({
        "issuer": issuer, "jwks_uri": at("keys"), "token_endpoint": at("token"),
        "authorization_endpoint": at("authorize"), "end_session_endpoint": at("end"),
        "userinfo_endpoint": has_user_info.then(|| at("userinfo")),
    })
}

/// The length of a request's body, and its authorization header.
fn headers(lines: &mut impl Iterator<Item = String>) -> (usize, Option<String>) {
    let mut length = 0;
    let mut authorization = None;
    for line in lines.take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or_default(),
            "authorization" => authorization = Some(value.trim().to_string()),
            _ => {}
        }
    }
    (length, authorization)
}

/// Gives tokens for a code, once, to a client that proves to have requested it, and for a refresh token.
fn redeem(stream: &TcpStream, issuer: &Issuer, form: &[u8], authorization: Option<String>) {
    let form: BTreeMap<String, String> = form_urlencoded::parse(form).into_owned().collect();
    issuer.state().redeemed.push(Redemption {
        authorization,
        form: form.clone(),
    });
    if behaviour(issuer, |state| &state.at_token) == Behaviour::HangsUp {
        return;
    }
    let error = issuer.state().error.clone();
    let of_client = form.get("grant_type").map(String::as_str) == Some("client_credentials");
    let tokens = match (error, form.get("refresh_token")) {
        (Some(error), _) => Err(error),
        (None, _) if of_client => Ok(for_client(issuer, &form)),
        (None, Some(shown)) => refreshed(issuer, shown).ok_or("invalid_grant".to_string()),
        (None, None) => first(issuer, &form).ok_or("invalid_grant".to_string()),
    };
    match tokens {
        Ok(tokens) => send(stream, "200 OK", &tokens),
        Err(error) => send(stream, "400 Bad Request", &json!({"error": error})),
    }
}

/// A token for a client itself.
fn for_client(issuer: &Issuer, form: &BTreeMap<String, String>) -> Value {
    let lives = issuer.state().lives.unwrap_or(60);
    let said = |name: &str| form.get(name).cloned().unwrap_or_default();
    let claims =
        json!({"client_id": said("client_id"), "aud": said("audience"), "exp": now() + lives});
    json!({"access_token": issuer.token(&claims), "token_type": "Bearer", "expires_in": lives})
}

/// The tokens of a login.
fn first(issuer: &Issuer, form: &BTreeMap<String, String>) -> Option<Value> {
    let said = |name: &str| form.get(name).cloned().unwrap_or_default();
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, said("code_verifier").as_bytes()));
    let mut state = issuer.state();
    let at = state.logins.iter().position(|login| {
        login.code == said("code")
            && login.challenge == challenge
            && login.redirect_uri == said("redirect_uri")
    })?;
    let login = state.logins.swap_remove(at);
    let mut tokens =
        json!({"id_token": login.id_token, "access_token": ACCESS, "token_type": "Bearer"});
    if let Some(lives) = state.lives {
        let number = state.grants.len();
        let token = format!("refresh-token-{number}-0");
        let more = [
            ("refresh_token", json!(token)),
            ("expires_in", json!(lives)),
        ];
        let more = more.map(|(name, value)| (name.to_string(), value));
        tokens.as_object_mut()?.extend(more);
        state.grants.push(Grant {
            claims: login.claims,
            given: vec![token],
            is_good: true,
        });
    }
    Some(tokens)
}

/// The tokens for a refresh token, which is valid once.
fn refreshed(issuer: &Issuer, shown: &str) -> Option<Value> {
    let (mut claims, token, lives) = {
        let mut state = issuer.state();
        let (lives, news) = (state.lives, state.news.clone());
        let known = |grant: &Grant| grant.given.iter().any(|given| given == shown);
        let number = state.grants.iter().position(known)?;
        let grant = state.grants.get_mut(number)?;
        grant.is_good &= grant.given.last().is_some_and(|last| last == shown);
        if !grant.is_good {
            return None;
        }
        let token = format!("refresh-token-{number}-{}", grant.given.len());
        grant.given.push(token.clone());
        let mut claims = grant.claims.clone();
        claims.as_object_mut()?.extend(news);
        (claims, token, lives)
    };
    claims.as_object_mut()?.remove("nonce");
    Some(json!({
        "id_token": issuer.token(&claims), "access_token": ACCESS, "token_type": "Bearer",
        "refresh_token": token, "expires_in": lives,
    }))
}

/// Answers a request for user info: the configured claims, if the access token is right.
fn send_user_info(stream: &TcpStream, state: &Mutex<State>, authorization: Option<&str>) {
    let state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let is_given = authorization == Some(&*format!("Bearer {ACCESS}"));
    match state.user_info.as_ref().filter(|_| is_given) {
        Some(claims) => send(stream, "200 OK", claims),
        None => send(stream, "401 Unauthorized", &json!({})),
    }
}

fn send(stream: &TcpStream, status: &str, body: &Value) {
    let body = body.to_string();
    let text = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = { stream }.write_all(text.as_bytes());
}

fn public(id: &str, key: &Key) -> Value {
    let number = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    match key {
        Key::Ecdsa(key) => {
            // An uncompressed point: 4, x, y (SEC 1, section 2.3.3).
            let (_, point) = key.public_key().as_ref().split_at(1);
            let (x, y) = point.split_at(32);
            json!({"kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "x": number(x), "y": number(y)})
        }
        Key::Rsa(key) => {
            let public = key.public_key();
            let modulus = public.modulus().big_endian_without_leading_zero();
            let exponent = public.exponent().big_endian_without_leading_zero();
            json!({"kty": "RSA", "kid": id, "use": "sig", "n": number(modulus), "e": number(exponent)})
        }
    }
}
