//! The variables of one scope, and the names by which a reader selects some of them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use skep_protocol::Key;
use skep_protocol::document::JsonText;

use crate::state::long_list::LongList;

/// Up to this many variables, a linear search is cheaper than an index. Nearly all scopes have fewer.
pub(in crate::appliers::state) const FEW: usize = 16;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    pub key: Key,
    pub name: Arc<str>,
    value: Text,
}

impl Variable {
    pub fn new(key: Key, name: Arc<str>, value: JsonText) -> Variable {
        Variable {
            key,
            name,
            value: Text::Whole(value),
        }
    }

    pub fn value(&self) -> &JsonText {
        self.value.whole()
    }

    /// The part of the value at this place.
    pub(in crate::appliers::state) fn part(&self, place: &Range<usize>) -> &str {
        self.value.part(place)
    }

    /// Whether the variable has this value.
    pub fn is(&self, value: &str) -> bool {
        self.value.len() == value.len() && **self.value() == *value
    }

    /// Estimated bytes in memory.
    fn weight(&self) -> usize {
        size_of::<Self>() + self.name.len() + self.value.len() + 32
    }
}

/// Bytes above which a list is kept in pieces once single elements of it are accessed.
const LONG: usize = 1 << 12;

/// The representation of a value's text.
#[derive(Clone, Debug)]
enum Text {
    Whole(JsonText),
    List(Box<LongList>),
}

impl Text {
    fn whole(&self) -> &JsonText {
        match self {
            Text::Whole(text) => text,
            Text::List(list) => list.text(),
        }
    }

    fn len(&self) -> usize {
        match self {
            Text::Whole(text) => text.len(),
            Text::List(list) => list.len(),
        }
    }

    /// The value as a long list, if it is one.
    fn long_list(&mut self) -> Option<&mut LongList> {
        if let Text::Whole(text) = self
            && text.len() > LONG
            && let Some(list) = LongList::of(text)
        {
            *self = Text::List(Box::new(list));
        }
        match self {
            Text::Whole(_) => None,
            Text::List(list) => Some(list),
        }
    }

    /// The part at this place. A long list is not assembled for it.
    fn part(&self, place: &Range<usize>) -> &str {
        let part = match self {
            Text::Whole(text) => text.get(place.clone()),
            Text::List(_) if place.is_empty() => Some(""),
            Text::List(list) => list.get(place).or_else(|| list.text().get(place.clone())),
        };
        part.unwrap_or_default()
    }

    /// Replaces a part of the text.
    fn splice(&mut self, place: Range<usize>, by: &str) {
        if let Some(list) = self.long_list()
            && list.splice(place.clone(), by)
        {
            return;
        }
        let text = self.whole();
        let before = text.get(..place.start).unwrap_or_default();
        let after = text.get(place.end..).unwrap_or_default();
        *self = Text::Whole([before, by, after].concat().into());
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.whole() == other.whole()
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.whole().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JsonText::deserialize(deserializer).map(Text::Whole)
    }
}

/// The variables of a scope in the order of their creation. Lookup takes constant time, however many there are.
///
/// It is stored as a plain list.
/// Most scopes have no variables, and this is a field of every element instance, so it takes no more than a pointer.
#[derive(Clone, Debug, Default)]
pub struct ScopeVariables(Option<Box<Variables>>);

#[derive(Clone, Debug, Default)]
struct Variables {
    list: Vec<Variable>,
    /// Present if the list is longer than [`FEW`].
    index: Option<Box<Index>>,
}

#[derive(Clone, Debug)]
struct Index {
    /// Positions by name. The hash seed differs between nodes, which has no visible effect: there are only lookups here.
    positions: HashMap<Arc<str>, usize>,
    weight: usize,
}

impl ScopeVariables {
    fn list(&self) -> &[Variable] {
        self.0.as_ref().map_or(&[], |variables| &variables.list)
    }

    pub fn is_empty(&self) -> bool {
        self.list().is_empty()
    }

    pub fn len(&self) -> usize {
        self.list().len()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Variable> {
        self.list().iter()
    }

    pub fn get(&self, name: &str) -> Option<&Variable> {
        self.0.as_ref()?.get(name)
    }

    /// Estimated bytes in memory.
    pub fn weight(&self) -> usize {
        self.0.as_ref().map_or(0, |variables| variables.weight())
    }

    /// Adds a variable with a name new to the scope. Returns its estimated bytes.
    pub(in crate::appliers::state) fn add(&mut self, variable: Variable) -> usize {
        let list = self.0.as_ref().map_or(size_of::<Variables>(), |_| 0);
        list + self.0.get_or_insert_default().add(variable)
    }

    /// Sets another value for a variable. Returns the bytes by which it grew.
    pub(in crate::appliers::state) fn set(&mut self, name: &str, value: &JsonText) -> usize {
        let variables = self.0.as_mut();
        variables.map_or(0, |variables| variables.set(name, value))
    }

    /// The variable as a long list, if it is one.
    pub(in crate::appliers::state) fn long_list(&mut self, name: &str) -> Option<(Key, &LongList)> {
        let variables = self.0.as_mut()?;
        let position = variables.position(name)?;
        let variable = variables.list.get_mut(position)?;
        let key = variable.key;
        variable.value.long_list().map(|list| (key, &*list))
    }

    /// Replaces a part of a variable's value. Returns the bytes by which it grew.
    pub(in crate::appliers::state) fn splice(
        &mut self,
        name: &str,
        place: Range<usize>,
        by: &str,
    ) -> usize {
        let variables = self.0.as_mut();
        variables.map_or(0, |variables| {
            variables.change(name, |value| value.splice(place, by))
        })
    }

    /// Removes the variable that was added last.
    pub(in crate::appliers::state) fn forget_last(&mut self) {
        let variables = self.0.as_mut();
        if let Some(variables) = variables
            && let Some(variable) = variables.list.pop()
            && let Some(index) = &mut variables.index
        {
            index.weight = index.weight.saturating_sub(variable.weight());
            index.positions.remove(&variable.name);
        }
    }

    /// The selected variables, in the order of their creation.
    pub fn select<'a>(&'a self, names: &'a VariableNames) -> impl Iterator<Item = &'a Variable> {
        let variables = self.0.as_ref().into_iter();
        variables.flat_map(|variables| variables.select(names))
    }
}

impl Variables {
    fn of(list: Vec<Variable>) -> Variables {
        let index = (list.len() > FEW).then(|| Box::new(Index::of(&list)));
        Variables { list, index }
    }

    fn get(&self, name: &str) -> Option<&Variable> {
        self.list.get(self.position(name)?)
    }

    fn position(&self, name: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.positions.get(name).copied(),
            None => self.list.iter().position(|v| &*v.name == name),
        }
    }

    fn weight(&self) -> usize {
        size_of::<Self>()
            + match &self.index {
                Some(index) => index.weight,
                None => self.list.iter().map(Variable::weight).sum(),
            }
    }

    fn add(&mut self, variable: Variable) -> usize {
        let weight = variable.weight();
        if let Some(index) = &mut self.index {
            index.weight += weight;
            let position = self.list.len();
            index.positions.insert(variable.name.clone(), position);
        }
        if self.list.len() == self.list.capacity() && self.list.len() < FEW {
            // The default capacity of four would be wasted on most scopes.
            self.list.reserve_exact(2);
        }
        self.list.push(variable);
        if self.index.is_none() && self.list.len() > FEW {
            self.index = Some(Box::new(Index::of(&self.list)));
        }
        weight
    }

    fn set(&mut self, name: &str, value: &JsonText) -> usize {
        self.change(name, |text| *text = Text::Whole(value.clone()))
    }

    /// Changes the value of a variable. Returns the bytes by which it grew.
    fn change(&mut self, name: &str, change: impl FnOnce(&mut Text)) -> usize {
        let Some(position) = self.position(name) else {
            return 0;
        };
        let Some(variable) = self.list.get_mut(position) else {
            return 0;
        };
        let before = variable.value.len();
        change(&mut variable.value);
        let after = variable.value.len();
        if let Some(index) = &mut self.index {
            index.weight = (index.weight + after).saturating_sub(before);
        }
        after.saturating_sub(before)
    }

    fn select<'a>(&'a self, names: &'a VariableNames) -> impl Iterator<Item = &'a Variable> {
        let looked_up =
            (self.index.is_some() && names.are_fewer_than(self.list.len())).then(|| {
                let asked = names.0.iter();
                let mut positions: Vec<usize> =
                    asked.filter_map(|name| self.position(name)).collect();
                positions.sort_unstable();
                positions
            });
        let scanned = looked_up.is_none().then(|| self.list.iter());
        let scanned = scanned.into_iter().flatten();
        let looked_up = looked_up.into_iter().flatten();
        looked_up
            .filter_map(|position| self.list.get(position))
            .chain(scanned.filter(|v| names.include(&v.name)))
    }
}

impl Index {
    fn of(list: &[Variable]) -> Index {
        let names = list.iter().enumerate().map(|(i, v)| (v.name.clone(), i));
        Index {
            positions: names.collect(),
            weight: list.iter().map(Variable::weight).sum(),
        }
    }
}

impl PartialEq for ScopeVariables {
    fn eq(&self, other: &Self) -> bool {
        self.list() == other.list()
    }
}

impl<'a> IntoIterator for &'a ScopeVariables {
    type Item = &'a Variable;
    type IntoIter = std::slice::Iter<'a, Variable>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Serialize for ScopeVariables {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.list().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ScopeVariables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Vec::<Variable>::deserialize(deserializer)?;
        let variables = (!list.is_empty()).then(|| Box::new(Variables::of(list)));
        Ok(ScopeVariables(variables))
    }
}

/// The names of the variables requested by a worker or a client; no name means all. Cheap to clone, and fast to query
/// however long the list is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VariableNames(Arc<[Arc<str>]>);

impl VariableNames {
    /// Every variable.
    pub fn all() -> VariableNames {
        VariableNames::default()
    }

    fn are_fewer_than(&self, count: usize) -> bool {
        !self.0.is_empty() && self.0.len() < count
    }

    pub fn include(&self, name: &str) -> bool {
        self.0.is_empty() || self.0.binary_search_by(|n| (**n).cmp(name)).is_ok()
    }
}

impl<S: Into<Arc<str>>> FromIterator<S> for VariableNames {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut names: Vec<Arc<str>> = names.into_iter().map(Into::into).collect();
        names.sort_unstable();
        names.dedup();
        VariableNames(names.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(names: std::ops::Range<usize>) -> ScopeVariables {
        let mut scope = ScopeVariables::default();
        for i in names {
            let name = format!("v{i}").into();
            scope.add(Variable::new(Key(i as i64), name, "1".into()));
        }
        scope
    }

    fn read_back(scope: &ScopeVariables) -> ScopeVariables {
        skep_protocol::record::decode(&skep_protocol::record::encode(scope)).unwrap()
    }

    #[test]
    fn few_and_many_variables_are_found_and_weighed_alike() {
        for count in [0, 1, FEW, FEW + 1, 3 * FEW] {
            let mut scope = scope(0..count);
            for i in 0..count {
                let grown = scope.set(&format!("v{i}"), &"12345".into());
                assert_eq!(grown, 4);
            }
            assert_eq!(scope.set("other", &"12345".into()), 0);
            for read in [scope.clone(), read_back(&scope)] {
                let sum: usize = read.iter().map(Variable::weight).sum();
                let own = read.0.as_ref().map_or(0, |_| size_of::<Variables>());
                assert_eq!((read.len(), read.weight()), (count, own + sum));
                assert_eq!(read, scope);
                for i in 0..count {
                    assert_eq!(read.get(&format!("v{i}")).unwrap().key, Key(i as i64));
                }
                assert_eq!(read.get("other"), None);
            }
        }
    }

    #[test]
    fn selected_variables_come_in_the_order_of_their_creation() {
        let names: VariableNames = ["v9", "v20", "v3", "v9", "x"].into_iter().collect();
        for (count, expected) in [(FEW, vec![3, 9]), (30, vec![3, 9, 20])] {
            let scope = scope(0..count);
            let keys: Vec<i64> = scope.select(&names).map(|v| v.key.0).collect();
            assert_eq!(keys, expected);
            assert_eq!(scope.select(&VariableNames::all()).count(), count);
        }
    }
}
