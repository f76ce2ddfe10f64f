//! What tickets are asked for.

/// A ticket, wherever it is kept.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    /// What was added since it was made.
    pub(crate) comments: Vec<String>,
    pub(crate) is_open: bool,
}

/// A world that keeps tickets.
pub(crate) trait Tickets {
    /// The tickets of a case.
    fn of(&self, case: &str) -> Vec<Ticket>;
}
