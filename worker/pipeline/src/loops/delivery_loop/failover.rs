//! Finds another destination for a report that a destination refuses permanently: the first of the `otherwise`
//! destinations of its route that wants the report.

use std::sync::Arc;

use crate::case::{CaseId, CaseView};
use crate::delivery_payload::DeliveryPayload;
use crate::port::{Cases, Destination, Outbox, StoreError};
use crate::report::{FailoverReason, FailoverSource, FailoverSources, Report};
use crate::route::Routes;

/// Hands refused reports to other destinations.
pub struct Failover {
    /// Store of requested deliveries.
    pub outbox: Arc<dyn Outbox>,
    /// Store of the cases, which have the alerts to route.
    pub cases: Arc<dyn Cases>,
    /// Routes with their `otherwise` destinations.
    pub routes: Routes,
    /// All configured destinations. Each is asked whether it wants the report.
    pub destinations: Vec<Arc<dyn Destination>>,
}

impl Failover {
    /// Requests the report of a case at the next destination of its route that wants it, and returns that
    /// destination.
    ///
    /// A report that no destination wants is not handed on: it would count as shown without being visible anywhere.
    /// `report` is the refused report; `None` means the latest.
    pub(super) async fn fail_over(
        &self,
        case: &CaseId,
        refused: &str,
        why: FailoverReason,
        report: Option<&Report>,
    ) -> Result<Option<String>, StoreError> {
        let view = self.cases.view(&case.0).await?;
        let triaged = view.report.as_ref().filter(|one| one.failed.is_none());
        let verdict = triaged.map(|report| report.verdict);
        let chain = self.routes.failover_chain(&view.alert, verdict, refused);
        let Some(next) = chain.into_iter().find(|name| self.accepts(name, &view)) else {
            return Ok(None);
        };
        let handed = report.or(view.report.as_ref());
        let revision = handed.map_or(view.row.revision, |report| report.revision);
        let mut instead_of = handed.map_or_else(FailoverSources::new, |one| one.instead_of.clone());
        instead_of.insert(refused.to_owned(), FailoverSource { why, revision });
        self.outbox.add_fallback(case, next, &instead_of).await?;
        Ok(Some(next.to_owned()))
    }

    /// Returns whether a destination already shows the latest report, or wants it.
    fn accepts(&self, name: &str, view: &CaseView) -> bool {
        let Some(destination) = self.destinations.iter().find(|one| one.name() == name) else {
            return false;
        };
        let showing = payload_for(name, view);
        let shows_it = showing
            .delivered_report()
            .is_some_and(|shown| shown.revision == showing.report.revision && !showing.is_early());
        shows_it || destination.wants(&showing)
    }
}

/// Returns the case as the destination would be asked to show it now.
fn payload_for(name: &str, view: &CaseView) -> DeliveryPayload {
    let report = view.report.clone();
    let mut showing = DeliveryPayload::new(report.unwrap_or_else(|| view.early_report()));
    showing.workflow = view.workflow.clone();
    if let Some(row) = view.deliveries.iter().find(|row| row.destination == name) {
        showing.version = row.wanted.saturating_add(1);
        showing.remote_id.clone_from(&row.remote_id);
        showing.delivered.clone_from(&row.shown);
        showing.in_doubt = row.in_doubt;
    }
    showing
}
