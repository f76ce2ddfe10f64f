//! Shows the configuration without secrets. References to secrets are shown, their values never.

use nightshift_store::redact_password;
use reqwest::Url;
use toml::{Table, Value};

use super::LoadedConfig;

/// Keys whose values are secret anywhere.
const SECRET_KEYS: [&str; 10] = [
    "api_key",
    "key",
    "password",
    "routing_key",
    "secret",
    "signing_secret",
    "signing_secrets",
    "token",
    "tokens",
    "webhook_url",
];
const REDACTED: &str = "(not shown)";

impl LoadedConfig {
    /// Returns the effective configuration without secrets.
    pub(crate) fn redacted(&self) -> Table {
        let mut table = self.table.clone();
        for key in ["url", "notify_url"] {
            let url = table.get_mut("store").and_then(|store| store.get_mut(key));
            if let Some(Value::String(url)) = url {
                *url = redact_password(url);
            }
        }
        let headers = table
            .get_mut("traces")
            .and_then(|traces| traces.get_mut("headers"))
            .and_then(Value::as_table_mut);
        for (_, value) in headers.into_iter().flatten() {
            redact_value("secret", value);
        }
        let destinations = table.get_mut("destination").and_then(Value::as_array_mut);
        for destination in destinations.into_iter().flatten() {
            let is_webhook = destination.get("kind").and_then(Value::as_str) == Some("webhook");
            if let Some(Value::String(url)) = destination.get_mut("url").filter(|_| is_webhook) {
                *url = host_of(url);
            }
        }
        let tools = table.get_mut("tool").and_then(Value::as_array_mut);
        for tool in tools.into_iter().flatten() {
            let secrets = tool.get_mut("secrets").and_then(Value::as_table_mut);
            for (_, value) in secrets.into_iter().flatten() {
                redact_value("secret", value);
            }
        }
        for (key, value) in &mut table {
            redact_value(key, value);
        }
        table
    }
}

/// Shortens a receiver's address to its host, because path and query may grant access.
fn host_of(url: &str) -> String {
    let Ok(parsed) = Url::parse(url) else {
        return REDACTED.to_owned();
    };
    let host = parsed.origin().ascii_serialization();
    if url == host || url == format!("{host}/") {
        url.to_owned()
    } else {
        format!("{host}/{REDACTED}")
    }
}

fn redact_value(key: &str, value: &mut Value) {
    match value {
        Value::String(text) if SECRET_KEYS.contains(&key) => {
            let is_place = ["env:", "file:"].iter().any(|one| text.starts_with(one));
            if !text.is_empty() && !is_place {
                REDACTED.clone_into(text);
            }
        }
        Value::String(text) => {
            let url = Url::parse(text).ok();
            if let Some(mut url) = url.filter(|url| url.password().is_some())
                && url.set_password(None).is_ok()
            {
                *text = url.into();
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|one| redact_value(key, one)),
        Value::Table(table) => {
            for (key, inner) in table {
                redact_value(key, inner);
            }
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    /// Returns the properties of the schema, as `Definition.key`, that match.
    fn properties(is_wanted: impl Fn(&Json) -> bool) -> Vec<(String, Json)> {
        let schema: Json = serde_json::from_str(&crate::config::schema().unwrap()).unwrap();
        let mut found = Vec::new();
        let definitions = schema["definitions"].as_object().unwrap().iter();
        for (name, definition) in definitions.chain([(&"root".to_owned(), &schema)]) {
            collect(name, definition, &is_wanted, &mut found);
        }
        found
    }

    fn collect(
        name: &str,
        part: &Json,
        is_wanted: &impl Fn(&Json) -> bool,
        found: &mut Vec<(String, Json)>,
    ) {
        let own = part["properties"].as_object().into_iter().flatten();
        for (key, property) in own.filter(|(_, property)| is_wanted(property)) {
            found.push((format!("{name}.{key}"), property.clone()));
        }
        // The kinds of a table that is chosen by its `kind`.
        for kind in part["oneOf"].as_array().into_iter().flatten() {
            collect(name, kind, is_wanted, found);
        }
    }

    fn key(name: &str) -> &str {
        name.rsplit('.').next().unwrap()
    }

    #[test]
    fn every_field_of_the_type_for_secrets_is_concealed() {
        let of_secrets = properties(|one| one.to_string().contains("#/definitions/KeyRef"));
        assert!(of_secrets.len() >= 10, "{of_secrets:?}");
        let (maps, texts): (Vec<_>, Vec<_>) = of_secrets
            .into_iter()
            .partition(|(_, one)| one["additionalProperties"].is_object());
        for (name, _) in texts {
            let mut value = Value::Array(vec![Value::from("hunter2")]);
            redact_value(key(&name), &mut value);
            assert!(!value.to_string().contains("hunter2"), "{name} is shown");
        }
        let maps: Vec<String> = maps.into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            maps,
            ["DeclaredTool.secrets", "TracesConfig.headers"],
            "conceal those of this one too"
        );
    }

    #[test]
    fn secrets_of_declared_tools_are_concealed_whatever_their_names() {
        let mut loaded = LoadedConfig::defaults().unwrap();
        let table = "[[tool]]\nname = \"a\"\nkind = \"b\"\nsecrets = { user = \"hunter2\", other = \"env:B\" }";
        loaded.table = table.parse().unwrap();
        let shown = loaded.redacted().to_string();
        assert!(
            !shown.contains("hunter2") && shown.contains("env:B"),
            "{shown}"
        );
    }

    #[test]
    fn properties_that_accept_env_references_are_redacted() {
        let elsewhere = properties(|one| one.to_string().contains("`env:NAME`"));
        let shown: Vec<String> = elsewhere
            .into_iter()
            .map(|(name, _)| name)
            .filter(|name| !SECRET_KEYS.contains(&key(name)))
            .collect();
        // The password of an address is hidden. Inline `credentials` are refused.
        assert_eq!(
            shown,
            [
                "AnySourceConfig.url",
                "AnySourceConfig.credentials",
                "TracesConfig.headers"
            ]
        );
    }

    #[test]
    fn of_the_address_of_a_webhook_only_the_host_is_shown() {
        for (url, shown) in [
            (
                "https://soar.example.com/hooks/hunter2?key=hunter3",
                "https://soar.example.com/(not shown)",
            ),
            (
                "https://soar.example.com?key=hunter3",
                "https://soar.example.com/(not shown)",
            ),
            (
                "https://hunter2@soar.example.com:8443/",
                "https://soar.example.com:8443/(not shown)",
            ),
            ("https://soar.example.com/", "https://soar.example.com/"),
            ("soar.example.com/hunter2", "(not shown)"),
        ] {
            assert_eq!(host_of(url), shown);
        }
    }

    #[test]
    fn what_counts_is_shown_without_secrets() {
        let table = r#"
            [store]
            url = "postgres://ana:hunter2@h/d"
            [traces]
            headers = { authorization = "hunter2", other = "env:OTHER" }
            [[destination]]
            kind = "webhook"
            url = "https://soar.example.com/hooks?key=hunter2"
            secret = "hunter2"
            [[destination]]
            kind = "jira"
            url = "https://example.atlassian.net/x"
            [[model]]
            proxy = "http://ana:hunter2@127.0.0.1:3128"
        "#;
        let loaded = LoadedConfig {
            table: table.parse().unwrap(),
            ..LoadedConfig::defaults().unwrap()
        };
        let shown = loaded.redacted().to_string();
        assert!(!shown.contains("hunter2"), "{shown}");
        for kept in [
            "postgres://ana@h/d",
            "env:OTHER",
            "https://soar.example.com/(not shown)",
            "https://example.atlassian.net/x",
            "http://ana@127.0.0.1:3128",
        ] {
            assert!(shown.contains(kept), "{kept} is not in {shown}");
        }
    }
}
