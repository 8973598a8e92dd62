//! Construction of a run from its description. The order of random draws and events is part of the behaviour.

use paceline_congestion::nscc::window::Window;
use paceline_congestion::rccc::pacer::{Pacer, quantum_time};

use super::balance::Balancer;
use super::conn::{Conn, Sink};
use super::counters::Counters;
use super::derived::Derived;
use super::host_queue::HostQueue;
use super::network::Network;
use super::oversubscribed::Oversubscribed;
use super::packet::{Ends, Packets};
use super::parts::{Arrival, Nic, Trigger};
use super::random::Random;
use super::schedule::Schedule;
use super::sim::{Event, Sim};
use super::spec::{Connection, Start, UetSpec};

/// Base of the ids for flows whose line gives none. The simulator's main program takes this id itself.
const FIRST_ID: u32 = 1_000_000_000;
/// Picoseconds in a microsecond.
const US: u64 = 1_000_000;

impl Sim {
    /// Builds a run in its initial state. Fails where the simulator would abort.
    pub fn new(spec: &UetSpec) -> Result<Self, String> {
        let set = Derived::new(&spec.options, &spec.tree).map_err(|misfit| misfit.message)?;
        // One generator for the whole simulation, as in the simulator: the network draws before the connections do.
        let mut random = Random::new(spec.options.seed);
        let net = Network::new(&spec.options, &set, &spec.tree, &mut random);
        let hosts = spec.tree.hosts as usize;
        let quantum_time = quantum_time(set.rate);
        let mut sim = Self {
            schedule: Schedule::new(spec.options.end * US),
            random,
            packets: Packets::default(),
            free_acks: Vec::new(),
            net,
            host_queues: vec![HostQueue::default(); hosts],
            nics: vec![Nic::default(); hosts],
            pacers: vec![Pacer::default(); hosts],
            adaptions: Vec::new(),
            quantum_time,
            quantum_times: vec![quantum_time; hosts],
            conns: Vec::new(),
            sinks: Vec::new(),
            balancers: Vec::new(),
            window: 0,
            triggers: Vec::new(),
            pending: Vec::new(),
            arrivals: Vec::new(),
            counters: Counters::default(),
            lines: Vec::new(),
            abort: None,
            spec: spec.clone(),
            set,
        };
        sim.add_hosts();
        // Triggers exist before the connections, which are added to their targets by index.
        sim.triggers = spec
            .matrix
            .triggers
            .iter()
            .map(|&(id, kind)| Trigger {
                id,
                kind,
                targets: Vec::new(),
                activations: 0,
            })
            .collect();
        for line in &spec.matrix.connections {
            if line.is_message {
                sim.add_message(line)?;
            } else {
                sim.add_connection(line);
            }
        }
        Ok(sim)
    }

    /// Draws each host's numbers: one for its pacer if that adapts to congestion, one for its NIC.
    fn add_hosts(&mut self) {
        for host in 0..self.spec.tree.hosts {
            if self.set.oversubscribed.is_some() {
                let interval = Oversubscribed::interval(self.random.unit(), self.set.rtt);
                self.adaptions.push(Oversubscribed::default());
                self.after(interval, Event::Adapt(host));
            }
            // The NIC's number has no effect here, but all later draws depend on it.
            self.random.draw();
        }
    }

    fn add_connection(&mut self, line: &Connection) {
        let flow = self.conns.len() as u32;
        let random = &mut self.random;
        let balancing = self.spec.options.balancing;
        let paths = self.spec.options.paths;
        // Balancers draw from the generator, so connections have to keep the order of the file.
        self.balancers.push(Balancer::new(balancing, paths, random));
        let own = FIRST_ID + 1 + 2 * flow;
        let (id, back) = line.id.map_or((own, own + 1), |id| (id, id));
        let base = if self.spec.options.accurate_base {
            2 * self.spec.tree.latency(line.src, line.dst) + self.set.transmission
        } else {
            self.set.rtt
        };
        let cwnd = i64::from(self.spec.options.cwnd);
        let window = (cwnd > 0).then_some(cwnd * self.set.packet);
        let nscc = Window::new(&self.set.nscc, base, window);
        self.window = nscc.max_window;
        let ends = Ends {
            flow: id,
            back,
            src: line.src,
            dst: line.dst,
        };
        let mut conn = Conn::new(ends, i64::from(line.size), nscc);
        conn.then = line.then;
        self.packets.ends.push(ends);
        let messages = self.spec.options.messages;
        if messages {
            conn.messages = Some(Box::default());
        }
        self.conns.push(conn);
        self.sinks.push(Sink::default());
        if messages {
            self.add_sizes(flow, line);
        }
        match line.start {
            Start::At(us) => {
                self.at(us * US, Event::Source(flow));
            }
            Start::Trigger(trigger) => self.triggers[trigger as usize].targets.push(flow),
        }
    }

    /// Adds a further message to a connection that an earlier line created.
    fn add_message(&mut self, line: &Connection) -> Result<(), String> {
        let known = self.conns.iter().position(|conn| Some(conn.flow) == line.id);
        let flow = known.ok_or("a message belongs to no connection")? as u32;
        self.add_sizes(flow, line);
        Ok(())
    }

    /// Groups messages of the same connection and start time: they become eligible in one event.
    fn add_sizes(&mut self, flow: u32, line: &Connection) {
        let Start::At(us) = line.start else {
            return;
        };
        let size = i64::from(line.size);
        let conn = &mut self.conns[flow as usize];
        if let Some(messages) = &mut conn.messages {
            messages.to_come += 1;
            messages.count += 1;
        }
        let number = conn.messages.as_ref().map_or(0, |messages| messages.count as u32);
        let at = us * US;
        let known = self
            .arrivals
            .iter_mut()
            .find(|arrival| arrival.conn == flow && arrival.at == at);
        if let Some(arrival) = known {
            arrival.sizes.push((size, number));
            return;
        }
        let arrival = self.arrivals.len() as u32;
        self.arrivals.push(Arrival {
            conn: flow,
            at,
            sizes: vec![(size, number)],
        });
        self.at(at, Event::Message(arrival));
    }
}
