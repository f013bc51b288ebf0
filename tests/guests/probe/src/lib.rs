//! A component that does what the tests tell it: every type, every end, every way to take too much.

mod bindings {
    wit_bindgen::generate!({ path: "../wit", world: "probe", generate_all });
}

mod bombs;
mod clock;
mod echo;
mod host;
mod keep;
mod loops;
mod memory;
mod paths;
mod process;
mod raw;
mod state;
mod witness;

struct Probe;

bindings::export!(Probe with_types_in bindings);
