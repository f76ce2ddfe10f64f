//! Lists the pattern files that are compiled in.

pub(in crate::playbook) const FILES: [(&str, &str); 9] = [
    (
        "fragments.toml",
        include_str!("../../../patterns/fragments.toml"),
    ),
    (
        "credentials.toml",
        include_str!("../../../patterns/credentials.toml"),
    ),
    (
        "execution.toml",
        include_str!("../../../patterns/execution.toml"),
    ),
    (
        "persistence.toml",
        include_str!("../../../patterns/persistence.toml"),
    ),
    (
        "evasion.toml",
        include_str!("../../../patterns/evasion.toml"),
    ),
    (
        "movement.toml",
        include_str!("../../../patterns/movement.toml"),
    ),
    ("impact.toml", include_str!("../../../patterns/impact.toml")),
    (
        "identity.toml",
        include_str!("../../../patterns/identity.toml"),
    ),
    (
        "network.toml",
        include_str!("../../../patterns/network.toml"),
    ),
];
