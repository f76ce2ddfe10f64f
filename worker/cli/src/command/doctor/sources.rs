//! Checks sources against each other, when each may be correct by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use nightshift_engine::doctor::HealthReport;
use secrecy::ExposeSecret as _;

use crate::config::{AnySourceConfig, Config};

/// Checks all sources together.
pub(super) fn probe_overlaps(config: &Config, checkup: &mut HealthReport) {
    let sources = &config.sources;
    if sources.is_empty() {
        checkup.add_warning(
            "configuration.no_source",
            "there is no [[source]]",
            "`nightshift worker` has nothing to take alerts from, and does not start its intake",
            "add one (docs/sources.md), or run `nightshift worker --only triage,delivery,web`",
        );
    }
    let mut names: Vec<&str> = sources.iter().map(AnySourceConfig::name).collect();
    names.sort_unstable();
    if let Some([name, _]) = names.array_windows().find(|[one, other]| one == other) {
        checkup.add_error(
            "configuration.double_source",
            format!("two [[source]] are called {name:?}"),
            "metrics tell sources apart by their names, so the worker does not start",
            "give each its own",
        );
    }
    let mut queues: BTreeMap<QueueIdentity<'_>, Vec<&AnySourceConfig>> = BTreeMap::new();
    for source in sources {
        if let Some(queue) = QueueIdentity::from_source(source) {
            queues.entry(queue).or_default().push(source);
        }
    }
    for (queue, takers) in &queues {
        check_shared_queue(queue, takers, checkup);
    }
}

/// The queue that messages come from. Two spellings of an address count as two; of a directory they count as one.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum QueueIdentity<'a> {
    Remote(&'a str, &'a str),
    Directory(PathBuf),
}

impl<'a> QueueIdentity<'a> {
    /// Returns the queue of a source, or `None` if messages are posted to it.
    fn from_source(source: &'a AnySourceConfig) -> Option<Self> {
        Some(match source {
            AnySourceConfig::Rabbitmq(one) => Self::Remote(one.url.expose_secret(), &one.queue),
            AnySourceConfig::Sqs(one) => Self::Remote(
                one.endpoint_url.as_deref().unwrap_or_default(),
                &one.queue_url,
            ),
            AnySourceConfig::Pubsub(one) => Self::Remote(
                one.endpoint_url.as_deref().unwrap_or_default(),
                &one.subscription,
            ),
            AnySourceConfig::Spool(one) => Self::Directory(resolve_directory(&one.dir)),
            AnySourceConfig::Http(_) => return None,
        })
    }
}

/// Reports sources that share a queue. They divide its messages by chance, as processes do. That is right only if
/// each may carry the same feeds, and a directory gains nothing from a second reader.
fn check_shared_queue(
    queue: &QueueIdentity<'_>,
    takers: &[&AnySourceConfig],
    checkup: &mut HealthReport,
) {
    let names: BTreeSet<&str> = takers.iter().map(|one| one.name()).collect();
    // A duplicate name is reported by itself.
    if names.len() < 2 {
        return;
    }
    let names: Vec<&str> = names.into_iter().collect();
    let names = names.join(", ");
    let (what, own) = match queue {
        QueueIdentity::Directory(dir) => (
            format!("{names} take from one directory, {}", dir.display()),
            "give each a directory of its own",
        ),
        QueueIdentity::Remote(..) => (
            format!("{names} take from one queue"),
            "give each a queue of its own",
        ),
    };
    let feeds: BTreeSet<Option<BTreeSet<String>>> = takers
        .iter()
        .map(|one| one.feeds().map(BTreeSet::from_iter))
        .collect();
    if feeds.len() > 1 {
        checkup.add_error(
            "configuration.shared_queue",
            format!("{what}, and their `feeds` differ"),
            "the first reader gets a message; an alert that only another source may carry becomes \
             a dead letter and is not triaged",
            format!("{own}, or make them one [[source]] with all `feeds`"),
        );
    } else if matches!(queue, QueueIdentity::Directory(_)) {
        checkup.add_warning(
            "configuration.shared_queue",
            what,
            "a file goes to whichever is first: whose `keep` and metrics hold for it is chance",
            format!("{own}, or take all but one out"),
        );
    }
}

/// Resolves the existing part of a path. The rest, which does not exist yet, is compared by name.
fn resolve_directory(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut real = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::CurDir => {}
            // Links before this component are resolved already, so `..` is the parent folder.
            Component::ParentDir => {
                real.pop();
            }
            part => {
                real.push(part);
                if let Ok(found) = real.canonicalize() {
                    real = found;
                }
            }
        }
    }
    real
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DEFAULTS;

    /// Returns the findings about sources, each given by name, kind and further keys.
    fn found(sources: &[(&str, &str, &str)]) -> Vec<String> {
        let tables: Vec<String> = sources
            .iter()
            .map(|(name, kind, keys)| {
                format!("[[source]]\nname = \"{name}\"\nkind = \"{kind}\"\n{keys}\n")
            })
            .collect();
        let config = toml::from_str(&format!("{DEFAULTS}\n{}", tables.concat())).unwrap();
        let mut checkup = HealthReport::default();
        probe_overlaps(&config, &mut checkup);
        let found = checkup.failed_checks.iter();
        found
            .map(|one| format!("{:?} {}", one.severity, one.what))
            .collect()
    }

    #[test]
    fn sources_may_share_a_queue_unless_allowed_feeds_differ() {
        let rabbit = "url = \"amqps://u@mq.example.com/\"\nqueue = \"alerts\"\n";
        let sqs = "queue_url = \"https://sqs.eu-west-1.amazonaws.com/1/q\"\n";
        let pubsub = "subscription = \"projects/p/subscriptions/s\"\ncredentials = \"metadata\"\n";
        for (kind, keys) in [("rabbitmq", rabbit), ("sqs", sqs), ("pubsub", pubsub)] {
            let alike = [("a", kind, keys), ("b", kind, keys)];
            assert_eq!(found(&alike), Vec::<String>::new());
            let limited = format!("{keys}feeds = [\"scc\"]");
            let told = found(&[("a", kind, &limited), ("b", kind, keys), ("c", kind, keys)]);
            assert_eq!(
                told,
                ["Error a, b, c take from one queue, and their `feeds` differ"]
            );
        }
        let other = rabbit.replace("\"alerts\"", "\"others\"\nfeeds = [\"scc\"]");
        let apart = [("a", "rabbitmq", rabbit), ("b", "rabbitmq", &other)];
        assert_eq!(found(&apart), Vec::<String>::new());
        let order = |one: &str, two: &str| format!("{sqs}feeds = [\"{one}\", \"{two}\"]");
        let (one, two) = (order("scc", "ocsf"), order("ocsf", "scc"));
        let alike = [("a", "sqs", one.as_str()), ("b", "sqs", &two)];
        assert_eq!(found(&alike), Vec::<String>::new());
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_is_the_same_however_it_is_spelled() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("drop/new")).unwrap();
        std::os::unix::fs::symlink(root.join("drop/new"), root.join("link")).unwrap();
        let at = |path: &str| resolve_directory(&root.join(path));
        for path in [
            "drop",
            "drop/",
            "./drop/.",
            "drop/new/..",
            "none/../drop",
            "link/..",
        ] {
            assert_eq!(at(path), root.join("drop"), "{path}");
        }
        // The same paths before they exist.
        for path in [
            "drop/new/later",
            "link/later/",
            "link/../new/later",
            "link/other/../later",
        ] {
            assert_eq!(at(path), root.join("drop/new/later"), "{path}");
        }
        assert_eq!(
            resolve_directory(Path::new("spool")),
            resolve_directory(Path::new("./x/../spool/"))
        );
        assert_ne!(at("drop"), at("drop2"));
    }
}
