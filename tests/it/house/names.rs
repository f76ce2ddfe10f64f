//! Checks names. The name of a type says what the type is and is unique in its crate, and a constructor says how it
//! makes its value.

use std::collections::BTreeMap;

use syn::{ImplItem, Item, TraitItem};

use super::{folder, metadata, texts};

/// Participles, pronouns and other words that say nothing without their module.
const NO_NAMES: &[&str] = &[
    "After", "Again", "Another", "Asked", "At", "Away", "Because", "Before", "Begun", "Behind",
    "Below", "Beside", "Came", "Done", "Each", "Ended", "Found", "Given", "Gone", "Got", "Heard",
    "Held", "Here", "Kept", "Known", "Late", "Later", "Left", "Looked", "Made", "Named", "Next",
    "Nobody", "Nothing", "Now", "Of", "One", "Other", "Own", "Owed", "Ran", "Said", "Says", "Seen",
    "Sent", "Shown", "Since", "Still", "Taken", "Then", "There", "Thing", "Told", "Tried",
    "Unseen", "Untold", "Wanted", "Went", "What", "Which", "Who", "Why",
];

/// Names of one source file.
#[derive(Default)]
struct FileNames {
    types: Vec<String>,
    functions: Vec<String>,
}

impl FileNames {
    fn parse(path: &str, source: &str) -> Self {
        let file = syn::parse_file(source).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut names = Self::default();
        names.add(&file.items);
        names
    }

    fn add(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Struct(item) => self.types.push(item.ident.to_string()),
                Item::Enum(item) => self.types.push(item.ident.to_string()),
                Item::Union(item) => self.types.push(item.ident.to_string()),
                Item::Type(item) => self.types.push(item.ident.to_string()),
                Item::Fn(item) => self.functions.push(item.sig.ident.to_string()),
                Item::Trait(item) => {
                    self.types.push(item.ident.to_string());
                    self.functions
                        .extend(item.items.iter().filter_map(|item| match item {
                            TraitItem::Fn(function) => Some(function.sig.ident.to_string()),
                            _ => None,
                        }));
                }
                Item::Impl(item) => {
                    self.functions
                        .extend(item.items.iter().filter_map(|item| match item {
                            ImplItem::Fn(function) => Some(function.sig.ident.to_string()),
                            _ => None,
                        }));
                }
                Item::Mod(item) => {
                    if let Some((_, items)) = &item.content {
                        self.add(items);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns the names in each file of the project's packages, by the folder of the package.
fn names() -> BTreeMap<String, Vec<(String, FileNames)>> {
    let folders: Vec<String> = metadata()
        .workspace_packages()
        .into_iter()
        .map(folder)
        .collect();
    let mut found: BTreeMap<String, Vec<(String, FileNames)>> = BTreeMap::new();
    for (path, source) in [texts("worker", &["rs"]), texts("tests", &["rs"])].concat() {
        // A package may lie in another one's folder: the longest folder is that of the file.
        let owner = folders
            .iter()
            .filter(|folder| path.starts_with(&format!("{folder}/")))
            .max_by_key(|folder| folder.len());
        if let Some(owner) = owner.filter(|_| !path.contains("/vendor/")) {
            let names = FileNames::parse(&path, &source);
            found.entry(owner.clone()).or_default().push((path, names));
        }
    }
    found
}

#[test]
fn no_type_is_named_by_a_participle_or_pronoun() {
    let wrong: Vec<String> = names()
        .values()
        .flatten()
        .flat_map(|(path, names)| names.types.iter().map(move |name| (path, name)))
        .filter(|(_, name)| NO_NAMES.contains(&name.as_str()))
        .map(|(path, name)| format!("{path}: {name}"))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_type_name_stands_once_in_a_crate() {
    let mut wrong = Vec::new();
    for (package, files) in names() {
        let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (path, names) in &files {
            for name in &names.types {
                places.entry(name).or_default().push(path);
            }
        }
        wrong.extend(
            places
                .into_iter()
                .filter(|(_, paths)| paths.len() > 1)
                .map(|(name, paths)| format!("{package}: {name} in {}", paths.join(", "))),
        );
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn no_function_is_named_of() {
    let wrong: Vec<String> = names()
        .into_values()
        .flatten()
        .filter(|(_, names)| names.functions.iter().any(|name| name == "of"))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn names_are_found_in_every_kind_of_item() {
    let names = FileNames::parse(
        "sample",
        "struct A; enum B {} trait C { fn of(); } type D = A; impl A { fn new() {} } mod e { union F { a: u8 } }",
    );
    assert_eq!(names.types, ["A", "B", "C", "D", "F"]);
    assert_eq!(names.functions, ["of", "new"]);
}
