//! `camunda.security.authentication.oidc.*`: the identity provider whose tokens are taken; several stand each under a name of its own
//! below `camunda.security.authentication.providers.oidc`.

use std::collections::BTreeMap;

use skep_oidc::{BrowserSettings, ClientSecret, ProviderSettings};

use super::super::source::{Given, Source};
use super::super::value::{Kind, Value, squeeze};
use super::{Method, Security};

const SINGLE: &str = "camunda.security.authentication.oidc";
const SEVERAL: &str = "camunda.security.authentication.providers.oidc";
/// The name of the one in the single form.
const NAME: &str = "oidc";
const MAX_PROVIDERS: usize = 16;

/// What is said of a provider.
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
}

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
        "Who issues the tokens: a token's `iss` has to be the same text. Its keys are found by its discovery document."
    "jwk-set-uri" Kind::Text, "", |it, uri: Text| it.provider.jwk_set_uri = Some(uri);
        "Where its keys are, instead of asking the discovery document."
    "additional-jwk-set-uris" Kind::List, "", |it, uris: Text| it.provider.additional_jwk_set_uris = texts(&uris);
        "Further keys of the same issuer."
    "audiences" Kind::List, "", |it, audiences: Text| it.provider.audiences = texts(&audiences);
        "A token has to be for one of these (`aud`). Without any, tokens for other servers are taken too, and each start warns."
    "username-claim" Kind::Text, "sub", |it, claim: Text| it.provider.username_claim = claim;
        "The claim with the name of a user: its name, or a JSONPath (`$.user.name`)."
    "client-id-claim" Kind::Text, "", |it, claim: Text| it.provider.client_id_claim = Some(claim);
        "The claim with the id of a client; who has it is a client and no user."
    "prefer-username-claim" Kind::Flag, "false", |it, prefer: Flag| it.provider.prefer_username_claim = prefer;
        "Who has both claims is a user."
    "groups-claim" Kind::Text, "", |it, claim: Text| it.provider.groups_claim = Some(claim);
        "The claim with the groups of the caller, a list of texts. Groups are managed by the provider then, and the operations on groups are closed."
    "clock-skew" Kind::Time(0), "1m", |it, skew: Time| it.provider.clock_skew = skew;
        "So far the clocks of the provider and of this server may be apart."
    "client-id" Kind::Text, "", |it, id: Text| it.client_id = Some(id);
        "This server, as the provider knows it. With it and the secret, browsers log in at the provider."
    "client-secret" Kind::Secret, "", |it, secret: Text| it.client_secret = Some(secret);
        "Its secret, the same on all nodes: sessions of browsers are sealed with a key that is derived from it."
    "client-name" Kind::Text, "", |it, name: Text| it.browsers.client_name = Some(name);
        "The name of the provider on the login page."
    "scope" Kind::List, "openid, profile", |it, scope: Text| it.browsers.scope = texts(&scope);
        "What the provider is asked for when a browser logs in."
    "redirect-uri" Kind::Text, "{baseUrl}/sso-callback", |it, uri: Text| {
        let is_default = uri == "{baseUrl}/sso-callback";
        it.browsers.redirect_uri = (!is_default).then_some(uri);
    };
        "Where browsers come back to; it ends in `/sso-callback`. By default the address that the browser has used: give it where a proxy is in between."
    "authorization-uri" Kind::Text, "", |it, uri: Text| it.browsers.authorization_uri = Some(uri);
        "Where browsers log in, instead of what the discovery document says."
    "token-uri" Kind::Text, "", |it, uri: Text| it.browsers.token_uri = Some(uri);
        "Where this server redeems their codes, likewise."
    "end-session-endpoint-uri" Kind::Text, "", |it, uri: Text| it.browsers.end_session_uri = Some(uri);
        "Where browsers log out, likewise."
    "idp-logout-enabled" Kind::Flag, "true", |it, there: Flag| it.browsers.logs_out_there = there;
        "Who logs out of the web interface logs out at the provider, too."
    "grant-type" Kind::Choice(&["authorization_code"]), "authorization_code", |_it, _grant: Text| ();
        "How browsers log in. There is one way."
    "client-authentication-method" Kind::Choice(&["client_secret_basic"]), "client_secret_basic", |_it, _method: Text| ();
        "How this server shows its secret. There is one way."
}

/// What changes nothing here, and why.
const WITHOUT_EFFECT: [(&str, &str); 5] = [
    (
        "id-token-algorithm",
        "the keys of the provider say which signatures count",
    ),
    (
        "user-info-enabled",
        "what is known of a user is what the ID token says",
    ),
    ("resource", "browsers ask for no resource"),
    (
        "authorize-request",
        "browsers are sent without further parameters",
    ),
    (
        "assertion",
        "this server shows its secret (client_secret_basic)",
    ),
];

#[derive(Default)]
pub struct Providers<'g> {
    /// By name: what was given of each, in comparable letters.
    by_name: BTreeMap<String, Vec<(String, &'g Given)>>,
}

impl<'g> Providers<'g> {
    /// Takes a setting, if it is one of a provider.
    pub fn take(&mut self, given: &'g Given) -> bool {
        let Some((name, field)) = split(given) else {
            return false;
        };
        self.by_name.entry(name).or_default().push((field, given));
        true
    }

    /// Something that is said of a provider.
    fn any(&self) -> Option<&'g Given> {
        let all = self.by_name.values().flatten().map(|(_, given)| *given);
        all.into_iter().find(|given| !given.text.is_empty())
    }

    /// The providers; what is wrong with them goes to `problems`. They are asked with one method only, and who names them and not that
    /// would believe to be safe.
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
            match security.method.is_some() || security.unprotected_api == Some(true) {
                true => warnings.push(text),
                false => problems.push(text),
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
                        "{} ({}): the identity provider {} has no issuer-uri, so no token could be its",
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
                    "the identity providers {} and {} have the same issuer-uri, {}: it could not be told whose a token is",
                    other.name, provider.name, provider.issuer_uri
                ));
            }
            providers.push(provider);
        }
        if providers.len() > MAX_PROVIDERS {
            problems.push(format!(
                "{SEVERAL}: there are {}; at most {MAX_PROVIDERS} can be had",
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
        // An empty variable is how environments say "not set".
        if given.text.is_empty() {
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
    draft.finish(warnings)
}

impl Draft {
    fn new(name: &str) -> Draft {
        Draft {
            provider: ProviderSettings::new(name, ""),
            client_id: None,
            client_secret: None,
            browsers: BrowserSettings::new("", ""),
        }
    }

    fn finish(mut self, warnings: &mut Vec<String>) -> ProviderSettings {
        match (self.client_id, self.client_secret) {
            (Some(client_id), Some(secret)) => {
                self.provider.browsers = Some(BrowserSettings {
                    client_id,
                    client_secret: ClientSecret::new(secret),
                    ..self.browsers
                });
            }
            _ => warnings.push(format!(
                "browsers cannot log in at the identity provider {}: that takes its client-id and client-secret",
                self.provider.name
            )),
        }
        self.provider
    }
}

/// What is no field of this version.
fn other(field: &str, given: &Given, warnings: &mut Vec<String>, problems: &mut Vec<String>) {
    let without = WITHOUT_EFFECT
        .iter()
        .find(|(name, _)| field.starts_with(&bare(name)));
    let (name, source) = (&given.name, &given.source);
    match without {
        Some((_, why)) => warnings.push(format!("{name} ({source}) has no effect: {why}")),
        None => problems.push(format!(
            "{name} ({source}): there is no such setting, and without effect it would leave open what it is meant to close. Correct its \
             name, or remove it"
        )),
    }
}

/// A name in letters that can be compared, whatever it was written in.
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

/// The name of the provider, and the field of it in comparable letters, with the number of an item in brackets.
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
    // The operator's spelling of the name stays.
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
    fn what_cannot_be_is_a_problem_and_what_has_no_effect_is_told() {
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
                flag("oidc.client-authentication-method", "private_key_jwt"),
                "expected",
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
}
