//! Reads entities of an SCC finding other than actors: processes, files, containers, databases, policies.

use super::super::{Draft, Node};
use super::fields::{add_member, canonical_member, for_each_descendant, non_default};
use super::location::is_other_account;
use super::resource_name::ResourceName;
use crate::caller::CallRecord;
use crate::{DetailKind, Direction, FindingClass, IndicatorKind, IndicatorRole};

pub(super) fn read_entities(draft: &mut Draft, finding: Node<'_>) {
    let processes = finding.at("processes");
    for process in processes.items() {
        read_process(draft, process, processes);
    }
    for file in finding.at("files").items() {
        read_file(draft, file);
    }
    for container in finding.at("containers").items() {
        read_container(draft, container);
    }
    database(draft, finding.at("database"));
    exfiltration(draft, finding.at("exfiltration"));
    for binding in finding.at("iamBindings").items() {
        iam_binding(draft, binding);
    }
    for signature in finding.path("indicator/signatures").items() {
        read_signature(draft, signature);
    }
    package(draft, finding.at("vulnerability"));
    ip_rules(draft, finding.at("ipRules"));
    for compliance in finding.at("compliances").items() {
        controls(draft, compliance);
    }
}

/// Adds the finding's addresses, domains and URLs as far ends, except addresses that are known actors.
pub(super) fn indicators(draft: &mut Draft, indicator: Node<'_>) {
    for key in ["ipAddresses", "ips"] {
        for ip in indicator.at(key).items() {
            let text = ip.str().unwrap_or_default();
            if !draft.has_indicator(IndicatorKind::Ip, IndicatorRole::Actor, text) {
                draft.add(IndicatorKind::Ip, IndicatorRole::Remote, ip);
            }
        }
    }
    for (key, kind) in [
        ("domains", IndicatorKind::Domain),
        ("uris", IndicatorKind::Url),
        ("urls", IndicatorKind::Url),
    ] {
        for value in indicator.at(key).items() {
            draft.add(kind, IndicatorRole::Remote, value);
        }
    }
}

fn read_process(draft: &mut Draft, process: Node<'_>, all: Node<'_>) {
    draft.add(
        IndicatorKind::Process,
        IndicatorRole::Related,
        process.at("name"),
    );
    for file in process
        .at("binary")
        .items()
        .chain(process.at("libraries").items())
        .take(64)
    {
        read_file(draft, file);
    }
    read_file(draft, process.at("script"));
    let line = command_line(process);
    // `sourceProperties` are read before, with the values of their command line.
    let is_known = |line: &str| draft.has_command_line(line);
    if !line.as_deref().is_some_and(is_known) {
        for text in process.at("args").items().filter_map(Node::str) {
            draft.add_from_text(text);
        }
    }
    for_each_descendant(process, "envVariables/val", &mut |value| {
        if let Some(text) = value.str() {
            draft.add_from_text(text);
        }
    });
    let name = process.at("name").str();
    if let Some(line) = line {
        draft.add_detail_text(DetailKind::CommandLine, &line, name);
    }
    let Some(parent_pid) = non_default(process.at("parentPid")) else {
        return;
    };
    let parent = all
        .items()
        .find(|other| other.at("pid").text().as_ref() == Some(&parent_pid));
    let parent_name = parent.and_then(|parent| program(parent).map(str::to_owned));
    let parent_name = parent_name.unwrap_or_else(|| format!("pid {parent_pid}"));
    draft.add_detail_text(DetailKind::ParentProcess, &parent_name, name);
    if let Some(line) = parent.and_then(command_line) {
        draft.add_detail_text(DetailKind::ParentCommandLine, &line, name);
    }
}

/// Returns the program of a process: its file, else its name.
fn program(process: Node<'_>) -> Option<&str> {
    let binary = process.at("binary");
    let path = binary.at("path").str().or(binary.str());
    path.or(process.at("name").str())
}

/// Returns the command line. It begins with the program whether or not the arguments do.
fn command_line(process: Node<'_>) -> Option<String> {
    let mut words: Vec<String> = process.at("args").items().filter_map(argument).collect();
    let first = words.first()?;
    let base = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    if let Some(program) = program(process).filter(|program| base(program) != base(first)) {
        words.insert(0, program.to_owned());
    }
    Some(words.join(" "))
}

/// Returns an argument, in quotes where it has white space.
pub(super) fn argument(node: Node<'_>) -> Option<String> {
    let text = node.text()?;
    let has_space = text.contains(char::is_whitespace);
    Some(if has_space { format!("'{text}'") } else { text })
}

/// Adds a file, as an object of API v1 and v2 or as its path alone.
fn read_file(draft: &mut Draft, file: Node<'_>) {
    draft.add(IndicatorKind::File, IndicatorRole::Related, file);
    draft.add(IndicatorKind::File, IndicatorRole::Related, file.at("path"));
    draft.add(
        IndicatorKind::File,
        IndicatorRole::Related,
        file.path("diskPath/relativePath"),
    );
    draft.add(
        IndicatorKind::Hash,
        IndicatorRole::Related,
        file.at("sha256"),
    );
    let is_written = file.at("operations").items().any(|operation| {
        let kind = operation.at("type");
        kind.is("WRITE") || kind.is("RENAME")
    });
    if is_written {
        draft.add_detail(DetailKind::FileWritten, file.at("path"));
    }
    if let Some(contents) = file.at("contents").str() {
        draft.add_from_text(contents);
    }
}

pub(super) fn read_container(draft: &mut Draft, container: Node<'_>) {
    draft.add(
        IndicatorKind::Container,
        IndicatorRole::Target,
        container.at("name"),
    );
    draft.add(
        IndicatorKind::Image,
        IndicatorRole::Related,
        container.at("uri"),
    );
    draft.add(
        IndicatorKind::Image,
        IndicatorRole::Related,
        container.at("imageId"),
    );
}

fn database(draft: &mut Draft, database: Node<'_>) {
    if let Some(name) = database.at("name").str() {
        ResourceName::parse(name).add(draft, IndicatorRole::Target);
    }
    draft.add(
        IndicatorKind::Database,
        IndicatorRole::Target,
        database.at("displayName"),
    );
    let principals = draft.add(
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        database.at("userName"),
    );
    draft.add_call(&CallRecord {
        principals,
        ..CallRecord::default()
    });
    // A grantee holds the rights from now on, regardless of the giver.
    for grantee in database.at("grantees").items() {
        for name in draft.add(IndicatorKind::Principal, IndicatorRole::Actor, grantee) {
            draft.add_detail_text(DetailKind::Grantee, &name, None);
        }
    }
    query(draft, database.at("query"));
}

/// Adds a database query.
pub(super) fn query(draft: &mut Draft, query: Node<'_>) {
    draft.add_detail(DetailKind::DatabaseQuery, query);
    if let Some(text) = query.str() {
        draft.add_from_text(text);
    }
}

/// Adds the sources of an exfiltration as targets and its destinations as far ends.
fn exfiltration(draft: &mut Draft, exfiltration: Node<'_>) {
    for (key, role) in [
        ("sources", IndicatorRole::Target),
        ("targets", IndicatorRole::Remote),
    ] {
        for end in exfiltration.at(key).items() {
            let name = end.at("name");
            add_data_end(draft, role, name);
            for component in end.at("components").items().filter_map(Node::str) {
                let written = format!("part of the data: {component}");
                draft.add_detail_text(DetailKind::Trait, &written, name.str());
            }
        }
    }
    if let Some(bytes) = non_default(exfiltration.at("totalExfiltratedBytes")) {
        draft.add_detail_text(DetailKind::Bytes, &bytes, None);
    }
}

/// Adds the source or destination of data. A destination may be in another account.
pub(super) fn add_data_end(draft: &mut Draft, role: IndicatorRole, name: Node<'_>) {
    let Some(full) = name.str() else {
        draft.add(IndicatorKind::Arn, role, name);
        return;
    };
    let parsed = ResourceName::parse(full);
    if !parsed.add(draft, role) && role == IndicatorRole::Remote {
        draft.mark_unread(name);
    }
    if role != IndicatorRole::Remote {
        return;
    }
    if !draft.has_indicator(IndicatorKind::Arn, role, parsed.id) {
        draft.add_detail_text(DetailKind::Trait, &format!("data went to {full}"), None);
    }
    data_leaves(draft, parsed.account);
    if let Some(other) = parsed.account {
        add_other_account(draft, other, full);
    }
}

/// Makes the finding an outbound one, unless its data stays in its project, which is named by its id or its number.
pub(super) fn data_leaves(draft: &mut Draft, to: Option<&str>) {
    let project = draft.project.iter().flat_map(|(number, id)| [number, id]);
    let mut names = draft.account.iter().chain(project);
    if !to.is_some_and(|to| names.any(|ours| ours == to)) {
        draft.direction = Some(Direction::Outbound);
    }
}

/// Adds the account of the far end, unless it is the alert's own account.
pub(super) fn add_other_account(draft: &mut Draft, other: &str, about: &str) {
    if is_other_account(draft.account.as_deref(), other) {
        draft.add_detail_text(DetailKind::OtherAccount, other, Some(about));
    }
}

/// Members of policies and groups of clusters that mean everybody. No record can be about them.
const EVERYBODY: [&str; 5] = [
    "allUsers",
    "allAuthenticatedUsers",
    "system:anonymous",
    "system:authenticated",
    "system:unauthenticated",
];

/// Returns the role of a grantee. In a threat a grantee counts as an actor, so that a record about the giver alone
/// cannot clear the alert. A check only describes the current state.
pub(super) fn grantee_role(draft: &Draft, name: Node<'_>) -> IndicatorRole {
    let is_everybody = name.str().is_some_and(|name| EVERYBODY.contains(&name));
    match draft.class {
        FindingClass::Threat if !is_everybody => IndicatorRole::Actor,
        _ => IndicatorRole::Related,
    }
}

/// Adds the principal that was granted a role or lost it.
pub(super) fn iam_binding(draft: &mut Draft, binding: Node<'_>) {
    let part = match binding.at("action").is("REMOVE") {
        true => IndicatorRole::Related,
        false => grantee_role(draft, binding.at("member")),
    };
    let who = add_member(draft, part, binding.at("member"));
    if let (IndicatorRole::Actor, Some(name)) = (part, canonical_member(binding.at("member"))) {
        draft.add_detail_text(DetailKind::Grantee, &name, None);
    }
    let Some(role) = binding.at("role").str() else {
        return;
    };
    if binding.at("action").is("REMOVE") {
        draft.add_detail_text(DetailKind::Permission, &format!("{role} (removed)"), who);
    } else {
        draft.add_detail_text(DetailKind::Permission, role, who);
    }
}

/// Adds a signature that matched in memory or in a file.
///
/// <https://cloud.google.com/security-command-center/docs/reference/rest/v2/Indicator#ProcessSignature>
fn read_signature(draft: &mut Draft, signature: Node<'_>) {
    let memory = signature.at("memoryHashSignature");
    let family = memory.at("binaryFamily");
    draft.add_detail(DetailKind::ThreatName, family);
    draft.add_detail(
        DetailKind::Signature,
        signature.path("yaraRuleSignature/yaraRule"),
    );
    draft.add_detail(DetailKind::Signature, signature.at("signature"));
    let family = family.str().unwrap_or("memory hash");
    if memory.exists() && !memory.at("detections").exists() {
        draft.add_detail_text(DetailKind::Signature, family, None);
    }
    for detection in memory.at("detections").items() {
        let binary = detection.at("binary").str().unwrap_or("a binary");
        let pages = detection.at("percentPagesMatched").text();
        let pages = pages.map_or_else(String::new, |share| format!(", pages matched: {share}"));
        let written = format!("{family} in memory: {binary}{pages}");
        draft.add_detail_text(DetailKind::Signature, &written, None);
    }
}

/// Adds the vulnerable package and the fixed version.
fn package(draft: &mut Draft, vulnerability: Node<'_>) {
    let name = |package: Node<'_>| package.at("packageName").str().map(str::to_owned);
    for package in vulnerability.at("offendingPackage").items() {
        let Some(name) = name(package).or_else(|| package.at("cpeUri").text()) else {
            continue;
        };
        let version = package.at("packageVersion").str().unwrap_or_default();
        draft.add_detail_text(DetailKind::Package, &format!("{name} {version}"), None);
    }
    for package in vulnerability.at("fixedPackage").items() {
        let about = name(package);
        draft.add_detail_about(
            DetailKind::FixedVersion,
            package.at("packageVersion"),
            about.as_deref(),
        );
    }
}

/// Adds the traffic that a firewall rule allows.
fn ip_rules(draft: &mut Draft, rules: Node<'_>) {
    let direction = match rules.at("direction").str() {
        Some("INGRESS") => "inbound",
        Some("EGRESS") => "outbound",
        _ => "",
    };
    draft.add_detail_text(DetailKind::Direction, direction, None);
    for (key, words) in [
        ("sourceIpRanges", "from "),
        ("destinationIpRanges", "to "),
        ("exposedServices", ""),
    ] {
        for text in rules.at(key).items().filter_map(Node::str) {
            draft.add_detail_text(DetailKind::Exposure, &format!("{words}{text}"), None);
        }
    }
    for key in ["allowed", "denied"] {
        for_each_descendant(rules.at(key), "ipRules", &mut |rule| {
            let protocol = rule.at("protocol").str().unwrap_or("any protocol");
            let ports: Vec<String> = rule.at("portRanges").items().filter_map(ports).collect();
            let ports = ports.join(", ");
            let written = format!("{key}: {protocol} {ports}");
            draft.add_detail_text(DetailKind::Exposure, &written, None);
        });
    }
}

fn ports(range: Node<'_>) -> Option<String> {
    let (min, max) = (range.at("min").text()?, range.at("max").text());
    Some(match max {
        Some(max) if max != min => format!("{min}-{max}"),
        _ => min,
    })
}

/// Adds the controls of a standard.
pub(super) fn controls(draft: &mut Draft, compliance: Node<'_>) {
    let standard = compliance.at("standard").str().unwrap_or_default();
    let version = compliance.at("version").text().unwrap_or_default();
    for id in compliance.at("ids").items().filter_map(Node::text) {
        let written = [standard, &version, &id];
        let written: Vec<&str> = written
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        draft.add_detail_text(DetailKind::Control, &written.join(" "), None);
    }
}
