//! One entry of a list below `camunda.security.initialization`, field by field.

use std::sync::Arc;

use skep_gateway::IdentityFaults;
use skep_protocol::value::{EntityType, Member};

use super::super::source::Given;
use super::super::value::squeeze;

/// The value given for one field, or for one item of it.
#[derive(Clone, Copy)]
pub struct Part<'g> {
    pub item: Option<usize>,
    pub given: &'g Given,
}

/// See the [module](self).
#[derive(Default)]
pub struct Entry<'g> {
    /// With normalized field names; of a field given twice the last value counts.
    parts: Vec<(String, Part<'g>)>,
}

/// The fields that hold ids of members, and what these are.
const MEMBERS: [(&str, EntityType); 6] = [
    ("users", EntityType::User),
    ("clients", EntityType::Client),
    ("groups", EntityType::Group),
    ("roles", EntityType::Role),
    ("mapping-rules", EntityType::MappingRule),
    // An older name.
    ("mappings", EntityType::MappingRule),
];

impl<'g> Entry<'g> {
    pub fn add(&mut self, field: String, part: Part<'g>) {
        self.parts
            .retain(|(known, old)| *known != field || old.item != part.item);
        self.parts.push((field, part));
    }

    pub fn has(&self, field: &str, item: Option<usize>) -> bool {
        self.parts
            .iter()
            .any(|(known, part)| known == field && part.item == item)
    }

    /// Merges an entry of another source, whose values take precedence.
    pub fn extend(&mut self, other: Entry<'g>) {
        for (field, part) in other.parts {
            self.add(field, part);
        }
    }

    /// The source of the entry.
    pub fn source(&self) -> String {
        let first = self.parts.first();
        first.map_or_else(String::new, |(_, part)| part.given.source.to_string())
    }

    /// The value of a text field.
    pub fn text(&self, field: &str) -> Option<&'g str> {
        let field = squeeze(field);
        let is = |(name, part): &&(String, Part<'g>)| *name == field && part.item.is_none();
        let found = self.parts.iter().find(is)?;
        Some(found.1.given.text.as_str())
    }

    /// The values of a list field: a text with commas, or one value per item.
    pub fn texts(&self, field: &str) -> Vec<&'g str> {
        let field = squeeze(field);
        let parts = self.parts.iter().filter(|(name, _)| *name == field);
        let mut parts: Vec<Part<'g>> = parts.map(|(_, part)| *part).collect();
        parts.sort_by_key(|part| part.item);
        let texts = parts.iter().flat_map(|part| part.given.text.split(','));
        texts
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .collect()
    }

    /// Its members. `manages_groups`: group ids are managed here, and not by an identity provider.
    pub fn members(&self, manages_groups: bool, faults: &mut IdentityFaults<'_>) -> Vec<Member> {
        let mut members = Vec::new();
        for (field, entity_type) in MEMBERS {
            for id in self.texts(field) {
                let id = match entity_type {
                    EntityType::Group if !manages_groups => faults.name(field, Some(id)),
                    _ => faults.id(field, Some(id)),
                };
                members.push(Member { entity_type, id });
            }
        }
        members
    }

    /// The name of a group, role or tenant: its id, if none was given.
    pub fn name(&self, id: &Arc<str>, faults: &mut IdentityFaults<'_>) -> Arc<str> {
        match self.text("name") {
            Some(name) => faults.name("name", Some(name)),
            None => id.clone(),
        }
    }

    /// Reports fields that an entry of its list does not have.
    pub fn knows(&self, fields: &[&str], faults: &mut IdentityFaults<'_>) {
        for (name, _) in &self.parts {
            if !fields.iter().any(|field| squeeze(field) == *name) {
                faults.add(format!(
                    "There is no field '{name}' here, only {}",
                    fields.join(", ")
                ));
            }
        }
    }
}
