//! Mapping rules: a caller whose token has the claim gets the permissions of the rule.

use serde::Deserialize;
use skep_protocol::command::IdentityCommand;
use skep_protocol::value::MappingRuleValue;
use skep_protocol::{Failure, Key};

use super::faults::Faults;
use super::{decoded, takes_nothing};
use crate::call::FrontEnd;
use crate::rest::decode::fields::Text;
use crate::rest::decode::{Decoded, required};
use crate::rest::encode::Echo;
use crate::rest::operations::path::Id;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Creation<'a> {
    #[serde(borrow)]
    mapping_rule_id: Option<Text<'a>>,
    #[serde(borrow)]
    claim_name: Option<Text<'a>>,
    #[serde(borrow)]
    claim_value: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

pub fn create(text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let mut body: Creation = required(text)?;
    let id = body.mapping_rule_id.take();
    let rule = rule(id.as_deref(), &body, front)?;
    let create = IdentityCommand::CreateMappingRule(rule);
    Ok(decoded(create, Echo::Created, front))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update<'a> {
    #[serde(borrow)]
    claim_name: Option<Text<'a>>,
    #[serde(borrow)]
    claim_value: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
}

pub fn update(Id(id): Id, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    let body: Update = required(text)?;
    let body = Creation {
        mapping_rule_id: None,
        claim_name: body.claim_name,
        claim_value: body.claim_value,
        name: body.name,
    };
    let update = IdentityCommand::UpdateMappingRule(rule(Some(id), &body, front)?);
    Ok(decoded(update, Echo::Nothing, front))
}

fn rule(id: Option<&str>, body: &Creation, front: &FrontEnd) -> Result<MappingRuleValue, Failure> {
    let mut faults = Faults::new(&front.config.security.ids);
    let rule = MappingRuleValue {
        mapping_rule_key: Key::NONE,
        mapping_rule_id: faults.id("mappingRuleId", id),
        claim_name: faults.claim("claimName", body.claim_name.as_deref()),
        claim_value: faults.said("claimValue", body.claim_value.as_deref()),
        name: faults.name("name", body.name.as_deref()),
    };
    faults.none()?;
    Ok(rule)
}

pub fn delete(Id(id): Id, text: &str, front: &FrontEnd) -> Result<Decoded, Failure> {
    takes_nothing(text)?;
    let mut faults = Faults::new(&front.config.security.ids);
    let id = faults.id("mappingRuleId", Some(id));
    faults.none()?;
    let delete = IdentityCommand::DeleteMappingRule { id };
    Ok(decoded(delete, Echo::Nothing, front))
}
