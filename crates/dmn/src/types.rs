//! Declared types (item definitions), and the coercions of DMN 1.5, 10.3.2.9.4.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use skep_feel::{DateTime, HostType, HostTypes, Time, UnaryTests, Value, Zone};

/// Position in [`Types`].
pub(crate) type TypeId = usize;

/// Values nested deeper than this are not checked further.
const MAX_DEPTH: usize = 100;

pub(crate) struct Types {
    list: Vec<ItemType>,
    /// The types that DMN brings along.
    built_in: FxHashMap<&'static str, TypeId>,
    by_name: FxHashMap<Arc<str>, TypeId>,
}

pub(crate) struct ItemType {
    pub shape: Shape,
    pub collection: bool,
    pub allowed: Option<UnaryTests>,
}

pub(crate) enum Shape {
    Any,
    Boolean,
    Number,
    String,
    Date,
    Time,
    DateTime,
    DayTimeDuration,
    YearMonthDuration,
    Context(Vec<(Arc<str>, TypeId)>),
    List,
    Range,
    Function(Option<TypeId>),
    Alias(TypeId),
}

impl Default for Types {
    fn default() -> Types {
        let mut types = Types {
            list: Vec::new(),
            built_in: FxHashMap::default(),
            by_name: FxHashMap::default(),
        };
        let built_in: [(&[&str], Shape); 11] = [
            (&["boolean"], Shape::Boolean),
            (&["number"], Shape::Number),
            (&["string"], Shape::String),
            (&["date"], Shape::Date),
            (&["time"], Shape::Time),
            (&["dateTime", "date and time"], Shape::DateTime),
            (
                &["dayTimeDuration", "days and time duration"],
                Shape::DayTimeDuration,
            ),
            (
                &["yearMonthDuration", "years and months duration"],
                Shape::YearMonthDuration,
            ),
            (&["context"], Shape::Context(Vec::new())),
            (&["list"], Shape::List),
            (&["range"], Shape::Range),
        ];
        for (names, shape) in built_in {
            let id = types.add(ItemType {
                shape,
                collection: false,
                allowed: None,
            });
            types.built_in.extend(names.iter().map(|name| (*name, id)));
        }
        types
    }
}

impl Types {
    pub fn get(&self, id: TypeId) -> Option<&ItemType> {
        self.list.get(id)
    }

    pub fn add(&mut self, kind: ItemType) -> TypeId {
        self.list.push(kind);
        self.list.len() - 1
    }

    pub fn set(&mut self, id: TypeId, kind: ItemType) {
        if let Some(place) = self.list.get_mut(id) {
            *place = kind;
        }
    }

    /// A place for a named type that is described later; `None` when the name is taken.
    pub fn declare(&mut self, name: &str) -> Option<TypeId> {
        if self.by_name.contains_key(name) {
            return None;
        }
        let id = self.add(ItemType {
            shape: Shape::Any,
            collection: false,
            allowed: None,
        });
        self.by_name.insert(Arc::from(name), id);
        Some(id)
    }

    /// The type that a `typeRef` names; unknown names mean anything.
    pub fn find(&self, reference: &str) -> Option<TypeId> {
        let reference = reference.trim();
        if let Some(id) = self.by_name.get(reference) {
            return Some(*id);
        }
        let local = reference
            .split_once(':')
            .map_or(reference, |(_, local)| local);
        self.built_in(local)
            .or_else(|| self.by_name.get(local).copied())
    }

    /// The type of this name that DMN brings along.
    pub fn built_in(&self, name: &str) -> Option<TypeId> {
        self.built_in.get(name).copied()
    }

    /// Whether the value has the type.
    pub fn is_instance(&self, value: &Value, id: TypeId) -> bool {
        self.conforms(value, id, None, 0)
    }

    /// The shortest name of a type that DMN brings along.
    pub fn name(&self, id: TypeId) -> &'static str {
        let names = self.built_in.iter().filter(|(_, known)| **known == id);
        let shortest = names.map(|(name, _)| *name).min_by_key(|name| name.len());
        shortest.unwrap_or("Any")
    }

    /// The item definitions, for `instance of`.
    pub fn for_feel(self: &Arc<Types>) -> HostTypes {
        let item = |id: &TypeId| -> Arc<dyn HostType> {
            Arc::new(Item {
                types: Arc::clone(self),
                id: *id,
            })
        };
        HostTypes::new(
            self.by_name
                .iter()
                .map(|(name, id)| (Arc::clone(name), item(id)))
                .collect(),
        )
    }

    /// The name of a type that is an alias of itself, through others; `None` when there is none.
    pub fn alias_cycle(&self) -> Option<&str> {
        self.by_name.iter().find_map(|(name, start)| {
            let mut at = *start;
            for _ in 0..=self.list.len() {
                match self.get(at).map(|kind| &kind.shape) {
                    Some(Shape::Alias(next)) => at = *next,
                    _ => return None,
                }
            }
            Some(&**name)
        })
    }

    /// The declared result of a function type.
    pub fn function_result(&self, id: TypeId) -> Option<TypeId> {
        match &self.get(id)?.shape {
            Shape::Function(result) => *result,
            _ => None,
        }
    }

    /// The value, changed to the type where DMN allows it; null when it does not fit. `allows` says whether a value
    /// passes the tests for allowed values.
    pub fn coerce(&self, value: Value, id: TypeId, allows: &Allows<'_>) -> Value {
        let allows = Some(allows);
        if self.conforms(&value, id, allows, 0) {
            return value;
        }
        if let Value::List(items) = &value
            && let [single] = &items[..]
            && !self.is_list(id)
            && self.conforms(single, id, allows, 0)
        {
            return single.clone();
        }
        if self.is_list(id) && !matches!(value, Value::List(_)) {
            let list = Value::list(vec![value]);
            return if self.conforms(&list, id, allows, 0) {
                list
            } else {
                Value::Null
            };
        }
        if let Value::Date(date) = &value
            && matches!(self.base(id).map(|kind| &kind.shape), Some(Shape::DateTime))
            && let Some(midnight) = Time::new(0, 0, 0, 0, Zone::UTC)
        {
            return Value::from(DateTime::new(*date, midnight));
        }
        Value::Null
    }

    /// The type behind aliases; a collection on the way ends the search.
    fn base(&self, id: TypeId) -> Option<&ItemType> {
        let mut kind = self.get(id)?;
        for _ in 0..MAX_DEPTH {
            match kind.shape {
                Shape::Alias(next) if !kind.collection => kind = self.get(next)?,
                _ => break,
            }
        }
        Some(kind)
    }

    fn is_list(&self, id: TypeId) -> bool {
        self.base(id)
            .is_some_and(|kind| kind.collection || matches!(kind.shape, Shape::List))
    }

    /// Whether a value has the type; with `allows`, also whether it is one of the allowed values.
    fn conforms(
        &self,
        value: &Value,
        id: TypeId,
        allows: Option<&Allows<'_>>,
        depth: usize,
    ) -> bool {
        let Some(kind) = self.get(id) else {
            return true;
        };
        if value.is_null() || depth > MAX_DEPTH {
            return true;
        }
        if kind.collection {
            return match value {
                Value::List(items) => items.iter().all(|item| {
                    item.is_null() || self.conforms_item(item, kind, allows, depth + 1)
                }),
                _ => false,
            };
        }
        self.conforms_item(value, kind, allows, depth)
    }

    fn conforms_item(
        &self,
        value: &Value,
        kind: &ItemType,
        allows: Option<&Allows<'_>>,
        depth: usize,
    ) -> bool {
        let fits = match (&kind.shape, value) {
            (Shape::Any, _)
            | (Shape::Boolean, Value::Boolean(_))
            | (Shape::Number, Value::Number(_))
            | (Shape::String, Value::String(_))
            | (Shape::Date, Value::Date(_))
            | (Shape::Time, Value::Time(_))
            | (Shape::DateTime, Value::DateTime(_))
            | (Shape::DayTimeDuration, Value::DayTimeDuration(_))
            | (Shape::YearMonthDuration, Value::YearMonthDuration(_))
            | (Shape::List, Value::List(_))
            | (Shape::Range, Value::Range(_))
            | (Shape::Function(_), Value::Function(_)) => true,
            (Shape::Alias(next), value) => self.conforms(value, *next, allows, depth + 1),
            (Shape::Context(fields), Value::Context(context)) => {
                fields.iter().all(|(name, field)| {
                    context
                        .get(name)
                        .is_some_and(|value| self.conforms(value, *field, allows, depth + 1))
                })
            }
            _ => false,
        };
        fits && match (&kind.allowed, allows) {
            (Some(tests), Some(allows)) => allows(tests, value),
            _ => true,
        }
    }
}

/// Whether a value passes the tests for allowed values.
pub(crate) type Allows<'a> = dyn Fn(&UnaryTests, &Value) -> bool + 'a;

/// An item definition as a type of FEEL. Like DMN's `instance of`, it does not ask for allowed values.
struct Item {
    types: Arc<Types>,
    id: TypeId,
}

impl HostType for Item {
    fn is_instance(&self, value: &Value) -> bool {
        self.types.conforms(value, self.id, None, 0)
    }
}
