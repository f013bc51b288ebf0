//! `wasi:config/store`: the values that the operator wrote, in the order of their names. wasmtime's own has them in no
//! order, which would be another one in each process.

use wasmtime::Result;
use wasmtime::component::{HasSelf, Linker};

use crate::sandbox::state::CellState;

mod bindings {
    wasmtime::component::bindgen!({
        inline: "
            package wasi:config@0.2.0-rc.1;

            interface store {
                variant error { upstream(string), io(string) }
                get: func(key: string) -> result<option<string>, error>;
                get-all: func() -> result<list<tuple<string, string>>, error>;
            }

            world imports { import store; }
        ",
        imports: { default: trappable },
    });
}

use bindings::wasi::config::store::{self, Error};

pub(super) fn add_to_linker(linker: &mut Linker<CellState>) -> Result<()> {
    store::add_to_linker::<CellState, HasSelf<CellState>>(linker, |state| state)
}

type Answer<T> = std::result::Result<T, Error>;

impl store::Host for CellState {
    fn get(&mut self, key: String) -> Result<Answer<Option<String>>> {
        Ok(Ok(self.config.get(&key).cloned()))
    }

    fn get_all(&mut self) -> Result<Answer<Vec<(String, String)>>> {
        Ok(Ok(self.config.iter().map(|(key, value)| (key.clone(), value.clone())).collect()))
    }
}
