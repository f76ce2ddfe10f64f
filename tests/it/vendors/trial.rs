//! Provides the common view of tickets in the fakes.

/// A ticket of any vendor.
#[derive(Debug, Clone)]
pub(crate) struct Ticket {
    /// Comments added since the ticket was created.
    pub(crate) comments: Vec<String>,
    pub(crate) is_open: bool,
}

/// A fake that keeps tickets.
pub(crate) trait Tickets {
    fn tickets_of(&self, case: &str) -> Vec<Ticket>;
}
