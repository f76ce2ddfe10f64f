//! Actors, and users that are targets.

use std::collections::BTreeMap;

use super::super::guardduty::canonical;
use super::super::{Draft, Node};
use super::{class, each};
use crate::caller::CallRecord;
use crate::{Class, DetailKind, IndicatorKind, Outcome, Role};

/// Fields that name a user, best first.
const NAMES: [&str; 5] = ["name", "email_addr", "full_name", "uid_alt", "uid"];

/// Fields that name an actor without a user, best first.
const SESSIONS: [&str; 3] = ["session/issuer", "session/uid_alt", "session/uid"];

/// Fields that hold the access keys that were used.
const KEYS: [&str; 3] = [
    "user/credential_uid",
    "user/programmatic_credentials/uid",
    "session/credential_uid",
];

/// Details of an actor.
const DETAILS: [(&str, DetailKind); 5] = [
    ("user/groups/name", DetailKind::Group),
    ("session/uid_alt", DetailKind::Session),
    ("app_name", DetailKind::Application),
    ("invoked_by", DetailKind::Application),
    ("authorizations/policy/name", DetailKind::Permission),
];

/// Reads `actor` and returns its call record. Its process is read like any other.
pub(super) fn read(draft: &mut Draft, actor: Node<'_>) -> CallRecord {
    if !actor.is_object() {
        return CallRecord {
            principals: draft.add(IndicatorKind::Principal, Role::Actor, actor),
            ..CallRecord::default()
        };
    }
    let user = actor.at("user");
    let mut record = CallRecord {
        principals: named(draft, actor),
        ..CallRecord::default()
    };
    let name = name(user);
    draft.add(IndicatorKind::Email, Role::Related, user.at("email_addr"));
    for key in KEYS.iter().flat_map(|path| each(actor, path)) {
        let added = draft.add(IndicatorKind::AccessKey, Role::Actor, key);
        record.access_keys.extend(added);
    }
    let is_named = !record.principals.is_empty() || !record.access_keys.is_empty();
    // A field that names a user but cannot be read is recorded as unread separately.
    let is_told = NAMES.iter().any(|key| user.at(key).exists()) || user.at("type").is("System");
    if !is_named && !is_told && user.members().any(|(_, member)| member.exists()) {
        draft.unread(user);
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
    invoked_by(draft, actor.at("invoked_by"));
    // The process of an actor acts as its user.
    user_of(draft, actor.at("process"), &record.principals);
    record
}

/// AWS's placeholder for a service of its own that it does not name.
const PLATFORM: &str = "AWS Internal";

/// Adds the service or application that called for the user: a cloud service by its host, an application by its name.
fn invoked_by(draft: &mut Draft, service: Node<'_>) {
    let Some(name) = draft.text_of(service).filter(|name| *name != PLATFORM) else {
        return;
    };
    let is_host = draft
        .add_text(IndicatorKind::Domain, Role::Actor, name)
        .is_some();
    if !is_host {
        draft.add(IndicatorKind::Principal, Role::Actor, service);
    }
}

/// Adds the user of a process that acted, unless the user is known already.
fn user_of(draft: &mut Draft, process: Node<'_>, known: &[String]) {
    let user = process.at("user");
    if user.exists() {
        draft.add_other(user, known);
    }
}

/// Adds further actors: the creator of a job, and for a file event without an actor the owner of the file.
pub(super) fn others(draft: &mut Draft, evidence: Node<'_>, record: &CallRecord) {
    if draft.class != Class::Threat {
        return;
    }
    let creator = evidence.path("job/user");
    if creator.exists() {
        draft.add_other(creator, &record.principals);
    }
    let owner = evidence.path("file/owner");
    let is_by_owner = class::uid(evidence) == Some(FILE_ACTIVITY) && record.principals.is_empty();
    if is_by_owner && owner.exists() {
        draft.add_other(owner, &[]);
    } else if let Some(name) = name(owner) {
        draft.add_text(IndicatorKind::Principal, Role::Related, name);
    }
}

/// The class of file events.
const FILE_ACTIVITY: u64 = 1001;

/// Adds the names of an actor: of the user and the role, else of the session.
fn named(draft: &mut Draft, actor: Node<'_>) -> Vec<String> {
    let principals = draft.add_actor(actor);
    if !principals.is_empty() {
        return principals;
    }
    let sessions = SESSIONS.iter().map(|path| actor.path(path));
    draft.add_first(IndicatorKind::Principal, Role::Actor, sessions)
}

/// Reads `user` of the finding itself. The user is an actor in a login that did not fail, or in a threat without
/// another actor. Otherwise the user is the target, or the one whose rights were analysed.
pub(super) fn subject(draft: &mut Draft, node: Node<'_>) {
    let user = node.at("user");
    let is_login = class::uid(node) == Some(3002);
    let failed = draft.outcome.is_some_and(Outcome::is_without_effect);
    let is_threat = class::is_finding(node) && draft.class == Class::Threat;
    let acted = is_login && !failed || is_threat;
    if acted && user.exists() && !node.path("actor/user").exists() {
        // The account is the one where the user was active; see `Draft::add_actor`.
        let principals = named(draft, node);
        let from = canonical(IndicatorKind::Ip, node.path("src_endpoint/ip"));
        draft.add_call(&CallRecord {
            principals,
            access_keys: Vec::new(),
            addresses: from.into_iter().collect(),
        });
    }
    let Some(name) = name(user) else { return };
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

/// Reads `user` of an evidence, which is the target of a threat. The actor is in the evidence's `actor`.
///
/// <https://schema.ocsf.io/1.6.0/objects/evidences>
pub(super) fn mentioned(draft: &mut Draft, evidence: Node<'_>) {
    let user = evidence.at("user");
    let role = match draft.class {
        Class::Threat => Role::Target,
        _ => Role::Related,
    };
    if let Some(name) = name(user) {
        draft.add_text(IndicatorKind::Principal, role, name);
    }
    draft.add(IndicatorKind::Email, Role::Related, user.at("email_addr"));
    draft.add(IndicatorKind::Principal, Role::Related, user.at("uid"));
}

fn name(user: Node<'_>) -> Option<&str> {
    NAMES.iter().find_map(|key| user.at(key).str())
}
