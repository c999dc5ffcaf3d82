//! The order and the time of what is recorded.

/// Milliseconds since the Unix epoch, taken from the clock that the host passes in.
pub type Millis = i64;

/// The place of a record in the project's order, and its time.
///
/// `seq` alone decides what came first: the clock may jump, `seq` only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The place in the order.
    pub seq: u64,
    /// When it was recorded.
    pub at: Millis,
}
