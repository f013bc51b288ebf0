pub fn greet(name: &str) -> String {
    // TODO: localise
    format!("Hello, {name}!")
}
