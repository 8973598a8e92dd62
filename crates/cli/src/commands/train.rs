//! `paceline train`: learned schemes, from recorded runs or in the simulator.

mod adpg;
mod args;
mod compress;
mod data;
mod decc;
mod gains;
mod network;
mod on_policy;
mod record;

pub(crate) use args::TrainArgs;
use args::Trainee;
use std::io::Write as _;
use std::path::Path;

use paceline_lab::files::Folder;
use paceline_learn::train::Network;
use serde_json::Value;

use crate::failure::{Ended, Failure};
use crate::{output, place};

/// Trains what was asked for.
pub(super) fn train(args: &TrainArgs) -> Ended {
    args.check()?;
    // What was trained before stays: whether this came to the same would be known after hours.
    let folder = place::choose(args.out.as_ref(), &args.folder(), args.force, |_| false)?;
    output::check_folder(&folder, args.force)?;
    let args = &TrainArgs {
        out: Some(folder),
        ..args.clone()
    };
    match args.what {
        Trainee::Lstm => network::train(args, Network::Lstm),
        Trainee::Gru => network::train(args, Network::Gru),
        Trainee::Rnn => network::train(args, Network::Rnn),
        Trainee::Ar3 => network::train(args, Network::Ar3),
        Trainee::Pidnn => gains::train(args),
        Trainee::Adpg => adpg::train(args),
        Trainee::Decc => match &args.compress {
            Some(model) => compress::compress(model, args),
            None => decc::train(args),
        },
    }
}

/// `training.json`.
fn write_json(folder: &Folder, training: &Value) -> Result<(), Failure> {
    folder.write(Path::new("training.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, training)?;
        writeln!(out)
    })?;
    Ok(())
}

/// `report.html`.
fn write_page(folder: &Folder, page: &str) -> Result<(), Failure> {
    folder.write(Path::new("report.html"), |out| out.write_all(page.as_bytes()))?;
    Ok(())
}
