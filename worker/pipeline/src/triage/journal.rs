//! Writes the journal of a running case. The store keeps the engine's events under the lease of the worker.

use std::sync::Arc;

use async_trait::async_trait;
use nightshift_alert::Severity;
use nightshift_engine::event::Event;
use nightshift_engine::port::{Journal, JournalError};
use nightshift_engine::state::CaseState;
use parking_lot::Mutex;

use super::Triage;
use crate::budget::Charge;
use crate::budget::{CaseSpend, JournalCost};
use crate::case::{CaseStatus, Lease};
use crate::port::{CaseClosure, StoreError};
use crate::report::build as build_report;

/// The journal of one case at one epoch.
pub(super) struct CaseJournal {
    triage: Triage,
    /// Cost of the events.
    journal_cost: Mutex<JournalCost>,
    /// Costs of questions without a written event.
    case_spend: Option<Arc<CaseSpend>>,
    pub(super) lease: Lease,
    /// Held during a write.
    writing: Arc<tokio::sync::Mutex<()>>,
}

impl CaseJournal {
    /// Creates the journal of a case that continues from `before`.
    pub(super) fn new(
        triage: &Triage,
        before: &CaseState,
        severity: Severity,
        bill: Option<Arc<CaseSpend>>,
        lease: Lease,
        writing: Arc<tokio::sync::Mutex<()>>,
    ) -> Self {
        Self {
            triage: triage.clone(),
            journal_cost: Mutex::new(JournalCost::new(severity, before)),
            case_spend: bill,
            lease,
            writing,
        }
    }

    fn charge(&self, events: &[Event]) -> Charge {
        let mut tab = self.journal_cost.lock();
        tab.charge(events)
    }

    /// Notes that these events are written, and their cost.
    fn record_written(&self, events: &[Event], charge: Charge) {
        if let Some(bill) = &self.case_spend {
            bill.mark_journaled(charge.usd);
        }
        self.triage.notify_watcher(&self.lease, events);
    }
}

#[async_trait]
impl Journal for CaseJournal {
    async fn append(&self, events: &[Event]) -> Result<(), JournalError> {
        let _one = self.writing.lock().await;
        let charge = self.charge(events);
        self.triage
            .cases
            .append(&self.lease, events, charge)
            .await
            .map_err(journal_error)?;
        self.record_written(events, charge);
        Ok(())
    }

    async fn conclude(&self, events: &[Event], end: &CaseState) -> Result<(), JournalError> {
        let (Some(opened), Some(conclusion), Some(report)) = (
            &end.setup,
            &end.conclusion,
            build_report(end, &self.triage.sender),
        ) else {
            return self.append(events).await;
        };
        let status = if conclusion.failed.is_some() {
            CaseStatus::Failed
        } else {
            CaseStatus::Concluded
        };
        let now = self.triage.clock.now();
        let closing = CaseClosure {
            recheck_at: self.triage.first_recheck(opened, conclusion, now),
            charge: self.charge(events),
            events: events.to_vec(),
            status,
            conclusion: conclusion.clone(),
            report,
            destinations: self.triage.routes.destinations(
                &opened.alert,
                Some(conclusion.verdict).filter(|_| conclusion.failed.is_none()),
            ),
            wants_model: self
                .triage
                .wants_model(opened.previous_run.as_deref(), !end.degraded.is_empty()),
        };
        let _one = self.writing.lock().await;
        self.triage
            .cases
            .conclude(&self.lease, &closing)
            .await
            .map_err(journal_error)?;
        self.record_written(events, closing.charge);
        self.triage.count(end, conclusion, status);
        Ok(())
    }
}

fn journal_error(error: StoreError) -> JournalError {
    match error {
        StoreError::LeaseLost => JournalError::LeaseLost,
        other => JournalError::Store(Box::new(other)),
    }
}
