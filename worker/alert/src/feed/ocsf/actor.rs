//! Who acted, and users that something was done to.

use std::collections::BTreeMap;

use super::super::{Draft, Node};
use super::{class, each};
use crate::{DetailKind, IndicatorKind, Outcome, Role};

/// Where a user without a name is named, best first.
const NAMES: [&str; 4] = ["email_addr", "full_name", "uid_alt", "uid"];

/// Where the keys stand that were used.
const KEYS: [&str; 3] = [
    "user/credential_uid",
    "user/programmatic_credentials/uid",
    "session/credential_uid",
];

/// What is told about an actor.
const DETAILS: [(&str, DetailKind); 5] = [
    ("user/groups/name", DetailKind::Group),
    ("session/uid_alt", DetailKind::Session),
    ("app_name", DetailKind::Application),
    ("invoked_by", DetailKind::Application),
    ("authorizations/policy/name", DetailKind::Permission),
];

/// Reads `actor`; its process is read as any other.
pub(super) fn read(draft: &mut Draft, actor: Node<'_>) {
    draft.add_actor(actor);
    let user = actor.at("user");
    let name = name(user);
    if let Some(name) = name.filter(|_| !user.at("name").exists()) {
        draft.add_text(IndicatorKind::Principal, Role::Actor, name);
    }
    draft.add(IndicatorKind::Email, Role::Related, user.at("email_addr"));
    for key in KEYS.iter().flat_map(|path| each(actor, path)) {
        draft.add(IndicatorKind::AccessKey, Role::Actor, key);
    }
    draft.add(
        IndicatorKind::Arn,
        Role::Related,
        actor.path("session/issuer"),
    );
    if let Some(session) = actor.path("session/uid").text() {
        draft.add_detail_text(DetailKind::Trait, &format!("session {session}"), name);
    }
    for (path, kind) in DETAILS {
        for value in each(actor, path) {
            draft.add_detail_about(kind, value, name);
        }
    }
}

/// Reads `user` of the finding itself: who logs in, unless that fails; else whom it was done to, or whose rights were
/// analysed.
pub(super) fn subject(draft: &mut Draft, node: Node<'_>) {
    let user = node.at("user");
    let Some(name) = user.at("name").str().or_else(|| name(user)) else {
        return;
    };
    let is_login = class::uid(node) == Some(3002);
    let failed = draft.outcome.is_some_and(Outcome::is_without_effect);
    if is_login && !failed && !node.path("actor/user").exists() {
        // The account is the one where the user was active; see `Draft::add_actor`.
        draft.add_actor(node);
        draft.add_text(IndicatorKind::Principal, Role::Actor, name);
    }
    draft.add_text(IndicatorKind::Principal, Role::Target, name);
    for key in ["user/credential_uid", "user/programmatic_credentials/uid"]
        .iter()
        .flat_map(|path| each(node, path))
    {
        draft.add(IndicatorKind::AccessKey, Role::Related, key);
    }
    for group in each(user, "groups/name") {
        draft.add_detail_about(DetailKind::Group, group, Some(name));
    }
    if !class::is_finding(node) || draft.resources.is_empty() {
        let id = user.at("uid").str().unwrap_or(name);
        let kind = user.at("type").str().unwrap_or("User");
        draft.add_resource(kind, id, Some(name), BTreeMap::new());
    }
}

/// Reads `user` of an evidence, whose part is not told.
pub(super) fn mentioned(draft: &mut Draft, user: Node<'_>) {
    if let Some(name) = user.at("name").str().or_else(|| name(user)) {
        draft.add_text(IndicatorKind::Principal, Role::Related, name);
    }
    draft.add(IndicatorKind::Email, Role::Related, user.at("email_addr"));
    draft.add(IndicatorKind::Principal, Role::Related, user.at("uid"));
}

fn name(user: Node<'_>) -> Option<&str> {
    ["name"]
        .iter()
        .chain(&NAMES)
        .find_map(|key| user.at(key).str())
}
