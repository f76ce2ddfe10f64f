//! Tests that every part of a message becomes an alert or is rejected.

use super::bases::{asff, guardduty, ocsf, scc};
use super::*;
use crate::feed::GenericFeed;

fn extended(mut finding: Value, more: Value) -> Value {
    let members = finding.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    finding
}

/// Returns fields that lists and envelopes have.
fn disguises() -> Vec<Value> {
    vec![
        json!({"findings": []}),
        json!({"findings": [{"id": "x"}]}),
        json!({"findings": [[]]}),
        json!({"Findings": [{"findings": []}]}),
        json!({"listFindingsResults": [{"a": 1}]}),
        json!({"detail-type": "x", "detail": {"findings": []}, "source": "s"}),
        json!({"detail-type": "x", "detail": "[]"}),
        json!({"specversion": "1.0", "source": "s", "data": []}),
        json!({"message": {"data": "W10=", "messageId": "1"}}),
    ]
}

#[test]
fn finding_that_looks_like_a_list_or_envelope_is_an_alert() {
    for finding in [
        guardduty(json!({})),
        asff(json!({})),
        ocsf(json!({})),
        scc(json!({})),
    ] {
        let plain = one_of(&finding);
        for disguise in disguises() {
            let alert = one_of(&extended(finding.clone(), disguise.clone()));
            assert_eq!(alert.key, plain.key, "{} {disguise}", plain.feed);
        }
    }
}

#[test]
fn disguised_finding_among_others_is_an_alert() {
    let hidden = extended(
        asff(json!({"Id": "f2"})),
        json!({"findings": [], "detail-type": "x", "detail": "[]"}),
    );
    for message in [
        json!([asff(json!({})), hidden]),
        json!({"findings": [asff(json!({})), hidden]}),
        json!({"detail-type": "Security Hub Findings - Imported", "source": "aws.securityhub", "detail": {"findings": [hidden, asff(json!({}))]}}),
    ] {
        let batch = read_all(&message.to_string());
        assert_eq!(
            (batch.alerts.len(), batch.rejected.len()),
            (2, 0),
            "{message}"
        );
    }
}

fn acme(matches: &str) -> ReadOptions {
    let fields = [("id", "/id"), ("type", "/kind"), ("title", "/detail")];
    let feed = GenericFeed {
        name: "acme".to_owned(),
        matches: matches.to_owned(),
        fields: fields
            .map(|(field, pointer)| (field.to_owned(), pointer.to_owned()))
            .into(),
        ..GenericFeed::default()
    };
    ReadOptions {
        generic: vec![feed],
        ..ReadOptions::default()
    }
}

#[test]
fn generic_finding_with_fields_of_an_envelope_is_an_alert() {
    let finding = json!({"id": "1", "kind": "k", "source": "acme", "detail-type": "x"});
    for matches in ["/source", "/id", "/detail-type", "/kind"] {
        for detail in [
            json!("text"),
            json!("[]"),
            json!({"a": 1}),
            json!("{\"a\": 1}"),
        ] {
            let finding = extended(finding.clone(), json!({"detail": detail}));
            let batch = read_message(finding.to_string().as_bytes(), &acme(matches)).unwrap();
            let found = (batch.alerts.len(), batch.rejected.len());
            assert!(found == (1, 0), "{matches} {finding}: {found:?}");
        }
        // The envelope's content is the finding when a feed reads it.
        let event = json!({"id": "e", "kind": "k", "source": "x", "detail-type": "x", "detail": guardduty(json!({}))});
        let batch = read_message(event.to_string().as_bytes(), &acme("/source")).unwrap();
        assert_eq!(batch.alerts[0].feed, "guardduty");
    }
}

#[test]
fn list_of_nothing_beside_other_fields_is_an_error() {
    for message in [
        json!({"title": "t", "findings": [[]]}),
        json!({"title": "t", "findings": [{"findings": []}]}),
        json!({"title": "t", "findings": []}),
    ] {
        assert!(
            matches!(error(&message.to_string()), ReadError::UnknownShape { .. }),
            "{message}"
        );
        let batch = read_all(&json!([guardduty(json!({})), message]).to_string());
        assert_eq!(
            (batch.alerts.len(), batch.rejected.len()),
            (1, 1),
            "{message}"
        );
    }
}
