//! Names with their values as JSON texts: the variables that an expression can read, and the results of earlier mappings.

use std::collections::HashMap;
use std::sync::Arc;

use skep_feel::{Binding, Scope, Value};
use skep_protocol::document::JsonText;
use smallvec::SmallVec;

/// Up to this many names, a linear search is cheaper than an index.
const FEW: usize = 16;

/// The name under which expressions see cluster-level data. A variable of this name hides it.
pub(crate) const CAMUNDA: &str = "camunda";

/// Named values in insertion order, each name once. Lookup takes constant time, however many there are.
#[derive(Debug, Default)]
pub(crate) struct Named {
    list: SmallVec<[(Arc<str>, JsonText); 4]>,
    /// By name, when there are more than [`FEW`].
    index: HashMap<Arc<str>, usize>,
    /// The value of the name `camunda`: cluster variables.
    camunda: Option<Arc<Value>>,
}

impl Named {
    /// Sets a value; an existing name keeps its position.
    pub fn set(&mut self, name: Arc<str>, value: JsonText) {
        let place = self.place(&name).unwrap_or(self.list.len());
        match self.list.get_mut(place) {
            Some(entry) => entry.1 = value,
            None => self.add(name, value),
        }
    }

    /// Sets the value of [`CAMUNDA`]. A variable of this name hides it.
    pub fn set_camunda(&mut self, seen: Arc<Value>) {
        self.camunda = Some(seen);
    }

    fn add(&mut self, name: Arc<str>, value: JsonText) {
        self.list.push((name, value));
        let added = match self.list.len() {
            ..=FEW => return,
            // The first entry beyond the limit for a linear search.
            count if self.index.is_empty() => 0..count,
            count => count - 1..count,
        };
        for place in added {
            if let Some((name, _)) = self.list.get(place) {
                self.index.insert(name.clone(), place);
            }
        }
    }

    fn place(&self, name: &str) -> Option<usize> {
        if self.index.is_empty() {
            self.list.iter().position(|(n, _)| &**n == name)
        } else {
            self.index.get(name).copied()
        }
    }

    pub fn value(&self, name: &str) -> Option<&JsonText> {
        self.list.get(self.place(name)?).map(|(_, value)| value)
    }

    pub fn entries(&self) -> &[(Arc<str>, JsonText)] {
        &self.list
    }
}

impl FromIterator<(Arc<str>, JsonText)> for Named {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, JsonText)>>(entries: I) -> Named {
        let mut named = Named::default();
        for (name, value) in entries {
            named.set(name, value);
        }
        named
    }
}

impl Scope for Named {
    fn get(&self, name: &str) -> Option<Binding<'_>> {
        match self.value(name) {
            Some(value) => Some(Binding::Json(value)),
            None if name == CAMUNDA => self.camunda.as_deref().map(Binding::Value),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_set_again_keeps_its_place() {
        for count in [1, 4, FEW, FEW + 1, 3 * FEW] {
            let name = |i: usize| -> Arc<str> { format!("v{i}").into() };
            let mut named: Named = (0..count).map(|i| (name(i), "1".into())).collect();
            named.set(name(0), "2".into());
            assert_eq!(named.entries().len(), count);
            assert_eq!(named.entries()[0], (name(0), "2".into()));
            for i in 1..count {
                assert_eq!(named.value(&name(i)).map(|v| &**v), Some("1"));
            }
            assert_eq!(named.value("other"), None);
        }
    }
}
