//! The values are those that the engine takes and gives: a component that echoes every kind of type.

use wasmtime::component::{Component, Linker, Val};
use wasmtime::{Engine, Store};
use wit_parser::WorldItem;
use wit_parser::decoding::{DecodedWasm, decode};

use super::super::{Lifted, lift_result, lower};
use super::laws::{Dice, object};
use super::*;

/// The signature of the component's function `echo`, as read from the binary.
fn echo_signature(binary: &[u8]) -> Signature {
    let decoded = decode(binary).unwrap();
    let DecodedWasm::Component(resolve, world) = decoded else { unreachable!("it is a component") };
    let function = resolve.worlds[world].exports.values().find_map(|item| match item {
        WorldItem::Function(function) => Some(function),
        _ => None,
    });
    Signature::from_wit(&resolve, function.unwrap(), None, &BTreeMap::new()).unwrap()
}

#[test]
fn an_engine_takes_and_gives_every_kind_of_value() {
    let binary = wat::parse_str(include_str!("echo.wat")).unwrap();
    let signature = echo_signature(&binary);
    assert!(signature.is_flattened() && signature.properties().len() == 24);
    let engine = Engine::default();
    let component = Component::from_binary(&engine, &binary).unwrap();
    let linker = Linker::<()>::new(&engine);
    let mut dice = Dice(7);
    for _ in 0..300 {
        let mut store = Store::new(&engine, ());
        let instance = linker.instantiate(&mut store, &component).unwrap();
        let echo = instance.get_func(&mut store, "echo").unwrap();
        let sent = Value::Object(object(&mut dice, &signature.arguments));
        let params = lower(&signature, &sent).unwrap();
        let mut results = [Val::Bool(false)];
        echo.call(&mut store, &params, &mut results).unwrap();
        let Ok(Lifted::Ok(back)) = lift_result(&signature, &results, u64::MAX) else {
            unreachable!("{sent}")
        };
        let (back, _) = canonicalise(&signature, back, RepairMode::Off);
        assert_eq!(validate(&signature, &back), [], "{sent}");
        assert_eq!(lower(&signature, &back).unwrap(), params, "{sent}");
    }
}
