//! Lists keys that name the kind of their value: `owner`, `source_host`, `TargetUserName`.

use super::values::PseudonymKind;

/// Endings of keys, in lower case without `_` and `-`, with the kind of their values.
const KEYS: &[(&str, PseudonymKind)] = &[
    ("accountid", PseudonymKind::Account),
    ("account", PseudonymKind::Account),
    ("accountname", PseudonymKind::Account),
    ("project", PseudonymKind::Account),
    ("projectid", PseudonymKind::Account),
    ("projectname", PseudonymKind::Account),
    ("principal", PseudonymKind::Principal),
    ("principalid", PseudonymKind::Principal),
    ("user", PseudonymKind::Principal),
    ("username", PseudonymKind::Principal),
    ("userid", PseudonymKind::Principal),
    ("owner", PseudonymKind::Principal),
    ("approvedby", PseudonymKind::Principal),
    ("email", PseudonymKind::Principal),
    ("host", PseudonymKind::Host),
    ("hostname", PseudonymKind::Host),
    ("instance", PseudonymKind::Host),
    ("instanceid", PseudonymKind::Host),
    ("instancename", PseudonymKind::Host),
    ("computer", PseudonymKind::Host),
    ("computername", PseudonymKind::Host),
];

/// Keys that must match as a whole: a threat actor does not belong to the organisation.
const WHOLE_KEYS: &[(&str, PseudonymKind)] = &[("actor", PseudonymKind::Principal)];

/// Length from which an ending counts even inside a word: `targetusername`, but not `ghost`.
const MIN_SUFFIX_LENGTH: usize = 8;

/// Keys of an object's name below another key.
const NAME_KEYS: [&str; 4] = ["name", "id", "uid", "displayname"];

/// Returns the kind of the value under a key.
pub(super) fn kind_of(key: &str) -> Option<PseudonymKind> {
    let (plain, begins) = normalised_key(key);
    let ends = |name: &str| {
        let front = plain.strip_suffix(name).map(str::len);
        front.is_some_and(|front| name.len() >= MIN_SUFFIX_LENGTH || begins.contains(&front))
    };
    let by_end = KEYS.iter().find(|(name, _)| ends(name));
    let found = by_end.or_else(|| WHOLE_KEYS.iter().find(|(name, _)| *name == plain));
    found.map(|(_, kind)| *kind)
}

/// Returns whether the value under this key is the name of its object.
pub(super) fn is_name_key(key: &str) -> bool {
    NAME_KEYS.contains(&normalised_key(key).0.as_str())
}

/// Returns a key in lower case without separators, and the starts of its words.
fn normalised_key(key: &str) -> (String, Vec<usize>) {
    let (mut plain, mut begins) = (String::with_capacity(key.len()), Vec::new());
    let mut previous = ' ';
    for c in key.chars() {
        if c.is_ascii_alphanumeric() {
            let is_hump = c.is_ascii_uppercase() && previous.is_ascii_lowercase();
            if is_hump || !previous.is_ascii_alphanumeric() {
                begins.push(plain.len());
            }
            plain.push(c.to_ascii_lowercase());
        }
        previous = c;
    }
    (plain, begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_tell_by_the_words_at_their_end() {
        for (kind, keys) in [
            (
                Some(PseudonymKind::Host),
                "host source_host destHost hostname dvchostname computer_name k8s.host instance-id",
            ),
            (
                Some(PseudonymKind::Principal),
                "user userID target_user_name TargetUserName targetusername actor run_as_user",
            ),
            (
                Some(PseudonymKind::Account),
                "project_name AWSAccountId accountId service_account",
            ),
            (
                None,
                "ghost threat_actor user_agent host_ip name id hosting superuser users",
            ),
        ] {
            for key in keys.split(' ') {
                assert_eq!(kind_of(key), kind, "{key}");
            }
        }
    }
}
