//! Messages and the two sides of their subscriptions. The message side lives on the partition that the correlation key
//! hashes to, the process side with the instance. They communicate by [`crate::RemoteCommand`]s that are repeated until
//! answered.

pub(crate) mod correlate;
pub(crate) mod expire;
pub(crate) mod message_side;
pub(crate) mod process_side;
pub(crate) mod publish;
pub(crate) mod slots;
