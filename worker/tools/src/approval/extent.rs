//! The lists of a row that say what the row covers beside its subject.

use ipnet::IpNet;
use nightshift_alert::{Indicator, IndicatorKind, Role};
use nightshift_engine::exoneration::{Extent, Listed};

use crate::pattern::networks;
use crate::register::Fields;

/// Reads the lists, and the networks among `networks` and `addresses`.
///
/// # Errors
///
/// Says what is wrong with a list. The row is then left out.
pub(super) fn read(fields: &Fields<'_>) -> Result<(Extent, Vec<IpNet>, Vec<IpNet>), String> {
    let names = |column| Ok::<_, String>(Listed::of(list(fields, column)?));
    let (networks, nets_of_networks) = addresses(fields, "networks", false)?;
    let (targets, _) = addresses(fields, "targets", true)?;
    let (addresses, nets_of_addresses) = addresses(fields, "addresses", true)?;
    let extent = Extent {
        keys: names("keys")?,
        persons: names("persons")?,
        networks,
        targets,
        addresses,
        calls: names("calls")?,
        processes: names("processes")?,
        hashes: hashes(names("hashes")?),
    };
    Ok((extent, nets_of_networks, nets_of_addresses))
}

/// Reads the values of a list. `any` must stand alone, and no other value may match everything.
fn list(fields: &Fields<'_>, column: &'static str) -> Result<Vec<String>, String> {
    let (values, name) = (fields.list(column), fields.name_of(column));
    let is_any = |value: &String| value.eq_ignore_ascii_case("any");
    if values.len() > 1 && values.iter().any(is_any) {
        return Err(format!(
            "`{name}` has `any` beside others: write one or the others"
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
fn addresses(
    fields: &Fields<'_>,
    column: &'static str,
    may_name_others: bool,
) -> Result<(Listed, Vec<IpNet>), String> {
    let name = fields.name_of(column);
    let (mut written, mut found) = (Vec::new(), Vec::new());
    for text in list(fields, column)? {
        let nets = networks(&text)
            .map_err(|error| format!("`{name}`: {error}, or write `any` for all"))?;
        match nets {
            Some(nets) => {
                written.extend(nets.iter().map(spelled));
                found.extend(nets);
            }
            None if may_name_others || text.eq_ignore_ascii_case("any") => written.push(text),
            None => return Err(format!("`{name}` has {text:?}, no network")),
        }
    }
    Ok((Listed::of(written), found))
}

fn spelled(net: &IpNet) -> String {
    match net.prefix_len() == net.max_prefix_len() {
        true => net.addr().to_string(),
        false => net.to_string(),
    }
}

fn hashes(listed: Listed) -> Listed {
    let Listed::These(values) = listed else {
        return listed;
    };
    let canonical = |text: String| match Indicator::parse(IndicatorKind::Hash, &text, Role::Related)
    {
        Some(hash) => hash.value,
        None => text,
    };
    Listed::These(values.into_iter().map(canonical).collect())
}
