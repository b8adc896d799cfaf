//! Offsets and time zones.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};

use super::Date;

/// Zone of a time: none, an offset from UTC, or an IANA zone.
#[derive(Clone)]
pub enum Zone {
    /// A local time without offset.
    Local,
    /// Seconds east of UTC, at most 18 hours.
    Offset(i32),
    /// A zone of the IANA database that is compiled in.
    Named(TimeZone),
}

impl Zone {
    /// UTC as an offset, printed as `Z`.
    pub const UTC: Zone = Zone::Offset(0);

    /// The zone of this IANA name (any case).
    pub fn named(name: &str) -> Option<Zone> {
        static DATABASE: OnceLock<TimeZoneDatabase> = OnceLock::new();
        DATABASE
            .get_or_init(TimeZoneDatabase::bundled)
            .get(name)
            .ok()
            .map(Zone::Named)
    }

    /// Reads `Z`, `+01:00`, `+01:00:30` or an IANA name.
    pub fn parse(text: &str) -> Option<Zone> {
        match text.as_bytes().first()? {
            b'Z' | b'z' if text.len() == 1 => Some(Zone::UTC),
            b'+' | b'-' => super::parse::parse_offset(text),
            _ => Zone::named(text),
        }
    }

    /// True without offset and zone.
    pub fn is_local(&self) -> bool {
        matches!(self, Zone::Local)
    }

    /// The IANA name, if there is one.
    pub fn name(&self) -> Option<&str> {
        match self {
            Zone::Named(zone) => zone.iana_name(),
            _ => None,
        }
    }

    /// Seconds east of UTC at a local date and time; local times count as UTC. `is_second`: of two moments with the same local time,
    /// the second is meant.
    pub(crate) fn offset_at_local(&self, date: Date, second_of_day: i64, is_second: bool) -> i32 {
        let offset = match self {
            Zone::Local => return 0,
            Zone::Offset(seconds) => return *seconds,
            Zone::Named(zone) => match ambiguous(zone, date, second_of_day) {
                AmbiguousOffset::Unambiguous { offset } => offset,
                AmbiguousOffset::Gap { before, .. } => before,
                AmbiguousOffset::Fold { before, after } => {
                    if is_second {
                        after
                    } else {
                        before
                    }
                }
            },
        };
        offset.seconds()
    }

    /// Seconds that the zone skips around a local date and time: clocks are set forward over it.
    pub(crate) fn skipped_at(&self, date: Date, second_of_day: i64) -> i64 {
        let Zone::Named(zone) = self else {
            return 0;
        };
        match ambiguous(zone, date, second_of_day) {
            AmbiguousOffset::Gap { before, after } => {
                i64::from(after.seconds()) - i64::from(before.seconds())
            }
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => 0,
        }
    }

    /// Seconds east of UTC at an instant.
    pub(crate) fn offset_at(&self, epoch_second: i64) -> i32 {
        match self {
            Zone::Local => 0,
            Zone::Offset(seconds) => *seconds,
            Zone::Named(zone) => {
                let range = jiff::Timestamp::MIN.as_second()..=jiff::Timestamp::MAX.as_second();
                let clamped = epoch_second.clamp(*range.start(), *range.end());
                jiff::Timestamp::from_second(clamped).map_or(0, |at| zone.to_offset(at).seconds())
            }
        }
    }
}

fn ambiguous(zone: &TimeZone, date: Date, second_of_day: i64) -> AmbiguousOffset {
    let time = jiff::civil::Time::constant(0, 0, 0, 0)
        .checked_add(jiff::SignedDuration::from_secs(second_of_day))
        .unwrap_or_default();
    zone.to_ambiguous_zoned(date.civil().to_datetime(time))
        .offset()
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        match (self, other) {
            (Zone::Local, Zone::Local) => true,
            (Zone::Offset(a), Zone::Offset(b)) => a == b,
            (Zone::Named(a), Zone::Named(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Zone {}

impl Hash for Zone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Zone::Local => 0u8.hash(state),
            Zone::Offset(seconds) => seconds.hash(state),
            Zone::Named(zone) => zone.iana_name().hash(state),
        }
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Zone::Local => Ok(()),
            Zone::Offset(0) => f.write_str("Z"),
            Zone::Offset(seconds) => {
                let sign = if *seconds < 0 { '-' } else { '+' };
                let total = seconds.unsigned_abs();
                write!(f, "{sign}{:02}:{:02}", total / 3600, total / 60 % 60)?;
                if total % 60 != 0 {
                    write!(f, ":{:02}", total % 60)?;
                }
                Ok(())
            }
            Zone::Named(zone) => write!(f, "@{}", zone.iana_name().unwrap_or("Etc/Unknown")),
        }
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Zone({self})")
    }
}

impl From<Offset> for Zone {
    fn from(offset: Offset) -> Zone {
        Zone::Offset(offset.seconds())
    }
}

impl From<TimeZone> for Zone {
    fn from(zone: TimeZone) -> Zone {
        match zone.to_fixed_offset() {
            Ok(offset) if zone.iana_name().is_none_or(|name| name == "UTC") => Zone::from(offset),
            _ => Zone::Named(zone),
        }
    }
}
