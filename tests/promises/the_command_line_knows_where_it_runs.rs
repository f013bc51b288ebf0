//! The command line: what is wrong with the surroundings (folders, variables) is found and named.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use toolcell_tests::command_line::{CommandLine, ended};

#[test]
fn folders_that_cannot_be_written_are_found_by_the_doctor() {
    let line = CommandLine::cold();
    let good = line.run(&["doctor"]);
    assert!(good.stdout.contains("ok       folders: "), "{good:?}");
    assert!(good.stdout.contains("ok       compile cache: "), "{good:?}");
    // A folder of the process's own in which nobody can make a file, whoever runs this.
    let closed = "/proc/self/fdinfo";
    let compiled = line.home().join("cache/compiled");
    std::fs::remove_dir_all(&compiled).unwrap();
    symlink(closed, &compiled).unwrap();
    let _ = std::fs::remove_dir_all(line.home().join("state"));
    symlink(closed, line.home().join("state")).unwrap();
    let found = line.run(&["doctor"]);
    assert!(found.stdout.contains("warning  folders: outputs, audit and state: "), "{found:?}");
    assert!(found.stdout.contains("TOOLCELL_HOME"), "{found:?}");
    assert!(found.stdout.contains("warning  compile cache: "), "{found:?}");
    assert_eq!(found.code, 0, "tools run all the same: {found:?}");
}

#[test]
fn a_cache_that_saves_nothing_is_told_once_with_what_to_do() {
    let line = CommandLine::cold();
    let call = || line.run(&["call", "--component", "builtin:basics", "add", r#"{"a":2,"b":3}"#]);
    let good = call();
    assert_eq!((good.code, good.stdout.as_str()), (0, "5\n"), "{good:?}");
    assert!(!good.stderr.contains("compile cache"), "{good:?}");
    let compiled = line.home().join("cache/compiled");
    std::fs::set_permissions(&compiled, std::fs::Permissions::from_mode(0o777)).unwrap();
    let open = call();
    std::fs::remove_dir_all(&compiled).unwrap();
    symlink("/proc/self/fdinfo", &compiled).unwrap();
    let closed = call();
    for (ended, told) in [(open, "`chmod 700`"), (closed, "make it writable")] {
        assert_eq!((ended.code, ended.stdout.as_str()), (0, "5\n"), "{ended:?}");
        assert_eq!(ended.stderr.matches("warning: the compile cache").count(), 1, "{ended:?}");
        assert!(ended.stderr.contains(told), "{ended:?}");
    }
}

#[test]
fn wrong_variables_are_named_with_what_to_do() {
    let line = CommandLine::new();
    let without = |variables: &[&str]| {
        let mut command = line.command(&["list"]);
        variables.iter().for_each(|variable| {
            command.env_remove(variable);
        });
        command
    };
    let ours = ["TOOLCELL_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];
    let relative = ended(without(&ours).env("HOME", "somewhere"));
    assert_eq!(relative.code, 2, "{relative:?}");
    assert!(relative.stderr.contains("HOME: must be an absolute path"), "{relative:?}");
    assert!(!line.folder().join("somewhere").exists());
    let relative = ended(without(&ours).env("TOOLCELL_HOME", "somewhere"));
    assert!(relative.stderr.contains("TOOLCELL_HOME: must be an absolute path"), "{relative:?}");
    let missing = ended(without(&[]).env("TOOLCELL_CONFIG", "nope"));
    assert_eq!(missing.code, 2, "{missing:?}");
    assert!(
        missing.stderr.contains("TOOLCELL_CONFIG: names `nope`, and there is no such file"),
        "{missing:?}"
    );
}
