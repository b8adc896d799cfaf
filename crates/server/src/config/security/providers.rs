//! `camunda.security.authentication.oidc.*`: the identity provider whose tokens are accepted; several have names of their own below
//! `camunda.security.authentication.providers.oidc`.

mod parameters;

use std::collections::BTreeMap;

use skep_oidc::{
    AssertionSettings, BrowserSettings, ClientProof, ClientSecret, Digest, Encoding, KeyId,
    ProviderSettings, Source as KeySource,
};
use skep_tls::Password;

use super::super::source::{Given, Source};
use super::super::tls::StoreSettings;
use super::super::value::{Kind, Value, squeeze};
use super::{Method, Security};

const SINGLE: &str = "camunda.security.authentication.oidc";
const SEVERAL: &str = "camunda.security.authentication.providers.oidc";
/// The name of the provider in the single form.
const NAME: &str = "oidc";
const MAX_PROVIDERS: usize = 16;

/// A setting of an identity provider.
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub default: &'static str,
    pub doc: &'static str,
    set: fn(&mut Draft, Value),
}

struct Draft {
    provider: ProviderSettings,
    client_id: Option<String>,
    client_secret: Option<String>,
    browsers: BrowserSettings,
    /// `NAME=VALUE`
    parameters: Vec<String>,
    /// It authenticates by a key, and not by its secret.
    by_key: bool,
    store: StoreSettings,
    key_id: KeyId,
    is_hex: bool,
    upper: Option<bool>,
}

const BY_SECRET: &str = "client_secret_basic";
const BY_KEY: &str = "private_key_jwt";

macro_rules! fields {
    ($($name:literal $kind:expr, $default:literal, |$draft:ident, $value:ident: $variant:ident| $set:expr; $doc:literal)*) => {
        /// In the order in which they are documented.
        pub static FIELDS: &[Field] = &[$(Field {
            name: $name,
            kind: $kind,
            default: $default,
            doc: $doc,
            set: |$draft, value| if let Value::$variant($value) = value {
                $set
            },
        }),*];
    };
}

fields! {
    "issuer-uri" Kind::Text, "", |it, uri: Text| it.provider.issuer_uri = uri;
        "Issuer of the tokens: the `iss` of a token must be the same text. The keys are found through the discovery document."
    "jwk-set-uri" Kind::Text, "", |it, uri: Text| it.provider.jwk_set_uri = Some(uri);
        "URL of the keys, instead of the one in the discovery document."
    "additional-jwk-set-uris" Kind::List, "", |it, uris: Text| it.provider.additional_jwk_set_uris = texts(&uris);
        "URLs of further keys of the same issuer."
    "audiences" Kind::List, "", |it, audiences: Text| it.provider.audiences = texts(&audiences);
        "A token must be for one of these (`aud`). If there are none, tokens for other servers are accepted too, and each start warns."
    "username-claim" Kind::Text, "sub", |it, claim: Text| it.provider.username_claim = claim;
        "Claim with the name of a user, given by its name or a JSONPath (`$.user.name`)."
    "client-id-claim" Kind::Text, "", |it, claim: Text| it.provider.client_id_claim = Some(claim);
        "Claim with the id of a client; a caller who has it is a client, not a user."
    "prefer-username-claim" Kind::Flag, "false", |it, prefer: Flag| it.provider.prefer_username_claim = prefer;
        "A caller who has both claims is a user."
    "groups-claim" Kind::Text, "", |it, claim: Text| it.provider.groups_claim = Some(claim);
        "Claim with the groups of the caller, a list of texts. The provider then manages the groups, and the operations on groups are disabled."
    "clock-skew" Kind::Time(0), "1m", |it, skew: Time| it.provider.clock_skew = skew;
        "Maximum difference between the clocks of the provider and this server."
    "client-id" Kind::Text, "", |it, id: Text| it.client_id = Some(id);
        "Id of this server at the provider. With it and the secret, browsers log in at the provider."
    "client-secret" Kind::Secret, "", |it, secret: Text| it.client_secret = Some(secret);
        "Secret of this server at the provider, the same on all nodes: sessions of browsers are sealed with a key derived from it."
    "client-name" Kind::Text, "", |it, name: Text| it.browsers.client_name = Some(name);
        "Name of the provider on the login page."
    "scope" Kind::List, "openid, profile", |it, scope: Text| it.browsers.scope = texts(&scope);
        "Scopes that are requested from the provider when a browser logs in."
    "resource" Kind::List, "", |it, resource: Text| it.browsers.resource = texts(&resource);
        "Servers that the access token is to be for, sent as `resource` (RFC 8707) when a browser logs in."
    "authorize-request.additional-parameters" Kind::List, "", |it, pairs: Text| it.parameters = texts(&pairs);
        "Further parameters of the request by which a browser logs in, such as `audience` or `prompt`: one setting each, named after the parameter (`authorize-request.additional-parameters.prompt: login`), or here as `NAME=VALUE`. Parameters that belong to the protocol are refused."
    "redirect-uri" Kind::Text, "{baseUrl}/sso-callback", |it, uri: Text| {
        let is_default = uri == "{baseUrl}/sso-callback";
        it.browsers.redirect_uri = (!is_default).then_some(uri);
    };
        "URL that browsers return to; it ends in `/sso-callback`. Default: the address that the browser used, below `skep.ui.base-path`. Set it if a proxy changes the host or ends TLS."
    "authorization-uri" Kind::Text, "", |it, uri: Text| it.browsers.authorization_uri = Some(uri);
        "URL where browsers log in, instead of the one in the discovery document."
    "token-uri" Kind::Text, "", |it, uri: Text| it.browsers.token_uri = Some(uri);
        "URL where this server redeems their codes, instead of the one in the discovery document."
    "end-session-endpoint-uri" Kind::Text, "", |it, uri: Text| it.browsers.end_session_uri = Some(uri);
        "URL where browsers log out, instead of the one in the discovery document."
    "idp-logout-enabled" Kind::Flag, "true", |it, there: Flag| it.browsers.logs_out_there = there;
        "Logging out of the web interface also logs out at the provider."
    "user-info-enabled" Kind::Flag, "true", |it, asked: Flag| it.browsers.user_info = asked;
        "When a browser logs in, the provider is asked for more claims of the user (`userinfo_endpoint` of its discovery document). Claims of the ID token take precedence; a response about another user ends the login."
    "grant-type" Kind::Choice(&["authorization_code"]), "authorization_code", |_it, _grant: Text| ();
        "How browsers log in. Only one grant type is supported."
    "client-authentication-method" Kind::Choice(&[BY_SECRET, BY_KEY]), "client_secret_basic", |it, method: Text| it.by_key = method == BY_KEY;
        "How this server authenticates to the provider: by its secret, or by a token signed with the key of a key store (`private_key_jwt`)."
    "assertion.keystore.path" Kind::Text, "", |it, path: Text| it.store.path = path;
        "PKCS#12 key store with the key, RSA or ECDSA (P-256, P-384), with `private_key_jwt`. All nodes need the same key: sessions of browsers are sealed with a key derived from it. It is read at startup."
    "assertion.keystore.password" Kind::Secret, "", |it, password: Text| it.store.password = Password::new(&password);
        "Password of the key store."
    "assertion.keystore.key-alias" Kind::Text, "", |it, alias: Text| it.store.alias = alias;
        "Name of the key in the key store, if it holds several."
    "assertion.keystore.key-password" Kind::Secret, "", |it, password: Text| it.store.key_password = Password::new(&password);
        "Password of the key. In PKCS#12 format it is the password of the store; a different one is refused."
    "assertion.kid-source" Kind::Choice(&["public_key", "certificate"]), "public_key", |it, source: Text| it.key_id.source = match source.as_str() {
        "certificate" => KeySource::Certificate,
        _ => KeySource::PublicKey,
    };
        "Source of the key id (`kid`)."
    "assertion.kid-digest-algorithm" Kind::Choice(&["sha256", "sha1"]), "sha256", |it, digest: Text| it.key_id.digest = match digest.as_str() {
        "sha1" => Digest::Sha1,
        _ => Digest::Sha256,
    };
        "Digest of the source that becomes the key id."
    "assertion.kid-encoding" Kind::Choice(&["base64url", "hex"]), "base64url", |it, encoding: Text| it.is_hex = encoding == "hex";
        "Encoding of the key id."
    "assertion.kid-case" Kind::Choice(&["lower", "upper"]), "", |it, case: Text| it.upper = Some(case == "upper");
        "Case of the letters of a key id in `hex`. Default: lower case."
}

/// Settings without effect here, each with the reason.
const WITHOUT_EFFECT: [(&str, &str); 1] = [(
    "id-token-algorithm",
    "the keys of the provider determine which signatures are accepted",
)];

#[derive(Default)]
pub struct Providers<'g> {
    /// Given settings by provider name, with normalized field names.
    by_name: BTreeMap<String, Vec<(String, &'g Given)>>,
}

impl<'g> Providers<'g> {
    /// Takes a setting, if it belongs to a provider.
    pub fn take(&mut self, given: &'g Given) -> bool {
        let Some((name, field)) = split(given) else {
            return false;
        };
        self.by_name.entry(name).or_default().push((field, given));
        true
    }

    /// Any setting of a provider.
    fn any(&self) -> Option<&'g Given> {
        let all = self.by_name.values().flatten().map(|(_, given)| *given);
        all.into_iter().find(|given| !given.text.is_empty())
    }

    /// Builds the providers; faults are added to `problems`. Providers are used with one method only, and whoever configures them without
    /// that method would believe the server to be safe.
    pub fn finish(
        self,
        security: &Security,
        warnings: &mut Vec<String>,
        problems: &mut Vec<String>,
    ) -> Vec<ProviderSettings> {
        if let Some(said) = self.any().filter(|_| security.method != Some(Method::Oidc)) {
            let text = format!(
                "{} ({}) has no effect: the method of authentication is not oidc (camunda.security.authentication.method)",
                said.name, said.source
            );
            if security.method.is_some() || security.unprotected_api == Some(true) {
                warnings.push(text)
            } else {
                problems.push(text)
            }
            return Vec::new();
        }
        let mut providers: Vec<ProviderSettings> = Vec::new();
        for (name, given) in self.by_name {
            let provider = provider(name, &given, warnings, problems);
            if provider.issuer_uri.is_empty() {
                let of_one = given.iter().find(|(_, given)| !given.text.is_empty());
                problems.extend(of_one.map(|(_, given)| {
                    format!(
                        "{} ({}): the identity provider {} has no issuer-uri, so no token can be from it",
                        given.name, given.source, provider.name
                    )
                }));
                continue;
            }
            let same = providers
                .iter()
                .find(|other| other.issuer_uri == provider.issuer_uri);
            if let Some(other) = same {
                problems.push(format!(
                    "the identity providers {} and {} have the same issuer-uri, {}: the provider of a token would be ambiguous",
                    other.name, provider.name, provider.issuer_uri
                ));
            }
            providers.push(provider);
        }
        if providers.len() > MAX_PROVIDERS {
            problems.push(format!(
                "{SEVERAL}: there are {}, but at most {MAX_PROVIDERS} are allowed",
                providers.len()
            ));
        }
        providers
    }
}

fn provider(
    name: String,
    given: &[(String, &Given)],
    warnings: &mut Vec<String>,
    problems: &mut Vec<String>,
) -> ProviderSettings {
    let mut draft = Draft::new(&name);
    let mut items: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (field, given) in given {
        // An empty environment variable means "not set".
        if given.text.is_empty() {
            continue;
        }
        if let Some(parameter) = parameters::name(field, given) {
            let pair = format!("{parameter}={}", given.text);
            draft.parameters.push(pair);
            continue;
        }
        let (plain, number) = item(field);
        let Some(found) = FIELDS.iter().find(|it| is(it.name, plain)) else {
            other(plain, given, warnings, problems);
            continue;
        };
        let mut text = given.text.clone();
        if let (Some(number), Kind::List) = (number, found.kind) {
            let all = items.entry(found.name).or_default();
            if number == 0 {
                all.clear();
            }
            all.push(&given.text);
            text = all.join(",");
        }
        match found.kind.parse(&text) {
            Some(value) => (found.set)(&mut draft, value),
            None => problems.push(format!(
                "{} = '{}' ({}): expected {}",
                given.name,
                given.text,
                given.source,
                found.kind.expected()
            )),
        }
    }
    draft.finish(warnings, problems)
}

impl Draft {
    fn new(name: &str) -> Draft {
        Draft {
            provider: ProviderSettings::new(name, ""),
            client_id: None,
            client_secret: None,
            browsers: BrowserSettings::new("", ""),
            parameters: Vec::new(),
            by_key: false,
            store: StoreSettings::default(),
            key_id: KeyId::default(),
            is_hex: false,
            upper: None,
        }
    }

    fn finish(
        mut self,
        warnings: &mut Vec<String>,
        problems: &mut Vec<String>,
    ) -> ProviderSettings {
        let of = format!("the identity provider {}", self.provider.name);
        self.browsers.parameters = parameters::read(&of, &self.parameters, problems);
        let proof = if self.by_key {
            self.key(&of, problems)
        } else {
            self.secret(&of, warnings)
        };
        match (self.client_id, proof) {
            (Some(client_id), Some(proof)) => {
                self.provider.browsers = Some(BrowserSettings {
                    client_id,
                    proof,
                    ..self.browsers
                });
            }
            (None, _) if self.by_key => {
                problems.push(format!("{of}: {BY_KEY} needs its client-id"));
            }
            _ if self.by_key => {}
            _ => warnings.push(format!(
                "browsers cannot log in at {of}: that needs its client-id and client-secret"
            )),
        }
        self.provider
    }

    fn secret(&self, of: &str, warnings: &mut Vec<String>) -> Option<ClientProof> {
        if !self.store.path.is_empty() {
            warnings.push(format!(
                "{of}: assertion.* has no effect, as client-authentication-method is not {BY_KEY}"
            ));
        }
        let secret = self.client_secret.clone()?;
        Some(ClientProof::Secret(ClientSecret::new(secret)))
    }

    fn key(&self, of: &str, problems: &mut Vec<String>) -> Option<ClientProof> {
        if self.store.path.is_empty() {
            problems.push(format!("{of}: {BY_KEY} needs assertion.keystore.path"));
            return None;
        }
        let encoding = match (self.is_hex, self.upper) {
            (false, None) => Encoding::Base64Url,
            (true, Some(true)) => Encoding::UpperHex,
            (true, _) => Encoding::LowerHex,
            (false, Some(_)) => {
                problems.push(format!(
                    "{of}: assertion.kid-case applies to ids in hex, but assertion.kid-encoding is base64url"
                ));
                return None;
            }
        };
        Some(ClientProof::Key(AssertionSettings {
            store: self.store.named(),
            key_id: KeyId {
                encoding,
                ..self.key_id
            },
        }))
    }
}

/// Handles a name that is not a field of this version.
fn other(field: &str, given: &Given, warnings: &mut Vec<String>, problems: &mut Vec<String>) {
    let without = WITHOUT_EFFECT
        .iter()
        .find(|(name, _)| field.starts_with(&bare(name)));
    let (name, source) = (&given.name, &given.source);
    match without {
        Some((_, why)) => warnings.push(format!("{name} ({source}) has no effect: {why}")),
        None => problems.push(format!(
            "{name} ({source}): there is no such setting; ignoring it could leave open what it is meant to protect. Correct its name, or \
             remove it"
        )),
    }
}

/// A name normalized for comparison, whatever its spelling.
fn bare(name: &str) -> String {
    let mut name = squeeze(name);
    name.retain(|c| c != '.' && c != '_');
    name
}

fn is(name: &str, field: &str) -> bool {
    bare(name) == field
}

/// A field without the number of its item.
fn item(field: &str) -> (&str, Option<usize>) {
    let (name, number) = match field.split_once('[') {
        Some((name, number)) => (name, number.strip_suffix(']')),
        None => (field, None),
    };
    (name, number.and_then(|number| number.parse().ok()))
}

/// The name of the provider and its field, normalized for comparison, with the number of an item in brackets.
fn split(given: &Given) -> Option<(String, String)> {
    if let Source::Environment(_) = given.source {
        let name = given.name.to_ascii_lowercase();
        let rest = name.strip_prefix("camunda_security_authentication_")?;
        let (name, field) = match rest.strip_prefix("providers_oidc_") {
            Some(rest) => rest.split_once('_')?,
            None => (NAME, rest.strip_prefix("oidc_")?),
        };
        let numbered = field.rsplit_once('_');
        let numbered = numbered.and_then(|(field, n)| Some((field, n.parse::<usize>().ok()?)));
        let field = match numbered {
            Some((field, number)) => format!("{}[{number}]", bare(field)),
            None => bare(field),
        };
        return Some((name.to_string(), field));
    }
    let squeezed = squeeze(&given.name);
    let below = |area: &str| {
        let rest = squeezed.strip_prefix(&format!("{}.", squeeze(area)))?;
        Some((area.matches('.').count() + 1, rest.to_string()))
    };
    if let Some((_, field)) = below(SINGLE) {
        return Some((NAME.to_string(), bare(&field)));
    }
    let (segments, rest) = below(SEVERAL)?;
    // Keep the operator's spelling of the name.
    let name = given.name.split('.').nth(segments)?;
    let (_, field) = rest.split_once('.')?;
    Some((name.to_string(), bare(field)))
}

fn texts(list: &str) -> Vec<String> {
    let texts = list.split(',').map(|text| text.trim().to_string());
    texts.filter(|text| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use skep_tls::KeyStore;

    use super::*;

    fn taken(given: &[Given]) -> (Vec<ProviderSettings>, Vec<String>, Vec<String>) {
        let mut providers = Providers::default();
        for given in given {
            assert!(providers.take(given), "{}", given.name);
        }
        let (mut warnings, mut problems) = (Vec::new(), Vec::new());
        let security = Security {
            method: Some(Method::Oidc),
            ..Security::default()
        };
        let found = providers.finish(&security, &mut warnings, &mut problems);
        (found, warnings, problems)
    }

    fn variable(name: &str, text: &str) -> Given {
        let name = format!("CAMUNDA_SECURITY_AUTHENTICATION_{name}");
        Given {
            text: text.to_string(),
            source: Source::Environment(name.clone()),
            name,
        }
    }

    fn flag(name: &str, text: &str) -> Given {
        Given::flag(
            "--set",
            &format!("camunda.security.authentication.{name}"),
            text,
        )
    }

    #[test]
    fn files_and_the_environment_say_the_same_of_a_provider() {
        let (by_file, warnings, problems) = taken(&[
            flag("oidc.issuer-uri", "https://id.example.org"),
            flag("oidc.audiences[0]", "skep"),
            flag("oidc.audiences[1]", "other"),
            flag("oidc.usernameClaim", "preferred_username"),
            flag("oidc.client-id-claim", "client_id"),
            flag("oidc.groupsClaim", "$.realm.groups"),
            flag("oidc.clock-skew", "PT0S"),
            flag("oidc.client-id", "skep"),
            flag("oidc.client-secret", "hush"),
            flag("oidc.scope", "openid, email"),
        ]);
        assert_eq!((warnings, problems), (Vec::new(), Vec::new()));
        let [provider] = &*by_file else {
            panic!("{by_file:?}");
        };
        assert_eq!(provider.name, "oidc");
        assert_eq!(provider.audiences, ["skep", "other"]);
        assert_eq!(provider.groups_claim.as_deref(), Some("$.realm.groups"));
        assert_eq!(provider.clock_skew, Duration::ZERO);
        let browsers = provider.browsers.as_ref().unwrap();
        assert_eq!(browsers.scope, ["openid", "email"]);
        assert!(!format!("{provider:?}").contains("hush"));
        let (by_variable, ..) = taken(&[
            variable("OIDC_ISSUERURI", "https://id.example.org"),
            variable("OIDC_AUDIENCES_0", "skep"),
            variable("OIDC_AUDIENCES_1", "other"),
            variable("OIDC_USERNAMECLAIM", "preferred_username"),
            variable("OIDC_CLIENTIDCLAIM", "client_id"),
            variable("OIDC_GROUPSCLAIM", "$.realm.groups"),
            variable("OIDC_CLOCKSKEW", "0s"),
            variable("OIDC_CLIENTID", "skep"),
            variable("OIDC_CLIENTSECRET", "hush"),
            variable("OIDC_SCOPE", "openid,email"),
            variable("OIDC_JWKSETURI", ""),
        ]);
        assert_eq!(by_variable, by_file);
    }

    #[test]
    fn several_providers_have_a_name_and_claims_each() {
        let (found, _, problems) = taken(&[
            flag("providers.oidc.people.issuer-uri", "https://a.example.org"),
            variable("PROVIDERS_OIDC_MACHINES_ISSUERURI", "https://b.example.org"),
            variable("PROVIDERS_OIDC_MACHINES_CLIENTIDCLAIM", "azp"),
        ]);
        assert_eq!(problems, Vec::<String>::new());
        let said = found
            .iter()
            .map(|it| (&*it.name, it.client_id_claim.as_deref()));
        let said: Vec<_> = said.collect();
        assert_eq!(said, [("machines", Some("azp")), ("people", None)]);
    }

    #[test]
    fn invalid_settings_are_problems_and_ineffective_ones_are_warnings() {
        let (_, warnings, problems) = taken(&[
            flag("oidc.issuer-uri", "https://id.example.org"),
            flag("oidc.client-secret", "hush"),
            flag("oidc.assertion.keystore.path", "/k"),
        ]);
        assert_eq!((warnings.len(), problems.len()), (2, 0));
        assert!(warnings.concat().contains("client-id") && !warnings.concat().contains("hush"));
        for (given, said) in [
            (flag("oidc.audiences", "skep"), "has no issuer-uri"),
            (flag("oidc.audience", "skep"), "no such setting"),
            (flag("oidc.organization-id", "x"), "no such setting"),
            (flag("oidc.clock-skew", "soon"), "expected"),
            (
                flag("oidc.client-authentication-method", "tls_client_auth"),
                "expected",
            ),
            (
                flag("oidc.assertion.kid-encoding", "base32"),
                "expected one of base64url, hex",
            ),
        ] {
            let (_, _, problems) = taken(&[given]);
            assert!(problems.concat().contains(said), "{problems:?}");
        }
        let (_, _, problems) = taken(&[
            flag("providers.oidc.a.issuer-uri", "https://id.example.org"),
            flag("providers.oidc.b.issuer-uri", "https://id.example.org"),
        ]);
        assert!(
            problems.concat().contains("the same issuer-uri"),
            "{problems:?}"
        );
    }

    #[test]
    fn a_server_may_have_a_key_instead_of_a_secret() {
        let method = || flag("oidc.client-authentication-method", "private_key_jwt");
        let issuer = || flag("oidc.issuer-uri", "https://id.example.org");
        let client = || flag("oidc.client-id", "skep");
        let path = || flag("oidc.assertion.keystore.path", "file:///etc/skep.p12");
        let (found, warnings, problems) = taken(&[
            issuer(),
            client(),
            method(),
            path(),
            variable("OIDC_ASSERTION_KEYSTORE_PASSWORD", "hush"),
            variable("OIDC_ASSERTION_KEYSTORE_KEYALIAS", "skep"),
            variable("OIDC_ASSERTION_KIDSOURCE", "CERTIFICATE"),
            variable("OIDC_ASSERTION_KIDDIGESTALGORITHM", "SHA1"),
            flag("oidc.assertion.kid-encoding", "HEX"),
            flag("oidc.assertion.kid-case", "UPPER"),
            flag("oidc.user-info-enabled", "false"),
        ]);
        assert_eq!((warnings, problems), (Vec::new(), Vec::new()));
        let browsers = found[0].browsers.as_ref().unwrap();
        let store = KeyStore {
            path: "/etc/skep.p12".into(),
            password: Password::new("hush"),
            alias: Some("skep".to_string()),
            key_password: None,
        };
        let key_id = KeyId {
            source: KeySource::Certificate,
            digest: Digest::Sha1,
            encoding: Encoding::UpperHex,
        };
        let key = AssertionSettings { store, key_id };
        assert_eq!(browsers.proof, ClientProof::Key(key));
        assert!(!browsers.user_info);
        assert!(!format!("{found:?}").contains("hush"));

        for (given, said) in [
            (vec![client(), method()], "needs assertion.keystore.path"),
            (vec![path(), method()], "needs its client-id"),
            (
                vec![
                    client(),
                    path(),
                    method(),
                    flag("oidc.assertion.kid-case", "upper"),
                ],
                "kid-case applies to ids in hex",
            ),
        ] {
            let given = [vec![issuer()], given].concat();
            let (_, _, problems) = taken(&given);
            let [problem] = &*problems else {
                panic!("{problems:?}");
            };
            assert!(problem.contains(said), "{problem}");
        }
        let (_, warnings, _) = taken(&[
            issuer(),
            client(),
            flag("oidc.client-secret", "hush"),
            path(),
        ]);
        assert!(warnings.concat().contains("assertion.* has no effect"));
    }
}
