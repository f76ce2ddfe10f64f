//! Declares the configuration of a destination that opens tickets or pages people, with the keys that all of these
//! share.

/// Declares such a configuration. Its own keys follow the name.
macro_rules! ticket_config {
    ($(#[$about:meta])* $name:ident { $($(#[$key_about:meta])* $key:ident: $of:ty,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Its name; routes use it.
            pub name: String,
            $($(#[$key_about])* pub $key: $of,)*
            /// Verdicts that open a ticket. The default is `true_positive`, and `inconclusive` from High up.
            #[serde(default)]
            #[schemars(with = "Option<Vec<String>>")]
            pub verdicts: Option<Vec<nightshift_engine::conclusion::Verdict>>,
            /// Least assessed severity that opens a ticket with any verdict.
            #[serde(default)]
            pub severity_at_least: Option<nightshift_alert::Severity>,
            /// Language of Nightshift's own words.
            #[serde(default)]
            pub language: nightshift_render::Language,
            /// Allows plain http to another machine.
            #[serde(default)]
            pub allow_private: bool,
            /// PEM file of authorities that are trusted beside those of the system.
            #[serde(default)]
            pub ca_file: Option<std::path::PathBuf>,
            /// URL of a proxy. Without it `HTTPS_PROXY` and similar environment variables apply; `none` disables
            /// proxies.
            #[serde(default)]
            pub proxy: Option<String>,
            /// The links that reports contain. They are no key here: `[web]` has the address of the pages.
            #[serde(skip)]
            pub links: nightshift_render::Links,
        }

        impl $name {
            pub(super) fn access(&self) -> $crate::http::HttpOptions {
                $crate::http::HttpOptions {
                    allow_private: self.allow_private,
                    ca_file: self.ca_file.clone(),
                    proxy: self.proxy.clone(),
                }
            }

            pub(super) fn policy(&self) -> $crate::policy::TicketPolicy {
                $crate::policy::TicketPolicy {
                    verdicts: self.verdicts.clone(),
                    severity_at_least: self.severity_at_least,
                }
            }
        }
    };
}
pub(super) use ticket_config;
