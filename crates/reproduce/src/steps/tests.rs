/// A build without trainings knows the names of those that it lacks.
#[test]
fn steps_that_train_are_known_by_name() {
    let others = [super::excess::STEP, super::flows::STEP, super::follow::STEP].map(|step| step.name);
    let trains: Vec<&str> = super::all()
        .map(|step| step.name)
        .filter(|name| !others.contains(name))
        .collect();
    assert_eq!(trains, super::TRAINING);
}
