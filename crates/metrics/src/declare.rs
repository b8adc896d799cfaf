//! The one way to declare metrics: a line for each in a table, with its type, labels, name and help.

use prometheus_client::registry::Registry;

use crate::bounds::Bounds;

/// Declaration of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    /// Without the `_total` that the text formats add to counters.
    pub name: &'static str,
    pub help: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    /// Only histograms use them.
    pub bounds: Bounds,
}

impl Declared {
    /// The name that a scrape shows.
    pub fn exposed_name(&self) -> String {
        match self.kind {
            Kind::Counter => format!("{}_total", self.name),
            Kind::Gauge | Kind::Histogram => self.name.to_string(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A type allowed in a table of [`metrics!`](crate::metrics): a single metric, or a [`Family`](crate::Family) of them.
pub trait Metric {
    const KIND: Kind;
    const LABELS: &'static [&'static str];

    fn declared(declared: &Declared) -> Self;
    fn register(&self, declared: &Declared, registry: &mut Registry);
}

/// Declares a struct of metrics, one line each: `field: Type = name, help;`, and for histograms whose bounds are not
/// [`FINE_BOUNDS`](crate::FINE_BOUNDS) a third value. The struct has `default`, `register`, and the table as `DECLARED`.
///
/// With `handles Name of Key` a second struct is made, for the series of one key, as returned by `of(key)`. The labels of all
/// families are then made from the key.
#[macro_export]
macro_rules! metrics {
    (
        $(#[$about:meta])*
        $visible:vis struct $name:ident {
            $($(#[$more:meta])* $shown:vis $field:ident: $type:ty = $metric:literal, $help:literal $(, $bounds:expr)?;)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        $visible struct $name {
            $(#[doc = $help] $(#[$more])* $shown $field: $type,)+
        }

        impl $name {
            /// All declarations, in the order of the fields.
            pub const DECLARED: &'static [$crate::Declared] = &[$($crate::Declared {
                name: $metric,
                help: $help,
                kind: <$type as $crate::Metric>::KIND,
                labels: <$type as $crate::Metric>::LABELS,
                bounds: $crate::first_of!($($bounds,)? $crate::FINE_BOUNDS),
            },)+];

            /// Registers all of them under their public names.
            pub fn register(&self, registry: &mut $crate::Registry) {
                let mut declared = Self::DECLARED.iter();
                $(if let Some(declared) = declared.next() {
                    $crate::Metric::register(&self.$field, declared, registry);
                })+
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $(let $field = <$type as $crate::Metric>::declared(&$crate::Declared {
                    name: $metric,
                    help: $help,
                    kind: <$type as $crate::Metric>::KIND,
                    labels: <$type as $crate::Metric>::LABELS,
                    bounds: $crate::first_of!($($bounds,)? $crate::FINE_BOUNDS),
                });)+
                $name { $($field,)+ }
            }
        }
    };
    (
        $(#[$about:meta])*
        $visible:vis struct $name:ident, $(#[$handle_about:meta])* handles $handles:ident of $key:ty {
            $($field:ident: $type:ty = $metric:literal, $help:literal $(, $bounds:expr)?;)+
        }
    ) => {
        $crate::metrics! {
            $(#[$about])*
            $visible struct $name {
                $($field: $type = $metric, $help $(, $bounds)?;)+
            }
        }

        $(#[$handle_about])*
        #[derive(Clone, Debug)]
        $visible struct $handles {
            $(#[doc = $help] pub $field: <$type as $crate::Series>::One,)+
        }

        impl $name {
            /// The series of one key.
            pub fn of(&self, key: $key) -> $handles {
                $handles {
                    $($field: $crate::Series::one(&self.$field, key.into()),)+
                }
            }
        }
    };
}

/// The first of its arguments; part of [`metrics!`](crate::metrics).
#[doc(hidden)]
#[macro_export]
macro_rules! first_of {
    ($first:expr $(, $other:expr)?) => {
        $first
    };
}

/// Declares sets of labels: `pub struct OfPartition { partition: u32 }`. Labels have the names of the fields.
#[macro_export]
macro_rules! labels {
    ($($(#[$about:meta])* $visible:vis struct $name:ident { $($shown:vis $field:ident: $type:ty),+ $(,)? })+) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, Hash, PartialEq, Eq, ::prometheus_client::encoding::EncodeLabelSet)]
        #[allow(non_snake_case)]
        $visible struct $name {
            $($shown $field: $type),+
        }

        impl $crate::Labels for $name {
            const NAMES: &'static [&'static str] = &[$($crate::label_name(stringify!($field))),+];
        }
    )+};
}

/// The name of a label: a field that has the name of a keyword is written `r#type`.
#[doc(hidden)]
pub const fn label_name(field: &'static str) -> &'static str {
    match field.as_bytes() {
        [b'r', b'#', name @ ..] => match std::str::from_utf8(name) {
            Ok(name) => name,
            Err(_) => field,
        },
        _ => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Computed, Counter, Family, Gauge, Histogram, Unlabelled};

    labels! {
        struct Labels { partition: u32, r#type: &'static str }
        pub struct OfPartition { partition: u32 }
    }

    impl From<u32> for OfPartition {
        fn from(partition: u32) -> Self {
            OfPartition { partition }
        }
    }

    metrics! {
        struct Table {
            requests: Counter = "requests", "all of them";
            pub open: Family<Labels, Gauge> = "open", "what is open";
            sizes: Family<OfPartition, Histogram> = "sizes", "how large they are", Bounds::amounts(&[10]);
            waiting: Computed<Labels> = "waiting", "what waits";
            nodes: Computed<Unlabelled> = "nodes", "how many there are";
        }
    }

    metrics! {
        /// By partition.
        struct PerPartition, handles OnePartition of u32 {
            seen: Family<OfPartition, Counter> = "seen", "what was seen";
            time: Family<OfPartition, Histogram> = "time_seconds", "how long it took";
        }
    }

    fn exposed(register: impl Fn(&mut Registry)) -> String {
        let mut registry = Registry::default();
        register(&mut registry);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        text
    }

    #[test]
    fn declared_metrics_are_exposed() {
        let table = Table::default();
        table.requests.inc();
        let labels = Labels {
            partition: 1,
            r#type: "a",
        };
        table.open.of(labels.clone()).set(3);
        table.sizes.of(7.into()).observe(5);
        table.waiting.read_from(move || vec![(labels.clone(), 9)]);
        table.nodes.read_from(|| vec![(Unlabelled, 4)]);
        let text = exposed(|registry| table.register(registry));
        for line in [
            "# HELP requests all of them",
            "requests_total 1",
            "open{partition=\"1\",type=\"a\"} 3",
            "sizes_bucket{le=\"10.0\",partition=\"7\"} 1",
            "waiting{partition=\"1\",type=\"a\"} 9",
            "\nnodes 4\n",
        ] {
            assert!(text.contains(line), "{line} not in\n{text}");
        }
        let [requests, open, sizes, waiting, _] = Table::DECLARED else {
            panic!("{:?}", Table::DECLARED)
        };
        assert_eq!(requests.exposed_name(), "requests_total");
        assert_eq!(
            (open.kind, open.labels),
            (Kind::Gauge, &["partition", "type"][..])
        );
        assert_eq!((sizes.kind, sizes.name), (Kind::Histogram, "sizes"));
        assert_eq!((waiting.kind, waiting.labels.len()), (Kind::Gauge, 2));
    }

    #[test]
    fn handles_are_the_series_of_one_key() {
        let table = PerPartition::default();
        let one: OnePartition = table.of(3);
        one.seen.inc();
        one.time.observe(1_000_000);
        let text = exposed(|registry| table.register(registry));
        for line in [
            "seen_total{partition=\"3\"} 1",
            "time_seconds_count{partition=\"3\"} 1",
        ] {
            assert!(text.contains(line), "{line} not in\n{text}");
        }
    }
}
