use crate::util::helper;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    // TODO: parse the arguments
    println!("{}", helper::greet(&args[0]));
}
