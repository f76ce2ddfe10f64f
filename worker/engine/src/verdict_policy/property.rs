//! A property that knows no rules: worlds are made with a truth, and from it alerts, records and logs. Benign comes out only
//! where the truth says that every subject was authorised, and nearly always where it does.
//!
//! `NIGHTSHIFT_TEST_CASES=1000000` makes that many worlds.

use std::sync::Arc;

use nightshift_alert::{Caller, Indicator};
use serde_json::json;

use super::*;
use crate::{
    Argument, ArgumentKind, Evidence, Extent, Limits, Listed, Reach, Scope, ToolError, ToolSpec,
    Trust, TrustedPath, fixture,
};

const ACCOUNT: &str = "444455556666";
const KIND: &str = "Discovery:IAMUser/AnomalousBehavior";
const LOG: &str = "trail";

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// A world: what a case holds, and whether everything in it was authorised.
struct World {
    state: State,
    is_authorised: bool,
}

/// A world in the making.
struct Maker<'a> {
    dice: &'a mut Dice,
    alert: Alert,
    records: Vec<Exoneration>,
    /// Searches of the log: about whom, and what they answered.
    searches: Vec<(String, Evidence)>,
    is_authorised: bool,
}

fn record(kind: IndicatorKind, subject: &str) -> Exoneration {
    Exoneration {
        kind: "identity".to_owned(),
        subject_type: kind,
        subject: subject.to_owned(),
        from: Some(fixture::at(-9_000)),
        until: Some(fixture::at(9_000)),
        covers: vec!["Discovery:*".to_owned()],
        approved_by: "grace".to_owned(),
        reference: "R".to_owned(),
        statement: "it is expected".to_owned(),
        detection_wrong: false,
        scope: Scope {
            account: Some(ACCOUNT.to_owned()),
            ..Scope::default()
        },
        slack_mins: 0,
        extent: Extent::default(),
        evidence: None,
    }
}

impl Maker<'_> {
    /// A record that looks like the right one and is not, with everything that it could list.
    fn near_miss(&mut self, kind: IndicatorKind, subject: &str) {
        let mut wrong = record(kind, subject);
        wrong.extent = Extent {
            keys: Listed::Any,
            persons: Listed::Any,
            networks: Listed::Any,
            targets: Listed::Any,
            addresses: Listed::Any,
            calls: Listed::Any,
            processes: Listed::Any,
            hashes: Listed::Any,
        };
        match self.dice.below(9) {
            0 => wrong.until = Some(fixture::at(-600)),
            1 => wrong.from = Some(fixture::at(600)),
            2 => wrong.scope.account = Some("111122223333".to_owned()),
            3 => wrong.approved_by = " ".to_owned(),
            4 => wrong.covers = vec!["Persistence:*".to_owned()],
            5 => wrong.scope.region = Some("us-east-1".to_owned()),
            6 => wrong.subject = format!("{subject}x"),
            7 => wrong.subject_type = IndicatorKind::Bucket,
            _ => return,
        }
        self.records.push(wrong);
    }

    /// Keeps a right record, now and then as two that adjoin.
    fn keep(&mut self, right: Exoneration) {
        if self.dice.one_in(4) {
            let mut second = right.clone();
            let mut first = right;
            first.until = Some(fixture::at(30));
            second.from = Some(fixture::at(30));
            self.records.extend([second, first]);
        } else {
            self.records.push(right);
        }
    }

    fn add(&mut self, kind: IndicatorKind, value: &str) {
        let actor = Indicator::new(kind, value, Role::Actor);
        self.alert.indicators.push(actor);
    }

    /// Decides whether a subject is authorised: nearly all are.
    fn allows(&mut self) -> bool {
        let allows = !self.dice.one_in(25);
        self.is_authorised &= allows;
        allows
    }

    /// A principal with its keys, addresses and record.
    fn principal(&mut self, number: u64) {
        let name = format!("role-{number}");
        self.add(IndicatorKind::Principal, &name);
        let mut right = record(IndicatorKind::Principal, &name);
        let is_known = self.allows();
        let (mut keys, mut networks) = (Vec::new(), Vec::new());
        let anywhere = self.dice.one_in(4);
        for index in 0..self.dice.below(3) {
            let is_temporary = self.dice.one_in(2);
            let key = match is_temporary {
                true => format!("ASIA{number}KEY{index}"),
                false => format!("AKIA{number}KEY{index}"),
            };
            self.add(IndicatorKind::AccessKey, &key);
            if !is_temporary && self.allows() {
                keys.push(key.clone());
            }
            self.caller(Some(&name), Some(key.clone()), None);
            self.search(&key, &name, anywhere);
        }
        for index in 0..=self.dice.below(4) {
            let address = format!("198.51.{number}.{}", index + 1);
            self.add(IndicatorKind::Ip, &address);
            self.caller(Some(&name), None, Some(address.clone()));
            if anywhere {
                continue;
            }
            if !self.allows() {
                self.near_miss(IndicatorKind::Ip, &address);
            } else if self.dice.one_in(3) {
                let scanner = record(IndicatorKind::Ip, &address);
                self.keep(scanner);
            } else {
                networks.push(address);
            }
        }
        right.extent.keys = Listed::of(keys);
        right.extent.networks = match anywhere {
            true => Listed::Any,
            false => Listed::of(networks),
        };
        if is_known {
            self.keep(right);
        } else {
            self.near_miss(IndicatorKind::Principal, &name);
        }
        self.search(&name, &name, anywhere);
    }

    fn caller(
        &mut self,
        principal: Option<&str>,
        access_key: Option<String>,
        address: Option<String>,
    ) {
        self.alert.callers.push(Caller {
            principal: principal.map(str::to_owned),
            access_key,
            address,
        });
    }

    /// An address or a key that the platform wrote without a name.
    fn stray(&mut self) {
        let (kind, value) = match self.dice.one_in(2) {
            true => (IndicatorKind::Ip, "203.0.113.66"),
            false => (IndicatorKind::AccessKey, "ASIASTRAY"),
        };
        self.add(kind, value);
        match kind {
            IndicatorKind::Ip => self.caller(None, None, Some(value.to_owned())),
            _ => {
                self.caller(None, Some(value.to_owned()), None);
                self.search(value, "", false);
            }
        }
        if self.allows() {
            let known = record(kind, value);
            self.keep(known);
        } else {
            self.near_miss(kind, value);
        }
    }

    /// What the log answers about a caller; now and then it is not whole, or shows more than the alert.
    fn search(&mut self, asked: &str, who: &str, anywhere: bool) {
        let row = |name: &str, source: &str, key: Option<&str>, reads: bool| {
            json!({"at": fixture::at(10).to_rfc3339(), "action": name, "principal": who, "access_key": key,
                "source_ip": source, "outcome": "success", "error": null, "read_only": reads})
        };
        let own = row("ListUsers", "10.0.0.1", None, true);
        let mut rows = vec![own];
        let mut answer = fixture::opened_state()
            .evidence_of(EvidenceId::ALERT)
            .map(|alert| Evidence::clone(alert))
            .unwrap();
        answer.truncated = false;
        let mut searched = json!({"records_from": fixture::at(-9_000), "records_until": fixture::at(9_000), "records_in_time": 9});
        let mut is_made = true;
        if self.dice.one_in(40) {
            let what = self.dice.below(7);
            // Whoever may call from anywhere may call from there.
            self.is_authorised &= what == 4 && anywhere && !who.is_empty();
            match what {
                0 => answer.error = Some(ToolError::Timeout { secs: 30 }),
                1 => answer.truncated = true,
                2 => searched["records_until"] = json!(fixture::at(-9_000)),
                3 => rows.clear(),
                4 if !who.is_empty() => rows.push(row("ListUsers", "192.0.2.66", None, true)),
                5 if !who.is_empty() => rows.push(row("StopLogging", "10.0.0.1", None, false)),
                6 if !who.is_empty() => {
                    rows.push(row("ListUsers", "10.0.0.1", Some("AKIANEXT"), true))
                }
                _ => is_made = false,
            }
        }
        answer.tool = LOG.to_owned();
        answer.kind = "log_search.cloudtrail".to_owned();
        answer.rows = Some(rows.len() as u64);
        answer.body = json!({"searched": searched, "rows": rows}).into();
        answer.arguments = json!({"principal": asked}).as_object().cloned().unwrap();
        if is_made {
            self.searches.push((asked.to_owned(), answer));
        }
    }
}

/// The log as a tool.
fn log() -> ToolSpec {
    let argument = |name: &str, kind| Argument {
        name: name.to_owned(),
        description: String::new(),
        kind: ArgumentKind::Indicator { types: vec![kind] },
        required: false,
    };
    ToolSpec {
        name: LOG.to_owned(),
        kind: "log_search.cloudtrail".to_owned(),
        description: String::new(),
        arguments: vec![
            argument("principal", IndicatorKind::Principal),
            argument("access_key", IndicatorKind::AccessKey),
        ],
        reach: Reach::Internal,
        trust: vec![TrustedPath {
            path: String::new(),
            trust: Trust::Platform,
        }],
        needs: None,
    }
}

fn world(dice: &mut Dice) -> World {
    let mut alert = fixture::alert();
    KIND.clone_into(&mut alert.kind);
    alert.action = Some("AWS_API_CALL ListUsers".to_owned());
    alert.indicators = vec![Indicator::new(IndicatorKind::Bucket, "logs", Role::Target)];
    let mut maker = Maker {
        dice,
        alert,
        records: Vec::new(),
        searches: Vec::new(),
        is_authorised: true,
    };
    let many = if maker.dice.one_in(20) {
        8
    } else {
        1 + maker.dice.below(3)
    };
    for number in 0..many {
        maker.principal(number);
    }
    if maker.dice.one_in(5) {
        maker.stray();
    }
    if maker.dice.one_in(50) {
        maker.alert.unreadable = vec!["/who".to_owned()];
        maker.is_authorised = false;
    }
    if maker.dice.one_in(50) {
        maker.alert.unseen = true;
        maker.is_authorised = false;
    }
    // Records about what is only a target cover nobody.
    if maker.dice.one_in(3) {
        let bucket = record(IndicatorKind::Bucket, "logs");
        maker.records.push(bucket);
    }
    let mut opened = fixture::opened(Limits::default());
    opened.tools = vec![log()].into();
    opened.alert = Arc::new(maker.alert);
    let mut state = fixture::opened_state();
    state.opened = Some(Arc::new(opened));
    state.exonerations = maker.records;
    for (number, (_, mut answer)) in (2..).zip(maker.searches) {
        answer.id = EvidenceId(number);
        state.evidence.insert(answer.id, Arc::new(answer));
    }
    World {
        state,
        is_authorised: maker.is_authorised,
    }
}

fn is_benign(state: &State) -> bool {
    let ledger = Ledger::of(state).unwrap();
    ledger.is_covered() && ledger.not_looked_up(state).is_none()
}

#[test]
fn benign_means_that_all_of_it_was_authorised() {
    let many = fixture::cases(20_000).cases;
    let (mut authorised, mut cleared) = (0_u32, 0_u32);
    for seed in 1..=u64::from(many) {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let world = world(&mut dice);
        let is_benign = is_benign(&world.state);
        assert!(
            world.is_authorised || !is_benign,
            "seed {seed}: {:#?}",
            Ledger::of(&world.state).unwrap().rows()
        );
        authorised += u32::from(world.is_authorised);
        cleared += u32::from(is_benign);
    }
    assert!(
        authorised > many / 4,
        "{authorised} of {many} worlds are authorised"
    );
    assert!(
        cleared * 100 >= authorised * 95,
        "{cleared} of {authorised} are cleared"
    );
}
