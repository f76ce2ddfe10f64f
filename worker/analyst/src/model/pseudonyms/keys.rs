//! Keys by which values are told: `owner`, `source_host`, `TargetUserName`.

use super::values::Kind;

/// Ends of keys, in lower case without `_` and `-`, whose values are of a kind.
const KEYS: &[(&str, Kind)] = &[
    ("accountid", Kind::Account),
    ("account", Kind::Account),
    ("accountname", Kind::Account),
    ("project", Kind::Account),
    ("projectid", Kind::Account),
    ("projectname", Kind::Account),
    ("principal", Kind::Principal),
    ("principalid", Kind::Principal),
    ("user", Kind::Principal),
    ("username", Kind::Principal),
    ("userid", Kind::Principal),
    ("owner", Kind::Principal),
    ("approvedby", Kind::Principal),
    ("email", Kind::Principal),
    ("host", Kind::Host),
    ("hostname", Kind::Host),
    ("instance", Kind::Host),
    ("instanceid", Kind::Host),
    ("instancename", Kind::Host),
    ("computer", Kind::Host),
    ("computername", Kind::Host),
];

/// Keys that are told whole: a threat actor is one of the outside world.
const WHOLE: &[(&str, Kind)] = &[("actor", Kind::Principal)];

/// Ends of this length are told though no word begins with them: `targetusername`, but not `ghost`.
const LONG: usize = 8;

/// Keys of what an object is called that stands below a key.
const CALLED: [&str; 4] = ["name", "id", "uid", "displayname"];

/// The kind of what stands under a key.
pub(super) fn kind_of(key: &str) -> Option<Kind> {
    let (plain, begins) = plain(key);
    let ends = |name: &str| {
        let front = plain.strip_suffix(name).map(str::len);
        front.is_some_and(|front| name.len() >= LONG || begins.contains(&front))
    };
    let by_end = KEYS.iter().find(|(name, _)| ends(name));
    let found = by_end.or_else(|| WHOLE.iter().find(|(name, _)| *name == plain));
    found.map(|(_, kind)| *kind)
}

/// Whether what stands under this key is what its object is called.
pub(super) fn is_called(key: &str) -> bool {
    CALLED.contains(&plain(key).0.as_str())
}

/// A key in lower case and without what stands between its words, and where each of them begins.
fn plain(key: &str) -> (String, Vec<usize>) {
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
                Some(Kind::Host),
                "host source_host destHost hostname dvchostname computer_name k8s.host instance-id",
            ),
            (
                Some(Kind::Principal),
                "user userID target_user_name TargetUserName targetusername actor run_as_user",
            ),
            (
                Some(Kind::Account),
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
