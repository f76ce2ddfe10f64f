//! Looks, side by side, each with an end.

use std::io::IsTerminal;
use std::pin::Pin;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use nightshift_engine::Checkup;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::args::Area;

/// How long a look may take. A model may take longer: it may have to be loaded first.
const PATIENCE: Duration = Duration::from_secs(30);
const MODEL_PATIENCE: Duration = Duration::from_secs(90);

/// Something to look at.
pub(super) struct Thing {
    pub(super) area: Area,
    /// Which one of its area; empty where there is but one.
    pub(super) name: String,
    pub(super) look: Pin<Box<dyn Future<Output = Checkup> + Send>>,
}

impl Thing {
    pub(super) fn new(
        area: Area,
        name: impl Into<String>,
        look: impl Future<Output = Checkup> + Send + 'static,
    ) -> Self {
        Self {
            area,
            name: name.into(),
            look: Box::pin(look),
        }
    }

    fn label(&self) -> String {
        label(self.area, &self.name)
    }
}

/// What was seen of it.
pub(super) struct Looked {
    pub(super) area: Area,
    pub(super) name: String,
    pub(super) checkup: Checkup,
}

/// `source siem`.
pub(super) fn label(area: Area, name: &str) -> String {
    format!("{} {name}", area.as_str()).trim_end().to_owned()
}

/// Looks at all of them at once; their order stays.
pub(super) async fn side_by_side(things: Vec<Thing>) -> Vec<Looked> {
    let mut waited: Vec<(usize, String)> = things.iter().map(Thing::label).enumerate().collect();
    let progress = progress();
    let mut looks = JoinSet::new();
    for (index, thing) in things.into_iter().enumerate() {
        looks.spawn(async move { (index, within(thing).await) });
    }
    let mut looked = Vec::new();
    loop {
        let names: Vec<&str> = waited.iter().map(|(_, name)| name.as_str()).collect();
        progress.set_message(names.join(", "));
        match looks.join_next().await {
            Some(Ok((index, one))) => {
                waited.retain(|(other, _)| *other != index);
                looked.push((index, one));
            }
            // What panicked has said so itself; its area is missing from the list.
            Some(Err(error)) => tracing::error!(%error, "a look broke off"),
            None => break,
        }
    }
    progress.finish_and_clear();
    looked.sort_by_key(|(index, _)| *index);
    looked.into_iter().map(|(_, one)| one).collect()
}

async fn within(thing: Thing) -> Looked {
    let limit = if thing.area == Area::Models {
        MODEL_PATIENCE
    } else {
        PATIENCE
    };
    let checkup = timeout(limit, thing.look).await.unwrap_or_else(|_| {
        let mut checkup = Checkup::default();
        checkup.error(
            silent(thing.area),
            format!("no answer within {} seconds", limit.as_secs()),
            "what is that slow now will be so when an alert comes",
            "see whether it is up, and whether a firewall drops what goes there instead of refusing it",
        );
        checkup
    });
    Looked {
        area: thing.area,
        name: thing.name,
        checkup,
    }
}

/// The check that fails where nobody answers.
const fn silent(area: Area) -> &'static str {
    match area {
        Area::Store => "store.silent",
        Area::Sources => "source.silent",
        Area::Models => "model.silent",
        Area::Destinations => "destination.silent",
        _ => "configuration.silent",
    }
}

/// What is still waited for, on a terminal; elsewhere nothing.
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
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_does_not_answer_is_told_and_holds_up_nobody() {
        let never = Thing::new(Area::Store, "", std::future::pending());
        let mut fine = Checkup::default();
        fine.saw("here");
        let near = fine.clone();
        let other = Thing::new(Area::Sources, "siem", async move { near });
        let looked = side_by_side(vec![never, other]).await;
        assert_eq!(looked[0].checkup.found[0].check, "store.silent");
        assert_eq!(looked[1].checkup, fine);
        let others = [Area::Sources, Area::Models, Area::Destinations, Area::Web].map(silent);
        let names = [
            "source.silent",
            "model.silent",
            "destination.silent",
            "configuration.silent",
        ];
        assert_eq!(others, names);
        assert_eq!(label(looked[1].area, &looked[1].name), "source siem");
    }
}
