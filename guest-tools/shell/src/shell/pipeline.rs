//! Pipelines, whose stages run at the same time, and jobs in the background.

use std::rc::Rc;
use std::time::Instant;

use super::Shell;
use super::commands::{run_and_or, run_command};
use super::subshell::finish;
use crate::stop::{Status, Stop};
use crate::stream::{Handle, pipe};
use crate::syntax::{Item, Pipeline};
use crate::task::{self, Done, Process};

pub async fn run(shell: &mut Shell, pipeline: &Pipeline) -> Status {
    let started = pipeline.timed.then(Instant::now);
    let result = match pipeline.stages.as_slice() {
        [stage] => {
            let status = run_command(shell, stage).await?;
            shell.pipe_status = vec![status];
            Ok(status)
        }
        _ => stages(shell, pipeline).await,
    };
    if let Some(started) = started {
        let spent = started.elapsed();
        let text = format!(
            "\nreal\t{}m{:.3}s\nuser\t0m0.000s\nsys\t0m0.000s",
            spent.as_secs() / 60,
            spent.as_secs_f64() % 60.0
        );
        shell.warn(text).await?;
    }
    let status = result?;
    Ok(if pipeline.negated { i32::from(status == 0) } else { status })
}

async fn stages(shell: &mut Shell, pipeline: &Pipeline) -> Status {
    let mut futures: Vec<task::Stage<'_>> = Vec::new();
    let mut input = shell.stdin();
    let last = pipeline.stages.len().saturating_sub(1);
    for (index, stage) in pipeline.stages.iter().enumerate() {
        let process = Process::start()?;
        let mut child = shell.child()?;
        child.fds.set(0, input);
        input = if index < last {
            let (reader, writer) = pipe();
            child.fds.set(1, writer);
            reader
        } else {
            Handle::Null
        };
        futures.push(Box::pin(async move {
            let _process = process;
            let result = run_command(&mut child, stage).await;
            finish(&mut child, result).await
        }));
    }
    let statuses = task::all(futures).await?;
    let last = statuses.last().copied().unwrap_or(0);
    let failed = statuses.iter().rev().copied().find(|status| *status != 0);
    shell.pipe_status = statuses;
    Ok(if shell.options.pipefail { failed.unwrap_or(0) } else { last })
}

/// `… &`
pub async fn background(shell: &mut Shell, item: &Item) -> Status {
    task::crowded().await;
    let process = Process::start()?;
    let mut child = shell.child()?;
    child.fds.set(0, Handle::Null);
    let done = Done::default();
    shell.last_job = shell.jobs.last().map_or(100, |(number, _)| *number).max(shell.last_job) + 1;
    shell.jobs.push((shell.last_job, done.clone()));
    let first = Pipeline {
        negated: item.first.negated,
        timed: false,
        stages: item.first.stages.iter().map(Rc::clone).collect(),
    };
    let rest: Vec<_> = item
        .rest
        .iter()
        .map(|(join, next)| {
            (
                *join,
                Pipeline {
                    negated: next.negated,
                    timed: false,
                    stages: next.stages.iter().map(Rc::clone).collect(),
                },
            )
        })
        .collect();
    let killed = done.clone();
    let job = async move {
        let _process = process;
        let result = run_and_or(&mut child, &first, &rest).await;
        match finish(&mut child, result).await {
            Ok(status) => done.set(status),
            Err(Stop::Abort(status, message)) => {
                // One such complaint says it for all jobs. That it is not heard changes nothing.
                if !child.host.complained.replace(true) {
                    let _unheard = child.complain(message).await;
                }
                done.set(status);
            }
            Err(_) => done.set(1),
        }
    };
    task::spawn(async move { killed.or(job).await });
    Ok(0)
}
