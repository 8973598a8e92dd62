//! `paceline train`: trains learned schemes, from recorded runs or in the simulator.

mod adpg;
mod args;
mod compress;
mod continual;
mod data;
mod decc;
mod gains;
mod network;
mod on_policy;
mod policy;
mod record;
mod refine;
mod rounds;
mod search;

pub(crate) use args::TrainArgs;
use args::Trainee;
use std::path::Path;

use paceline_learn::search::Subject;
use paceline_learn::train::Network;
use paceline_learn::{Checkpoints, EVERY};

use crate::failure::{Done, Ended};
use crate::place;

/// Runs the training that the arguments ask for.
pub(super) fn train(args: &TrainArgs) -> Ended {
    args.check()?;
    let command = args.command();
    // An interrupted training is resumed. A finished one is kept, since only hours of training could show that the
    // result is the same.
    let stopped = |folder: &Path| Checkpoints::are_of(folder, &command);
    let folder = place::choose_or_go_on(args.out.as_ref(), &args.folder(), args.force, stopped);
    let every = args.checkpoint_every.map_or(EVERY, |every| {
        std::time::Duration::from_nanos(every.as_ps() / 1000)
    });
    let kept = &Checkpoints::open(&folder, &command, (every, args.force), |text| {
        say!("warning: {text}");
    })?;
    if kept.exist() && !args.say.quiet {
        say!("going on from the checkpoint in {}", folder.display());
    }
    let args = &TrainArgs {
        out: Some(folder),
        ..args.clone()
    };
    let ended = match args.what {
        Trainee::Lstm => network::train(args, Network::Lstm, kept),
        Trainee::Gru => network::train(args, Network::Gru, kept),
        Trainee::Rnn => network::train(args, Network::Rnn, kept),
        Trainee::Ar3 => network::train(args, Network::Ar3, kept),
        Trainee::Pidnn => gains::train(args, kept),
        Trainee::Adpg => adpg::train(args, kept),
        Trainee::Aurora => rounds::train(&rounds::AURORA, args, kept),
        Trainee::Spine => rounds::train(&rounds::SPINE, args, kept),
        Trainee::Swift => search::search(Subject::Swift, args, kept),
        Trainee::Decc if args.continual.is_some() => continual::continual(args, kept),
        Trainee::Decc if args.refine.is_some() => refine::refine(args, kept),
        Trainee::Decc if args.searches() => search::search(Subject::Law, args, kept),
        Trainee::Decc => match (&args.compress, &args.clone) {
            (Some(model), _) => compress::compress(model, args, kept),
            (None, Some(model)) => decc::clone(model, args, kept),
            (None, None) => decc::train(args, kept),
        },
    };
    if let (Ok(Done::Interrupted), true, false) = (&ended, kept.exist(), args.say.quiet) {
        say!("go on with it  {}", args.same_again());
    }
    ended
}
