//! Builds the report of a concluded case from its state.

use std::collections::BTreeSet;

use nightshift_alert::{Alert, ContentFlag, Indicator, IndicatorRole};
use nightshift_engine::conclude::ProseFilter;
use nightshift_engine::conclusion::Conclusion;
use nightshift_engine::evidence::{Evidence, EvidenceId};
use nightshift_engine::exoneration::{Exoneration, RecordExtent, RecordScope};
use nightshift_engine::finding::Finding;
use nightshift_engine::plan::{PlanUpdate, PlanUpdateRecord, StepDraft, StepId};
use nightshift_engine::question::StepView;
use nightshift_engine::state::CaseState;
use nightshift_engine::tool::ToolSpec;
use serde_json::Value;

use super::{
    AlertFacts, EvidenceEntry, FailoverSources, FindingEntry, InjectionSignal, REPORT_SCHEMA,
    Report, ReportProducer, StepCall, StepEntry, Takeover, blast_radius, later_activity, timeline,
};
use crate::case::CaseStatus;

/// Maximum number of texts that address the analyst, and most characters of each.
const MOST_SIGNALS: usize = 16;
const MOST_SIGNAL_CHARS: usize = 240;
/// Maximum number of indicators that a report lists.
pub(super) const MOST_INDICATORS: usize = 64;

/// Returns the report of a case, or `None` before the case is concluded.
#[must_use]
pub fn build(state: &CaseState, sender: &ReportProducer) -> Option<Report> {
    let opened = state.setup.as_ref()?;
    let conclusion = state.conclusion.as_ref()?.clone();
    let alert = &opened.alert;
    let concluded_at = state.last_at?;
    let plan = state.plan.as_ref();
    let prose = ProseFilter::from_state(state);
    let (timeline, timeline_left) = timeline::build_timeline(state, concluded_at);
    Some(Report {
        schema: REPORT_SCHEMA.to_owned(),
        case_id: opened.case_id.clone(),
        revision: opened.revision,
        status: status(&conclusion),
        again: opened.previous_run.clone(),
        instead_of: FailoverSources::new(),
        title: title(alert),
        reach: blast_radius::build_blast_radius(state),
        timeline,
        timeline_left,
        since: Box::new(later_activity::later_activity(state)),
        evidence: state.evidence.values().map(|one| entry(one)).collect(),
        signals: signals(state),
        steps: steps(state, &opened.tools, &prose),
        findings: conclusion.findings.iter().map(finding).collect(),
        indicators: indicators(state, &conclusion),
        alert: facts(alert),
        verdict: conclusion.verdict,
        leaning: conclusion.leaning,
        reason: conclusion.reason,
        confidence: conclusion.confidence,
        severity: alert.severity,
        assessed_severity: conclusion.assessed_severity,
        urgency: conclusion.urgency,
        summary: conclusion.summary,
        meaning: conclusion.meaning,
        gaps: conclusion.gaps,
        would_decide: conclusion.would_decide,
        actions: conclusion.actions,
        insights: prose.filter_lines(&state.insights),
        updates: updates(state, &prose),
        techniques: conclusion.techniques,
        exonerations: reported_exonerations(conclusion.exonerations),
        ledger: conclusion.ledger,
        cost: state.spent,
        analyst: opened.analyst,
        models: state.models.clone(),
        prompts: opened.prompts_hash.clone(),
        source: plan.map_or_else(String::new, |plan| plan.source.clone()),
        degraded: conclusion.degraded,
        takeover: Takeover::from_state(state),
        stopped_by: conclusion.stopped_by,
        failed: conclusion.failed,
        overridden: conclusion.overridden,
        manipulation: conclusion.manipulation,
        coverage: conclusion.coverage,
        opened_at: state.opened_at?,
        concluded_at,
        took_ms: u64::try_from(state.active_time().as_millis()).unwrap_or(u64::MAX),
        sender: sender.clone(),
        trace: alert.trace.clone(),
    })
}

fn status(conclusion: &Conclusion) -> CaseStatus {
    if conclusion.failed.is_some() {
        CaseStatus::Failed
    } else {
        CaseStatus::Concluded
    }
}

/// Returns the title of the alert, with the target added if the title does not name it.
pub(super) fn title(alert: &Alert) -> String {
    let what = nightshift_alert::text::single_line(&alert.title).into_owned();
    let what = what.trim_end_matches('.');
    match alert.object() {
        Some(object) if !what.contains(object) => format!("{what} on {object}"),
        _ => what.to_owned(),
    }
}

pub(super) fn facts(alert: &Alert) -> AlertFacts {
    AlertFacts {
        feed: alert.feed.clone(),
        key: alert.key.to_string(),
        kind: alert.kind.clone(),
        title: alert.title.clone(),
        description: alert.description.clone(),
        provider: alert.provider,
        account: alert.account.clone(),
        account_name: alert.account_name.clone(),
        region: alert.region.clone(),
        resource_type: alert
            .resources
            .first()
            .map(|resource| resource.kind.clone()),
        subject: alert.subject().map(str::to_owned),
        action: alert.action.clone(),
        product: alert.product_name(),
        class: alert.class,
        outcome: alert.outcome,
        details: alert.details.clone(),
        remediation: alert.remediation.clone(),
        finding_id: alert.finding_id.clone(),
        state_at_feed: alert.state.word().map(str::to_owned),
        severity_sent: alert.severity_sent.clone(),
        first_seen: alert.times.first_seen,
        last_seen: alert.times.last_seen,
        count: alert.count,
        sightings: 0,
        members: 0,
        sample: alert.is_sample(),
        flags: alert.flags.clone(),
    }
}

fn finding(finding: &Finding) -> FindingEntry {
    FindingEntry {
        claim: finding.claim.clone(),
        supported: finding.supported,
        problem: finding.problem.clone(),
        stance: finding.stance,
        evidence: finding.evidence.clone(),
    }
}

/// Returns the steps of a case that has not come to its end.
#[must_use]
pub fn steps_so_far(state: &CaseState) -> Vec<StepEntry> {
    let tools = state
        .setup
        .as_ref()
        .map_or(&[] as &[_], |setup| &setup.tools);
    steps(state, tools, &ProseFilter::from_state(state))
}

fn steps(state: &CaseState, tools: &[ToolSpec], prose: &ProseFilter<'_>) -> Vec<StepEntry> {
    let views = state.step_views();
    views.iter().map(|view| step(view, tools, prose)).collect()
}

fn step(view: &StepView, tools: &[ToolSpec], prose: &ProseFilter<'_>) -> StepEntry {
    let calls: Vec<StepCall> = view
        .calls
        .iter()
        .map(|call| StepCall {
            tool: call.call.tool.clone(),
            arguments: call.call.arguments.clone(),
            evidence: call.evidence.as_ref().map(|evidence| evidence.id),
            rows: call.evidence.as_ref().and_then(|evidence| evidence.rows),
            error: call.refused.clone().or_else(|| {
                call.evidence
                    .as_ref()
                    .and_then(|evidence| evidence.error.clone())
            }),
        })
        .collect();
    // The name of an undeclared tool is text of the analyst.
    let is_tool = |name: &&str| tools.iter().any(|spec| spec.name == **name);
    let names = calls.iter().map(|call| call.tool.as_str());
    let used: BTreeSet<&str> = names.filter(is_tool).collect();
    StepEntry {
        id: view.step.id.clone(),
        description: step_description(prose.filter_text(&view.step.description), &used),
        status: view.step.status,
        outcome: view.step.outcome,
        tools: used.into_iter().map(str::to_owned).collect(),
        summary: prose.filter_text(&view.step.summary),
        wave: view.step.wave,
        reason: view
            .step
            .reason
            .as_deref()
            .map(|why| prose.filter_text(why)),
        calls,
    }
}

/// Returns the description of a step, or one made of its tools if its own words must not be shown.
fn step_description(words: String, used: &BTreeSet<&str>) -> String {
    if !words.is_empty() {
        return words;
    }
    let tools: Vec<&str> = used.iter().copied().collect();
    match tools.as_slice() {
        [] => "A step of the plan".to_owned(),
        tools => format!("Look with {}", tools.join(", ")),
    }
}

fn updates(state: &CaseState, prose: &ProseFilter<'_>) -> Vec<PlanUpdateRecord> {
    let records = state.updates.iter();
    records.map(|record| update(record, state, prose)).collect()
}

/// Returns an update that a reflection requested, with only the text that may be shown. The step itself describes a
/// new step. Ids of existing steps and reasons for a refusal are the engine's words.
fn update(
    record: &PlanUpdateRecord,
    state: &CaseState,
    prose: &ProseFilter<'_>,
) -> PlanUpdateRecord {
    let plan = state.plan.as_ref();
    let known = |id: &StepId| match plan.and_then(|plan| plan.step(id)) {
        Some(step) => step.id.clone(),
        None => StepId("?".to_owned()),
    };
    let update = match &record.update {
        PlanUpdate::AddStep { step, reason } => PlanUpdate::AddStep {
            step: StepDraft {
                id: String::new(),
                description: prose.filter_text(&step.description),
                tools: Vec::new(),
                expected: prose.filter_text(&step.expected),
                depends_on: Vec::new(),
                calls: Vec::new(),
                key: step.key,
            },
            reason: prose.filter_text(reason),
        },
        PlanUpdate::UpdateStep {
            id,
            description,
            expected,
            reason,
        } => PlanUpdate::UpdateStep {
            id: known(id),
            description: prose.filter_text(description),
            expected: expected.as_deref().map(|text| prose.filter_text(text)),
            reason: prose.filter_text(reason),
        },
        PlanUpdate::CancelStep { id, reason } => PlanUpdate::CancelStep {
            id: known(id),
            reason: prose.filter_text(reason),
        },
    };
    PlanUpdateRecord {
        reflection: record.reflection,
        update,
        refused: record.refused.clone(),
    }
}

/// Returns a piece of evidence as the report holds it. The raw finding stays in the store because it would swamp the
/// report.
fn entry(evidence: &Evidence) -> EvidenceEntry {
    let body = if evidence.id == EvidenceId::ALERT {
        evidence.body.without("raw")
    } else {
        evidence.body.clone()
    };
    EvidenceEntry {
        id: evidence.id,
        tool: evidence.tool.clone(),
        arguments: evidence.arguments.clone(),
        at: evidence.at,
        rows: evidence.rows,
        truncated: evidence.truncated,
        error: evidence.error.clone(),
        body,
    }
}

/// Returns the places of text that addresses the analyst, with its beginning. Flags of an alert point into the raw
/// finding.
fn signals(state: &CaseState) -> Vec<InjectionSignal> {
    let mut found = Vec::new();
    for evidence in state.evidence.values() {
        let paths = evidence.flags.iter().filter_map(|flag| match flag {
            ContentFlag::Instructions { path } => Some(path),
            _ => None,
        });
        let mut paths = paths.peekable();
        if paths.peek().is_none() {
            continue;
        }
        let body = evidence.body.value();
        for path in paths {
            let path = if evidence.id == EvidenceId::ALERT {
                format!("/raw{path}")
            } else {
                path.clone()
            };
            let value = body.pointer(&path).and_then(Value::as_str);
            let text =
                nightshift_alert::text::truncate(value.unwrap_or_default(), MOST_SIGNAL_CHARS);
            found.push(InjectionSignal {
                evidence: evidence.id,
                text: text.into_owned(),
                path,
            });
        }
    }
    found.truncate(MOST_SIGNALS);
    found
}

/// Returns the records without their scopes and listed values, which the ledger of the report shows.
fn reported_exonerations(records: Vec<Exoneration>) -> Vec<Exoneration> {
    let reported = records.into_iter().map(|record| Exoneration {
        scope: RecordScope::default(),
        slack_mins: 0,
        extent: RecordExtent::default(),
        ..record
    });
    reported.collect()
}

/// Returns the alert's own values, and those in findings or exonerations.
fn indicators(state: &CaseState, conclusion: &Conclusion) -> Vec<Indicator> {
    let mut all: Vec<Indicator> = state
        .alert()
        .map(|alert| alert.indicators.clone())
        .unwrap_or_default();
    let spoken = |value: &str| {
        conclusion
            .findings
            .iter()
            .any(|finding| finding.supported && finding.claim.contains(value))
    };
    let more = state
        .indicators
        .iter()
        .filter(|indicator| spoken(&indicator.value));
    all.extend(more.cloned());
    all.sort_by_key(|indicator| {
        (
            indicator.role == IndicatorRole::Related,
            indicator.role,
            indicator.kind,
        )
    });
    all.truncate(MOST_INDICATORS);
    all
}

#[cfg(test)]
mod tests;
