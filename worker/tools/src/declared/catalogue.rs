//! Holds the declared tools that can be configured: the shipped files and those of the user's folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::check::ManifestError;
use super::manifest::Manifest;

/// The shipped files.
const SHIPPED: [(&str, &str); 8] = [
    (
        "abuseipdb.toml",
        include_str!("../../catalogue/abuseipdb.toml"),
    ),
    (
        "greynoise.toml",
        include_str!("../../catalogue/greynoise.toml"),
    ),
    (
        "malwarebazaar.toml",
        include_str!("../../catalogue/malwarebazaar.toml"),
    ),
    ("otx.toml", include_str!("../../catalogue/otx.toml")),
    (
        "shodan_internetdb.toml",
        include_str!("../../catalogue/shodan_internetdb.toml"),
    ),
    (
        "threatfox.toml",
        include_str!("../../catalogue/threatfox.toml"),
    ),
    ("urlhaus.toml", include_str!("../../catalogue/urlhaus.toml")),
    (
        "virustotal.toml",
        include_str!("../../catalogue/virustotal.toml"),
    ),
];

/// Largest file of a declared tool.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The declared tools by name.
#[derive(Debug, Clone)]
pub struct Catalogue {
    tools: BTreeMap<String, CatalogueEntry>,
}

#[derive(Debug, Clone)]
struct CatalogueEntry {
    manifest: Arc<Manifest>,
    file: Option<PathBuf>,
}

/// The catalogue cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The folder or a file in it cannot be read.
    #[error("[tools] dir: cannot read {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// A file has mistakes.
    #[error(transparent)]
    Invalid(#[from] ManifestError),
    /// Two files declare one tool, or a file takes the name of a tool that is compiled in.
    #[error("{}: the name {name:?} is taken: give the tool another one", path.display())]
    NameTaken { path: PathBuf, name: String },
}

impl Catalogue {
    /// Loads the shipped files, and those of a folder, which replace shipped ones of the same name.
    ///
    /// # Errors
    ///
    /// Fails if the folder or a file cannot be read, or a file has mistakes.
    pub fn load(folder: Option<&Path>) -> Result<Self, CatalogueError> {
        let mut tools = BTreeMap::new();
        for (file, text) in SHIPPED {
            let manifest = Arc::new(Manifest::parse(file, text)?);
            let name = manifest.name().to_owned();
            tools.insert(
                name,
                CatalogueEntry {
                    manifest,
                    file: None,
                },
            );
        }
        let files = folder.map(toml_files).transpose()?.unwrap_or_default();
        for path in files {
            let manifest = Arc::new(read_file(&path)?);
            let name = manifest.name().to_owned();
            let is_user = |entry: &CatalogueEntry| entry.file.is_some();
            if tools.get(&name).is_some_and(is_user) || crate::config::is_built_in(&name) {
                return Err(CatalogueError::NameTaken { path, name });
            }
            let file = Some(path);
            tools.insert(name, CatalogueEntry { manifest, file });
        }
        Ok(Self { tools })
    }

    /// Returns a declared tool by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Manifest>> {
        self.tools.get(name).map(|entry| &entry.manifest)
    }

    /// Returns all declared tools, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Manifest> {
        self.tools.values().map(|entry| entry.manifest.as_ref())
    }

    /// Returns the file of a user's tool, or `None` for a shipped one.
    #[must_use]
    pub fn file_of(&self, name: &str) -> Option<&Path> {
        self.tools.get(name)?.file.as_deref()
    }
}

/// Reads and checks one file.
///
/// # Errors
///
/// Fails if the file cannot be read or has mistakes.
pub(super) fn read_file(path: &Path) -> Result<Manifest, CatalogueError> {
    let unreadable = |source| CatalogueError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_FILE_BYTES {
        let source = std::io::Error::other(format!("it has more than {MAX_FILE_BYTES} bytes"));
        return Err(unreadable(source));
    }
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    Ok(Manifest::parse(&path.display().to_string(), &text)?)
}

impl Manifest {
    /// Reads and checks one file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or has mistakes.
    pub fn read(path: &Path) -> Result<Self, CatalogueError> {
        read_file(path)
    }
}

fn toml_files(folder: &Path) -> Result<Vec<PathBuf>, CatalogueError> {
    let unreadable = |source| CatalogueError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|end| end == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
