//! `wasi:io`: wasmtime's streams and polls, recorded and replayed; and the polls of a deterministic call.

use bytes::Bytes;
use wasmtime::Result;
use wasmtime::component::{HasData, Linker, Resource, ResourceTable};
use wasmtime_wasi::cli::WasiCliCtxView;
use wasmtime_wasi::p2::bindings::cli::{stderr, stdout};
use wasmtime_wasi::p2::bindings::io::{error, poll, streams};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable, StreamError, StreamResult};

use crate::recording::Tape;
use crate::sandbox::state::CellState;
use crate::sandbox::tape::{given_bytes, taped};
use crate::sandbox::time::Time;

/// The streams and pollables of one call.
pub(super) struct Io<'a> {
    table: &'a mut ResourceTable,
    time: Option<&'a mut Time>,
    tape: Option<Tape>,
    /// The streams, by handle, to which a replay writes as well: standard output and error. Empty without a tape.
    stdio: &'a mut Vec<u32>,
}

struct HasIo;

impl HasData for HasIo {
    type Data<'a> = Io<'a>;
}

pub(super) fn add_to_linker(linker: &mut Linker<CellState>) -> Result<()> {
    error::add_to_linker::<CellState, HasIo>(linker, view)?;
    poll::add_to_linker::<CellState, HasIo>(linker, view)?;
    streams::add_to_linker::<CellState, HasIo>(linker, view)?;
    stdout::add_to_linker::<CellState, HasStdio>(linker, stdio)?;
    stderr::add_to_linker::<CellState, HasStdio>(linker, stdio)
}

fn view(state: &mut CellState) -> Io<'_> {
    Io {
        table: &mut state.table,
        time: state.time.as_deref_mut(),
        tape: state.tape.clone(),
        stdio: &mut state.taped_stdio,
    }
}

/// Standard output and error, whose streams are known by their handles while a tape runs.
struct Stdio<'a> {
    host: WasiCliCtxView<'a>,
    known: Option<&'a mut Vec<u32>>,
}

struct HasStdio;

impl HasData for HasStdio {
    type Data<'a> = Stdio<'a>;
}

fn stdio(state: &mut CellState) -> Stdio<'_> {
    let CellState { wasi, table, tape, taped_stdio, .. } = state;
    let host = WasiCliCtxView { ctx: wasi.get().cli(), table };
    Stdio { host, known: tape.is_some().then_some(taped_stdio) }
}

impl Stdio<'_> {
    fn note(&mut self, stream: Resource<DynOutputStream>) -> Resource<DynOutputStream> {
        if let Some(known) = &mut self.known {
            known.push(stream.rep());
        }
        stream
    }
}

impl stdout::Host for Stdio<'_> {
    fn get_stdout(&mut self) -> Result<Resource<DynOutputStream>> {
        let stream = stdout::Host::get_stdout(&mut self.host)?;
        Ok(self.note(stream))
    }
}

impl stderr::Host for Stdio<'_> {
    fn get_stderr(&mut self) -> Result<Resource<DynOutputStream>> {
        let stream = stderr::Host::get_stderr(&mut self.host)?;
        Ok(self.note(stream))
    }
}

fn same<T: 'static>(handle: &Resource<T>) -> Resource<T> {
    Resource::new_borrow(handle.rep())
}

impl Io<'_> {
    /// Which of the pollables are ready, in their order, by the call's own time. Timers are over only when nothing else
    /// is waited for: how long the rest takes is not in that time.
    async fn ready_in_order(&mut self, pollables: &[Resource<DynPollable>]) -> Result<Vec<u32>> {
        let (mut timers, mut others) = (Vec::new(), Vec::new());
        for (index, pollable) in (0_u32..).zip(pollables) {
            match self.time.as_ref().and_then(|time| time.timer(pollable)) {
                Some(over_at) => timers.push((index, over_at)),
                None => others.push((index, pollable)),
            }
        }
        let mut ready: Vec<u32> = self.over(&timers);
        if others.is_empty() && ready.is_empty() {
            if let (Some(time), Some(first)) = (&mut self.time, timers.iter().map(|(_, at)| *at).min()) {
                time.pass_until(first);
            }
            ready = self.over(&timers);
        } else if ready.is_empty() {
            let waiting = others.iter().map(|(_, pollable)| same(pollable)).collect();
            let places = poll::Host::poll(self.table, waiting).await?;
            let index = |place: u32| others.get(usize::try_from(place).ok()?).map(|(index, _)| *index);
            ready.extend(places.into_iter().filter_map(index));
        } else {
            for (index, pollable) in others {
                if poll::HostPollable::ready(self.table, same(pollable)).await? {
                    ready.push(index);
                }
            }
        }
        ready.sort_unstable();
        Ok(ready)
    }

    fn over(&self, timers: &[(u32, u64)]) -> Vec<u32> {
        let is_over = |over_at| self.time.as_ref().is_some_and(|time| time.is_over(over_at));
        timers.iter().filter(|(_, over_at)| is_over(*over_at)).map(|(index, _)| *index).collect()
    }

    /// The tape, for a stream that leads outside.
    fn outside(&self, stream: &Resource<DynOutputStream>) -> Option<Tape> {
        self.tape.clone().filter(|_| !self.stdio.contains(&stream.rep()))
    }
}

impl poll::Host for Io<'_> {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> Result<Vec<u32>> {
        if self.tape.is_none() && self.time.is_none() {
            return poll::Host::poll(self.table, pollables).await;
        }
        let handles: Vec<u32> = pollables.iter().map(Resource::rep).collect();
        taped!(
            self.tape.clone(),
            format!("poll {handles:?}"),
            match &self.time {
                Some(_) if !pollables.is_empty() => self.ready_in_order(&pollables).await,
                _ => poll::Host::poll(self.table, pollables).await,
            }
        )
    }
}

impl poll::HostPollable for Io<'_> {
    async fn ready(&mut self, pollable: Resource<DynPollable>) -> Result<bool> {
        let over_at = self.time.as_ref().and_then(|time| time.timer(&pollable));
        taped!(
            self.tape.clone(),
            format!("ready {}", pollable.rep()),
            match (&self.time, over_at) {
                (Some(time), Some(over_at)) => Ok(time.is_over(over_at)),
                _ => poll::HostPollable::ready(self.table, pollable).await,
            }
        )
    }

    async fn block(&mut self, pollable: Resource<DynPollable>) -> Result<()> {
        let over_at = self.time.as_ref().and_then(|time| time.timer(&pollable));
        taped!(
            self.tape.clone(),
            format!("block {}", pollable.rep()),
            match (&mut self.time, over_at) {
                (Some(time), Some(over_at)) => {
                    time.pass_until(over_at);
                    Ok(())
                }
                _ => poll::HostPollable::block(self.table, pollable).await,
            }
        )
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> Result<()> {
        if let Some(time) = &mut self.time {
            time.remove(&pollable);
        }
        poll::HostPollable::drop(self.table, pollable)
    }
}

impl error::Host for Io<'_> {}

impl error::HostError for Io<'_> {
    fn to_debug_string(&mut self, error: Resource<wasmtime::Error>) -> Result<String> {
        taped!(
            self.tape.clone(),
            format!("to-debug-string {}", error.rep()),
            error::HostError::to_debug_string(self.table, error)
        )
    }

    fn drop(&mut self, error: Resource<wasmtime::Error>) -> Result<()> {
        error::HostError::drop(self.table, error)
    }
}

impl streams::Host for Io<'_> {
    fn convert_stream_error(&mut self, error: StreamError) -> Result<streams::StreamError> {
        streams::Host::convert_stream_error(self.table, error)
    }
}

impl streams::HostInputStream for Io<'_> {
    fn read(&mut self, stream: Resource<DynInputStream>, length: u64) -> StreamResult<Vec<u8>> {
        let ask = || format!("read {} {length}", stream.rep());
        taped!(self.tape.clone(), ask(), streams::HostInputStream::read(self.table, same(&stream), length))
    }

    async fn blocking_read(
        &mut self,
        stream: Resource<DynInputStream>,
        length: u64,
    ) -> StreamResult<Vec<u8>> {
        let ask = || format!("blocking-read {} {length}", stream.rep());
        let table = &mut *self.table;
        taped!(
            self.tape.clone(),
            ask(),
            streams::HostInputStream::blocking_read(table, same(&stream), length).await
        )
    }

    fn skip(&mut self, stream: Resource<DynInputStream>, length: u64) -> StreamResult<u64> {
        let ask = || format!("skip {} {length}", stream.rep());
        taped!(self.tape.clone(), ask(), streams::HostInputStream::skip(self.table, same(&stream), length))
    }

    async fn blocking_skip(&mut self, stream: Resource<DynInputStream>, length: u64) -> StreamResult<u64> {
        let ask = || format!("blocking-skip {} {length}", stream.rep());
        let table = &mut *self.table;
        taped!(
            self.tape.clone(),
            ask(),
            streams::HostInputStream::blocking_skip(table, same(&stream), length).await
        )
    }

    fn subscribe(&mut self, stream: Resource<DynInputStream>) -> Result<Resource<DynPollable>> {
        streams::HostInputStream::subscribe(self.table, stream)
    }

    async fn drop(&mut self, stream: Resource<DynInputStream>) -> Result<()> {
        streams::HostInputStream::drop(self.table, stream).await
    }
}

/// What is asked when bytes are written: which ones, by their digest.
fn writing(what: &str, tape: Option<&Tape>, stream: &Resource<DynOutputStream>, bytes: &[u8]) -> String {
    format!("{what} {} {}", stream.rep(), given_bytes(tape, bytes))
}

impl streams::HostOutputStream for Io<'_> {
    fn check_write(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<u64> {
        let ask = || format!("check-write {}", stream.rep());
        let tape = self.outside(&stream);
        taped!(tape, ask(), streams::HostOutputStream::check_write(self.table, same(&stream)))
    }

    fn write(&mut self, stream: Resource<DynOutputStream>, bytes: Vec<u8>) -> StreamResult<()> {
        let tape = self.outside(&stream);
        taped!(
            tape,
            writing("write", self.tape.as_ref(), &stream, &bytes),
            streams::HostOutputStream::write(self.table, same(&stream), bytes)
        )
    }

    async fn blocking_write_and_flush(
        &mut self,
        stream: Resource<DynOutputStream>,
        bytes: Vec<u8>,
    ) -> StreamResult<()> {
        let tape = self.outside(&stream);
        taped!(
            tape,
            writing("blocking-write", self.tape.as_ref(), &stream, &bytes),
            streams::HostOutputStream::blocking_write_and_flush(self.table, same(&stream), bytes).await
        )
    }

    fn write_zeroes(&mut self, stream: Resource<DynOutputStream>, length: u64) -> StreamResult<()> {
        let tape = self.outside(&stream);
        let ask = || format!("write-zeroes {} {length}", stream.rep());
        taped!(tape, ask(), streams::HostOutputStream::write_zeroes(self.table, same(&stream), length))
    }

    async fn blocking_write_zeroes_and_flush(
        &mut self,
        stream: Resource<DynOutputStream>,
        length: u64,
    ) -> StreamResult<()> {
        let tape = self.outside(&stream);
        let ask = || format!("blocking-write-zeroes {} {length}", stream.rep());
        let table = &mut *self.table;
        taped!(
            tape,
            ask(),
            streams::HostOutputStream::blocking_write_zeroes_and_flush(table, same(&stream), length).await
        )
    }

    fn flush(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<()> {
        let tape = self.outside(&stream);
        let ask = || format!("flush {}", stream.rep());
        taped!(tape, ask(), streams::HostOutputStream::flush(self.table, same(&stream)))
    }

    async fn blocking_flush(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<()> {
        let tape = self.outside(&stream);
        let ask = || format!("blocking-flush {}", stream.rep());
        taped!(tape, ask(), streams::HostOutputStream::blocking_flush(self.table, same(&stream)).await)
    }

    fn subscribe(&mut self, stream: Resource<DynOutputStream>) -> Result<Resource<DynPollable>> {
        streams::HostOutputStream::subscribe(self.table, stream)
    }

    fn splice(
        &mut self,
        dest: Resource<DynOutputStream>,
        src: Resource<DynInputStream>,
        length: u64,
    ) -> StreamResult<u64> {
        if self.tape.is_none() {
            return streams::HostOutputStream::splice(self.table, dest, src, length);
        }
        // In its parts: what is read may be the recording's, and what is written our own.
        let length = length.min(streams::HostOutputStream::check_write(self, same(&dest))?);
        if length == 0 {
            return Ok(0);
        }
        let bytes = streams::HostInputStream::read(self, src, length)?;
        let count = bytes.len() as u64;
        if count > 0 {
            streams::HostOutputStream::write(self, dest, bytes)?;
        }
        Ok(count)
    }

    async fn blocking_splice(
        &mut self,
        dest: Resource<DynOutputStream>,
        src: Resource<DynInputStream>,
        length: u64,
    ) -> StreamResult<u64> {
        if self.tape.is_none() {
            return streams::HostOutputStream::blocking_splice(self.table, dest, src, length).await;
        }
        let tape = self.outside(&dest);
        let permit: StreamResult<u64> = taped!(
            tape.clone(),
            format!("write-ready {}", dest.rep()),
            self.table.get_mut(&dest)?.write_ready().await.map(|permit| permit as u64)
        );
        let length = length.min(permit?);
        if length == 0 {
            return Ok(0);
        }
        let bytes = streams::HostInputStream::blocking_read(self, src, length).await?;
        let count = bytes.len() as u64;
        if count > 0 {
            let ask = writing("blocking-write", tape.as_ref(), &dest, &bytes);
            let bytes = Bytes::from(bytes);
            let written: StreamResult<()> =
                taped!(tape, ask, self.table.get_mut(&dest)?.blocking_write_and_flush(bytes).await);
            written?;
        }
        Ok(count)
    }

    async fn drop(&mut self, stream: Resource<DynOutputStream>) -> Result<()> {
        self.stdio.retain(|known| *known != stream.rep());
        streams::HostOutputStream::drop(self.table, stream).await
    }
}
