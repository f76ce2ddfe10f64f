//! Spans: what the lines of a log and of a trace belong to.
//!
//! They are made with `tracing` and know nothing of who reads them. Those of a log are of the level error, so that each
//! line has them, whatever the level that is written.

use nightshift_alert::{Alert, CaseTrace};
use tracing::Span;

use crate::{CaseId, Due, Lease};

/// The trace of a case that is triaged under this lease.
pub(crate) fn trace_of(lease: &Lease, alert: &Alert) -> CaseTrace {
    let _ = alert;
    CaseTrace::of(&lease.case_id.0, lease.revision, None)
}

/// What is done for a case under a lease.
pub(crate) fn of_case(lease: &Lease, alert: &Alert) -> Span {
    in_case(&lease.case_id, lease.revision, &trace_of(lease, alert))
}

fn in_case(case_id: &CaseId, revision: u32, trace: &CaseTrace) -> Span {
    tracing::error_span!(
        "case",
        case.id = %case_id,
        case.revision = revision,
        trace.id = %trace.trace_id
    )
}

/// What is done to show a case at a destination.
pub(crate) fn of_delivery(destination: &str, due: &Due) -> Span {
    let revision = due.showing.report.revision;
    let trace = CaseTrace::of(&due.case_id.0, revision, None);
    tracing::error_span!(
        "delivery",
        destination.name = destination,
        case.id = %due.case_id,
        case.revision = revision,
        trace.id = %trace.trace_id
    )
}

/// What is done to take messages from a source.
pub(crate) fn of_source(name: &str) -> Span {
    tracing::error_span!("source", source.name = name)
}

/// What one destination is served with.
pub(crate) fn of_destination(name: &str) -> Span {
    tracing::error_span!("destination", destination.name = name)
}
