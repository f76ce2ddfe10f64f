//! Measures the engine alone: folding, deciding, and a whole case whose analyst and tools cost nothing.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use nightshift_alert::{Alert, ReadOptions, read_message};
use nightshift_engine::decide::decide;
use nightshift_engine::driver::{CaseEnd, DriverPorts, drive};
use nightshift_engine::event::{Event, EventBody};
use nightshift_engine::fold::{apply, fold};
use nightshift_engine::plan::StepStatus;
use nightshift_engine::port::{Clock, NoMeter};
use nightshift_engine::state::CaseState;
use tokio_util::sync::CancellationToken;

use crate::figure::{Figure, median};
use crate::scripted::{
    FixedClock, InMemoryJournal, NoExonerations, STEPS, ScriptedAnalyst, ScriptedToolbox, opened,
};

/// Repetitions of each measurement.
const TIMES: usize = 200;

/// Measures fold, decide and drive at 20 steps.
pub(crate) fn measure() -> anyhow::Result<Vec<Figure>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let sample = crate::parse::samples().join("scc-crypto-miner.json");
    let batch = read_message(&std::fs::read(sample)?, &ReadOptions::default())?;
    let alert = batch.alerts.first().context("the sample holds an alert")?;
    let journal = runtime.block_on(whole_case(alert))?;

    let mut drives = Vec::new();
    for _ in 0..TIMES {
        let began = Instant::now();
        black_box(runtime.block_on(whole_case(alert))?);
        drives.push(began.elapsed().as_secs_f64());
    }
    let folds = (0..TIMES).map(|_| {
        let began = Instant::now();
        black_box(fold(black_box(&journal)));
        began.elapsed().as_secs_f64()
    });
    let fold_secs = median(folds.collect());
    let decisions = decisions(&journal);
    let count = decisions.len();
    let mean = decisions.iter().sum::<f64>() / f64::from(u32::try_from(count)?);
    let worst = decisions.iter().copied().fold(0.0, f64::max);
    Ok(vec![
        Figure::new("decision (fold one, decide), mean", mean * 1e6, "us").at_most(50.0),
        Figure::new("decision, the dearest of a case", worst * 1e6, "us"),
        Figure::new("fold of a case of 20 steps", fold_secs * 1e3, "ms").at_most(5.0),
        Figure::new("a case of 20 steps, all of it", median(drives) * 1e3, "ms"),
    ])
}

/// Drives one case to its end and returns its journal.
async fn whole_case(alert: &Alert) -> anyhow::Result<Vec<Event>> {
    let journal = Arc::new(InMemoryJournal::default());
    let ports = DriverPorts {
        analyst: Arc::new(ScriptedAnalyst),
        fallback: None,
        toolbox: Arc::new(ScriptedToolbox),
        exonerator: Arc::new(NoExonerations),
        journal: journal.clone(),
        clock: Arc::new(FixedClock),
        meter: Arc::new(NoMeter),
    };
    let mut events = vec![
        Event::new(
            FixedClock.now(),
            EventBody::Opened(Box::new(opened(alert.clone()))),
        ),
        Event::new(FixedClock.now(), EventBody::Claimed { epoch: 1 }),
    ];
    let end = drive(&ports, fold(&events), &CancellationToken::new()).await?;
    let CaseEnd::Concluded(state) = end else {
        anyhow::bail!("the scripted case did not conclude");
    };
    let done = state.steps_with(StepStatus::Done).count();
    ensure!(done == STEPS, "{done} of {STEPS} scripted steps were done");
    events.extend(journal.events());
    Ok(events)
}

/// Returns for each event of the journal the median time to apply it and to decide what to do next, in seconds.
fn decisions(journal: &[Event]) -> Vec<f64> {
    let mut each: Vec<Vec<f64>> = vec![Vec::new(); journal.len()];
    for _ in 0..TIMES / 4 {
        let mut state = CaseState::default();
        for (event, times) in journal.iter().zip(&mut each) {
            let began = Instant::now();
            apply(&mut state, event);
            black_box(decide(&state));
            times.push(began.elapsed().as_secs_f64());
        }
    }
    each.into_iter().map(median).collect()
}
