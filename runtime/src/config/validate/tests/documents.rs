//! Wrong TOML, wrong keys, wrong values.

use super::refusals;

#[test]
fn wrong_toml_is_refused_with_its_line() {
    insta::assert_snapshot!(refusals(&[
        "a = ",
        "[limits]\nmemory = \"1MiB\"\nmemory = \"2MiB\"",
        "[limits",
        "[limits]\nmemory = 64MiB",
        "[output]\nmax_lines = 5\n[output]",
        "limits = \"\u{1}\"",
        "[component.a]\npath = \"builtin:files",
        "[[component]]\nname = \"files\"",
        "component = 3",
        "[component]\nfiles = \"builtin:files\"",
    ]), @r#"
    a =
      → toolcell.toml:1: string values must be quoted, expected literal string

    [limits]
    memory = "1MiB"
    memory = "2MiB"
      → toolcell.toml:3: `memory` is set twice; keep one of them

    [limits
      → toolcell.toml:1: unclosed table, expected `]`

    [limits]
    memory = 64MiB
      → toolcell.toml:2: string values must be quoted, expected literal string

    [output]
    max_lines = 5
    [output]
      → toolcell.toml:3: `output` is set twice; keep one of them

    limits = ""
      → toolcell.toml:1: invalid basic string, expected non-double-quote visible characters, `\`

    [component.a]
    path = "builtin:files
      → toolcell.toml:2: invalid basic string, expected `"`

    [[component]]
    name = "files"
      → toolcell.toml:1: `component`: write a table for each, `[component.NAME]`

    component = 3
      → toolcell.toml:1: `component`: write a table for each, `[component.NAME]`

    [component]
    files = "builtin:files"
      → toolcell.toml:2: `component.files`: invalid type: string, expected a table with `path`
    "#);
}

#[test]
fn unknown_keys_are_refused_with_the_nearest() {
    insta::assert_snapshot!(refusals(&[
        "[limit]\nmemory = \"1MiB\"",
        "[limits]\nmemroy = \"1MiB\"\n\n[output]\nmax-bytes = 3000\nwidth = 3",
        "timeout = \"3s\"",
        "[component.a]\npath = \"builtin:files\"\ntimeout = \"3s\"",
        "[component.a]\npath = \"builtin:files\"\n[component.a.grant]\ndir = []",
        "[component.a]\npath = \"builtin:files\"\n[component.a.grant]\ndirs = [{ host = \".\", guest = \"/w\", mode = \"rw\" }]",
        "[component.a]\npath = \"builtin:files\"\n[component.a.tool.grep]\nlimit = {}",
        "[component.a]\npath = \"builtin:files\"\n[component.a.limits]\nconcurrent_cells = 3",
    ]), @r#"
    [limit]
    memory = "1MiB"
      → toolcell.toml:1: `limit`: unknown key; did you mean `limits`?

    [limits]
    memroy = "1MiB"

    [output]
    max-bytes = 3000
    width = 3
      → toolcell.toml:2: `limits.memroy`: unknown key; did you mean `memory`?
      → toolcell.toml:5: `output.max-bytes`: unknown key; did you mean `max_bytes`?
      → toolcell.toml:6: `output.width`: unknown key; known here: `max_bytes`, `max_lines`

    timeout = "3s"
      → toolcell.toml:1: `timeout`: unknown key here; limits are set under a `limits` table

    [component.a]
    path = "builtin:files"
    timeout = "3s"
      → toolcell.toml:3: `component.a.timeout`: unknown key here; limits are set under a `limits` table

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dir = []
      → toolcell.toml:4: `component.a.grant.dir`: unknown key; did you mean `dirs`?

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    dirs = [{ host = ".", guest = "/w", mode = "rw" }]
      → toolcell.toml:4: `component.a.grant.dirs[0].mode`: unknown key; known here: `host`, `guest`, `access`, `deny`

    [component.a]
    path = "builtin:files"
    [component.a.tool.grep]
    limit = {}
      → toolcell.toml:4: `component.a.tool.grep.limit`: unknown key; did you mean `limits`?

    [component.a]
    path = "builtin:files"
    [component.a.limits]
    concurrent_cells = 3
      → toolcell.toml:4: `component.a.limits.concurrent_cells`: unknown key; known here: `timeout`, `fuel`, `memory`, `table_elements`, `instances`, `handles`, `host_bytes`, `random_bytes`, `stack`, `stdio_bytes`, `log_records`, `chunks`, `result_bytes`, `argument_bytes`, `open_files`, `write_bytes`, `http_requests`, `http_bytes`, `state_bytes`
    "#);
}

#[test]
fn places_that_are_not_loaded_from_are_refused() {
    insta::assert_snapshot!(refusals(&[
        "[component.a]\npath = \"oci://example.org\"",
    ]), @r#"

    [component.a]
    path = "oci://example.org"
      → toolcell.toml:2: `component.a.path`: names no repository; write for example `oci://ghcr.io/owner/tool:1.0`
    "#);
}

#[test]
fn wrong_types_and_values_name_the_setting() {
    insta::assert_snapshot!(refusals(&[
        "limits = 3",
        "[limits]\nmemory = 1.5",
        "[limits]\nmemory = true\n[output]\nmax_lines = []\n[policy]\ncall_timeout = {}",
        "[limits]\nmemory = \"lots\"\ntimeout = 5\nhandles = 0\nopen_files = -1\nfuel = \"on\"",
        "[limits]\nconcurrent_cells = 0\nmax_waiting = -1\nqueue_timeout = 3",
        "[limits]\nbatch_calls = 0\nbatch_bytes = \"lots\"",
        "[limits]\nconcurrent_cells = 99999999999\nmemory = 99999999999999999999",
        "[output]\nmax_bytes = 10\nmax_lines = \"1\"",
        "[policy]\ncall_timeout = \"soon\"",
        "[component.a]\npath = \"builtin:files\"\nenabled = \"yes\"",
        "[component.a]\npath = \"builtin:files\"\nrepair = \"always\"",
        "[component.a]\npath = \"builtin:files\"\nconfig = { port = 80 }\n[component.b]\npath = 3",
        "[component.a]\npath = \"builtin:files\"\n[component.a.grant]\nenv = [\"LANG\"]",
    ]), @r#"
    limits = 3
      → toolcell.toml:1: `limits`: invalid type: integer `3`, expected a table

    [limits]
    memory = 1.5
      → toolcell.toml:2: `limits.memory`: invalid type: floating point `1.5`, expected a whole number or a text such as "64MiB" or "30s"

    [limits]
    memory = true
    [output]
    max_lines = []
    [policy]
    call_timeout = {}
      → toolcell.toml:2: `limits.memory`: invalid type: boolean `true`, expected a whole number or a text such as "64MiB" or "30s"
      → toolcell.toml:4: `output.max_lines`: invalid type: array, expected a whole number or a text such as "64MiB" or "30s"
      → toolcell.toml:6: `policy.call_timeout`: invalid type: table, expected a whole number or a text such as "64MiB" or "30s"

    [limits]
    memory = "lots"
    timeout = 5
    handles = 0
    open_files = -1
    fuel = "on"
      → toolcell.toml:2: `limits.memory`: `lots` is no size; write for example `64KiB`, `256MiB` or `1048576`
      → toolcell.toml:3: `limits.timeout`: `5` is no duration; write for example `500ms`, `30s` or `10m`
      → toolcell.toml:4: `limits.handles`: `0` would allow nothing; give at least the smallest unit
      → toolcell.toml:5: `limits.open_files`: `-1` is no count; write for example `1000`, `10k`, `1M` or `100G`
      → toolcell.toml:6: `limits.fuel`: `on` is no count; write for example `1000`, `10k`, `1M` or `100G`

    [limits]
    concurrent_cells = 0
    max_waiting = -1
    queue_timeout = 3
      → toolcell.toml:2: `limits.concurrent_cells`: `0` is not a whole number from 1 to 10000
      → toolcell.toml:3: `limits.max_waiting`: `-1` is not a whole number from 0 to 4294967295
      → toolcell.toml:4: `limits.queue_timeout`: `3` is no duration; write for example `"30s"`

    [limits]
    batch_calls = 0
    batch_bytes = "lots"
      → toolcell.toml:2: `limits.batch_calls`: `0` is not a whole number from 1 to 4294967295
      → toolcell.toml:3: `limits.batch_bytes`: `lots` is no size; write for example `64KiB`, `256MiB` or `1048576`

    [limits]
    concurrent_cells = 99999999999
    memory = 99999999999999999999
      → toolcell.toml:2: `limits.concurrent_cells`: `99999999999` is not a whole number from 1 to 10000
      → toolcell.toml:3: `limits.memory`: `99999999999999999999` is no size; write for example `64KiB`, `256MiB` or `1048576`

    [output]
    max_bytes = 10
    max_lines = "1"
      → toolcell.toml:2: `output.max_bytes`: `10` is too small to hold a note of what was cut; give at least 256
      → toolcell.toml:3: `output.max_lines`: `1` is too small to hold a note of what was cut; give at least 4

    [policy]
    call_timeout = "soon"
      → toolcell.toml:2: `policy.call_timeout`: `soon` is no duration; write for example `500ms`, `30s` or `10m`

    [component.a]
    path = "builtin:files"
    enabled = "yes"
      → toolcell.toml:3: `component.a.enabled`: invalid type: string, expected a boolean

    [component.a]
    path = "builtin:files"
    repair = "always"
      → toolcell.toml:3: `component.a.repair`: unknown variant `always`, expected one of `off`, `decode`, `json`

    [component.a]
    path = "builtin:files"
    config = { port = 80 }
    [component.b]
    path = 3
      → toolcell.toml:3: `component.a.config.port`: invalid type: integer `80`, expected a string
      → toolcell.toml:5: `component.b.path`: invalid type: integer `3`, expected a string

    [component.a]
    path = "builtin:files"
    [component.a.grant]
    env = ["LANG"]
      → toolcell.toml:4: `component.a.grant.env`: invalid type: array, expected a table
    "#);
}
