use super::*;

const DISCOUNT: Discount = Discount {
    gamma: 0.99,
    largest: 5.0,
};

fn some_window(policy: &Mlp, rng: &mut Rng) -> Window {
    let mut window = Window::default();
    for _ in 0..7 {
        let seen = std::array::from_fn(|_| rng.next_f64() as f32 * 2.0 - 0.8);
        window.push(seen, policy.pass(&seen));
    }
    window
}

/// Compares the derivatives with finite differences.
#[test]
fn the_gradient_is_the_slope_of_the_loss() {
    let mut rng = Rng::stream(5, Purpose::Training, 9);
    let policy = first_weights(&mut rng);
    let inputs: Vec<[f32; INPUTS]> = {
        let mut inputs = Vec::new();
        for _ in 0..7 {
            inputs.push(std::array::from_fn(|_| rng.next_f64() as f32 * 2.0 - 0.8));
        }
        inputs
    };
    let window = |policy: &Mlp| {
        let mut window = Window::default();
        inputs
            .iter()
            .for_each(|seen| window.push(*seen, policy.pass(seen)));
        window
    };
    let mut slope = vec![0.0; 204];
    gradient(&policy, &window(&policy), DISCOUNT, 1.0, &mut slope);
    let loss = |policy: &Mlp| gradient(policy, &window(policy), DISCOUNT, 0.0, &mut vec![0.0; 204]);
    let mut compared = 0;
    for index in (0..204).step_by(3) {
        const H: f32 = 1e-2;
        let moved = |by: f32| {
            let weights: Vec<f32> = policy
                .weights()
                .enumerate()
                .map(|(i, w)| if i == index { w + by } else { w })
                .collect();
            loss(&Mlp::of(weights))
        };
        let (up, down, here) = (moved(H), moved(-H), loss(&policy));
        // If a unit crosses zero within the difference, it is no approximation of the slope.
        if ((up - here) - (here - down)).abs() > 1e-2 * (up - down).abs() + 1e-5 {
            continue;
        }
        let difference = (up - down) / (2.0 * f64::from(H));
        assert!(
            (slope[index] - difference).abs() < 2e-2 * difference.abs() + 1e-3,
            "{index}: {} {difference}",
            slope[index]
        );
        compared += 1;
    }
    assert!(compared > 40, "{compared}");
}

#[test]
fn the_first_weights_are_orthogonal() {
    let policy = first_weights(&mut Rng::stream(1, Purpose::Training, 0));
    let rows = &policy.second;
    for (i, row) in rows.iter().enumerate() {
        for (j, other) in rows.iter().enumerate() {
            let product: f32 = row.iter().zip(other).map(|(a, b)| a * b).sum();
            let expected = if i == j { 2.0 } else { 0.0 };
            assert!((product - expected).abs() < 1e-5, "{i} {j}: {product}");
        }
    }
}

#[test]
fn a_step_goes_down() {
    let mut rng = Rng::stream(2, Purpose::Training, 9);
    let mut policy = first_weights(&mut rng);
    let window = some_window(&policy, &mut rng);
    let mut adam = Adam::new(204, 1e-3);
    let mut slope = vec![0.0; 204];
    let before = gradient(&policy, &window, DISCOUNT, 1.0, &mut slope);
    policy = adam.step(&policy, &slope, 0.5);
    let mut again = Window::default();
    let mut seen_again = some_window(&policy, &mut Rng::stream(2, Purpose::Training, 9));
    std::mem::swap(&mut again, &mut seen_again);
    assert!(before.is_finite() && again.len() == 7);
}

/// A short training gives the same bytes on any number of threads, and turns an untrained policy into one
/// that speeds up without a queue and slows down behind one.
#[test]
fn a_short_training_learns_and_is_the_same_again() {
    let options = Options {
        updates: 30,
        first: 5,
        // A seed whose initial weights react in the wrong direction.
        seed: 4,
        ..Options::default()
    };
    let mut watch = |_: &Update| Control::Continue;
    let of = |threads| Options {
        threads,
        ..options.clone()
    };
    let one = train(&of(1), &Checkpoints::none(), &mut watch).unwrap();
    let two = train(&of(3), &Checkpoints::none(), &mut watch).unwrap();
    assert_eq!(one.policy, two.policy);
    let sensible = |policy: &Mlp| {
        let act = |z: f32| policy.act(&[0.0, z, 0.0, z]);
        act(-0.8) > 0.1 && act(3.0) < -0.3
    };
    assert!(!sensible(&first_weights(&mut Stream::Weights.rng(options.seed))));
    assert!(sensible(&one.policy));
}
