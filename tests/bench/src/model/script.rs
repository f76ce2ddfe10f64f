//! Defines the answers of the fake: the crypto miner in four shapes. Each answer depends only on its request, so that
//! any number of cases can ask at once.

use std::time::Duration;

use anyhow::Context;
use nightshift_tests::model::{Answer, RecordedRequest, Script};
use serde_json::{Value, json};

const ADDRESS: &str = "185.220.101.42";
const POOL: &str = "pool.minexmr.com";

/// The steps: id, description, tool, and the indicator that the tool looks up.
const STEPS: [(&str, &str, &str, &str); 4] = [
    ("s1", "Is the pool on a list", "watchlist", POOL),
    ("s2", "Whose address is it", "asset_lookup", ADDRESS),
    (
        "s3",
        "What sort of address is it",
        "indicator_facts",
        ADDRESS,
    ),
    (
        "s4",
        "Is it one of our scanners",
        "authorised_scanners",
        ADDRESS,
    ),
];

/// The course of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CaseShape {
    /// Three independent steps with one call each and no replanning: 8 model calls, 4 on the critical path.
    Independent,
    /// The case is like `Independent`, but the plan carries the calls: 5 model calls, 3 on the critical path.
    Carried,
    /// The case is like `Independent`, but the second step finds nothing and reflection adds a fourth: 11 model calls,
    /// 7 on the critical path.
    Replanned,
    /// Four concurrent steps, two of which look up twice: 12 model calls, 5 on the critical path.
    Twelve,
}

impl CaseShape {
    const ALL: [Self; 4] = [
        Self::Independent,
        Self::Carried,
        Self::Replanned,
        Self::Twelve,
    ];

    /// Returns the name of the shape in figures and arguments.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Independent => "independent",
            Self::Carried => "carried",
            Self::Replanned => "replanned",
            Self::Twelve => "twelve",
        }
    }

    /// Returns the shape of this name.
    pub(crate) fn parse(name: &str) -> anyhow::Result<Self> {
        Self::ALL
            .into_iter()
            .find(|shape| shape.name() == name)
            .with_context(|| format!("no shape {name:?}"))
    }

    /// Returns the number of sequential model calls: plan, turns, reflection, conclusion.
    pub(crate) const fn critical_path(self) -> u32 {
        match self {
            Self::Independent => 4,
            Self::Carried => 3,
            Self::Replanned => 7,
            Self::Twelve => 5,
        }
    }

    /// Returns the script. The conclusion takes `last` longer than other answers.
    pub(crate) fn script(self, last: Duration) -> Script {
        Script::from_fn(move |seen| self.answer(seen, last))
    }

    fn answer(self, seen: &RecordedRequest, last: Duration) -> Answer {
        match seen.word_after("# Your task now: ").as_deref() {
            Some("plan") => Answer::value(self.plan()),
            Some("one") => self.turn(seen),
            Some("reflect") => Answer::value(json!({
                "achieved": false,
                "insights": ["No register knows the address."],
                "plan_updates": [{"type": "add_step", "reason": "the register had nothing", "id": null,
                    "step": step(&STEPS[3], false)}],
            })),
            _ => Answer::value(conclusion()).with_delay(last),
        }
    }

    fn plan(self) -> Value {
        let many = if self == Self::Twelve { 4 } else { 3 };
        let steps: Vec<Value> = STEPS
            .iter()
            .take(many)
            .map(|one| step(one, self == Self::Carried))
            .collect();
        json!({
            "reasoning": "A miner is claimed; the pool and the address decide it.",
            "mode": "planned",
            "objective": format!("Does the instance mine for {POOL} at {ADDRESS}, and is that allowed?"),
            "steps": steps,
        })
    }

    /// Returns the step's call, or its result once the call is answered.
    fn turn(self, seen: &RecordedRequest) -> Answer {
        let text = seen.text();
        let asked = text
            .split_once(" step>\n")
            .and_then(|(_, block)| block.lines().next())
            .unwrap_or_default();
        let (id, _, tool, indicator) = STEPS
            .iter()
            .find(|(id, ..)| asked.contains(&format!(r#""id":"{id}""#)))
            .unwrap_or(&STEPS[0]);
        if seen.turns.len() == 1 && self != Self::Carried {
            return Answer::call(*tool, json!({"indicator": indicator}));
        }
        let further = match *id {
            "s1" => Some(("watchlist", ADDRESS)),
            "s2" => Some(("indicator_facts", POOL)),
            _ => None,
        };
        if let Some((tool, indicator)) = further
            && self == Self::Twelve
            && seen.turns.len() == 3
        {
            return Answer::call(tool, json!({"indicator": indicator}));
        }
        let outcome = match (self, *id) {
            (Self::Replanned, "s2") => "unmet",
            _ => "met",
        };
        Answer::value(json!({
            "outcome": outcome,
            "summary": format!("{tool} was asked for {indicator}; what it said stands in the evidence."),
            "findings": [],
        }))
    }
}

fn step((id, description, tool, indicator): &(&str, &str, &str, &str), carried: bool) -> Value {
    let calls = if carried {
        json!([{"tool": tool, "arguments": [{"name": "indicator", "value": indicator}]}])
    } else {
        json!([])
    };
    json!({
        "id": id, "description": format!("{description}: {indicator}"), "expected": "an entry of it",
        "tools": [tool], "calls": calls, "depends_on": [], "key": false,
    })
}

fn conclusion() -> Value {
    json!({
        "findings": [{"claim": format!("The instance spoke with {POOL}"), "stance": "for",
            "quotes": [{"evidence": "E0", "quote": POOL}]}],
        "reasoning": "The pool is named by the alert.", "verdict": "true_positive", "leaning": "malicious",
        "reason": "suspicious_activity", "severity": "critical", "gaps": [], "would_decide": [],
        "techniques": ["T1496"], "meaning": "The instance mines for somebody else.", "actions": [],
    })
}
