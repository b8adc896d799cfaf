//! The identity that commands log in with: the flags and variables of the official clients.

mod token;

use std::path::PathBuf;
use std::sync::OnceLock;

use clap::Args;
use skep_client::Authorization;

use super::Usage;

/// Maximum size of a password file, in bytes.
const MAX_PASSWORD: u64 = 4096;

/// Help heading of these flags, which all commands have.
pub const HEADING: &str = "Server and login";

/// How a command logs in.
#[derive(Args, Clone, Debug, Default)]
pub struct LoginArgs {
    /// Login method: `basic` with a name and a password, `oauth` with a token of an identity provider (CAMUNDA_OAUTH_URL,
    /// CAMUNDA_CLIENT_ID, CAMUNDA_CLIENT_SECRET), or `none` [default: depends on the credentials that are set].
    #[arg(
        long,
        global = true,
        env = "CAMUNDA_AUTH_STRATEGY",
        value_name = "basic|oauth|none",
        help_heading = HEADING
    )]
    auth: Option<String>,
    /// User name. The password comes from --password-file or from CAMUNDA_BASIC_AUTH_PASSWORD.
    #[arg(
        long,
        global = true,
        env = "CAMUNDA_BASIC_AUTH_USERNAME",
        value_name = "NAME",
        help_heading = HEADING
    )]
    user: Option<String>,
    /// File with the password, on its first line.
    #[arg(long, global = true, value_name = "FILE", help_heading = HEADING)]
    password_file: Option<PathBuf>,
}

static LOGIN: OnceLock<LoginArgs> = OnceLock::new();
static WARNED: OnceLock<()> = OnceLock::new();

/// Stores the login given on the command line and in the environment: once, when the command begins. Commands that call no server ignore
/// it.
pub fn chosen(login: LoginArgs) {
    LOGIN.get_or_init(|| login);
}

/// The credentials for requests to this address; warns if others can read them on the way.
///
/// # Errors
/// Settings that contradict each other, or a file that cannot be read.
pub fn at(address: &str) -> Result<Option<Authorization>, Usage> {
    let Some(login) = LOGIN.get() else {
        return Ok(None);
    };
    let password = std::env::var("CAMUNDA_BASIC_AUTH_PASSWORD").ok();
    let found = login.authorization(password, |name| std::env::var(name).ok())?;
    if found.is_some() {
        warn_of(address);
    }
    Ok(found)
}

/// Flags with which another call of this program logs in alike. Secrets stay in files and in the environment.
pub fn words() -> Vec<String> {
    LOGIN.get().map(LoginArgs::words).unwrap_or_default()
}

/// Warns once if a password goes to this address in clear text.
pub fn warn_of(address: &str) {
    if is_readable(address) && WARNED.set(()).is_ok() {
        complain!(
            "warning: credentials are sent to {address} without TLS and can be read on the way. Use an https:// address."
        );
    }
}

/// Advice for when a server requires a login.
pub fn advice() -> &'static str {
    let known = LOGIN.get().and_then(|login| login.user.as_ref());
    match known {
        None => {
            "The server requires a login: give --user NAME, and the password in CAMUNDA_BASIC_AUTH_PASSWORD or with --password-file FILE; \
             or, with an identity provider, CAMUNDA_CLIENT_ID, CAMUNDA_CLIENT_SECRET and CAMUNDA_OAUTH_URL."
        }
        Some(_) => {
            "The user name or the password is wrong. They come from --user (CAMUNDA_BASIC_AUTH_USERNAME) and from \
             --password-file or CAMUNDA_BASIC_AUTH_PASSWORD."
        }
    }
}

/// Follows what is not there in a sentence about an empty list: a caller who logs in may see less than there is.
pub fn to_this_user() -> &'static str {
    let has_user = LOGIN.get().and_then(|login| login.user.as_ref());
    let has_client = std::env::var_os("CAMUNDA_CLIENT_ID").is_some_and(|id| !id.is_empty());
    if has_user.is_some_and(|user| !user.is_empty()) || has_client {
        " that this user may see"
    } else {
        ""
    }
}

enum Strategy {
    Basic,
    OAuth,
    None,
}

impl LoginArgs {
    fn words(&self) -> Vec<String> {
        let file = self.password_file.as_ref();
        let flags = [
            ("auth", self.auth.clone()),
            ("user", self.user.clone()),
            ("password-file", file.map(|it| it.display().to_string())),
        ];
        let given = flags.into_iter().filter_map(|(flag, value)| {
            let value = value.filter(|value| !value.is_empty())?;
            Some(format!("--{flag}={value}"))
        });
        given.collect()
    }

    fn authorization(
        &self,
        password: Option<String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Authorization>, Usage> {
        let has_client = variable("CAMUNDA_CLIENT_ID").is_some_and(|id| !id.is_empty());
        match self.strategy(password.as_deref(), has_client)? {
            Strategy::None => Ok(None),
            Strategy::OAuth => token::kept(token::source(variable)?).map(Some),
            Strategy::Basic => self.basic(password).map(Some),
        }
    }

    fn basic(&self, password: Option<String>) -> Result<Authorization, Usage> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let Some(user) = given(&self.user) else {
            return Err(Usage(
                "no user to log in with: give --user NAME or CAMUNDA_BASIC_AUTH_USERNAME, or --auth none".into(),
            ));
        };
        let password = match &self.password_file {
            Some(file) => Some(read(file)?),
            None => given(&password),
        };
        let Some(password) = password else {
            return Err(Usage(format!(
                "there is no password for the user '{user}': set CAMUNDA_BASIC_AUTH_PASSWORD, or give --password-file FILE"
            )));
        };
        let authorization = Authorization::basic(&user, &password);
        authorization.map_err(|why| Usage(why.to_string()))
    }

    fn strategy(&self, password: Option<&str>, has_client: bool) -> Result<Strategy, Usage> {
        let is_given = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
        let has_user =
            is_given(self.user.as_deref()) || is_given(password) || self.password_file.is_some();
        match self.auth.as_deref().unwrap_or_default() {
            "" => match (has_user, has_client) {
                (true, true) => Err(Usage(
                    "both a user and a client to log in with are set: choose with --auth basic or --auth oauth (CAMUNDA_AUTH_STRATEGY)".into(),
                )),
                (true, false) => Ok(Strategy::Basic),
                (false, true) => Ok(Strategy::OAuth),
                (false, false) => Ok(Strategy::None),
            },
            text if text.eq_ignore_ascii_case("none") => Ok(Strategy::None),
            text if text.eq_ignore_ascii_case("basic") => Ok(Strategy::Basic),
            text if text.eq_ignore_ascii_case("oauth") || text.eq_ignore_ascii_case("oidc") => {
                Ok(Strategy::OAuth)
            }
            text => Err(Usage(format!(
                "--auth (CAMUNDA_AUTH_STRATEGY) is '{text}': expected basic, oauth or none"
            ))),
        }
    }
}

/// Reads the first line of a file.
fn read(file: &PathBuf) -> Result<String, Usage> {
    let bad = |why: String| Usage(format!("--password-file {}: {why}", file.display()));
    let size = std::fs::metadata(file).map_err(|error| bad(error.to_string()))?;
    if size.len() > MAX_PASSWORD {
        return Err(bad(format!(
            "it has {} bytes; a password has at most {MAX_PASSWORD}",
            size.len()
        )));
    }
    let text = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
    match text.lines().next().unwrap_or_default() {
        "" => Err(bad("its first line is empty".to_string())),
        line => Ok(line.to_string()),
    }
}

/// Whether others may read requests to this address: no TLS, and another machine.
fn is_readable(address: &str) -> bool {
    let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
    if matches!(scheme, "https" | "grpcs") {
        return false;
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let authority: Option<http::uri::Authority> = authority.parse().ok();
    let Some(authority) = authority else {
        return true;
    };
    let host = authority.host().trim_matches(['[', ']']);
    let ip: Option<std::net::IpAddr> = host.parse().ok();
    match ip {
        Some(ip) => !ip.is_loopback(),
        None => host != "localhost" && !host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(auth: &str, user: &str) -> LoginArgs {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_string());
        LoginArgs {
            auth: given(auth),
            user: given(user),
            password_file: None,
        }
    }

    fn header(login: &LoginArgs, password: Option<&str>) -> Result<Option<String>, String> {
        let found = login.authorization(password.map(str::to_string), |_| None);
        let shown = |login: Authorization| {
            let header = login.header().unwrap();
            header.to_str().unwrap().to_string()
        };
        found
            .map(|found| found.map(shown))
            .map_err(|why| why.to_string())
    }

    const DEMO: &str = "Basic ZGVtbzpodXNo";

    #[test]
    fn another_call_of_the_program_logs_in_alike() {
        let mut login = login("basic", "demo");
        login.password_file = Some("secret".into());
        let words = ["--auth=basic", "--user=demo", "--password-file=secret"];
        assert_eq!(login.words(), words);
        assert_eq!(LoginArgs::default().words(), [""; 0]);
    }

    #[test]
    fn a_user_with_a_password_logs_in() {
        for auth in ["", "basic", "BASIC"] {
            let sent = header(&login(auth, "demo"), Some("hush"));
            assert_eq!(sent, Ok(Some(DEMO.to_string())), "{auth}");
        }
        assert_eq!(header(&login("NONE", "demo"), Some("hush")), Ok(None));
        assert_eq!(header(&login("", ""), None), Ok(None));
        assert_eq!(header(&login("", ""), Some("")), Ok(None));
    }

    #[test]
    fn missing_and_contradictory_credentials_are_refused() {
        for (auth, user, password, said) in [
            ("basic", "", Some("hush"), "no user to log in with"),
            ("", "", Some("hush"), "no user to log in with"),
            ("", "demo", None, "no password for the user 'demo'"),
            ("OAUTH", "demo", Some("hush"), "CAMUNDA_OAUTH_URL"),
            (
                "digest",
                "demo",
                Some("hush"),
                "expected basic, oauth or none",
            ),
            ("", "a:b", Some("hush"), "has a colon"),
        ] {
            let why = header(&login(auth, user), password).unwrap_err();
            assert!(why.contains(said) && !why.contains("hush"), "{why}");
        }
    }

    #[test]
    fn a_user_and_a_client_at_once_are_refused_without_a_choice() {
        let variable = |name: &str| (name == "CAMUNDA_CLIENT_ID").then(|| "worker".to_string());
        let found = |auth: &str| {
            let password = Some("hush".to_string());
            login(auth, "demo").authorization(password, variable)
        };
        let why = found("").unwrap_err().to_string();
        assert!(why.contains("both a user and a client"), "{why}");
        assert!(found("basic").unwrap().is_some());
    }

    #[test]
    fn a_password_may_stand_in_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        std::fs::write(&file, "hush\n").unwrap();
        let mut login = login("", "demo");
        login.password_file = Some(file.clone());
        assert_eq!(header(&login, Some("other")), Ok(Some(DEMO.to_string())));
        std::fs::write(&file, "\nhush").unwrap();
        assert!(header(&login, None).unwrap_err().contains("line is empty"));
        std::fs::write(&file, "h".repeat(5000)).unwrap();
        assert!(header(&login, None).unwrap_err().contains("5000 bytes"));
        std::fs::remove_file(&file).unwrap();
        assert!(header(&login, None).unwrap_err().contains("password-file"));
    }

    #[test]
    fn passwords_are_readable_on_their_way_to_other_machines_without_tls() {
        for (address, readable) in [
            ("http://localhost:8080", false),
            ("localhost:8080", false),
            ("http://127.0.0.1", false),
            ("http://[::1]:8080/", false),
            ("localhost:8080/skep", false),
            ("https://skep.example.org", false),
            ("http://skep.example.org", true),
            ("skep.example.org:26500", true),
            ("http://10.0.0.1:8080", true),
            ("http://localhost.example.org", true),
        ] {
            assert_eq!(is_readable(address), readable, "{address}");
        }
    }
}
