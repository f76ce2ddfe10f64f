//! Loads the compiled-in action catalogue, one file per cloud.

use std::sync::{Arc, LazyLock};

use nightshift_engine::catalogue::ActionTemplate;
use serde::Deserialize;

pub(super) const FILES: [(&str, &str); 3] = [
    ("aws.toml", include_str!("../../actions/aws.toml")),
    ("gcp.toml", include_str!("../../actions/gcp.toml")),
    ("any.toml", include_str!("../../actions/any.toml")),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ActionFile {
    pub(super) action: Vec<ActionTemplate>,
}

static SHIPPED: LazyLock<Vec<Arc<ActionTemplate>>> = LazyLock::new(|| {
    FILES
        .into_iter()
        .filter_map(|(_, text)| toml::from_str::<ActionFile>(text).ok())
        .flat_map(|file| file.action)
        .map(Arc::new)
        .collect()
});

/// Returns the shipped actions. The same id may occur once per cloud: a playbook names what to do, and the alert's
/// cloud decides how. [`super::PlaybookSet::catalogue`] adds those of a directory.
#[must_use]
pub fn catalogue() -> Vec<Arc<ActionTemplate>> {
    SHIPPED.clone()
}

/// Returns the ids of the shipped actions.
pub(super) fn action_ids() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|action| action.id.as_str())
}
