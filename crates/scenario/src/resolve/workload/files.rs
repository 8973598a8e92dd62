//! Flows from files: ns-3 flow files, htsim's connection matrices, and traces with named columns.

use paceline_fabric::spec::NodeId;
use paceline_kernel::sorted::SortedMap;

use crate::diagnostics::{Location, Problem, Source, suggestion};
use crate::htsim::{self, matrix::Matrix};
use crate::ns3::flows::Line;
use crate::resolve::fill::filled;
use crate::resolve::inputs::{FlowFile, Flows};
use crate::resolve::schemes::Schemes;
use crate::resolve::unresolved::{Block, Connections, UnresolvedFlows};
use crate::traffic::{self, Message};
use crate::warning::{Warning, WarningKind};
use crate::{schema, trace};

use super::maker::Maker;

impl Maker<'_, '_> {
    /// Adds the flows of another simulator's file.
    pub(super) fn file(
        &mut self,
        written: &mut schema::Workload,
        unresolved: &mut UnresolvedFlows,
    ) -> Result<(), Problem> {
        let FlowFile { source, flows } = self.cx.inputs.flows.pop_front().expect("files are read first");
        match flows {
            Flows::Lines(lines) => self.lines(written, unresolved, &source, &lines),
            Flows::Matrix(matrix) => self.matrix(written, unresolved, &source, &matrix),
        }
    }

    /// Adds htsim's connections; its hosts are this network's, in the same order.
    fn matrix(
        &mut self,
        written: &mut schema::Workload,
        unresolved: &mut UnresolvedFlows,
        source: &Source,
        matrix: &Matrix,
    ) -> Result<(), Problem> {
        let class = self.class(written)?;
        let path = written.file.as_mut().expect("it is present");
        *path.get_mut() = self.cx.keep("flow", "cm", source);
        let hosts: Vec<NodeId> = self.net.topology.hosts().collect();
        if hosts.len() != matrix.hosts as usize && matrix.hosts > 0 {
            let text = format!(
                "connections among {} nodes in a network of {} hosts",
                matrix.hosts,
                hosts.len()
            );
            self.cx
                .warnings
                .push(Warning::new(WarningKind::Reading, text).of_file(source));
        }
        let host = |number: u32, flow: &htsim::matrix::Flow| {
            hosts.get(number as usize).copied().ok_or_else(|| {
                let most = hosts.len().max(1) - 1;
                Problem::new(format!("there is no host {number}: hosts are 0 to {most}"))
                    .at(&source.at(flow.span.clone()))
            })
        };
        let mut messages = Vec::with_capacity(matrix.flows.len());
        for flow in &matrix.flows {
            messages.push(Message {
                src: host(flow.src, flow)?,
                dst: host(flow.dst, flow)?,
                size: flow.size,
                start: flow.start,
            });
        }
        let jitter = filled!(written.start_jitter: Workload);
        traffic::jitter(&mut messages, &matrix.dependencies, jitter, self.seeds);
        // Before the flows are added: their indices begin at the current length.
        unresolved.wait(unresolved.len(), &matrix.dependencies);
        let label = self.labels.index(written.label.as_deref().unwrap_or("flow"));
        for (flow, message) in matrix.flows.iter().zip(messages) {
            let block = Block {
                workload: self.seeds.workload,
                class: class.unwrap_or(3),
                dport: 100,
                label,
                scheme: self.scheme,
                connections: Connections::PerMessage,
                location: source.at(flow.span.clone()),
                paced: None,
            };
            unresolved.add(block, [message], &[]);
        }
        Ok(())
    }

    /// Adds an ns-3 program's flows, each with its class and port.
    fn lines(
        &mut self,
        written: &mut schema::Workload,
        unresolved: &mut UnresolvedFlows,
        source: &Source,
        lines: &[Line],
    ) -> Result<(), Problem> {
        let class = self.class(written)?;
        let path = written.file.as_mut().expect("it is present");
        *path.get_mut() = self.cx.keep("flow", "txt", source);
        self.cx.stops.extend(lines.iter().filter_map(|line| line.stop));
        if let Some(pair) = lines.windows(2).find(|pair| pair[0].start > pair[1].start) {
            let location = source.at(pair[1].span.clone());
            let text = "flows are not in the order of their start times; they were sorted";
            self.cx.warn(WarningKind::Reading, &location, text);
        }
        let mut messages: Vec<_> = lines
            .iter()
            .map(|line| Message {
                src: NodeId(line.src),
                dst: NodeId(line.dst),
                size: line.size,
                start: line.start,
            })
            .collect();
        traffic::jitter(
            &mut messages,
            &[],
            filled!(written.start_jitter: Workload),
            self.seeds,
        );
        for (line, message) in lines.iter().zip(messages) {
            let label = match (&written.label, line.dport) {
                (Some(label), _) => label.clone(),
                (None, 0) => "flow".to_string(),
                (None, 100) => "normal".to_string(),
                (None, 200) => "incast".to_string(),
                (None, other) => format!("dport-{other}"),
            };
            let block = Block {
                workload: self.seeds.workload,
                class: class.unwrap_or(line.class),
                dport: line.dport,
                label: self.labels.index(&label),
                scheme: self.scheme,
                connections: Connections::PerMessage,
                location: source.at(line.span.clone()),
                paced: None,
            };
            unresolved.add(block, [message], &[]);
        }
        Ok(())
    }

    /// Adds the flows of a table with named columns. Settings of the workload override columns of the table.
    pub(super) fn trace(
        &mut self,
        written: &mut schema::Workload,
        schemes: &mut Schemes<'_>,
        unresolved: &mut UnresolvedFlows,
    ) -> Result<(), Problem> {
        let class = self.class(written)?;
        let block = written.trace.get_or_insert_default();
        let ignored = filled!(block.ignore: Trace);
        let path = block
            .file
            .as_mut()
            .ok_or_else(|| Problem::new("the trace has no `file`").at(&self.location))?;
        let location = self.cx.texts.of_value(path);
        let source = self.cx.files.read_table(path.get_ref(), "the trace", &location)?;
        let names: Vec<_> = ignored.iter().map(|name| name.get_ref().clone()).collect();
        self.check_ignored(&ignored, &trace::columns(&source)?)?;
        let trace = trace::read(&source, &names)?;
        *path.get_mut() = self.cx.keep("trace", "csv", &source);
        if !trace.unknown.is_empty() {
            let names = trace.unknown.join("`, `");
            let text = format!("columns that mean nothing in a trace were left out: `{names}`");
            self.cx
                .warnings
                .push(Warning::new(WarningKind::LeftOut, text).of_file(&source));
        }
        if trace.not_started > 0 {
            let text = format!("flows that had not started were left out: {}", trace.not_started);
            self.cx
                .warnings
                .push(Warning::new(WarningKind::LeftOut, text).of_file(&source));
        }
        let mut messages: Vec<_> = trace.rows.iter().map(|row| row.message).collect();
        let jitter = filled!(written.start_jitter: Workload);
        traffic::jitter(&mut messages, &trace.dependencies, jitter, self.seeds);
        // Before the flows are added: their indices begin at the current length.
        unresolved.wait(unresolved.len(), &trace.dependencies);
        let block = written.trace.get_or_insert_default();
        let stays = filled!(block.connections: Trace);
        // A column of connections has the requirements of persistent ones.
        if trace.rows.iter().any(|row| row.connection.is_some()) {
            self.check_connections(schema::Connections::Persistent)?;
        }
        self.check_connections(stays)?;
        let mut connections = TraceConnections::default();
        for (row, message) in trace.rows.into_iter().zip(messages) {
            let location = source.at(row.span);
            let scheme = match (&written.scheme, &row.scheme) {
                (None, Some(name)) => schemes.index_of(self.cx, name, &location)?,
                _ => self.scheme,
            };
            let label = written.label.as_ref().or(row.label.as_ref());
            let block = Block {
                workload: self.seeds.workload,
                class: class.or(row.class).unwrap_or(3),
                dport: 100,
                label: self.labels.index(label.map_or("trace", String::as_str)),
                scheme,
                connections: Connections::OfWorkload,
                location,
                paced: None,
            };
            match connections.of(row.connection, stays, &block, &message)? {
                Some(connection) => unresolved.add(block, [message], &[connection]),
                None => unresolved.add(block, [message], &[]),
            }
        }
        Ok(())
    }

    /// Checks the list of ignored columns: each must exist and be optional.
    fn check_ignored(&self, names: &[toml::Spanned<String>], columns: &[String]) -> Result<(), Problem> {
        for written in names {
            let name = written.get_ref();
            let wrong = |message: String| Problem::new(message).at(&self.cx.texts.of_value(written));
            if ["src", "dst", "size_bytes"].contains(&name.as_str()) {
                return Err(wrong(format!("a trace needs its column `{name}`")).label("cannot be left out"));
            }
            if !columns.contains(name) {
                return Err(wrong(format!("the trace has no column `{name}` to leave out"))
                    .label("no such column")
                    .help(suggestion(name, columns.iter().map(String::as_str))));
            }
        }
        Ok(())
    }
}

/// Assignment of a trace's flows to connections.
#[derive(Default)]
struct TraceConnections {
    /// Connections by their number in the table: index, shared properties, and position of the first flow.
    named: SortedMap<u64, (u32, Shared, Location)>,
    /// Persistent connections without a number.
    unnamed: SortedMap<Shared, u32>,
    count: u32,
}

/// Source, destination, priority and scheme, which the flows of a connection share.
type Shared = (NodeId, NodeId, u8, u16);

impl TraceConnections {
    /// Returns the connection of a flow; `None` if it has its own queue pair.
    fn of(
        &mut self,
        number: Option<u64>,
        stays: schema::Connections,
        block: &Block,
        message: &Message,
    ) -> Result<Option<u32>, Problem> {
        let shared = (message.src, message.dst, block.class, block.scheme);
        let next = self.count;
        let Some(number) = number else {
            if stays == schema::Connections::PerMessage {
                return Ok(None);
            }
            let connection = *self.unnamed.entry(shared).or_insert(next);
            self.count += u32::from(connection == next);
            return Ok(Some(connection));
        };
        let first = self.named.entry(number);
        let (connection, known, location) = first.or_insert_with(|| (next, shared, block.location.clone()));
        self.count += u32::from(*connection == next);
        if *known == shared {
            return Ok(Some(*connection));
        }
        let message = format!(
            "a flow of connection {number} from host {} to host {} with priority {}: \
             its first goes from host {} to host {} with priority {}",
            shared.0.0, shared.1.0, shared.2, known.0.0, known.1.0, known.2
        );
        Err(Problem::new(message)
            .at(&block.location)
            .label("expected the same hosts, priority and scheme")
            .see(location, "its first flow"))
    }
}
