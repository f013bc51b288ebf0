//! The compile cache saves work and nothing depends on it: what is damaged, foreign or open to others is not used.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;
use toolcell::sandbox::{Allocation, Compiler};
use toolcell::{Error, Limits, Runtime, ToolComponent};
use toolcell_tests::{built, call};

/// A component that nobody else compiles.
fn component(number: u32) -> ToolComponent {
    let text = format!(
        r#"(component
             (core module $m (func (export "f") (result i32) i32.const {number}))
             (core instance $i (instantiate $m))
             (func $f (result u32) (canon lift (core func $i "f")))
             (export "number" (func $f)))"#
    );
    ToolComponent::bytes("number", wat::parse_str(text).unwrap())
}

fn child() -> Compiler {
    Compiler::Child { program: PathBuf::from(env!("CARGO_BIN_EXE_compile-child")) }
}

/// Calls the component with this cache and returns what was said at load.
async fn works(cache: &Path, number: u32) -> Vec<String> {
    works_with(cache, number, Allocation::default()).await
}

async fn works_with(cache: &Path, number: u32, allocation: Allocation) -> Vec<String> {
    let runtime = built(Runtime::builder().cache(cache).allocation(allocation).component(component(number)));
    let outcome = call(&runtime, "number", json!({})).await;
    assert_eq!(outcome.text(), number.to_string(), "{outcome:#?}");
    runtime.warnings().to_vec()
}

fn entries(cache: &Path, ending: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

#[tokio::test]
async fn a_damaged_entry_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    works(&cache, 1).await;
    let [code] = entries(&cache, "cwasm").try_into().unwrap();
    let [sum] = entries(&cache, "sum").try_into().unwrap();
    assert_eq!(fs::metadata(&code).unwrap().permissions().mode() & 0o077, 0);
    let (good, good_sum) = (fs::read(&code).unwrap(), fs::read(&sum).unwrap());
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    for damage in
        [Vec::new(), good[..good.len() / 2].to_vec(), vec![0; good.len()], flipped, b"\x7fELF".to_vec()]
    {
        for allocation in [Allocation::Pooling, Allocation::OnDemand] {
            fs::write(&code, &damage).unwrap();
            works_with(&cache, 1, allocation).await;
            assert_eq!(
                fs::read(&code).unwrap().len(),
                good.len(),
                "{allocation:?}: the entry was not made anew"
            );
        }
    }
    for damage in [Vec::new(), b"0".to_vec(), vec![b'f'; 1000]] {
        fs::write(&sum, damage).unwrap();
        works(&cache, 1).await;
        assert_eq!(fs::read(&sum).unwrap(), good_sum);
    }
    fs::remove_file(&sum).unwrap();
    works(&cache, 1).await;
    assert_eq!(entries(&cache, "cwasm").len(), 1);
}

#[tokio::test]
async fn an_entry_of_other_code_or_settings_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    works(&cache, 1).await;
    let [first] = entries(&cache, "cwasm").try_into().unwrap();
    // Other settings are another entry.
    let off =
        built(Runtime::builder().cache(&cache).limits(Limits::new().fuel_off()).component(component(1)));
    assert_eq!(call(&off, "number", json!({})).await.text(), "1");
    let all = entries(&cache, "cwasm");
    assert_eq!(all.len(), 2);
    // One with sound sum, but made by an engine of other settings.
    let second = all.into_iter().find(|path| *path != first).unwrap();
    fs::copy(&second, &first).unwrap();
    fs::copy(second.with_extension("sum"), first.with_extension("sum")).unwrap();
    works(&cache, 1).await;
}

#[tokio::test]
async fn a_folder_that_others_can_write_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    works(&cache, 1).await;
    for mode in [0o777, 0o720, 0o702] {
        fs::set_permissions(&cache, fs::Permissions::from_mode(mode)).unwrap();
        let warnings = works(&cache, 2).await;
        assert!(warnings.iter().any(|warning| warning.contains("can be written by others")), "{warnings:?}");
        assert_eq!(entries(&cache, "cwasm").len(), 1, "{mode:o}");
    }
    // An entry that others can write is none, whatever the folder.
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).unwrap();
    let [code] = entries(&cache, "cwasm").try_into().unwrap();
    fs::set_permissions(&code, fs::Permissions::from_mode(0o666)).unwrap();
    works(&cache, 1).await;
    assert_eq!(fs::metadata(&code).unwrap().permissions().mode() & 0o777, 0o600);
    // A link in an entry's place is not followed, and gives way.
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&code, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &code).unwrap();
    works(&cache, 1).await;
    assert!(fs::symlink_metadata(&code).unwrap().is_file());
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_or_made_is_done_without() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let warnings = works(&file, 3).await;
    assert!(warnings.iter().any(|warning| warning.contains("compile cache")), "{warnings:?}");
    // Nobody can make a file in this one, which is a folder of the process's own.
    let runtime = built(Runtime::builder().cache("/proc/self/fdinfo").component(component(3)));
    assert_eq!(runtime.cache_problem(), None);
    assert_eq!(call(&runtime, "number", json!({})).await.text(), "3");
    assert!(runtime.cache_problem().unwrap().contains("cannot be written"), "{:?}", runtime.cache_problem());
    let cache = folder.path().join("read-only");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o500)).unwrap();
    works(&cache, 3).await;
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o700)).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_may_write_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let cache = cache.clone();
        tasks.spawn(async move { works(&cache, 4).await });
    }
    for warnings in tasks.join_all().await {
        assert_eq!(warnings, [] as [&str; 0]);
    }
    let names: Vec<_> = fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    works(&cache, 4).await;
}

#[tokio::test]
async fn native_code_from_a_file_is_never_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    works(&cache, 5).await;
    let [code] = entries(&cache, "cwasm").try_into().unwrap();
    for name in ["precompiled.wasm", "precompiled.cwasm"] {
        let path = folder.path().join(name);
        fs::copy(&code, &path).unwrap();
        let error = Runtime::builder().component(ToolComponent::file(path)).build_blocking().unwrap_err();
        assert!(
            matches!(&error, Error::Component { message, .. } if message.contains("native code")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_child_compiles_and_its_failure_is_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let with =
        |compiler: Compiler| Runtime::builder().cache(&cache).compiler(compiler).component(component(6));
    let runtime = built(with(child()));
    runtime.warm().await.unwrap();
    assert_eq!(call(&runtime, "number", json!({})).await.text(), "6");
    assert_eq!(entries(&cache, "cwasm").len(), 1);
    // What is in the cache needs no compiler.
    let runtime = built(with(Compiler::Child { program: "/nowhere/compiler".into() }));
    assert_eq!(call(&runtime, "number", json!({})).await.text(), "6");

    for program in ["/nowhere/compiler", "/bin/false", "/bin/true"] {
        let builder =
            Runtime::builder().compiler(Compiler::Child { program: program.into() }).component(component(7));
        let runtime = built(builder);
        let error = runtime.warm().await.unwrap_err().to_string();
        assert!(error.starts_with("number:") && error.len() < 300, "{program}: {error}");
        let outcome = call(&runtime, "number", json!({})).await;
        assert_eq!(outcome.exit_code(), 70, "{program}: {outcome:#?}");
        assert!(!outcome.text().contains(program), "{outcome:#?}");
    }
}

#[tokio::test]
async fn a_component_that_does_not_compile_says_so() {
    // Inspection reads types, not code: what is wrong in the code shows when it is compiled.
    let text = r#"(component
        (core module $m (func (export "f") (result i32) (i32.const 7) (i64.const 1) (i32.add) ))
        (core instance $i (instantiate $m))
        (func $f (result u32) (canon lift (core func $i "f")))
        (export "number" (func $f)))"#;
    let bytes = wat::parse_str(text).unwrap();
    let mut errors = Vec::new();
    for compiler in [Compiler::InProcess, child()] {
        let builder =
            Runtime::builder().compiler(compiler).component(ToolComponent::bytes("number", bytes.clone()));
        errors.push(match builder.build_blocking() {
            Err(error) => error.to_string(),
            Ok(runtime) => runtime.warm().await.unwrap_err().to_string(),
        });
    }
    assert_eq!(errors[0], errors[1]);
    assert!(errors[0].starts_with("number:"), "{}", errors[0]);
}
