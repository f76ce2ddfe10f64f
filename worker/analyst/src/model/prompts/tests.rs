use super::*;

#[test]
fn the_shipped_prompts_are_right() {
    assert_eq!(Prompts::shipped().hash().len(), 16);
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/prompts")).unwrap();
    assert_eq!(files.count(), SHIPPED.len(), "every file is compiled in");
}

#[test]
fn a_directory_replaces_single_prompts() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("README.md"), "not a prompt {{").unwrap();
    std::fs::write(dir.path().join("plan.md"), "Plan {{ most_steps }} steps.").unwrap();
    let prompts = Prompts::load(Some(dir.path())).unwrap();
    let values =
        || context! { strategy => "auto", most_steps => 3, has_hints => false, left => "" };
    assert_eq!(
        prompts.render(Prompt::Plan, values()).unwrap(),
        "Plan 3 steps.\n"
    );
    assert_ne!(prompts.hash(), Prompts::shipped().hash());
    assert_eq!(
        prompts.render(Prompt::Shorter, context! {}),
        Prompts::shipped().render(Prompt::Shorter, context! {})
    );
}

#[test]
fn r1_unknown_template_name_is_an_error_with_file_and_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("reflect.md");
    std::fs::write(&file, "# Reflect\n\nObjective: {{ objectve }}\n").unwrap();
    let error = Prompts::load(Some(dir.path())).unwrap_err().to_string();
    assert!(error.contains("reflect.md:3: "), "{error}");
    assert!(
        error.contains("this prompt knows left, steps_left"),
        "{error}"
    );
    std::fs::write(&file, "{% if %}").unwrap();
    let error = Prompts::load(Some(dir.path())).unwrap_err().to_string();
    assert!(error.contains("reflect.md:1: syntax error"), "{error}");
}

#[test]
fn a_file_that_is_no_prompt_is_told_with_the_nearest_name() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("plans.md"), "x").unwrap();
    let error = Prompts::load(Some(dir.path())).unwrap_err().to_string();
    assert!(error.contains("did you mean plan.md?"), "{error}");
    assert!(Prompts::load(Some(&dir.path().join("nowhere"))).is_err());
}
