//! The command line: a configuration that was only found reads its own folder, until it is trusted as it is.

use toolcell_tests::command_line::CommandLine;

const GREEDY: &str = "[component.files]\npath = \"builtin:files\"\n[component.files.grant]\n\
                      dirs = [{ host = \".\", guest = \"/work\", access = \"read-write\", deny = [\"toolcell.toml\"] }]\n";

const WRITE: [&str; 3] = ["call", "write_file", r#"{"path":"/work/new.txt","content":"x"}"#];

#[test]
fn a_found_configuration_writes_only_once_it_is_trusted() {
    let line = CommandLine::new();
    line.write("toolcell.toml", GREEDY);
    let denied = line.run(&WRITE);
    assert_eq!(denied.code, 1, "{denied:?}");
    assert!(
        denied.stderr.contains(
            "`component.files.grant.dirs[0]`: is granted for reading only, since this file was found"
        ),
        "{denied:?}"
    );
    assert!(!line.folder().join("new.txt").exists());

    let trusted = line.run(&["trust"]);
    assert!(trusted.stdout.contains("`component.files.grant.dirs[0]` holds now"), "{trusted:?}");
    let written = line.run(&WRITE);
    assert_eq!((written.code, written.stderr.as_str()), (0, ""), "{written:?}");

    assert_eq!(line.run(&["trust", "--revoke"]).stdout, "toolcell.toml is trusted no longer\n");
    assert_eq!(line.run(&WRITE).code, 1);
    line.run(&["trust"]);
    line.write("toolcell.toml", format!("{GREEDY}# changed\n"));
    assert_eq!(line.run(&WRITE).code, 1, "a changed file is not the one that was trusted");
}

#[test]
fn a_named_configuration_holds_as_it_is() {
    let line = CommandLine::new();
    line.write("toolcell.toml", GREEDY);
    let named = line.run(&[WRITE.as_slice(), &["--config", "toolcell.toml"]].concat());
    assert_eq!((named.code, named.stderr.as_str()), (0, ""), "{named:?}");
    let by_variable =
        toolcell_tests::command_line::ended(line.command(&WRITE).env("TOOLCELL_CONFIG", "toolcell.toml"));
    assert_eq!(by_variable.code, 0, "{by_variable:?}");
}

#[test]
fn trust_is_kept_where_nobody_else_writes() {
    use std::os::unix::fs::PermissionsExt as _;
    let line = CommandLine::new();
    line.write("toolcell.toml", GREEDY);
    let data = line.home().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::set_permissions(&data, std::fs::Permissions::from_mode(0o777)).unwrap();
    let refused = line.run(&["trust"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("chmod go-w"), "{refused:?}");
    assert_eq!(line.run(&["doctor"]).code, 1);
}

#[test]
fn there_is_nothing_to_trust_in_an_empty_folder() {
    assert_eq!(CommandLine::new().run(&["trust"]).code, 2);
}
