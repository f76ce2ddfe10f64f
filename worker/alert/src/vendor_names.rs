//! Tests names in vendors' documentation: finding types, categories, controls, resource types, classes and fields.
//!
//! Each file of `tests/fixtures/types/` names its source in the lines that begin with `#`.

macro_rules! file {
    ($name:literal) => {
        include_str!(concat!("../../../tests/fixtures/types/", $name))
    };
}

/// Names of fields and of enumerated values in findings of AWS.
pub(crate) const AWS_FIELDS: &str = file!("aws-fields.txt");
/// Resource types of the AWS Security Finding Format.
pub(crate) const ASFF_RESOURCE_TYPES: &str = file!("asff-resource-types.txt");
/// Finding types of GuardDuty.
pub(crate) const GUARDDUTY_TYPES: &str = file!("guardduty.txt");
/// Ids and names of OCSF's finding classes.
pub(crate) const OCSF_CLASSES: &str = file!("ocsf-classes.txt");
/// Classes and categories of Security Command Center.
pub(crate) const SCC_CATEGORIES: &str = file!("scc-categories.txt");
/// Names of fields and of enumerated values in messages of Security Command Center.
pub(crate) const SCC_FIELDS: &str = file!("scc-fields.txt");
/// Control ids of Security Hub.
pub(crate) const SECURITY_HUB_CONTROLS: &str = file!("security-hub-controls.txt");

/// Returns the names of a file.
pub(crate) fn names(file: &'static str) -> impl Iterator<Item = &'static str> {
    file.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the columns of a file that has two.
pub(crate) fn pairs(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    names(file).filter_map(|line| line.split_once('\t'))
}

/// Returns `local_port` as `localPort`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}
