//! Reads VPC flow log records as text.
//!
//! The fields are in <https://docs.aws.amazon.com/vpc/latest/userguide/flow-log-records.html>. Without a header line
//! the fields are those of version 2. A record is about an interface, so a search by instance needs `instance-id` in
//! the header.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::log_record::{LogRecord, canonical_address};

/// The default fields, version 2.
const VERSION_2_FIELDS: [&str; 14] = [
    "version",
    "account-id",
    "interface-id",
    "srcaddr",
    "dstaddr",
    "srcport",
    "dstport",
    "protocol",
    "packets",
    "bytes",
    "start",
    "end",
    "action",
    "log-status",
];

/// The position of each field in a file.
#[derive(Debug)]
pub(super) struct FlowLogLayout {
    names: Vec<String>,
}

impl Default for FlowLogLayout {
    fn default() -> Self {
        Self {
            names: VERSION_2_FIELDS
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
        }
    }
}

impl FlowLogLayout {
    /// Parses a header line; returns `None` when the line is a record.
    pub(super) fn from_header(line: &str) -> Option<Self> {
        let names: Vec<String> = line
            .split_whitespace()
            .map(|name| {
                let plain = name.trim_matches(['$', '{', '}']);
                plain.to_ascii_lowercase().replace('_', "-")
            })
            .collect();
        let known = ["srcaddr", "pkt-srcaddr", "interface-id", "dstaddr"];
        names
            .iter()
            .any(|name| known.contains(&name.as_str()))
            .then_some(Self { names })
    }

    pub(super) fn has_field(&self, name: &str) -> bool {
        self.names.iter().any(|have| have == name)
    }

    /// Parses a record.
    pub(super) fn parse_record(&self, line: &str) -> Option<LogRecord> {
        let mut cells: Vec<&str> = line.split_whitespace().collect();
        // Exports from CloudWatch put their own timestamp before the record.
        if cells.len() == self.names.len() + 1
            && cells
                .first()
                .is_some_and(|cell| DateTime::parse_from_rfc3339(cell).is_ok())
        {
            cells.remove(0);
        }
        if cells.len() != self.names.len() {
            return None;
        }
        let cell = |name: &str| {
            let at = self.names.iter().position(|have| have == name)?;
            cells.get(at).copied().filter(|text| *text != "-")
        };
        let number = |name: &str| cell(name).and_then(|text| text.parse::<u64>().ok());
        let start = number("start").or_else(|| number("end"))?;
        let action = cell("action").map(str::to_owned);
        let via = intermediate_addresses(cell);
        let mut entry = LogRecord {
            at: from_unix_secs(start),
            until: number("end").and_then(from_unix_secs),
            reports_gap: cell("log-status") == Some("SKIPDATA"),
            is_failure: action.as_deref() == Some("REJECT"),
            action,
            source_ip: cell("pkt-srcaddr")
                .or_else(|| cell("srcaddr"))
                .map(str::to_owned),
            destination_ip: cell("pkt-dstaddr")
                .or_else(|| cell("dstaddr"))
                .map(str::to_owned),
            bytes: number("bytes"),
            ..LogRecord::default()
        };
        let instance = cell("instance-id").map(str::to_owned);
        entry.mentions.extend(instance);
        entry.set_column("until", serde_json::json!(entry.until));
        entry.set_column("source_port", number("srcport"));
        entry.set_column("destination_ip", entry.destination_ip.clone());
        entry.set_column("destination_port", number("dstport"));
        entry.set_column("protocol", number("protocol").map(protocol));
        entry.set_column("packets", number("packets"));
        entry.set_column("bytes", entry.bytes);
        entry.set_column("interface", cell("interface-id"));
        entry.set_column("account", cell("account-id"));
        entry.set_column("outcome", outcome(entry.action.as_deref()));
        if self.has_field("pkt-srcaddr") || self.has_field("pkt-dstaddr") {
            entry.set_column("via", (!via.is_empty()).then(|| via.join(", ")));
        }
        entry.mentions.extend(via);
        if self.has_field("instance-id") {
            entry.set_column("instance", cell("instance-id"));
        }
        if self.has_field("flow-direction") {
            entry.set_column("direction", cell("flow-direction"));
        }
        Some(entry)
    }
}

fn from_unix_secs(secs: u64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(i64::try_from(secs).ok()?, 0)
}

fn outcome(action: Option<&str>) -> Value {
    match action {
        Some("ACCEPT") => Value::from("accepted"),
        Some("REJECT") => Value::from("rejected"),
        // NODATA means that there was no traffic, SKIPDATA that some was not recorded.
        _ => Value::Null,
    }
}

/// Returns the addresses of interfaces on the way, of a NAT gateway or a pod's host, where the packet names other
/// ends.
fn intermediate_addresses<'a>(cell: impl Fn(&str) -> Option<&'a str>) -> Vec<String> {
    let passed = |inner: &str, outer: &str| {
        let (packet, interface) = (
            canonical_address(cell(inner)?)?,
            canonical_address(cell(outer)?)?,
        );
        (packet != interface).then_some(interface)
    };
    [("pkt-srcaddr", "srcaddr"), ("pkt-dstaddr", "dstaddr")]
        .into_iter()
        .filter_map(|(inner, outer)| passed(inner, outer))
        .collect()
}

/// Returns the name of a protocol, <https://www.iana.org/assignments/protocol-numbers>.
fn protocol(number: u64) -> String {
    match number {
        1 => "icmp".to_owned(),
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        58 => "icmpv6".to_owned(),
        other => other.to_string(),
    }
}
