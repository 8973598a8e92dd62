//! `paceline train`: learned schemes, from recorded runs or in the simulator.

mod adpg;
mod args;
mod aurora;
mod compress;
mod data;
mod decc;
mod gains;
mod network;
mod on_policy;
mod policy;
mod record;

pub(crate) use args::TrainArgs;
use args::Trainee;
use paceline_learn::train::Network;

use crate::failure::Ended;
use crate::{output, place};

/// Trains what was asked for.
pub(super) fn train(args: &TrainArgs) -> Ended {
    args.check()?;
    // What was trained before stays: whether this came to the same would be known after hours.
    let folder = place::choose_new(args.out.as_ref(), &args.folder(), args.force);
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
        Trainee::Aurora => aurora::train(args),
        Trainee::Decc => match &args.compress {
            Some(model) => compress::compress(model, args),
            None => decc::train(args),
        },
    }
}
