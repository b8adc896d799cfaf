//! Descriptions of entities.

use crate::value::Value;

/// A kind of object that the API can search or get.
#[derive(Debug)]
pub struct Entity {
    /// Name in messages, such as `Process Instance`.
    pub title: &'static str,
    /// Name of the table in a store.
    pub table: &'static str,
    /// Columns. The first field is the key, a [`Kind::Key`] or [`Kind::Text`], which breaks ties when sorting.
    pub fields: &'static [Field],
    /// Filters on rows of another entity that belong to this one.
    pub related: &'static [RelatedFilter],
    /// Filters on an item of a list: the name of the filter, the name of the field, and the kind of the items.
    pub items: &'static [(&'static str, &'static str, Kind)],
    /// Columns of each index, other than that of the key.
    pub indices: &'static [&'static [&'static str]],
    /// Whether all partitions have the same rows, or the first partition has all of them. Then only the first one is queried.
    pub everywhere: bool,
    pub leaves: Leaves,
}

/// When the rows of an entity leave the history. Explicit deletions take effect at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Leaves {
    Never,
    /// With the process instance they belong to.
    WithInstance,
    /// When this time is older than the history's retention time.
    At(&'static str),
    /// This many milliseconds after that.
    LaterAt(&'static str, i64),
    /// With the process instance, or by this time if they belong to none.
    WithInstanceOrAt(&'static str),
    /// At once when this column becomes true.
    When(&'static str),
}

/// A field of an entity. Its API name is the name of its column.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    /// Operators allowed in filters; none if the field cannot be filtered by.
    pub ops: Ops,
    pub sortable: bool,
    /// Whether answers contain it.
    pub shown: bool,
    /// Whether only answers about a single row contain it, but not lists.
    pub detail: bool,
    /// Whether it contains JSON as text; see [`crate::spellings`].
    pub holds_json: bool,
    /// Whether every row has a value.
    pub always_there: bool,
    /// Which rows are in an index that starts with this field. Rows that no filter looks for need not be indexed.
    pub indexed: Indexed,
    /// Whether an index that starts with this field has the rows of all tenants together, also where callers belong to tenants, because the
    /// store itself looks for rows by it.
    pub is_cluster_wide: bool,
    pub merged: Merged,
    /// In answers, a missing key is written as -1, because clients of 8.9 cannot read null here. A missing number is written as
    /// 0.
    pub never_null: bool,
}

/// How a new value of a row is merged with the stored one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Merged {
    /// The new value replaces the old one.
    Replaced,
    /// The values are added.
    Added,
    /// The greater value is kept.
    Greatest,
    /// The lesser value is kept.
    Least,
}

impl Merged {
    /// The merged value of the stored and the given value.
    pub fn of(self, before: &Value, given: Value) -> Value {
        match (self, before.as_int(), given.as_int()) {
            (Merged::Added, Some(a), Some(b)) => Value::Int(a.saturating_add(b)),
            (Merged::Greatest, Some(a), Some(b)) => Value::Int(a.max(b)),
            (Merged::Least, Some(a), Some(b)) => Value::Int(a.min(b)),
            _ => given,
        }
    }
}

/// The rows that an index contains.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Indexed {
    All,
    /// Rows that have the field; most do not.
    Present,
    /// Rows that lack the field; most have it.
    Absent,
    /// Rows where the field is true; in most it is false.
    True,
    /// Rows where another field has this value.
    While(&'static str, &'static str),
    /// Rows where the field differs from this other field, which has an index of its own; in most it does not.
    Unlike(&'static str),
    /// All rows, in a store whose callers belong to tenants. Any other store lacks the index. An index that begins with another column has
    /// the tenant before it in such a store, unless that column is a key, which rows of one tenant have, or [`Field::is_cluster_wide`].
    OfTenants,
}

/// Types of fields.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A 64-bit key; a string of digits in JSON.
    Key,
    Text,
    Int,
    Bool,
    /// Epoch milliseconds; an ISO 8601 string in JSON.
    Time,
    /// A text with one of these values.
    Enum(&'static [&'static str]),
    /// JSON as text, included in answers as it is.
    Json,
}

/// A set of filter operators.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ops(u8);

impl Ops {
    pub const NONE: Ops = Ops(0);
    /// Only a plain value.
    pub const PLAIN: Ops = Ops(1);
    const EQUAL: u8 = 2;
    const IN: u8 = 4;
    const NOT_IN: u8 = 8;
    const ORDER: u8 = 16;
    const LIKE: u8 = 32;
    pub const TEXT: Ops = Ops(1 | Self::EQUAL | Self::IN | Self::NOT_IN | Self::LIKE);
    pub const BASIC_TEXT: Ops = Ops(1 | Self::EQUAL | Self::IN | Self::NOT_IN);
    pub const KEY: Ops = Ops(1 | Self::EQUAL | Self::IN | Self::NOT_IN);
    /// For numbers and times.
    pub const ORDERED: Ops = Ops(1 | Self::EQUAL | Self::IN | Self::ORDER);
    pub const ENUM: Ops = Ops(1 | Self::EQUAL | Self::IN | Self::LIKE);
    pub const ENUM_NOT_IN: Ops = Ops(1 | Self::EQUAL | Self::IN | Self::NOT_IN | Self::LIKE);

    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether the operator with this name is in the set.
    pub fn allows(self, operator: &str) -> bool {
        let needed = match operator {
            "$eq" | "$neq" | "$exists" => Self::EQUAL,
            "$in" => Self::IN,
            "$notIn" => Self::NOT_IN,
            "$gt" | "$gte" | "$lt" | "$lte" => Self::ORDER,
            "$like" => Self::LIKE,
            _ => return false,
        };
        self.0 & needed != 0
    }

    /// The names of the operators, for messages.
    pub fn names(self) -> Vec<&'static str> {
        let all = [
            "$eq", "$neq", "$exists", "$gt", "$gte", "$lt", "$lte", "$in", "$notIn", "$like",
        ];
        all.into_iter().filter(|name| self.allows(name)).collect()
    }
}

/// A filter that matches if a row of another entity exists.
#[derive(Debug)]
pub struct RelatedFilter {
    /// Name of the filter field.
    pub name: &'static str,
    pub entity: fn() -> &'static Entity,
    /// The field of this entity that the other entity refers to.
    pub own: &'static str,
    /// The field of the other entity that contains the reference.
    pub link: &'static str,
    /// The field of the other entity that is compared.
    pub field: &'static str,
    pub ops: Ops,
    pub takes: Takes,
    /// Filters of the same group must match the same row.
    pub group: u8,
    /// An additional condition on that row: a field and its text value.
    pub only: Option<(&'static str, &'static str)>,
}

/// The JSON format of a [`RelatedFilter`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// The format of the compared field.
    Field,
    /// A list of `{name, value}` objects, each matching a row of its own.
    NamedValues,
}

impl Entity {
    /// The title with its article: `a Process Instance`, `an Element Instance`.
    pub fn with_article(&self) -> String {
        let article = if self.title.starts_with(['A', 'E', 'I', 'O']) {
            "an"
        } else {
            "a"
        };
        format!("{article} {}", self.title)
    }

    pub fn key(&self) -> &'static Field {
        self.field(0)
    }

    /// The column that is true in rows to delete; see [`Leaves::When`].
    pub fn mark(&self) -> Option<&'static str> {
        match self.leaves {
            Leaves::When(column) => Some(column),
            _ => None,
        }
    }

    /// The field at an index returned by [`index_of`](Entity::index_of).
    ///
    /// # Panics
    ///
    /// If there is no such field, because the index belongs to another entity.
    pub fn field(&self, at: usize) -> &'static Field {
        match self.fields.get(at) {
            Some(field) => field,
            None => panic!("field {at} is asked of {}", self.title),
        }
    }

    /// The index of a field named in the code. Compilation fails if there is none.
    pub const fn column(&self, name: &str) -> usize {
        let (mut at, mut left) = (0, self.fields);
        while let [field, after @ ..] = left {
            if same(field.name, name) {
                return at;
            }
            (at, left) = (at + 1, after);
        }
        panic!("the entity has no such field")
    }

    /// The index of a field.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

impl Field {
    pub const fn new(name: &'static str, kind: Kind, ops: Ops) -> Field {
        Field {
            name,
            kind,
            ops,
            sortable: false,
            shown: true,
            detail: false,
            holds_json: false,
            always_there: false,
            indexed: Indexed::All,
            is_cluster_wide: false,
            merged: Merged::Replaced,
            never_null: false,
        }
    }

    pub const fn sortable(mut self) -> Field {
        self.sortable = true;
        self
    }

    /// See [`Field::holds_json`].
    pub const fn json(mut self) -> Field {
        self.holds_json = true;
        self
    }

    /// See [`Field::always_there`].
    pub const fn always_there(mut self) -> Field {
        self.always_there = true;
        self
    }

    /// See [`Field::never_null`].
    pub const fn never_null(mut self) -> Field {
        self.never_null = true;
        self
    }

    /// See [`Indexed::Present`].
    pub const fn sparse(mut self) -> Field {
        self.indexed = Indexed::Present;
        self
    }

    /// See [`Indexed::Absent`].
    pub const fn rarely_absent(mut self) -> Field {
        self.indexed = Indexed::Absent;
        self
    }

    /// See [`Indexed::True`].
    pub const fn rarely_true(mut self) -> Field {
        self.indexed = Indexed::True;
        self
    }

    /// See [`Indexed::While`].
    pub const fn indexed_while(mut self, other: &'static str, value: &'static str) -> Field {
        self.indexed = Indexed::While(other, value);
        self
    }

    /// See [`Indexed::Unlike`].
    pub const fn mostly_like(mut self, other: &'static str) -> Field {
        self.indexed = Indexed::Unlike(other);
        self
    }

    /// See [`Indexed::OfTenants`].
    pub const fn tenant(mut self) -> Field {
        self.indexed = Indexed::OfTenants;
        self
    }

    /// See [`Field::is_cluster_wide`].
    pub const fn cluster_wide(mut self) -> Field {
        self.is_cluster_wide = true;
        self
    }

    /// See [`Merged::Added`].
    pub const fn added(mut self) -> Field {
        self.merged = Merged::Added;
        self
    }

    /// See [`Merged::Greatest`].
    pub const fn greatest(mut self) -> Field {
        self.merged = Merged::Greatest;
        self
    }

    /// See [`Merged::Least`].
    pub const fn least(mut self) -> Field {
        self.merged = Merged::Least;
        self
    }

    /// Marks the field as part of answers about a single row only.
    pub const fn detail(mut self) -> Field {
        self.detail = true;
        self
    }

    /// Marks the field as filterable, but not part of answers.
    pub const fn hidden(mut self) -> Field {
        self.shown = false;
        self
    }
}

/// Text equality that can be evaluated at compile time.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    while let ([first, after @ ..], [other, after_other @ ..]) = (a, b) {
        if *first != *other {
            return false;
        }
        (a, b) = (after, after_other);
    }
    a.is_empty() && b.is_empty()
}
