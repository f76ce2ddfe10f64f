//! Reads the lists of a row that name the values which the row covers besides its subject.

use ipnet::IpNet;
use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::exoneration::{ListedValues, RecordExtent};

use crate::pattern::parse_networks;
use crate::register::RowFields;

/// Reads the lists, and the networks among `networks` and `addresses`.
///
/// # Errors
///
/// Returns the problem of a list. The row is then left out.
pub(super) fn parse_extent(
    fields: &RowFields<'_>,
) -> Result<(RecordExtent, Vec<IpNet>, Vec<IpNet>), String> {
    let names = |column| Ok::<_, String>(ListedValues::from_cell(parse_list(fields, column)?));
    let (networks, nets_of_networks) = parse_addresses(fields, "networks", false)?;
    let (targets, _) = parse_addresses(fields, "targets", true)?;
    let (addresses, nets_of_addresses) = parse_addresses(fields, "addresses", true)?;
    let extent = RecordExtent {
        keys: names("keys")?,
        persons: names("persons")?,
        networks,
        targets,
        addresses,
        calls: names("calls")?,
        processes: names("processes")?,
        hashes: canonicalise_hashes(names("hashes")?),
    };
    Ok((extent, nets_of_networks, nets_of_addresses))
}

/// Reads the values of a list. `any` must stand alone, and no other value may match everything.
fn parse_list(fields: &RowFields<'_>, column: &'static str) -> Result<Vec<String>, String> {
    let (values, name) = (fields.list(column), fields.column_name(column));
    let is_any = |value: &String| value.eq_ignore_ascii_case("any");
    if values.len() > 1 && values.iter().any(is_any) {
        return Err(format!(
            "`{name}` has `any` and other values: write `any` alone or only the others"
        ));
    }
    let means_all =
        |value: &&String| value.contains('*') && !value.chars().any(char::is_alphanumeric);
    match values.iter().find(means_all) {
        Some(value) => Err(format!("`{name}` has {value:?}: write `any`")),
        None => Ok(values),
    }
}

/// Reads addresses and networks in their canonical form, and names of hosts and resources where the column allows
/// them.
fn parse_addresses(
    fields: &RowFields<'_>,
    column: &'static str,
    may_name_others: bool,
) -> Result<(ListedValues, Vec<IpNet>), String> {
    let name = fields.column_name(column);
    let (mut written, mut found) = (Vec::new(), Vec::new());
    for text in parse_list(fields, column)? {
        let nets = parse_networks(&text)
            .map_err(|error| format!("`{name}`: {error}, or write `any` for all"))?;
        match nets {
            Some(nets) => {
                written.extend(nets.iter().map(format_network));
                found.extend(nets);
            }
            None if may_name_others || text.eq_ignore_ascii_case("any") => written.push(text),
            None => return Err(format!("`{name}` has {text:?}, no network")),
        }
    }
    Ok((ListedValues::from_cell(written), found))
}

fn format_network(net: &IpNet) -> String {
    match net.prefix_len() == net.max_prefix_len() {
        true => net.addr().to_string(),
        false => net.to_string(),
    }
}

fn canonicalise_hashes(listed: ListedValues) -> ListedValues {
    let ListedValues::These(values) = listed else {
        return listed;
    };
    let canonical =
        |text: String| match Indicator::parse(IndicatorKind::Hash, &text, IndicatorRole::Related) {
            Some(hash) => hash.value,
            None => text,
        };
    ListedValues::These(values.into_iter().map(canonical).collect())
}
