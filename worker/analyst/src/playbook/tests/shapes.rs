//! Tests of the judgement of shapes that vendors and forwarders send. `tests/fixtures/shapes.json` holds the messages;
//! the tests of the reader say what is read of them.

use nightshift_alert::{ReadOptions, read_message};
use nightshift_engine::conclusion::{Leaning, Verdict};
use serde::Deserialize;
use serde_json::Value;

use super::case_fixture::{DEFAULT, PlaybookCase, nothing};

#[derive(Deserialize)]
struct JudgedShape {
    name: String,
    message: Value,
    alerts: Vec<Judgement>,
}

#[derive(Deserialize)]
struct Judgement {
    /// `true_positive`, or where an inconclusive verdict leans.
    judgement: Option<String>,
    actions: Option<Vec<String>>,
}

#[test]
fn shape_of_the_field_is_judged_by_what_it_shows() {
    let text = include_str!("../../../../../tests/fixtures/shapes.json");
    let shapes: Vec<JudgedShape> = serde_json::from_str(text).unwrap();
    let mut faults = Vec::new();
    for shape in shapes {
        let bytes = shape.message.to_string();
        let batch = read_message(bytes.as_bytes(), &ReadOptions::default()).unwrap();
        for (alert, expected) in batch.alerts.into_iter().zip(shape.alerts) {
            let Some(judgement) = expected.judgement else {
                continue;
            };
            let ran = PlaybookCase::with(&DEFAULT, |kind, arguments| Ok(nothing(kind, arguments)))
                .run(alert);
            let end = &ran.conclusion;
            let found = match (end.verdict, end.leaning) {
                (Verdict::TruePositive, _) => "true_positive",
                (_, Leaning::Malicious) => "malicious",
                (_, Leaning::Benign) => "benign",
                (_, Leaning::None) => "none",
            };
            if found != judgement {
                faults.push(format!("{}: {found}, not {judgement}", shape.name));
            }
            let missing = expected.actions.filter(|wanted| ran.actions() != *wanted);
            faults.extend(missing.map(|wanted| {
                let found = ran.actions().join(" ");
                format!("{}: {found}; not {}", shape.name, wanted.join(" "))
            }));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
