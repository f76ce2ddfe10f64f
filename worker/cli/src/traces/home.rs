//! Where a span belongs that is made while nothing around it is recorded: a case that ran already when traces were turned
//! on. The log's span of the case says which one it is.

use std::fmt;

use nightshift_alert::CaseTrace;
use tracing::Metadata;
use tracing::field::{Field, Visit};
use tracing::span::Attributes;

/// The whole triage of a case.
#[derive(Debug, Clone, Copy)]
pub(super) struct Home {
    pub(super) trace_id: u128,
    pub(super) span_id: u64,
}

#[derive(Default)]
struct Said {
    case_id: String,
    revision: u32,
    trace_id: Option<u128>,
}

impl Home {
    /// The case that a span of the log names; none where it names none.
    pub(super) fn of(metadata: &Metadata<'_>, attributes: &Attributes<'_>) -> Option<Self> {
        metadata.fields().field("trace.id")?;
        let mut said = Said::default();
        attributes.record(&mut said);
        let triage = CaseTrace::of(&said.case_id, said.revision, None).triage;
        Some(Self {
            trace_id: said.trace_id?,
            span_id: triage.0,
        })
    }
}

impl Visit for Said {
    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "case.revision" {
            self.revision = u32::try_from(value).unwrap_or(u32::MAX);
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "case.id" => value.clone_into(&mut self.case_id),
            "trace.id" => self.trace_id = u128::from_str_radix(value, 16).ok(),
            _ => {}
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if matches!(field.name(), "case.id" | "trace.id") {
            self.record_str(field, &format!("{value:?}"));
        }
    }
}
