//! Builds the declared tools of a configuration.

use std::sync::Arc;

use nightshift_engine::key::KeyRef;
use url::Url;

use super::catalogue::Catalogue;
use super::egress::{Endpoint, system_lookup};
use super::indicator_lookup::IndicatorLookup;
use super::lookup::DeclaredTool;
use super::manifest::{API_KEY, LimitsTable, Manifest};
use super::transport::{Credentials, Transport};
use crate::config::ToolConfigError;
use crate::declared_config::{DeclaredToolConfig, INDICATOR_LOOKUP, KeyResolver, ToolSettings};
use crate::tool::Tool;

/// Builds the tools of these tables, in their order.
///
/// # Errors
///
/// Fails for unknown kinds, missing keys and values that are not allowed.
pub(crate) fn build_declared(
    configs: &[DeclaredToolConfig],
    settings: &ToolSettings,
    keys: KeyResolver<'_>,
) -> Result<Vec<Box<dyn Tool>>, ToolConfigError> {
    if configs.is_empty() && settings.folder().is_none() {
        return Ok(Vec::new());
    }
    let catalogue = Catalogue::load(settings.folder())?;
    let never_send: Arc<[String]> = settings.never_send.clone().into();
    let mut declared: Vec<Arc<DeclaredTool>> = Vec::new();
    for config in configs.iter().filter(|one| one.kind != INDICATOR_LOOKUP) {
        declared.push(Arc::new(build_tool(
            config,
            &catalogue,
            settings,
            &never_send,
            keys,
        )?));
    }
    let mut tools: Vec<Box<dyn Tool>> = Vec::new();
    let mut built = declared.iter();
    for config in configs {
        if config.kind == INDICATOR_LOOKUP {
            tools.push(Box::new(IndicatorLookup::new(config, &declared)?));
        } else if let Some(tool) = built.next() {
            tools.push(Box::new(Arc::clone(tool)));
        }
    }
    Ok(tools)
}

pub(super) fn build_tool(
    config: &DeclaredToolConfig,
    catalogue: &Catalogue,
    settings: &ToolSettings,
    never_send: &Arc<[String]>,
    keys: KeyResolver<'_>,
) -> Result<DeclaredTool, ToolConfigError> {
    let manifest = catalogue
        .get(&config.kind)
        .ok_or_else(|| ToolConfigError::UnknownKind {
            name: config.name.clone(),
            kind: config.kind.clone(),
            known: crate::config::known_kinds(catalogue.iter().map(Manifest::name)),
        })?;
    if !config.tools.is_empty() {
        return Err(config.invalid("tools", "is for the kind indicator_lookup: leave it out"));
    }
    let endpoint = match &config.base_url {
        Some(base_url) => Endpoint::configured(base_url, config.allow_private)
            .map_err(|problem| config.invalid("base_url", problem))?,
        None if config.allow_private => {
            return Err(config.invalid(
                "allow_private",
                "is about `base_url`: give the address that may be private",
            ));
        }
        None => {
            Endpoint::public(manifest.host()).map_err(|problem| config.invalid("kind", problem))?
        }
    };
    let proxy = Url::parse(&settings.proxy).ok();
    let limits = limits(manifest, config);
    let transport = Transport::new(
        manifest.title.clone(),
        endpoint,
        proxy,
        system_lookup(),
        limits.max_bytes,
    );
    let credentials = credentials(manifest, config, keys)?;
    Ok(DeclaredTool::new(
        &config.name,
        Arc::clone(manifest),
        &limits,
        transport,
        credentials,
        Arc::clone(never_send),
    ))
}

/// Returns the limits of the file with those that the configuration changes.
fn limits(manifest: &Manifest, config: &DeclaredToolConfig) -> LimitsTable {
    let changed = |own: Option<u32>, file: Option<u32>| match own {
        Some(0) => None,
        own => own.or(file),
    };
    let limits = manifest.limits();
    LimitsTable {
        per_minute: changed(config.per_minute, limits.per_minute),
        per_day: changed(config.per_day, limits.per_day),
        cache_secs: config.cache_secs.unwrap_or(limits.cache_secs),
        ..limits
    }
}

fn credentials(
    manifest: &Manifest,
    config: &DeclaredToolConfig,
    keys: KeyResolver<'_>,
) -> Result<Option<Credentials>, ToolConfigError> {
    let wanted = manifest.secrets();
    let unknown = config
        .secrets
        .keys()
        .find(|name| !wanted.contains(&name.as_str()));
    if let Some(unknown) = unknown {
        let problem = format!("{unknown:?} is no secret of {}", manifest.name());
        return Err(config.invalid("secrets", problem));
    }
    if config.api_key.is_some() && !wanted.contains(&API_KEY) {
        let problem = format!("{} has no such secret: leave it out", manifest.title);
        return Err(config.invalid("api_key", problem));
    }
    let Some(auth) = manifest.auth.as_ref().map(toml::Spanned::get_ref) else {
        return Ok(None);
    };
    let source = |name: &str| {
        let reference: Option<&KeyRef> = config.secret(name);
        reference.map(keys).ok_or_else(|| {
            let variable = format!("{}_{name}", manifest.name()).to_uppercase();
            match name {
                API_KEY => config.invalid(
                    "api_key",
                    format!("is missing: write api_key = \"env:{variable}\""),
                ),
                _ => config.invalid(
                    "secrets",
                    format!("{name} is missing: write secrets = {{ {name} = \"env:{variable}\" }}"),
                ),
            }
        })
    };
    Ok(Some(Credentials {
        secret: source(auth.secret())?,
        user: auth.user.as_deref().map(source).transpose()?,
        auth: auth.clone(),
    }))
}
