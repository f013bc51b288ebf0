//! Components and grants that cannot work.

use super::refusals;

#[test]
fn components_that_cannot_work_are_refused() {
    insta::assert_snapshot!(refusals(&[
        "[component.a]\nprefix = \"x\"",
        "[component.Files]\npath = \"builtin:files\"",
        "[component.\"a b\"]\npath = \"builtin:files\"",
        "[component.a]\npath = \"\"",
        "[component.a]\npath = \"missing.wasm\"",
        "[component.a]\npath = \"tool.wasm/\"",
        "[component.a]\npath = \"fifo\"",
        "[component.a]\npath = \"builtin:\"",
        "[component.a]\npath = \"~root/x.wasm\"",
        "[component.a]\npath = \"https://example.org/a.wasm\"",
        "[component.a]\npath = \"tool.wasm\"\ndigest = \"abc\"",
        "[component.a]\npath = \"tools\"\ndigest = \"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"",
        "[component.a]\npath = \"builtin:files\"\nprefix = \"my-\"\ntools = []\nrename = { a = \"X\", b = \"c\", d = \"c\" }",
        "[component.a]\npath = \"builtin:files\"\ntools = [\"a\", \"b\", \"a\"]",
    ]), @r#"
    [component.a]
    prefix = "x"
      → toolcell.toml:1: `component.a`: has no `path`; write `path = "builtin:files"`, or a component's file or folder

    [component.Files]
    path = "builtin:files"
      → toolcell.toml:1: `component.Files`: a component's name is a lower-case letter, then lower-case letters, digits, `-` and `_`, at most 64

    [component."a b"]
    path = "builtin:files"
      → toolcell.toml:1: `component."a b"`: a component's name is a lower-case letter, then lower-case letters, digits, `-` and `_`, at most 64

    [component.a]
    path = ""
      → toolcell.toml:2: `component.a.path`: a path must not be empty nor contain a zero byte; `.` is this file's folder

    [component.a]
    path = "missing.wasm"
      → toolcell.toml:2: `component.a.path`: cannot find the component `missing.wasm`: there is none at that place

    [component.a]
    path = "tool.wasm/"
      → toolcell.toml:2: `component.a.path`: cannot find the component `tool.wasm/`: Not a directory (os error 20)

    [component.a]
    path = "fifo"
      → toolcell.toml:2: `component.a.path`: `fifo` is neither a file nor a folder

    [component.a]
    path = "builtin:"
      → toolcell.toml:2: `component.a.path`: after `builtin:` comes a shipped tool's name, as in `builtin:files`

    [component.a]
    path = "~root/x.wasm"
      → toolcell.toml:2: `component.a.path`: only `~/` is understood, not `~` before a name; for a file of that name write `./~root/x.wasm`

    [component.a]
    path = "https://example.org/a.wasm"
      → toolcell.toml:2: `component.a.path`: this version does not load from `https://`; give a file, `builtin:NAME` or `oci://HOST/REPOSITORY:TAG`

    [component.a]
    path = "tool.wasm"
    digest = "abc"
      → toolcell.toml:3: `component.a.digest`: a digest is `sha256:` and 64 hexadecimal digits, as `sha256sum FILE` prints them

    [component.a]
    path = "tools"
    digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
      → toolcell.toml:3: `component.a.digest`: pins one file, and `path` is a folder; name the file there, or take the digest out

    [component.a]
    path = "builtin:files"
    prefix = "my-"
    tools = []
    rename = { a = "X", b = "c", d = "c" }
      → toolcell.toml:3: `component.a.prefix`: a tool's name is a lower-case letter, then lower-case letters, digits and `_`, at most 64
      → toolcell.toml:4: `component.a.tools`: names no tool; take it out for all of them, or set `enabled = false`
      → toolcell.toml:5: `component.a.rename.a`: a tool's name is a lower-case letter, then lower-case letters, digits and `_`, at most 64
      → toolcell.toml:5: `component.a.rename.d`: `b` is renamed to `c` too; choose another name

    [component.a]
    path = "builtin:files"
    tools = ["a", "b", "a"]
      → toolcell.toml:3: `component.a.tools[2]`: names `a` twice
    "#);
}

fn granting(grant: &str) -> String {
    format!("[component.a]\npath = \"builtin:files\"\n[component.a.grant]\n{grant}")
}

#[test]
fn grants_that_cannot_work_are_refused() {
    let cases = [
        r#"dirs = [{ host = "missing", guest = "/w" }]"#,
        r#"dirs = [{ host = "tool.wasm", guest = "/w" }]"#,
        r#"dirs = [{ host = "tool.wasm/", guest = "/w" }]"#,
        r#"dirs = [{ host = "tools/../tool.wasm/x", guest = "/w" }]"#,
        r#"dirs = [{ host = "", guest = "/w" }, { host = "~x", guest = "/x" }, { host = "~/none", guest = "/y" }]"#,
        r#"dirs = [{ guest = "/w" }]"#,
        r#"dirs = [{ host = "." }]"#,
        r#"dirs = ["."]"#,
        r#"dirs = [{ host = ".", guest = "/w", access = "write" }]"#,
        r#"dirs = [{ host = ".", guest = "w" }, { host = ".", guest = "" }, { host = ".", guest = "./a/../b" }]"#,
        r#"dirs = [{ host = ".", guest = "/a/../b" }, { host = ".", guest = "/c//d" }, { host = ".", guest = "/./e" }]"#,
        "dirs = [\n  { host = \"src\", guest = \"/w\" },\n  { host = \"tools\", guest = \"/w/\" },\n  { host = \"src\", guest = \"/w/in\" },\n]",
        r#"dirs = [{ host = ".", guest = "/" }, { host = ".", guest = "/w" }]"#,
        r#"dirs = [{ host = ".", guest = "/w", deny = ["", "a/", "/etc", "../x", "./y", "a[", "{a,b"] }]"#,
        "env = { \"\" = \"x\", \"A=B\" = \"y\" }",
    ];
    let cases = cases.map(granting);
    insta::assert_snapshot!(refusals(&cases.each_ref().map(String::as_str)), @r#"
    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ host = "missing", guest = "/w" }]
      → toolcell.toml:4: `component.a.grant.dirs[0].host`: the folder `missing` does not exist; create it, or correct the path

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ host = "tool.wasm", guest = "/w" }]
      → toolcell.toml:4: `component.a.grant.dirs[0].host`: `tool.wasm` is not a folder; grant its folder `.`, with `deny` for what else is there

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ host = "tool.wasm/", guest = "/w" }]
      → toolcell.toml:4: `component.a.grant.dirs[0].host`: `tool.wasm/` is not a folder; grant its folder `.`, with `deny` for what else is there

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ host = "tools/../tool.wasm/x", guest = "/w" }]
      → toolcell.toml:4: `component.a.grant.dirs[0].host`: `tools/../tool.wasm/x` is not a folder; grant its folder `tools/../tool.wasm`, with `deny` for what else is there

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ host = "", guest = "/w" }, { host = "~x", guest = "/x" }, { host = "~/none", guest = "/y" }]
      → toolcell.toml:4: `component.a.grant.dirs[0].host`: a path must not be empty nor contain a zero byte; `.` is this file's folder
      → toolcell.toml:4: `component.a.grant.dirs[1].host`: only `~/` is understood, not `~` before a name; for a file of that name write `./~x`
      → toolcell.toml:4: `component.a.grant.dirs[2].host`: the folder `~/none` does not exist; create it, or correct the path

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ guest = "/w" }]
      → toolcell.toml:4: `component.a.grant.dirs[0]`: missing field `host`

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ host = "." }]
      → toolcell.toml:4: `component.a.grant.dirs[0]`: missing field `guest`

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = ["."]
      → toolcell.toml:4: `component.a.grant.dirs[0]`: invalid type: string, expected a table with `host` and `guest`

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ host = ".", guest = "/w", access = "write" }]
      → toolcell.toml:4: `component.a.grant.dirs[0].access`: unknown variant `write`, expected `read` or `read-write`

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ host = ".", guest = "w" }, { host = ".", guest = "" }, { host = ".", guest = "./a/../b" }]
      → toolcell.toml:4: `component.a.grant.dirs[0].guest`: a guest's path is absolute; write for example `"/w"`
      → toolcell.toml:4: `component.a.grant.dirs[1].guest`: a guest's path is absolute; write for example `"/work"`
      → toolcell.toml:4: `component.a.grant.dirs[2].guest`: a guest's path is absolute; write for example `"/work"`

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ host = ".", guest = "/a/../b" }, { host = ".", guest = "/c//d" }, { host = ".", guest = "/./e" }]
      → toolcell.toml:4: `component.a.grant.dirs[0].guest`: `/a/../b` must not contain empty parts, `.` or `..`
      → toolcell.toml:4: `component.a.grant.dirs[1].guest`: `/c//d` must not contain empty parts, `.` or `..`
      → toolcell.toml:4: `component.a.grant.dirs[2].guest`: `/./e` must not contain empty parts, `.` or `..`

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [
      { host = "src", guest = "/w" },
      { host = "tools", guest = "/w/" },
      { host = "src", guest = "/w/in" },
    ]
      → toolcell.toml:6: `component.a.grant.dirs[1]`: `guest = "/w"` overlaps with `"/w"` of another entry; give each its own place
      → toolcell.toml:7: `component.a.grant.dirs[2]`: `guest = "/w/in"` overlaps with `"/w"` of another entry; give each its own place

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ host = ".", guest = "/" }, { host = ".", guest = "/w" }]
      → toolcell.toml:4: `component.a.grant.dirs[1]`: `guest = "/w"` overlaps with `"/"` of another entry; give each its own place

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ host = ".", guest = "/w", deny = ["", "a/", "/etc", "../x", "./y", "a[", "{a,b"] }]
      → toolcell.toml:4: `component.a.grant.dirs[0].deny[0]`: `` names the granted folder itself; write `**` for all that is in it
      → toolcell.toml:4: `component.a.grant.dirs[0].deny[2]`: `/etc` is absolute, and patterns are relative to the granted folder; write `etc`
      → toolcell.toml:4: `component.a.grant.dirs[0].deny[3]`: `../x` matches nothing: patterns have no empty parts, `.` or `..`
      → toolcell.toml:4: `component.a.grant.dirs[0].deny[5]`: `a[` is no glob: unclosed character class; missing ']'
      → toolcell.toml:4: `component.a.grant.dirs[0].deny[6]`: `{a,b` is no glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    env = { "" = "x", "A=B" = "y" }
      → toolcell.toml:4: `component.a.grant.env.""`: a name must not be empty nor contain `=` or a zero byte
      → toolcell.toml:4: `component.a.grant.env."A=B"`: a name must not be empty nor contain `=` or a zero byte
    "#);
}

#[test]
fn places_for_requests_that_cannot_be_meant_are_refused() {
    let refusals = refusals(&[
        "[component.a]\npath = \"builtin:files\"\n[component.a.grant]\nhttp = [\n  \"https://api.example.org\",\n  \"localhost\",\n  \"*\",\n  \"example.org:99999\",\n  \"https://a.org/v1\",\n  \"https://*.org\",\n]",
        "[component.a]\npath = \"builtin:files\"\n[component.a.grant]\nhttp = [\n  3,\n]",
        "[component.a]\npath = \"builtin:files\"\n[component.a.grant]\nhttp = [{ origins = \"https://a.org\" }, { methods = [\"GET\"] }]",
        "[component.a]\npath = \"builtin:files\"\n[component.a.grant]\nhttp = [{ origin = \"https://a.org\", methods = [\"get\"], paths = [\"v1\"], headers = { authorization = { secret = \"key\" }, host = { secret = \"key\" }, x = {} } }]",
        "[component.a]\npath = \"builtin:files\"\nsecrets = { key = { env = \"KEY\" } }\n[component.a.grant]\nhttp = [\n  { origin = \"http://a.org\", headers = { x = { secret = \"key\" } } },\n  { origin = \"https://*\", private = true, methods = [] },\n  { origin = \"http://a.org\", ca = \"roots.pem\" },\n]",
    ]);
    insta::assert_snapshot!("places_for_requests", refusals);
}
