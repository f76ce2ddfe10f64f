//! Generates scenarios, which state who did what from where, and which acts were authorised.
//!
//! Every correct part of a scenario can go wrong instead. A fault means that a benign verdict is wrong. A gap is an
//! authorised part that is not recorded properly, after which no verdict is expected.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::feeds::{self, Feed};
use super::logs::AuditLog;
use super::registers::with;

/// A generator of numbers from a seed.
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }

    pub(super) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())].clone()
    }
}

/// A row of a register: cells by column.
pub(super) type RowCells = BTreeMap<&'static str, String>;

/// An actor of a finding.
#[derive(Debug, Clone, Default)]
pub(super) struct Actor {
    /// The bare name or email address; `None` where the finding has only a key or an address.
    pub(super) name: Option<String>,
    pub(super) is_user: bool,
    /// The account in which the name is known.
    pub(super) account: String,
    /// The person behind a borrowed identity.
    pub(super) person: Option<String>,
    pub(super) key: Option<String>,
    pub(super) addresses: Vec<String>,
    /// An unreadable value in the place of an address or a name.
    pub(super) unreadable: Option<Value>,
}

impl Actor {
    /// Returns the number of values that identify the actor.
    fn subjects(&self) -> usize {
        let names = [&self.name, &self.person, &self.key];
        names.into_iter().flatten().count() + self.addresses.len()
    }
}

#[derive(Debug)]
pub(super) struct Scenario {
    pub(super) seed: u64,
    pub(super) dice: Dice,
    pub(super) feed: Feed,
    pub(super) account: String,
    pub(super) region: Option<&'static str>,
    pub(super) kind: &'static str,
    pub(super) first: DateTime<Utc>,
    pub(super) last: DateTime<Utc>,
    pub(super) actors: Vec<Actor>,
    /// The planned number of subjects.
    total: usize,
    /// The machine or bucket that was acted on, or that acted when no actor is named.
    pub(super) resource: String,
    pub(super) far_ends: Vec<String>,
    /// Number of additional resources, of which a feed can have thousands.
    pub(super) many: usize,
    pub(super) message: Value,
    pub(super) rows: BTreeMap<&'static str, Vec<RowCells>>,
    pub(super) watched: Vec<String>,
    /// Addresses that are allowed for one actor only.
    pub(super) private: Vec<String>,
    pub(super) log: Option<AuditLog>,
    pub(super) faults: Vec<&'static str>,
    pub(super) gaps: Vec<&'static str>,
    /// One of this many correct parts goes wrong; 0 means none.
    odds: usize,
}

pub(super) const OTHER_ACCOUNT: &str = "111122223333";
/// Finding types, matching globs, and whether the finding is about the address itself.
pub(super) const KINDS: [(&str, &str, bool); 5] = [
    ("Discovery:IAMUser/AnomalousBehavior", "Discovery:*", false),
    (
        "Persistence:IAMUser/AnomalousBehavior",
        "Persistence:IAMUser/*",
        false,
    ),
    (
        "Impact:IAMUser/AnomalousBehavior",
        "*AnomalousBehavior",
        false,
    ),
    (
        "UnauthorizedAccess:IAMUser/MaliciousIPCaller.Custom",
        "*MaliciousIPCaller*",
        true,
    ),
    (
        "UnauthorizedAccess:IAMUser/ConsoleLoginSuccess.B",
        "UnauthorizedAccess:*",
        true,
    ),
];
/// Lengths of findings in minutes.
const LENGTHS: [i64; 8] = [0, 5, 20, 60, 180, 60 * 30, 60 * 24 * 5, 60 * 24 * 12];
/// Maximum number of subjects of a finding, not counting those of its last actor.
const MOST_SUBJECTS: usize = 40;

impl Scenario {
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let feed = Feed::draw(&mut dice);
        let first = DateTime::from_timestamp(1_795_600_800, 0).unwrap()
            + TimeDelta::minutes(dice.below(3_000) as i64);
        let (accounts, region) = match feed.is_google() {
            true => (["proj-alpha-1", "shop", "beta-22"], "europe-west1"),
            false => (
                ["444455556666", "012345678901", "999900001111"],
                "eu-west-1",
            ),
        };
        let length = TimeDelta::minutes(dice.pick(&LENGTHS));
        let kind = feed.kind().unwrap_or_else(|| dice.pick(&KINDS).0);
        let mut world = Self {
            seed,
            account: dice.pick(&accounts).to_owned(),
            region: Some(region).filter(|_| !dice.one_in(8)),
            kind,
            first,
            last: first + length,
            actors: Vec::new(),
            total: 0,
            resource: String::new(),
            far_ends: Vec::new(),
            many: if dice.one_in(150) {
                100 + dice.below(4_500)
            } else {
                dice.below(3)
            },
            message: Value::Null,
            rows: BTreeMap::new(),
            watched: vec!["203.0.113.250".to_owned()],
            private: Vec::new(),
            log: None,
            faults: Vec::new(),
            gaps: Vec::new(),
            odds: 0,
            dice,
            feed,
        };
        world.fill();
        world.message = feeds::message(&mut world);
        world
    }

    fn fill(&mut self) {
        let most = self.feed.most();
        // Many subjects are expensive and find little more than few.
        self.total = match self.dice.below(60) {
            0 => most,
            1 | 2 => 1 + self.dice.below(most),
            _ => 1 + self.dice.below(most.min(3)),
        };
        // Half of the scenarios have no fault.
        self.odds = if self.dice.one_in(2) {
            0
        } else {
            2 * self.total + 1
        };
        self.resource = self.feed.resource(&mut self.dice, &self.account);
        if !self.dice.one_in(3) {
            self.log = Some(AuditLog::new(&mut self.dice, self.feed.is_google()));
        }
        for number in 0..self.total {
            let told: usize = self.actors.iter().map(Actor::subjects).sum();
            if self.feed.has_actors() && told < MOST_SUBJECTS {
                self.actor(number);
            }
        }
        if !self.feed.has_actors() {
            self.machine();
        }
        if self.feed == Feed::OcsfVendor && self.odds > 0 && self.dice.one_in(60) {
            self.flood();
        }
        if let Some(mut log) = self.log.take() {
            log.finish(self);
            self.log = Some(log);
        }
        if self.many > 60 {
            self.gaps.push("more resources than are read");
        }
        self.decoys();
    }

    /// Decides whether to inject a fault, and records it.
    pub(super) fn inject_fault(&mut self, fault: &'static str) -> bool {
        let is_wrong = self.odds > 0 && self.dice.one_in(self.odds);
        if is_wrong {
            self.faults.push(fault);
        }
        is_wrong
    }

    fn actor(&mut self, number: usize) {
        let mut actor = self.feed.actor(&mut self.dice, number, &self.account);
        let mut row = self.name_row(&actor);
        let is_tied = actor.name.is_some() && self.feed.ties(self.total);
        let is_about_address = KINDS
            .iter()
            .any(|(kind, _, is_about)| *kind == self.kind && *is_about);
        let is_anywhere = is_tied && !is_about_address && self.dice.one_in(4);
        let mut networks = Vec::new();
        if let Some(key) = &actor.key {
            let is_temporary = key.starts_with("ASIA");
            if !is_tied || !is_temporary && self.dice.one_in(8) {
                self.key_row(key);
            } else if !is_temporary && !self.inject_fault("a key that no row lists") {
                row.insert("keys", key.clone());
            }
        }
        for address in &actor.addresses {
            if is_anywhere {
                if self.inject_fault("an address of a list, under any") {
                    self.watched.push(address.clone());
                }
            } else if !is_tied || self.dice.one_in(4) {
                self.address_row(address);
            } else if !self.inject_fault("an address outside the networks") {
                networks.push(address.clone());
            }
        }
        if let Some(person) = &actor.person {
            self.person(person, &mut row);
        }
        let written = if is_anywhere {
            "any".to_owned()
        } else {
            self.networks(&networks)
        };
        row.insert("networks", written);
        let calls = actor.name.is_some() && self.dice.one_in(3);
        if calls {
            row.insert("calls", "s3:PutObject; AssumeRole".to_owned());
        }
        self.name(&actor, row);
        if self.inject_fault("somebody who cannot be read") {
            let odd = [
                json!({"x": {"y": 1}}),
                json!([[["?"], {"z": true}]]),
                json!("who? ".repeat(900)),
            ];
            actor.unreadable = Some(self.dice.pick(&odd));
        }
        let elsewhere = is_anywhere.then(|| "198.51.200.7".to_owned());
        let home = elsewhere.or_else(|| networks.first().cloned());
        if let Some(mut log) = self.log.take() {
            log.add(self, &actor, home, is_anywhere, calls);
            self.log = Some(log);
        }
        let networks = networks.into_iter();
        self.private
            .extend(networks.filter(|address| !address.starts_with("10.")));
        self.actors.push(actor);
    }

    /// Records the actor as an identity or as the actor of a change.
    fn name(&mut self, actor: &Actor, row: RowCells) {
        const FAULT: &str = "a principal that no row covers";
        let Some(name) = &actor.name else { return };
        let is_bare = actor.subjects() == 1 && self.log.is_none();
        if is_bare && self.dice.one_in(3) {
            let resource = self.resource.clone();
            let mut change = self.right(&resource);
            change.insert("account", actor.account.clone());
            let written = row.get("aliases").unwrap_or(&row["subject"]);
            change.insert("actor", written.clone());
            if self.inject_fault(FAULT) {
                change.insert("actor", "somebody-else".to_owned());
            }
            self.keep("changes", change);
            return;
        }
        if self.feed.tells_kinds()
            && !name.contains('@')
            && self.inject_fault("somebody of another kind")
        {
            let kind = if actor.is_user { "role" } else { "user" };
            let other = with(&row, "subject", name);
            self.keep("identities", with(&other, "kind", kind));
            return;
        }
        self.record("identities", row, FAULT);
        let ended = |account: &str| {
            let cells = [
                ("subject", name.as_str()),
                ("account", account),
                ("status", "terminated"),
            ];
            cells.map(|(column, cell)| (column, cell.to_owned())).into()
        };
        if self.inject_fault("an identity that another register ends") {
            self.add("terminated", ended(&actor.account));
        } else if !name.contains('@') && self.dice.one_in(6) {
            self.add("terminated", ended(OTHER_ACCOUNT));
        }
    }

    /// Returns the row of an identity, under one of its names.
    fn name_row(&mut self, actor: &Actor) -> RowCells {
        let name = actor.name.clone().unwrap_or_default();
        let (account, kind) = (&actor.account, if actor.is_user { "user" } else { "role" });
        let written = match self.dice.below(6) {
            _ if name.contains('@') => name.clone(),
            0 => format!("arn:aws:iam::{account}:{kind}/{name}"),
            1 => format!("arn:aws:iam::{account}:{kind}/teams/ops/{name}"),
            2 if !actor.is_user => format!("arn:aws:sts::{account}:assumed-role/{name}/*"),
            3 => name.to_uppercase(),
            4 => "team-bot".to_owned(),
            _ => name.clone(),
        };
        let mut row = self.right(&written);
        row.insert("account", account.clone());
        if written == "team-bot" {
            row.insert("aliases", name);
        }
        row
    }

    /// Formats networks as people write them.
    fn networks(&mut self, addresses: &[String]) -> String {
        let written = addresses.iter().map(|address| match self.dice.below(3) {
            0 if !address.contains(':') => format!("{address}/32"),
            1 => format!("{address}-{address}"),
            _ => address.clone(),
        });
        written.collect::<Vec<_>>().join("; ")
    }

    fn key_row(&mut self, key: &str) {
        let mut row = self.right("keeper-of-keys");
        let is_wrong = self.inject_fault("a key that no row names");
        let other = format!("AKIAOTHER{}", key.len() + 100_000_000);
        row.insert("keys", if is_wrong { other } else { key.to_owned() });
        self.keep("identities", row);
    }

    fn address_row(&mut self, address: &str) {
        const FAULT: &str = "an address that no row covers";
        let row = self.right(address);
        let register = self
            .dice
            .pick(&["changes", "scanners", "scanners", "assets"]);
        if register != "assets" {
            self.record(register, row, FAULT);
            return;
        }
        let is_wrong = self.inject_fault(FAULT);
        let address = if is_wrong { "192.0.2.254" } else { address };
        self.keep(
            "assets",
            with(&with(&row, "subject", "i-0nat"), "addresses", address),
        );
    }

    /// Records the person behind an identity, in the same row or in one of their own.
    fn person(&mut self, person: &str, row: &mut RowCells) {
        if self.dice.one_in(3) {
            let own = self.right(person);
            self.record(
                "identities",
                with(&own, "networks", "any"),
                "a person that no row covers",
            );
            self.gaps.push(
                "a person with a row of their own, whose keys and networks both rows must tell",
            );
        } else {
            let is_wrong = self.inject_fault("a person whom the identity does not list");
            let listed = if is_wrong {
                format!("x{person}")
            } else {
                person.to_owned()
            };
            row.insert("persons", listed);
        }
    }

    /// Adds a machine that acts by itself, with its contacts and programs.
    fn machine(&mut self) {
        let (name, region) = (self.resource.clone(), self.region.unwrap_or("eu-west-1"));
        let arn = format!("arn:aws:ec2:{region}:{}:instance/{name}", self.account);
        let is_arn = name.starts_with("i-") && self.dice.one_in(3);
        if is_arn && self.region.is_none() {
            self.gaps.push("a place that the finding does not tell");
        }
        let mut row = self.right(if is_arn { &arn } else { &name });
        for column in ["targets", "processes", "hashes"] {
            let found = self.feed.beside(&mut self.dice, column, self.total);
            let is_any = self.dice.one_in(4);
            let mut listed = found.clone();
            listed.retain(|_| {
                is_any || !self.inject_fault("something that the row of a machine does not list")
            });
            row.insert(
                column,
                if is_any {
                    "any".to_owned()
                } else {
                    listed.join("; ")
                },
            );
            self.far_ends.extend(found);
        }
        self.record("assets", row, "a machine that no row covers");
    }

    /// Adds more actors than are read, one of them unauthorised.
    fn flood(&mut self) {
        let scan = self.right("203.0.112.0/23");
        self.keep("scanners", scan);
        let addresses =
            (0..300).map(|index| format!("203.0.{}.{}", 112 + index / 200, index % 200 + 1));
        self.actors.push(Actor {
            addresses: addresses.collect(),
            ..Actor::default()
        });
        self.actors.push(Actor {
            name: Some("zoe".to_owned()),
            ..Actor::default()
        });
        self.faults.push("somebody behind a flood");
    }

    /// Adds rows about others and about targets, which cover no actor.
    fn decoys(&mut self) {
        for _ in 0..self.dice.below(3) {
            let row = self.right("somebody-else");
            self.keep(
                "identities",
                with(&with(&row, "networks", "any"), "persons", "any"),
            );
        }
        if self.feed.has_actors() && self.dice.one_in(3) {
            let resource = self.resource.clone();
            let mut row = self.right(&resource);
            row.extend(["targets", "processes", "hashes"].map(|column| (column, "any".to_owned())));
            let register = self.dice.pick(&["assets", "changes"]);
            self.keep(register, row);
        }
        for register in ["assets", "changes", "identities", "scanners"] {
            if self.dice.one_in(2) && !self.rows.contains_key(register) {
                let row = self.right("nothing-here");
                self.keep(register, row);
            }
        }
        if self.dice.one_in(40) {
            // An unreadable row can say anything.
            let row = self.right("who-knows");
            self.add("identities", with(&row, "valid_until", "soon"));
            self.gaps.push("a row that cannot be read");
        }
    }
}
