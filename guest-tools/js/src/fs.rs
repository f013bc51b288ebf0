//! Files of the granted directories, as the prelude asks for them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::UNIX_EPOCH;

use boa_engine::object::ObjectInitializer;
use boa_engine::object::builtins::{JsArray, JsArrayBuffer, JsUint8Array};
use boa_engine::property::Attribute;
use boa_engine::{Context, JsArgs as _, JsError, JsNativeError, JsResult, JsString, JsValue, js_string};

use crate::host::Reach;
use crate::native::Native;

pub(crate) const FUNCTIONS: &[Native] = &[
    ("read", 2, read),
    ("write", 2, write),
    ("append", 2, append),
    ("list", 1, list),
    ("exists", 1, exists),
    ("stat", 1, stat),
    ("mkdir", 2, mkdir),
    ("remove", 3, remove),
    ("rename", 2, rename),
    ("state", 0, state),
    ("setState", 1, set_state),
    ("cwd", 0, cwd),
];

/// A path of the program, and what may be done about it.
struct Place {
    path: PathBuf,
    reach: Rc<Reach>,
}

impl Place {
    fn of(arguments: &[JsValue], at: usize, context: &mut Context) -> JsResult<Self> {
        let written = arguments.get_or_undefined(at).to_string(context)?.to_std_string_lossy();
        let reach = Reach::of(context)?;
        let path = reach.grants.resolve(&written).map_err(|words| refused(&words, "EPERM", context))?;
        Ok(Self { path, reach })
    }

    fn fails(&self, action: &str, error: &io::Error, context: &mut Context) -> JsError {
        let code = match error.kind() {
            io::ErrorKind::NotFound if self.reach.grants.holder(&self.path).is_some() => "ENOENT",
            io::ErrorKind::AlreadyExists => "EEXIST",
            io::ErrorKind::IsADirectory => "EISDIR",
            io::ErrorKind::NotADirectory => "ENOTDIR",
            io::ErrorKind::DirectoryNotEmpty => "ENOTEMPTY",
            io::ErrorKind::ReadOnlyFilesystem => "EROFS",
            _ if granted::is_locked(error) => "EACCES",
            io::ErrorKind::PermissionDenied | io::ErrorKind::NotFound => "EPERM",
            _ => "EIO",
        };
        refused(&self.reach.grants.explain(action, &self.path, error), code, context)
    }

    fn bytes(&self, context: &mut Context) -> JsResult<Vec<u8>> {
        fs::read(&self.path).map_err(|error| self.fails("read", &error, context))
    }
}

/// An error of the program, with the code by which programs for Node tell errors apart.
fn refused(words: &str, code: &'static str, context: &mut Context) -> JsError {
    let error = JsNativeError::error().with_message(words.to_owned()).into_opaque(context);
    match error.create_data_property_or_throw(js_string!("code"), js_string!(code), context) {
        Ok(_) => JsError::from_opaque(error.into()),
        Err(error) => error,
    }
}

/// A string or bytes of the program.
pub(crate) fn data(value: &JsValue, context: &mut Context) -> JsResult<Vec<u8>> {
    let Some(object) = value.as_object() else {
        return Ok(value.to_string(context)?.to_std_string_lossy().into_bytes());
    };
    let array = JsUint8Array::from_object(object)?;
    let (start, length) = (array.byte_offset(context)?, array.byte_length(context)?);
    let buffer = array.buffer(context)?;
    let buffer = buffer.as_object().map(JsArrayBuffer::from_object).transpose()?;
    let gone = || JsNativeError::typ().with_message("fs: the bytes are gone: their buffer was transferred");
    let buffer = buffer.ok_or_else(gone)?;
    let bytes = buffer.data().ok_or_else(gone)?;
    Ok(bytes.get(start..start.saturating_add(length)).ok_or_else(gone)?.to_vec())
}

/// The directory from which relative paths go, or the root where none is granted.
fn cwd(_: &JsValue, _: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let reach = Reach::of(context)?;
    let first = reach.grants.resolve(".").unwrap_or_else(|_| PathBuf::from("/"));
    Ok(JsString::from(first.to_string_lossy().into_owned()).into())
}

fn read(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let place = Place::of(arguments, 0, context)?;
    let bytes = place.bytes(context)?;
    if !arguments.get_or_undefined(1).to_boolean() {
        return Ok(JsUint8Array::from_iter(bytes, context)?.into());
    }
    let text = String::from_utf8(bytes).map_err(|_| {
        let shown = granted::show(&place.path);
        refused(&format!("{shown} is not UTF-8; read it as \"bytes\""), "EILSEQ", context)
    })?;
    Ok(JsString::from(text).into())
}

fn write(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let place = Place::of(arguments, 0, context)?;
    let data = data(arguments.get_or_undefined(1), context)?;
    let written = place.reach.host.replace(&place.path, &data);
    written.map_err(|words| refused(&words, "EPERM", context))?;
    Ok(JsValue::undefined())
}

fn append(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let place = Place::of(arguments, 0, context)?;
    let data = data(arguments.get_or_undefined(1), context)?;
    let file: io::Result<File> = OpenOptions::new().append(true).create(true).open(&place.path);
    let written = file.and_then(|mut file| file.write_all(&data));
    written.map_err(|error| place.fails("write", &error, context))?;
    Ok(JsValue::undefined())
}

fn kind(kind: fs::FileType) -> JsValue {
    let word = match kind {
        kind if kind.is_dir() => js_string!("folder"),
        kind if kind.is_symlink() => js_string!("link"),
        _ => js_string!("file"),
    };
    word.into()
}

fn list(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let place = Place::of(arguments, 0, context)?;
    let entries = fs::read_dir(&place.path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(|error| place.fails("list", &error, context))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let listed = JsArray::new(context)?;
    for entry in entries {
        let name = JsString::from(entry.file_name().to_string_lossy().as_ref());
        let kind = entry.file_type().map_or_else(|_| js_string!("file").into(), kind);
        let mut object = ObjectInitializer::new(context);
        object.property(js_string!("name"), name, Attribute::all());
        let object = object.property(js_string!("kind"), kind, Attribute::all()).build();
        listed.push(object, context)?;
    }
    Ok(listed.into())
}

fn exists(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let place = Place::of(arguments, 0, context)?;
    match fs::metadata(&place.path) {
        Ok(_) => Ok(true.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false.into()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false.into()),
        // What a program may not look at is neither there nor not there for it.
        Err(error) => Err(place.fails("look at", &error, context)),
    }
}

fn stat(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let place = Place::of(arguments, 0, context)?;
    let found = fs::metadata(&place.path).map_err(|error| place.fails("look at", &error, context))?;
    let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let mut object = ObjectInitializer::new(context);
    #[expect(clippy::cast_precision_loss, reason = "no file is that large")]
    object.property(js_string!("size"), found.len() as f64, Attribute::all());
    object.property(js_string!("kind"), kind(found.file_type()), Attribute::all());
    let milliseconds = modified.map_or(0.0, |time| (time.as_secs_f64() * 1e3).floor());
    object.property(js_string!("mtimeMs"), milliseconds, Attribute::all());
    Ok(object.build().into())
}

fn mkdir(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let place = Place::of(arguments, 0, context)?;
    let made = match arguments.get_or_undefined(1).to_boolean() {
        true => fs::create_dir_all(&place.path),
        false => fs::create_dir(&place.path),
    };
    made.map_err(|error| place.fails("make", &error, context))?;
    Ok(JsValue::undefined())
}

fn remove(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let place = Place::of(arguments, 0, context)?;
    let recursive = arguments.get_or_undefined(1).to_boolean();
    let force = arguments.get_or_undefined(2).to_boolean();
    match removed(&place.path, recursive) {
        Ok(()) => Ok(JsValue::undefined()),
        Err(error) if force && error.kind() == io::ErrorKind::NotFound => Ok(JsValue::undefined()),
        Err(error) => Err(place.fails("remove", &error, context)),
    }
}

fn removed(path: &Path, recursive: bool) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_dir() {
        true if recursive => fs::remove_dir_all(path),
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => fs::remove_file(path),
    }
}

fn rename(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let (from, to) = (Place::of(arguments, 0, context)?, Place::of(arguments, 1, context)?);
    let renamed = fs::rename(&from.path, &to.path);
    renamed.map_err(|error| {
        let blamed = if fs::symlink_metadata(&from.path).is_ok() { &to } else { &from };
        blamed.fails("rename", &error, context)
    })?;
    Ok(JsValue::undefined())
}

fn state(_: &JsValue, _: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let kept = Reach::of(context)?.host.state().map_err(|words| refused(&words, "EPERM", context))?;
    Ok(kept.map_or(JsValue::undefined(), |text| JsString::from(text).into()))
}

fn set_state(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let text = arguments.get_or_undefined(0).to_string(context)?.to_std_string_lossy();
    Reach::of(context)?.host.set_state(&text).map_err(|words| refused(&words, "EPERM", context))?;
    Ok(JsValue::undefined())
}
