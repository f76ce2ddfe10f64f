//! Finds another destination for a report that one refused for good: the first of the `otherwise` destinations of its
//! route that wants it.

use std::sync::Arc;

use crate::case::{CaseId, CaseView};
use crate::port::{Cases, Destination, Outbox, StoreError};
use crate::report::{InsteadOf, Missed, NotShown, Report};
use crate::route::Routes;
use crate::showing::Showing;

/// Hands refused reports to other destinations.
pub struct HandingOn {
    /// Store of requested deliveries.
    pub outbox: Arc<dyn Outbox>,
    /// Store of the cases, which have the alerts to route.
    pub cases: Arc<dyn Cases>,
    /// Routes with their `otherwise` destinations.
    pub routes: Routes,
    /// All configured destinations. Each is asked whether it wants the report.
    pub destinations: Vec<Arc<dyn Destination>>,
}

impl HandingOn {
    /// Requests the report of a case at the next destination of its route that wants it, and returns that
    /// destination.
    ///
    /// A report that no destination wants is not handed on: it would count as shown without being visible anywhere.
    /// `report` is the refused report; `None` means the latest.
    pub(super) async fn hand_on(
        &self,
        case: &CaseId,
        refused: &str,
        why: NotShown,
        report: Option<&Report>,
    ) -> Result<Option<String>, StoreError> {
        let view = self.cases.view(&case.0).await?;
        let triaged = view.report.as_ref().filter(|one| one.failed.is_none());
        let verdict = triaged.map(|report| report.verdict);
        let chain = self.routes.after(&view.alert, verdict, refused);
        let Some(next) = chain.into_iter().find(|name| self.takes(name, &view)) else {
            return Ok(None);
        };
        let handed = report.or(view.report.as_ref());
        let revision = handed.map_or(view.row.revision, |report| report.revision);
        let mut instead_of = handed.map_or_else(InsteadOf::new, |one| one.instead_of.clone());
        instead_of.insert(refused.to_owned(), Missed { why, revision });
        self.outbox.also(case, next, &instead_of).await?;
        Ok(Some(next.to_owned()))
    }

    /// Returns whether a destination already shows the latest report, or wants it.
    fn takes(&self, name: &str, view: &CaseView) -> bool {
        let Some(destination) = self.destinations.iter().find(|one| one.name() == name) else {
            return false;
        };
        let showing = showing_at(name, view);
        let shows_it = showing
            .earlier()
            .is_some_and(|shown| shown.revision == showing.report.revision && !showing.is_early());
        shows_it || destination.wants(&showing)
    }
}

/// Returns the case as the destination would be asked to show it now.
fn showing_at(name: &str, view: &CaseView) -> Showing {
    let report = view.report.clone();
    let mut showing = Showing::first(report.unwrap_or_else(|| view.early_report()));
    showing.desk = view.desk.clone();
    if let Some(row) = view.deliveries.iter().find(|row| row.destination == name) {
        showing.version = row.wanted.saturating_add(1);
        showing.remote_id.clone_from(&row.remote_id);
        showing.shown.clone_from(&row.shown);
        showing.in_doubt = row.in_doubt;
    }
    showing
}
