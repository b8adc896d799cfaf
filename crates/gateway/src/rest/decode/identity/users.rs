//! Users, and the first administrator.

use serde::Deserialize;
use skep_identity::defaults;
use skep_protocol::command::{IdentityCommand, UpdateUser};
use skep_protocol::value::{PasswordHash, UserValue};
use skep_protocol::{Failure, Key, Rejection, RejectionType};

use super::faults::Faults;
use super::{decoded, takes_nothing};
use crate::call::FrontEnd;
use crate::door::secret::Secret;
use crate::rest::decode::fields::Text;
use crate::rest::decode::{Decoded, Hashed, required};
use crate::rest::encode::Echo;
use crate::rest::operations::path::Id;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Creation<'a> {
    #[serde(borrow)]
    username: Option<Text<'a>>,
    password: Option<Secret>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    email: Option<Text<'a>>,
}

/// The user, and the password to be hashed.
fn user(text: &str, front: &FrontEnd) -> Result<(UserValue, Secret), Failure> {
    let body: Creation = required(text)?;
    let mut faults = Faults::new(&front.config.security.ids);
    let username = faults.id("username", body.username.as_deref());
    let password = body.password.filter(|password| !password.is_blank());
    match &password {
        Some(password) => faults.password(password.reveal()),
        None => faults.add("No password provided".to_string()),
    }
    let name = faults.optional_name("name", body.name.as_deref().unwrap_or_default());
    let email = faults.email(body.email.as_deref().unwrap_or_default());
    faults.none()?;
    let user = UserValue {
        user_key: Key::NONE,
        username,
        name,
        email,
        password: PasswordHash::default(),
    };
    let password = password.unwrap_or_else(|| Secret::new(String::new()));
    Ok((user, password))
}

pub fn create(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let (user, password) = user(text, front)?;
    let command = IdentityCommand::CreateUser(user);
    let hashed = Hashed { password, command };
    Ok(hashed.decoded(Echo::Created, front))
}

pub fn create_initial_admin(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let (user, password) = user(text, front)?;
    // Everybody may ask for this. Once it is refused, it must cost neither the hash of a password nor a record.
    if front.broker.directory().has_admin() {
        let refused = Rejection::new(
            RejectionType::Forbidden,
            "CREATE_INITIAL_ADMIN",
            defaults::HAS_ADMIN,
        );
        return Err(refused.into());
    }
    let command = IdentityCommand::CreateInitialAdmin(user);
    let hashed = Hashed { password, command };
    Ok(hashed.decoded(Echo::InitialAdmin, front))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Update<'a> {
    password: Option<Secret>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    email: Option<Text<'a>>,
}

/// Fields that are left out stay as they are; a blank password counts as left out.
pub fn update(Id(username): Id, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Update = required(text)?;
    let mut faults = Faults::new(&front.config.security.ids);
    let username = faults.id("username", Some(username));
    let name = body.name.map(|name| faults.optional_name("name", &name));
    let email = body.email.map(|email| faults.email(&email));
    let password = body.password.filter(|password| !password.is_blank());
    if let Some(password) = &password {
        faults.password(password.reveal());
    }
    faults.none()?;
    let command = IdentityCommand::UpdateUser(UpdateUser {
        username,
        name,
        email,
        password: PasswordHash::default(),
    });
    Ok(match password {
        Some(password) => Hashed { password, command }.decoded(Echo::Nothing, front),
        None => decoded(command, Echo::Nothing, front),
    })
}

pub fn delete(Id(username): Id, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    takes_nothing(text)?;
    let mut faults = Faults::new(&front.config.security.ids);
    let username = faults.id("username", Some(username));
    faults.none()?;
    let delete = IdentityCommand::DeleteUser { username };
    Ok(decoded(delete, Echo::Nothing, front))
}
