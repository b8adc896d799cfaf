//! The client and its worker against a gateway that does what the test tells it.

mod calls;
mod fake;
mod worker;
