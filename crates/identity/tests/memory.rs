//! Memory of a directory with 10,000 users and 100,000 memberships: every node holds it, so it is bounded. Bytes are counted, not measured:
//! they are the same on every machine.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use skep_identity::{Directory, Entry, Grants, Parent};
use skep_protocol::Key;
use skep_protocol::origin::{Claims, Principal};
use skep_protocol::value::{EntityType, Member, ParentType, ParentValue, PasswordHash, UserValue};

/// Counts allocated and unfreed bytes.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code)] // A counting allocator cannot be written without.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const USERS: usize = 10_000;
const GROUPS: usize = 1_000;
const GROUPS_OF_A_USER: usize = 10;

/// An Argon2id hash in the directory's format.
const HASH: &str = "{argon2id}$argon2id$v=19$m=19456,t=2,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g";

/// Rows as read from the log, each with its own texts.
fn filled() -> Directory {
    let mut directory = Directory::default();
    let mut next = 0;
    let mut add = |entry: Entry| {
        next += 1;
        directory.add(Key(next), &entry);
    };
    for number in 0..USERS {
        add(Entry::User(UserValue {
            user_key: Key(number as i64),
            username: user(number).into(),
            name: format!("Somebody {number}").into(),
            email: format!("{}@example.org", user(number)).into(),
            password: PasswordHash::new(HASH),
        }));
    }
    for number in 0..GROUPS {
        add(Entry::Group(ParentValue {
            key: Key(number as i64),
            id: group(number).into(),
            name: format!("Group {number}").into(),
            description: "".into(),
            member: None,
        }));
    }
    for number in 0..USERS * GROUPS_OF_A_USER {
        let parent = Parent::new(ParentType::Group, &group(number * 7 % GROUPS));
        let member = Member::new(EntityType::User, &user(number / GROUPS_OF_A_USER));
        add(Entry::membership(&parent, member));
    }
    directory
}

fn user(number: usize) -> String {
    format!("somebody.{number:05}")
}

fn group(number: usize) -> String {
    format!("department-{number:04}")
}

#[test]
fn ten_thousand_users_with_a_hundred_thousand_memberships_take_little_memory() {
    let before = HELD.load(Ordering::Relaxed);
    let directory = filled();
    let held = HELD.load(Ordering::Relaxed) - before;
    let mib = held as f64 / f64::from(1 << 20);
    println!("{mib:.1} MiB");
    // A copy shares everything.
    let copy = directory.clone();
    assert!(HELD.load(Ordering::Relaxed) - before < held + 4_096);
    drop(directory);
    let anna = Claims::User(std::sync::Arc::new(Principal {
        id: user(4_711).into(),
        groups: None,
        token: "".into(),
    }));
    let grants = Grants::of(&copy, &anna).unwrap();
    assert_eq!(grants.groups().len(), GROUPS_OF_A_USER);
    assert!(mib < 16.0, "{mib:.1} MiB");
}
