//! How an entity is described.

use crate::value::Value;

/// One kind of thing that the API can search or get.
#[derive(Debug)]
pub struct Entity {
    /// As messages name it: `Process Instance`.
    pub title: &'static str,
    /// Its table in a store.
    pub table: &'static str,
    /// The first field is the key, a [`Kind::Key`] or a [`Kind::Text`]: it orders what the sorts leave equal.
    pub fields: &'static [Field],
    /// Filters that ask for another entity that belongs to this one.
    pub related: &'static [RelatedFilter],
    /// Filters that ask for an item of a list: the name of the filter, that of the field, and what the items are.
    pub items: &'static [(&'static str, &'static str, Kind)],
    /// Columns of indices beside the key's.
    pub indices: &'static [&'static [&'static str]],
    /// Every partition has the same rows, or the first one has all of them: that one is asked.
    pub everywhere: bool,
    pub leaves: Leaves,
}

/// When the rows of an entity leave the history. What somebody deletes leaves at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Leaves {
    Never,
    /// With the process instance that they name.
    WithInstance,
    /// When this time is past the age that the history keeps.
    At(&'static str),
    /// So many milliseconds after that.
    LaterAt(&'static str, i64),
    /// With the process instance, or at this time if they name none.
    WithInstanceOrAt(&'static str),
}

/// One field of an entity; its API name is that of its column.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    /// Operators that a filter may use; none at all if it cannot be filtered by.
    pub ops: Ops,
    pub sortable: bool,
    /// Stands in answers.
    pub shown: bool,
    /// Stands only in answers about one thing, not in lists.
    pub detail: bool,
    /// The text of a JSON value: see [`crate::spellings`].
    pub holds_json: bool,
    /// No row lacks it.
    pub always_there: bool,
    /// Which rows an index has that begins with it: what no filter looks for costs nothing to write.
    pub indexed: Indexed,
    pub merged: Merged,
    /// The key of nothing stands in answers as -1, which clients of 8.9 read, and not as null, which they do not. A number that is
    /// absent is 0 there.
    pub never_null: bool,
}

/// What becomes of a value when the row gets another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Merged {
    /// The new one is in its place.
    Replaced,
    /// They add up.
    Added,
    /// The greater one stays.
    Greatest,
    /// The lesser one stays.
    Least,
}

impl Merged {
    /// What is there after a value was given to a row that had another.
    pub fn of(self, before: &Value, given: Value) -> Value {
        match (self, before.as_int(), given.as_int()) {
            (Merged::Added, Some(a), Some(b)) => Value::Int(a.saturating_add(b)),
            (Merged::Greatest, Some(a), Some(b)) => Value::Int(a.max(b)),
            (Merged::Least, Some(a), Some(b)) => Value::Int(a.min(b)),
            _ => given,
        }
    }
}

/// Rows of an index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Indexed {
    All,
    /// Those that have the field: most have not.
    Present,
    /// Those that have it not: most have.
    Absent,
    /// Those in which it is true: in most it is not.
    True,
    /// Those in which another field has this value.
    While(&'static str, &'static str),
    /// Those in which it is not the same as this field, which has an index of its own: in most it is.
    Unlike(&'static str),
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A 64-bit key; a string of digits in JSON.
    Key,
    Text,
    Int,
    Bool,
    /// Epoch milliseconds; an ISO 8601 text in JSON.
    Time,
    /// A text that is one of these.
    Enum(&'static [&'static str]),
    /// The text of a JSON value, which stands in answers as it is.
    Json,
}

/// The operators that a field takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ops(u8);

impl Ops {
    pub const NONE: Ops = Ops(0);
    /// A plain value and nothing else.
    pub const PLAIN: Ops = Ops(1);
    const EQUAL: u8 = 2;
    const IN: u8 = 4;
    const NOT_IN: u8 = 8;
    const ORDER: u8 = 16;
    const LIKE: u8 = 32;
    pub const TEXT: Ops = Ops(1 | Self::EQUAL | Self::IN | Self::NOT_IN | Self::LIKE);
    pub const BASIC_TEXT: Ops = Ops(1 | Self::EQUAL | Self::IN | Self::NOT_IN);
    pub const KEY: Ops = Ops(1 | Self::EQUAL | Self::IN | Self::NOT_IN);
    /// Numbers and times.
    pub const ORDERED: Ops = Ops(1 | Self::EQUAL | Self::IN | Self::ORDER);
    pub const ENUM: Ops = Ops(1 | Self::EQUAL | Self::IN | Self::LIKE);
    pub const ENUM_NOT_IN: Ops = Ops(1 | Self::EQUAL | Self::IN | Self::NOT_IN | Self::LIKE);

    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Whether the operator of this name is one of them.
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

    /// The names of the operators, as messages list them.
    pub fn names(self) -> Vec<&'static str> {
        let all = [
            "$eq", "$neq", "$exists", "$gt", "$gte", "$lt", "$lte", "$in", "$notIn", "$like",
        ];
        all.into_iter().filter(|name| self.allows(name)).collect()
    }
}

/// A filter that holds when a row of another entity exists.
#[derive(Debug)]
pub struct RelatedFilter {
    /// The field of the filter.
    pub name: &'static str,
    pub entity: fn() -> &'static Entity,
    /// Our field that the other entity knows.
    pub own: &'static str,
    /// The other entity's field that holds it.
    pub link: &'static str,
    /// The other entity's field that is compared.
    pub field: &'static str,
    pub ops: Ops,
    pub takes: Takes,
    /// Those of one group must hold for the same row.
    pub group: u8,
    /// What must hold for that row beside: a field and the text of its value.
    pub only: Option<(&'static str, &'static str)>,
}

/// What the JSON of a [`RelatedFilter`] looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Takes {
    /// What the compared field takes.
    Field,
    /// A list of `{name, value}`, each for a row of its own.
    NamedValues,
}

impl Entity {
    /// `a Process Instance`, `an Element Instance`.
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

    /// The field at a place that [`index_of`](Entity::index_of) gave.
    ///
    /// # Panics
    ///
    /// If there is none: the place is of another entity.
    pub fn field(&self, at: usize) -> &'static Field {
        match self.fields.get(at) {
            Some(field) => field,
            None => panic!("field {at} is asked of {}", self.title),
        }
    }

    /// The place of a field that the code names; one that is not there does not compile.
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

    /// The place of a field.
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

    /// It stands only in answers about one thing.
    pub const fn detail(mut self) -> Field {
        self.detail = true;
        self
    }

    /// It can be filtered by, but does not stand in answers.
    pub const fn hidden(mut self) -> Field {
        self.shown = false;
        self
    }
}

/// Equality of texts that the compiler can decide.
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
