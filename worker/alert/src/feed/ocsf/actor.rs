//! Reads actors, and users that are targets.

use std::collections::BTreeMap;

use super::super::guardduty::canonical;
use super::super::{Draft, Node};
use super::{class, descendants};
use crate::caller::CallRecord;
use crate::{DetailKind, FindingClass, IndicatorKind, IndicatorRole, Outcome};

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
pub(super) fn read_actor(draft: &mut Draft, actor: Node<'_>) -> CallRecord {
    if !actor.is_object() {
        return CallRecord {
            principals: draft.add(IndicatorKind::Principal, IndicatorRole::Actor, actor),
            ..CallRecord::default()
        };
    }
    let user = actor.at("user");
    let mut record = CallRecord {
        principals: add_actor_names(draft, actor),
        ..CallRecord::default()
    };
    let name = user_name(user);
    draft.add(
        IndicatorKind::Email,
        IndicatorRole::Related,
        user.at("email_addr"),
    );
    for key in KEYS.iter().flat_map(|path| descendants(actor, path)) {
        let added = draft.add(IndicatorKind::AccessKey, IndicatorRole::Actor, key);
        record.access_keys.extend(added);
    }
    let is_named = !record.principals.is_empty() || !record.access_keys.is_empty();
    // A field that names a user but cannot be read is recorded as unread separately.
    let is_told = NAMES.iter().any(|key| user.at(key).exists()) || user.at("type").is("System");
    if !is_named && !is_told && user.members().any(|(_, member)| member.exists()) {
        draft.mark_unread(user);
    }
    draft.add(
        IndicatorKind::Arn,
        IndicatorRole::Related,
        actor.path("session/issuer"),
    );
    if let Some(session) = actor.path("session/uid").text() {
        draft.add_detail_text(DetailKind::Trait, &format!("session {session}"), name);
    }
    for (path, kind) in DETAILS {
        for value in descendants(actor, path) {
            draft.add_detail_about(kind, value, name);
        }
    }
    add_invoker(draft, actor.at("invoked_by"));
    // The process of an actor acts as its user.
    add_process_user(draft, actor.at("process"), &record.principals);
    record
}

/// AWS's placeholder for a service of its own that it does not name.
const PLATFORM: &str = "AWS Internal";

/// Adds the service or application that called for the user: a cloud service by its host, an application by its name.
fn add_invoker(draft: &mut Draft, service: Node<'_>) {
    let Some(name) = draft.actor_text(service).filter(|name| *name != PLATFORM) else {
        return;
    };
    let is_host = draft
        .add_text(IndicatorKind::Domain, IndicatorRole::Actor, name)
        .is_some();
    if !is_host {
        draft.add(IndicatorKind::Principal, IndicatorRole::Actor, service);
    }
}

/// Adds the user of a process that acted, unless the user is known already.
fn add_process_user(draft: &mut Draft, process: Node<'_>, known: &[String]) {
    let user = process.at("user");
    if user.exists() {
        draft.add_other_user(user, known);
    }
}

/// Adds further actors: the creator of a job, and for a file event without an actor the owner of the file.
pub(super) fn add_other_actors(draft: &mut Draft, evidence: Node<'_>, record: &CallRecord) {
    if draft.class != FindingClass::Threat {
        return;
    }
    let creator = evidence.path("job/user");
    if creator.exists() {
        draft.add_other_user(creator, &record.principals);
    }
    let owner = evidence.path("file/owner");
    let is_by_owner =
        class::class_uid(evidence) == Some(FILE_ACTIVITY) && record.principals.is_empty();
    if is_by_owner && owner.exists() {
        draft.add_other_user(owner, &[]);
    } else if let Some(name) = user_name(owner) {
        draft.add_text(IndicatorKind::Principal, IndicatorRole::Related, name);
    }
}

/// The class of file events.
const FILE_ACTIVITY: u64 = 1001;

/// Adds the names of an actor: of the user and the role, else of the session.
fn add_actor_names(draft: &mut Draft, actor: Node<'_>) -> Vec<String> {
    let principals = draft.add_actor(actor);
    if !principals.is_empty() {
        return principals;
    }
    let sessions = SESSIONS.iter().map(|path| actor.path(path));
    draft.add_first(IndicatorKind::Principal, IndicatorRole::Actor, sessions)
}

/// Reads `user` of the finding itself. The user is an actor in a login that did not fail, or in a threat without
/// another actor. Otherwise the user is the target, or the one whose rights were analysed.
pub(super) fn read_subject(draft: &mut Draft, node: Node<'_>) {
    let user = node.at("user");
    let is_login = class::class_uid(node) == Some(3002);
    let failed = draft.outcome.is_some_and(Outcome::is_without_effect);
    let is_threat = class::is_finding(node) && draft.class == FindingClass::Threat;
    let acted = is_login && !failed || is_threat;
    if acted && user.exists() && !node.path("actor/user").exists() {
        // The account is the one where the user was active; see `Draft::add_actor`.
        let principals = add_actor_names(draft, node);
        let from = canonical(IndicatorKind::Ip, node.path("src_endpoint/ip"));
        draft.add_call(&CallRecord {
            principals,
            access_keys: Vec::new(),
            addresses: from.into_iter().collect(),
        });
    }
    let Some(name) = user_name(user) else { return };
    draft.add_text(IndicatorKind::Principal, IndicatorRole::Target, name);
    for key in ["user/credential_uid", "user/programmatic_credentials/uid"]
        .iter()
        .flat_map(|path| descendants(node, path))
    {
        draft.add(IndicatorKind::AccessKey, IndicatorRole::Related, key);
    }
    for group in descendants(user, "groups/name") {
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
pub(super) fn read_evidence_user(draft: &mut Draft, evidence: Node<'_>) {
    let user = evidence.at("user");
    let role = match draft.class {
        FindingClass::Threat => IndicatorRole::Target,
        _ => IndicatorRole::Related,
    };
    if let Some(name) = user_name(user) {
        draft.add_text(IndicatorKind::Principal, role, name);
    }
    draft.add(
        IndicatorKind::Email,
        IndicatorRole::Related,
        user.at("email_addr"),
    );
    draft.add(
        IndicatorKind::Principal,
        IndicatorRole::Related,
        user.at("uid"),
    );
}

fn user_name(user: Node<'_>) -> Option<&str> {
    NAMES.iter().find_map(|key| user.at(key).str())
}
