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
mod session;

pub(crate) use args::TrainArgs;
use args::{DeccTrainee, Trainee};
use session::Session;

use paceline_learn::search::Subject;
use paceline_learn::train::Network;

use crate::failure::{Done, Ended};

/// Runs the training that the arguments ask for.
pub(super) fn train(args: &TrainArgs) -> Ended {
    let session = &Session::open(&args.trainee)?;
    let ended = match &args.trainee {
        Trainee::Lstm(args) => network::train(args, Network::Lstm, session),
        Trainee::Gru(args) => network::train(args, Network::Gru, session),
        Trainee::Rnn(args) => network::train(args, Network::Rnn, session),
        Trainee::Ar3(args) => network::train(args, Network::Ar3, session),
        Trainee::Pidnn(args) => gains::train(args, session),
        Trainee::Adpg(args) => adpg::train(args, session),
        Trainee::Aurora(args) => rounds::train(&rounds::AURORA, args, session),
        Trainee::Spine(args) => rounds::train(&rounds::SPINE, args, session),
        Trainee::Swift(args) => search::search(Subject::Swift, args, session),
        Trainee::Decc(DeccTrainee::Law(args)) => search::search(Subject::Law, args, session),
        Trainee::Decc(DeccTrainee::Residual(args)) => decc::residual(args, session),
        Trainee::Decc(DeccTrainee::Paper(args)) => decc::paper(args, session),
        Trainee::Decc(DeccTrainee::Clone(args)) => decc::clone(args, session),
        Trainee::Decc(DeccTrainee::Compress(args)) => compress::compress(args, session),
        Trainee::Decc(DeccTrainee::Refine(args)) => refine::refine(args, session),
        Trainee::Decc(DeccTrainee::Continual(args)) => continual::continual(args, session),
    };
    if matches!(ended, Ok(Done::Interrupted)) && session.checkpoints.exist() && !session.say.quiet {
        say!("go on with it  {}", session.same_again());
    }
    ended
}
