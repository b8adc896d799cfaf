//! The client and its worker against a gateway controlled by the test.

mod calls;
mod fake;
mod worker;
