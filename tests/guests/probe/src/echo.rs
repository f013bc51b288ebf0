//! Returns what it is given.

use crate::Probe;
use crate::bindings::exports::toolcell::guests::echo::{Color, Guest, Permissions, Person, Shape, Team};

impl Guest for Probe {
    fn echo_bool(value: bool) -> bool {
        value
    }

    fn echo_u8(value: u8) -> u8 {
        value
    }

    fn echo_s8(value: i8) -> i8 {
        value
    }

    fn echo_u16(value: u16) -> u16 {
        value
    }

    fn echo_s16(value: i16) -> i16 {
        value
    }

    fn echo_u32(value: u32) -> u32 {
        value
    }

    fn echo_s32(value: i32) -> i32 {
        value
    }

    fn echo_u64(value: u64) -> u64 {
        value
    }

    fn echo_s64(value: i64) -> i64 {
        value
    }

    fn echo_f32(value: f32) -> f32 {
        value
    }

    fn echo_f64(value: f64) -> f64 {
        value
    }

    fn echo_char(value: char) -> char {
        value
    }

    fn echo_string(value: String) -> String {
        value
    }

    fn echo_bytes(value: Vec<u8>) -> Vec<u8> {
        value
    }

    fn echo_strings(value: Vec<String>) -> Vec<String> {
        value
    }

    fn echo_u32s(value: Vec<u32>) -> Vec<u32> {
        value
    }

    fn echo_record(value: Person) -> Person {
        value
    }

    fn echo_nested(value: Team) -> Team {
        value
    }

    fn echo_record_and_number(value: Person, number: u32) -> (Person, u32) {
        (value, number)
    }

    fn echo_tuple(value: (u32, String, bool)) -> (u32, String, bool) {
        value
    }

    fn echo_option(value: Option<String>) -> Option<String> {
        value
    }

    fn echo_option_option(value: Option<Option<u32>>) -> Option<Option<u32>> {
        value
    }

    fn echo_result(value: Result<u32, String>) -> Result<u32, String> {
        value
    }

    fn echo_results(value: Vec<Result<u32, String>>) -> Vec<Result<u32, String>> {
        value
    }

    fn echo_bare_results(
        no_ok: Result<(), String>,
        no_error: Result<u32, ()>,
        neither: Result<(), ()>,
    ) -> (Result<(), String>, Result<u32, ()>, Result<(), ()>) {
        (no_ok, no_error, neither)
    }

    fn echo_variant(value: Shape) -> Shape {
        value
    }

    fn echo_enum(value: Color) -> Color {
        value
    }

    fn echo_flags(value: Permissions) -> Permissions {
        value
    }

    fn echo_records(value: Vec<Person>) -> Vec<Person> {
        value
    }

    fn echo_lists(value: Vec<Vec<i32>>) -> Vec<Vec<i32>> {
        value
    }

    fn echo_variants(value: Vec<Shape>) -> Vec<Shape> {
        value
    }

    fn echo_several(
        text: String,
        count: Option<u32>,
        tags: Vec<String>,
        exact: Option<bool>,
    ) -> (String, Option<u32>, Vec<String>, Option<bool>) {
        (text, count, tags, exact)
    }

    fn echo_constant() -> String {
        "constant".to_owned()
    }

    fn echo_nothing(_value: String) {}

    fn echo_silence() {}
}
