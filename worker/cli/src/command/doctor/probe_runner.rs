//! Runs probes concurrently, each with a time limit.

use std::io::IsTerminal;
use std::pin::Pin;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use nightshift_engine::doctor::HealthReport;
use nightshift_pipeline::blocking::run_blocking;
use tokio::runtime::Handle;
use tokio::task::{Id, JoinSet};
use tokio::time::timeout;

use crate::args::DoctorArea;

const PROBE_TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit for a model, which may have to be loaded first.
const MODEL_PROBE_TIMEOUT: Duration = Duration::from_secs(90);

/// A target to probe.
pub(super) struct DoctorTarget {
    pub(super) area: DoctorArea,
    /// The name within the area, empty if the area has only one target.
    pub(super) name: String,
    pub(super) probe: Pin<Box<dyn Future<Output = HealthReport> + Send>>,
}

impl DoctorTarget {
    pub(super) fn new(
        area: DoctorArea,
        name: impl Into<String>,
        look: impl Future<Output = HealthReport> + Send + 'static,
    ) -> Self {
        Self {
            area,
            name: name.into(),
            probe: Box::pin(look),
        }
    }
}

/// The result of one probe.
pub(super) struct TargetReport {
    pub(super) area: DoctorArea,
    pub(super) name: String,
    pub(super) report: HealthReport,
}

/// Returns the label of a target: `source siem`.
pub(super) fn label(area: DoctorArea, name: &str) -> String {
    format!("{} {name}", area.as_str()).trim_end().to_owned()
}

/// A running probe and its position in the result.
struct PendingProbe {
    task: Id,
    index: usize,
    area: DoctorArea,
    name: String,
}

/// Runs all probes at once, each with the time limit of its area. The results keep the order of the targets.
pub(super) async fn run_probes(
    things: Vec<DoctorTarget>,
    patience: fn(DoctorArea) -> Duration,
) -> Vec<TargetReport> {
    let progress = progress();
    let (mut looks, mut waited) = (JoinSet::new(), Vec::new());
    for (index, thing) in things.into_iter().enumerate() {
        let DoctorTarget {
            area,
            name,
            probe: look,
        } = thing;
        let task = looks.spawn(within(patience(area), area, look)).id();
        waited.push(PendingProbe {
            task,
            index,
            area,
            name,
        });
    }
    let mut looked = Vec::new();
    loop {
        let names = waited.iter().map(|one| label(one.area, &one.name));
        progress.set_message(names.collect::<Vec<_>>().join(", "));
        let (task, checkup) = match looks.join_next_with_id().await {
            Some(Ok((task, checkup))) => (task, Some(checkup)),
            Some(Err(error)) => (error.id(), None),
            None => break,
        };
        let Some(place) = waited.iter().position(|one| one.task == task) else {
            continue;
        };
        let PendingProbe {
            index, area, name, ..
        } = waited.remove(place);
        let checkup = checkup.unwrap_or_else(|| broken_off(area));
        let seen = TargetReport {
            area,
            name,
            report: checkup,
        };
        looked.push((index, seen));
    }
    progress.finish_and_clear();
    looked.sort_by_key(|(index, _)| *index);
    looked.into_iter().map(|(_, one)| one).collect()
}

/// Returns the time limit of an area.
pub(super) const fn probe_timeout(area: DoctorArea) -> Duration {
    match area {
        DoctorArea::Models => MODEL_PROBE_TIMEOUT,
        _ => PROBE_TIMEOUT,
    }
}

/// Runs a probe in its own thread. Reading a file, such as a secret or certificates on a hung mount, may never return,
/// and blocking code cannot be cancelled.
async fn within(
    limit: Duration,
    area: DoctorArea,
    look: impl Future<Output = HealthReport> + Send + 'static,
) -> HealthReport {
    let here = Handle::current();
    let looked = run_blocking(move || here.block_on(timeout(limit, look)));
    if let Ok(Ok(checkup)) = timeout(limit, looked).await {
        return checkup;
    }
    let mut checkup = HealthReport::default();
    checkup.add_error(
        silent(area),
        format!("no answer within {} seconds", limit.as_secs()),
        "a slow answer now means a slow answer when an alert arrives",
        "see whether it is up, whether a firewall drops what goes there instead of refusing it, and whether the files that it \
         needs (secrets, ca_file) can be read to their end",
    );
    checkup
}

/// Returns the result of a probe that panicked.
fn broken_off(area: DoctorArea) -> HealthReport {
    let check = match area {
        DoctorArea::Store => "store.broken_off",
        DoctorArea::Sources => "source.broken_off",
        DoctorArea::Models => "model.broken_off",
        DoctorArea::Destinations => "destination.broken_off",
        _ => "configuration.broken_off",
    };
    let mut checkup = HealthReport::default();
    checkup.add_error(
        check,
        "internal error: the probe panicked",
        "whatever is wrong with it was not found",
        "please report it, with what standard error says of it; the rest was looked at",
    );
    checkup
}

/// Returns the check that fails when there is no answer.
const fn silent(area: DoctorArea) -> &'static str {
    match area {
        DoctorArea::Store => "store.silent",
        DoctorArea::Sources => "source.silent",
        DoctorArea::Models => "model.silent",
        DoctorArea::Destinations => "destination.silent",
        _ => "configuration.silent",
    }
}

/// Shows the running probes on a terminal, and nothing elsewhere.
fn progress() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} waiting for {wide_msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

#[cfg(test)]
mod tests {
    use nightshift_engine::doctor::CheckSeverity;

    use super::*;

    /// Returns a short limit for the store and a long one for all else.
    fn brief(area: DoctorArea) -> Duration {
        Duration::from_millis(if area == DoctorArea::Store {
            10
        } else {
            60_000
        })
    }

    #[tokio::test]
    async fn what_does_not_answer_is_told_and_holds_up_nobody() {
        let never = DoctorTarget::new(DoctorArea::Store, "", std::future::pending());
        let mut fine = HealthReport::default();
        fine.add_observation("here");
        let near = fine.clone();
        let other = DoctorTarget::new(DoctorArea::Sources, "siem", async move { near });
        let looked = run_probes(vec![never, other], brief).await;
        assert_eq!(looked[0].report.failed_checks[0].check, "store.silent");
        assert_eq!(looked[1].report, fine);
        let others = [
            DoctorArea::Sources,
            DoctorArea::Models,
            DoctorArea::Destinations,
            DoctorArea::Web,
        ]
        .map(silent);
        let names = [
            "source.silent",
            "model.silent",
            "destination.silent",
            "configuration.silent",
        ];
        assert_eq!(others, names);
        assert_eq!(label(looked[1].area, &looked[1].name), "source siem");
    }

    #[tokio::test]
    async fn panicking_check_is_an_error_of_its_area_and_blocks_nobody() {
        let faulty = || run_blocking(|| panic!("a fault of a look"));
        for (area, check) in [
            (DoctorArea::Store, "store.broken_off"),
            (DoctorArea::Sources, "source.broken_off"),
            (DoctorArea::Models, "model.broken_off"),
            (DoctorArea::Destinations, "destination.broken_off"),
            (DoctorArea::Web, "configuration.broken_off"),
        ] {
            let fine = DoctorTarget::new(
                DoctorArea::Sources,
                "siem",
                std::future::ready(HealthReport::default()),
            );
            let looked = run_probes(
                vec![DoctorTarget::new(area, "soc", faulty()), fine],
                probe_timeout,
            )
            .await;
            let found = &looked[0].report.failed_checks;
            assert_eq!((looked[0].area, looked[0].name.as_str()), (area, "soc"));
            assert_eq!((found.len(), found[0].check), (1, check));
            assert_eq!(found[0].severity, CheckSeverity::Error);
            assert_eq!((looked.len(), looked[1].name.as_str()), (2, "siem"));
        }
    }
}
