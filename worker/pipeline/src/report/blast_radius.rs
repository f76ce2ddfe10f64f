//! Computes the reach from the statements of registers and tags about the affected resource, and from other cases of
//! that resource.

use nightshift_engine::evidence::{Evidence, EvidenceId};
use nightshift_engine::state::CaseState;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::BlastRadius;

/// Tag names for an owner, as clouds and teams write them.
const OWNER_TAGS: [&str; 4] = ["owner", "team", "Owner", "Team"];
const ENVIRONMENT_TAGS: [&str; 5] = ["env", "environment", "Env", "Environment", "stage"];

/// Returns the reach as far as a register or a tag shows it.
pub(super) fn build_blast_radius(state: &CaseState) -> BlastRadius {
    let mut reach = BlastRadius::default();
    if let Some(alert) = state.alert() {
        let tag = |names: &[&str]| {
            alert.resources.iter().find_map(|resource| {
                names
                    .iter()
                    .find_map(|name| resource.tags.get(*name).cloned())
            })
        };
        reach.owner = tag(&OWNER_TAGS);
        reach.environment = tag(&ENVIRONMENT_TAGS);
    }
    for evidence in state.evidence.values() {
        match evidence.kind.as_str() {
            "asset_lookup" => asset(&mut reach, evidence, state),
            "past_cases" => others(&mut reach, evidence),
            _ => {}
        }
    }
    if let Some(subject) = state.alert().and_then(|alert| alert.subject())
        && reach.owner.is_none()
        && reach.evidence.is_none()
    {
        let mut owners = state
            .evidence
            .values()
            .filter_map(|evidence| owner(evidence, subject));
        (reach.evidence, reach.owner) = owners.next().unzip();
    }
    reach
}

/// Returns the owner of the identity that the alert is about. The asset register does not hold it, but a register of
/// identities may.
fn owner(evidence: &Evidence, subject: &str) -> Option<(EvidenceId, String)> {
    if evidence.kind != "identity_lookup" {
        return None;
    }
    let asked = evidence.arguments.get("principal").and_then(Value::as_str);
    let body = evidence.body.value();
    let rows = body.get("identities").and_then(Value::as_array)?;
    let is_subject = |row: &&Value| {
        asked == Some(subject) || row.get("principal").and_then(Value::as_str) == Some(subject)
    };
    let row = rows.iter().find(is_subject)?;
    let owner = row.get("owner")?.as_str().filter(|name| !name.is_empty())?;
    Some((evidence.id, owner.to_owned()))
}

/// Adds the register's row about a target of the alert. A row about the actor says nothing about the reach.
fn asset(reach: &mut BlastRadius, evidence: &Evidence, state: &CaseState) {
    let asked = evidence.arguments.get("indicator").and_then(Value::as_str);
    let is_target = state.alert().is_some_and(|alert| {
        alert
            .with_role(nightshift_alert::IndicatorRole::Target)
            .any(|indicator| Some(indicator.value.as_str()) == asked)
    });
    if !is_target {
        return;
    }
    let body = evidence.body.value();
    let Some(row) = body.pointer("/assets/0") else {
        return;
    };
    let text = |key: &str| {
        row.get(key)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    reach.evidence = Some(evidence.id);
    reach.environment = text("environment").or(reach.environment.take());
    reach.owner = text("owner").or(reach.owner.take());
    reach.role = text("role").or(reach.role.take());
    reach.data = text("data").or(reach.data.take());
    reach.internet_facing = row
        .get("internet_facing")
        .and_then(Value::as_bool)
        .or(reach.internet_facing);
}

/// Earlier cases with the number found and the limit. Each case is parsed separately, and unreadable ones are left
/// out.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PastCaseRows<'a> {
    #[serde(borrow)]
    cases: Vec<&'a RawValue>,
    found: u64,
    searched: SearchLimit,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SearchLimit {
    limit: u64,
}

fn others(reach: &mut BlastRadius, evidence: &Evidence) {
    let past: PastCaseRows<'_> = serde_json::from_str(evidence.body.as_str()).unwrap_or_default();
    reach.others = past
        .cases
        .into_iter()
        .filter_map(|case| serde_json::from_str(case.get()).ok())
        .collect();
    let ids = reach.others.iter().map(|other| other.case_id.clone());
    reach.other_cases = ids.collect();
    let limit = past.searched.limit;
    reach.others_cut = limit > 0 && past.found >= limit;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(kind: &str, arguments: Value, body: Value) -> Evidence {
        Evidence {
            id: EvidenceId(1),
            step: None,
            tool: kind.to_owned(),
            kind: kind.to_owned(),
            arguments: arguments.as_object().cloned().unwrap(),
            at: chrono::DateTime::UNIX_EPOCH,
            body: body.into(),
            rows: Some(1),
            truncated: false,
            error: None,
            flags: Vec::new(),
        }
    }

    #[test]
    fn identity_owner_comes_from_its_register() {
        let owned = |kind: &str, asked: &str, owner: Value| {
            let row = json!({ "principal": "ci-drift", "owner": owner });
            let body = json!({ "principal": asked, "identities": [row] });
            let evidence = answer(kind, json!({ "principal": asked }), body);
            super::owner(&evidence, "ci-drift").map(|(_, owner)| owner)
        };
        let team = || json!("team-platform");
        for asked in ["ci-drift", "AKIAEXAMPLE00000001"] {
            assert_eq!(
                owned("identity_lookup", asked, team()).as_deref(),
                Some("team-platform")
            );
        }
        assert_eq!(owned("change_lookup", "ci-drift", team()), None);
        assert_eq!(owned("identity_lookup", "ci-drift", json!("")), None);
        let other = answer(
            "identity_lookup",
            json!({ "principal": "admin" }),
            json!({ "identities": [{ "principal": "admin", "owner": "team-it" }] }),
        );
        assert_eq!(owner(&other, "ci-drift"), None);
    }

    #[test]
    fn where_a_search_ended_at_its_limit_there_may_be_more_cases() {
        let found = |many: usize, limit: usize| {
            let case = |number| {
                json!({ "case_id": format!("c{number}"), "key": "k", "same_key": false, "type": "t",
                    "opened_at": "2026-11-20T02:53:00Z", "severity": "low", "status": "concluded" })
            };
            let cases: Vec<Value> = (0..many).map(case).collect();
            let body = json!({ "cases": cases, "found": many, "searched": { "limit": limit } });
            let mut reach = BlastRadius::default();
            others(&mut reach, &answer("past_cases", json!({}), body));
            (reach.others.len(), reach.others_cut)
        };
        assert_eq!(found(12, 20), (12, false));
        assert_eq!(found(20, 20), (20, true));
    }

    #[test]
    fn findings_of_other_cases_are_kept_and_unreadable_ones_skipped() {
        let found = json!({ "cases": [
            { "case_id": "1qsk-2kbc-pwjb", "key": "k", "same_key": false, "type": "Recon:EC2/Portscan",
              "opened_at": "2026-11-20T02:53:00Z", "severity": "low", "status": "concluded",
              "verdict": "true_positive", "shared": { "ip": ["203.0.113.9"] } },
            { "case_id": 7 },
        ] });
        let evidence = answer("past_cases", json!({}), found);
        let mut reach = BlastRadius::default();
        others(&mut reach, &evidence);
        assert_eq!(reach.other_cases, ["1qsk-2kbc-pwjb"]);
        let (first, more) = reach.others[0].first_shared().unwrap();
        assert_eq!((first.value.as_str(), more), ("203.0.113.9", 0));
    }
}
