//! Describes network events: probes, logins, DNS queries, connections.

use std::net::IpAddr;

use super::entity::{actor, affected_object, join_names, origin, short_line, values_in_role};
use super::{Clause, is_success};
use crate::{Alert, DetailKind, IndicatorKind, IndicatorRole, Outcome};

/// Purposes of traffic by words in the type of a finding. The first match counts.
///
/// <https://docs.aws.amazon.com/guardduty/latest/ug/guardduty_finding-types-active.html>
const PURPOSES: [(&str, &str); 27] = [
    ("sshbruteforce", "SSH password guessing"),
    ("rdpbruteforce", "RDP password guessing"),
    ("winrmbruteforce", "WinRM password guessing"),
    ("bruteforce", "password guessing"),
    ("brute force", "password guessing"),
    ("portsweep", "a port sweep"),
    ("portscan", "a port scan"),
    ("denialofservice", "a denial of service"),
    ("spambot", "sending spam"),
    ("c&cactivity", "command and control"),
    ("cryptocurrency", "coin mining"),
    ("droppoint", "a drop point for stolen data"),
    ("blackholetraffic", "traffic to a host that is no more"),
    ("dgadomain", "domains made by an algorithm"),
    ("dnsdataexfiltration", "data sent out by DNS"),
    ("phishingdomain", "phishing"),
    ("drivebysource", "a drive-by download"),
    ("metadatadnsrebind", "DNS rebinding to the metadata service"),
    ("torrelay", "a Tor relay"),
    ("torclient", "a Tor client"),
    ("toripcaller", "a caller from Tor"),
    ("maliciousipcaller", "an address known as malicious"),
    ("maliciousdomain", "a domain known as malicious"),
    ("abuseddomain", "a domain known to be abused"),
    ("trafficvolumeunusual", "an unusual volume of traffic"),
    ("networkportunusual", "an unusual port"),
    (
        "credentialexfiltration",
        "credentials of an instance used elsewhere",
    ),
];

/// Returns the purpose of the traffic by the finding's type.
pub(super) fn purpose(alert: &Alert) -> Option<&'static str> {
    let kind = alert.kind.to_ascii_lowercase();
    let found = PURPOSES.iter().find(|(word, _)| kind.contains(word));
    found.map(|(_, purpose)| *purpose)
}

fn is_action(alert: &Alert, word: &str) -> bool {
    let action = alert.action.as_deref().unwrap_or_default();
    action.to_ascii_uppercase().starts_with(word)
}

/// Describes a probe of a port, or of a service without a login.
pub(super) fn describe_probe(alert: &Alert) -> Option<String> {
    let is_probe = is_action(alert, "PORT_PROBE");
    if !is_probe && alert.outcome != Some(Outcome::NotAttempted) {
        return None;
    }
    let (who, place) = (actor(alert)?, affected_object(alert)?);
    let blocked = match alert.outcome {
        Some(Outcome::Blocked) => " and was blocked",
        _ => "",
    };
    Some(match is_probe {
        true => format!(
            "{who} probed {}{place}{blocked}",
            port_prefix(alert, DetailKind::LocalPort)
        ),
        false => format!("{who} probed {place}; no login was attempted"),
    })
}

/// Describes logins, each with its own result where the alert has one.
pub(super) fn describe_login(alert: &Alert) -> Option<String> {
    let result = |got_in: bool| -> Vec<&str> {
        let all = alert.details.iter();
        all.filter(|one| one.kind == DetailKind::AuthResult && is_success(&one.value) == got_in)
            .filter_map(|one| one.about.as_deref())
            .collect()
    };
    let (inside, mut outside) = (result(true), result(false));
    outside.retain(|one| !inside.contains(one));
    let place = affected_object(alert)?;
    let tried = |count: &str| format!("tried to log in to {place} and failed{count}");
    let got_in = || format!("{} logged in to {place}", login_actors(alert, &inside));
    let kept_out = || login_actors(alert, &outside);
    match (inside.is_empty(), outside.is_empty()) {
        (false, true) => return Some(got_in()),
        (false, false) => {
            return Some(format!(
                "{}; {} tried and failed",
                got_in(),
                join_names(&outside)
            ));
        }
        (true, false) => return Some(format!("{} {}", kept_out(), tried(&attempts_suffix(alert)))),
        (true, true) => {}
    }
    if !is_action(alert, "RDS_LOGIN_ATTEMPT") {
        return None;
    }
    let who = format!("{}{}", actor(alert)?, origin(alert));
    let succeeded = alert.outcome == Some(Outcome::Succeeded) || alert.kind.contains(".Successful");
    Some(match alert.outcome {
        _ if succeeded => format!("{who} logged in to {place}"),
        Some(Outcome::Failed | Outcome::Denied) => {
            format!("{who} {}", tried(&attempts_suffix(alert)))
        }
        _ => format!("{who} tried to log in to {place}{}", attempts_suffix(alert)),
    })
}

/// Returns who logged in or tried to: addresses with the users of their results, else with the one identity that
/// acted.
fn login_actors(alert: &Alert, results: &[&str]) -> String {
    let (mut addresses, mut users): (Vec<&str>, Vec<&str>) = results
        .iter()
        .partition(|one| one.parse::<IpAddr>().is_ok());
    addresses.dedup();
    users.sort_unstable();
    users.dedup();
    match (addresses.is_empty(), users.is_empty()) {
        (true, _) => join_names(&users),
        (false, true) => format!("{}{}", join_names(&addresses), user_suffix(alert)),
        (false, false) => format!("{} as {}", join_names(&addresses), join_names(&users)),
    }
}

/// Returns ` as admin`, where exactly one identity acted.
fn user_suffix(alert: &Alert) -> String {
    match values_in_role(alert, IndicatorRole::Actor, IndicatorKind::Principal).as_slice() {
        [user] => format!(" as {}", short_line(user)),
        _ => String::new(),
    }
}

/// Returns `, 240 attempts`, where the alert has exactly one number.
fn attempts_suffix(alert: &Alert) -> String {
    let counts: Vec<&str> = alert.details_of(DetailKind::EventCount).collect();
    match counts.as_slice() {
        [count] if *count != "1" => format!(", {} attempts", short_line(count)),
        _ => String::new(),
    }
}

/// Describes a DNS query.
pub(super) fn describe_dns_query(alert: &Alert) -> Option<String> {
    let domains = values_in_role(alert, IndicatorRole::Remote, IndicatorKind::Domain);
    if domains.is_empty() || !(is_action(alert, "DNS_REQUEST") || is_action(alert, "DNS ACTIVITY"))
    {
        return None;
    }
    let domains = join_names(&domains);
    let clause = Clause {
        subject: affected_object(alert)
            .map(|place| format!("{place}{}", user_suffix(alert)))
            .or_else(|| actor(alert))?,
        past: format!("looked up the domain {domains}"),
        infinitive: format!("look up the domain {domains}"),
    };
    Some(clause.with_outcome(alert))
}

/// Describes a connection in the direction that the feed reports.
pub(super) fn describe_connection(alert: &Alert) -> Option<String> {
    let told = alert.details_of(DetailKind::Direction).next();
    let told = told
        .or(alert.action.as_deref())
        .unwrap_or_default()
        .to_ascii_lowercase();
    let is_connection = is_action(alert, "NETWORK_CONNECTION") || !told.contains('_');
    let (has_in, has_out) = (told.contains("inbound"), told.contains("outbound"));
    if !is_connection {
        return None;
    }
    let place = affected_object(alert)?;
    let far = Some(far_ends(alert)).filter(|all| !all.is_empty());
    let sources = values_in_role(alert, IndicatorRole::Actor, IndicatorKind::Ip);
    let clause = match far {
        Some(far) if has_out || !has_in && is_action(alert, "NETWORK_CONNECTION") => {
            let to = format!(
                "to {}{}",
                port_prefix(alert, DetailKind::RemotePort),
                join_names(&far)
            );
            Clause {
                subject: format!("{place}{}", user_suffix(alert)),
                past: format!("connected {to}"),
                infinitive: format!("connect {to}"),
            }
        }
        _ if !sources.is_empty() && (has_in || is_action(alert, "NETWORK_CONNECTION")) => {
            let to = format!("to {}{place}", port_prefix(alert, DetailKind::LocalPort));
            Clause {
                subject: format!("{}{}", join_names(&sources), user_suffix(alert)),
                past: format!("connected {to}"),
                infinitive: format!("connect {to}"),
            }
        }
        _ => return None,
    };
    Some(clause.with_outcome(alert))
}

/// Returns the far ends of the resource's connections, by address, else by name.
pub(super) fn far_ends(alert: &Alert) -> Vec<&str> {
    [IndicatorKind::Ip, IndicatorKind::Domain, IndicatorKind::Url]
        .map(|kind| values_in_role(alert, IndicatorRole::Remote, kind))
        .into_iter()
        .find(|all| !all.is_empty())
        .unwrap_or_default()
}

/// Returns `port 22 of `, where the alert has exactly one port.
fn port_prefix(alert: &Alert, kind: DetailKind) -> String {
    let mut ports: Vec<&str> = alert.details_of(kind).collect();
    ports.dedup();
    match ports.as_slice() {
        [] => String::new(),
        [port] => format!("port {} of ", short_line(port)),
        ports => format!("ports {} of ", join_names(ports)),
    }
}
