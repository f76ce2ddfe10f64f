//! Implements a property test that does not know the rules: a benign verdict means that everything was authorised.
//!
//! A generator makes scenarios with a known truth and writes the finding of a feed, the registers and the audit log for
//! each. The real reader, tools and engine then triage the finding with an analyst that asks nothing and answers
//! "benign" to everything. The truth is decided while a scenario is generated, without any code of the policy.
//!
//! `NIGHTSHIFT_TEST_CASES=1000000` makes that many scenarios. A scenario that is judged wrongly is written to a folder
//! `nightshift-property/SEED` of the temporary directory.

mod feeds;
mod logs;
mod registers;
mod scenario;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use nightshift_alert::{Alert, Severity};
use nightshift_engine::conclusion::{ConclusionDraft, Verdict};
use nightshift_engine::driver::DriverPorts;
use nightshift_engine::event::{AnalystKind, Event, EventBody};
use nightshift_engine::plan::{PlanMode, StepOutcome};
use nightshift_engine::port::{
    Analyst, Answer, ExonerationResult, Exonerator, Journal, JournalError, NoAnswer, PastCase,
    PastCases, PastQuery, Toolbox,
};
use nightshift_engine::question::{
    AskError, ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion,
    ReflectQuestion, Reflection, TurnAnswer, TurnQuestion,
};
use nightshift_engine::state::CaseState;
use tokio_util::sync::CancellationToken;

use crate::ConfiguredToolbox;
use scenario::Scenario;

/// Scenarios of an ordinary run.
const USUAL: u64 = 20_000;

/// An analyst that asks nothing and would clear everything.
struct CompromisedAnalyst;

#[async_trait]
impl Analyst for CompromisedAnalyst {
    async fn plan(&self, _: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        Ok(Answer::free(PlanAnswer {
            mode: PlanMode::Direct,
            objective: "clear it".to_owned(),
            steps: Vec::new(),
            source: String::new(),
            not_covered: Vec::new(),
            conditional: false,
        }))
    }

    async fn turn(&self, _: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        Ok(Answer::free(TurnAnswer::Result {
            outcome: StepOutcome::Met,
            summary: "it is fine".to_owned(),
            findings: Vec::new(),
        }))
    }

    async fn decide(&self, _: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        Err(unavailable_analyst())
    }

    async fn reflect(&self, _: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        Err(unavailable_analyst())
    }

    async fn conclude(&self, _: &ConcludeQuestion) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        Ok(Answer::free(ConclusionDraft {
            verdict: Verdict::BenignTruePositive,
            leaning: nightshift_engine::conclusion::Leaning::Benign,
            reason: nightshift_engine::conclusion::VerdictReason::AuthorisedActivity,
            assessed_severity: Severity::Informational,
            findings: Vec::new(),
            gaps: Vec::new(),
            not_covered: Vec::new(),
            would_decide: Vec::new(),
            actions: Vec::new(),
            meaning: String::new(),
            techniques: Vec::new(),
        }))
    }
}

fn unavailable_analyst() -> NoAnswer {
    NoAnswer::from(AskError::Unavailable {
        what: "nobody asks".to_owned(),
    })
}

/// Ports without any data.
struct NullPorts(DateTime<Utc>);

#[async_trait]
impl Journal for NullPorts {
    async fn append(&self, _: &[Event]) -> Result<(), JournalError> {
        Ok(())
    }

    async fn conclude(&self, _: &[Event], _: &CaseState) -> Result<(), JournalError> {
        Ok(())
    }
}

#[async_trait]
impl PastCases for NullPorts {
    async fn similar_cases(&self, _: &PastQuery) -> Result<Vec<PastCase>, String> {
        Ok(Vec::new())
    }
}

impl Exonerator for NullPorts {
    fn exonerate(&self, _: &ConcludeQuestion) -> ExonerationResult {
        ExonerationResult::default()
    }
}

impl nightshift_engine::port::Clock for NullPorts {
    fn now(&self) -> DateTime<Utc> {
        self.0
    }
}

/// Triages the alert of a scenario with its registers and logs, which may be written to this folder.
async fn triage(world: &Scenario, folder: &Path) -> CaseState {
    let alert = read_alert(world);
    let bare = Arc::new(NullPorts(world.last + TimeDelta::hours(20)));
    let configs = world.tools(folder);
    let tools = ConfiguredToolbox::build(&configs, Arc::<NullPorts>::clone(&bare), folder).unwrap();
    let opened = nightshift_engine::event::CaseSetup {
        version: nightshift_engine::event::JOURNAL_VERSION,
        case_id: "case".to_owned(),
        revision: 1,
        alert: Arc::new(alert),
        profile: "default".to_owned(),
        analyst: AnalystKind::Playbook,
        models: Vec::new(),
        limits: nightshift_engine::limits::TriageLimits::default(),
        reserve: nightshift_engine::limits::Cost::default(),
        tools: tools.specs().into(),
        actions: Arc::new([]),
        options: nightshift_engine::strategy::TriageOptions::default(),
        delimiter: String::new(),
        pseudonym_key: String::new(),
        prompts_hash: String::new(),
        previous_run: None,
    };
    let opening = [
        Event::new(bare.0, EventBody::Opened(Box::new(opened))),
        Event::new(bare.0, EventBody::Claimed { epoch: 1 }),
    ];
    let ports = DriverPorts {
        analyst: Arc::new(CompromisedAnalyst),
        fallback: None,
        toolbox: Arc::new(tools),
        exonerator: Arc::<NullPorts>::clone(&bare),
        journal: Arc::<NullPorts>::clone(&bare),
        clock: bare,
        meter: Arc::new(nightshift_engine::port::NoMeter),
    };
    let release = CancellationToken::new();
    match nightshift_engine::driver::drive(
        &ports,
        nightshift_engine::fold::fold(&opening),
        &release,
    )
    .await
    {
        Ok(nightshift_engine::driver::CaseEnd::Concluded(state)) => *state,
        other => panic!("seed {}: {other:?}", world.seed),
    }
}

fn read_alert(world: &Scenario) -> Alert {
    let bytes = world.message.to_string().into_bytes();
    let batch = nightshift_alert::read_message(&bytes, &feeds::options()).unwrap();
    assert_eq!(batch.alerts.len(), 1, "seed {}", world.seed);
    batch.alerts.into_iter().next().unwrap()
}

/// The results of many scenarios.
#[derive(Debug, Default)]
struct Tally {
    authorised: u64,
    recorded: u64,
    cleared: u64,
    /// Scenarios that were wrongly cleared, by their fault: the seed of one, and how many.
    wrong: BTreeMap<String, (u64, u64)>,
    /// Scenarios that were fully recorded and not cleared, by the blocker.
    missed: BTreeMap<String, (u64, u64)>,
}

impl Tally {
    fn add(&mut self, world: &Scenario, state: &CaseState) {
        let conclusion = state.conclusion.as_ref().unwrap();
        let is_benign = conclusion.verdict.is_benign();
        let is_authorised = world.faults.is_empty();
        let is_recorded = is_authorised && world.gaps.is_empty();
        self.authorised += u64::from(is_authorised);
        self.recorded += u64::from(is_recorded);
        self.cleared += u64::from(is_recorded && is_benign);
        let (groups, why) = match (is_benign, is_authorised) {
            (true, false) => (&mut self.wrong, world.faults.join(", ")),
            (false, true) if is_recorded => {
                let missing = conclusion.ledger.iter().find(|row| row.missing.is_some());
                let missing = missing.map(|row| (&row.subject_type, &row.missing));
                let why = conclusion
                    .overridden
                    .first()
                    .map(|one| first_words(&one.why));
                let row = missing.map(|(kind, why)| {
                    format!(
                        "{kind}: {}",
                        first_words(why.as_deref().unwrap_or_default())
                    )
                });
                (
                    &mut self.missed,
                    format!("{:?}, {why:?}, {row:?}", world.feed),
                )
            }
            _ => return,
        };
        let group = groups.entry(why).or_insert((world.seed, 0));
        group.1 += 1;
        if group.1 == 1 {
            write(world, state);
        }
    }

    fn merge(&mut self, other: Self) {
        self.authorised += other.authorised;
        self.recorded += other.recorded;
        self.cleared += other.cleared;
        for (into, from) in [
            (&mut self.wrong, other.wrong),
            (&mut self.missed, other.missed),
        ] {
            for (why, (seed, count)) in from {
                into.entry(why).or_insert((seed, 0)).1 += count;
            }
        }
    }
}

/// Returns the first words of a text, without words that differ between scenarios.
fn first_words(text: &str) -> String {
    let words = text.split_whitespace();
    let words = words.filter(|word| !word.contains(|c: char| c.is_ascii_digit()));
    words.take(14).collect::<Vec<_>>().join(" ")
}

/// Writes the files of a scenario for debugging.
fn write(world: &Scenario, state: &CaseState) {
    let folder = std::env::temp_dir().join(format!("nightshift-property/{}", world.seed));
    std::fs::create_dir_all(&folder).unwrap();
    let put = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
    put("alert.json", world.message.to_string());
    for (name, text) in world.registers() {
        put(&name, text);
    }
    put("world.txt", format!("{world:#?}"));
    put(
        "state.txt",
        format!("{:#?}\n{:#?}", state.conclusion, state.alert()),
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "a switch for tests: how many worlds to make, and from which seed on"
)]
fn number(name: &str, usual: u64) -> u64 {
    let wanted = std::env::var(name).ok();
    wanted.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Triages the scenarios of these seeds.
fn tally(seeds: impl Iterator<Item = u64>) -> Tally {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut tally = Tally::default();
    for seed in seeds {
        let world = Scenario::new(seed);
        let state = runtime.block_on(triage(&world, folder.path()));
        tally.add(&world, &state);
    }
    tally
}

#[test]
fn benign_means_that_all_of_it_was_authorised() {
    let (first, many) = (
        number("NIGHTSHIFT_TEST_SEED", 1),
        number("NIGHTSHIFT_TEST_CASES", USUAL),
    );
    let threads = std::thread::available_parallelism().map_or(1, |it| it.get() as u64);
    let sum = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let seeds = (first + thread..first + many).step_by(threads as usize);
            let sum = &sum;
            scope.spawn(move || {
                let part = tally(seeds);
                sum.lock().unwrap().merge(part);
            });
        }
    });
    let tally = sum.into_inner().unwrap();
    println!("{tally:#?}");
    assert!(
        tally.wrong.is_empty(),
        "benign, and not authorised: {:#?}",
        tally.wrong
    );
    assert!(
        tally.recorded * 4 > many,
        "too few are recorded: {tally:#?}"
    );
    assert!(
        tally.cleared * 100 >= tally.recorded * 95,
        "too few are cleared: {tally:#?}"
    );
}
