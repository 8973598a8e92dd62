//! Cycles of modules: Tarjan's strongly connected components.

use std::collections::BTreeMap;

use crate::modules::Named;

/// Modules, each with the modules that it uses.
type Graph = BTreeMap<String, Named>;

/// State of a depth-first search.
struct Walk<'a> {
    graph: &'a Graph,
    number: BTreeMap<&'a str, usize>,
    lowest: BTreeMap<&'a str, usize>,
    open: Vec<&'a str>,
    circles: Vec<Vec<String>>,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, node: &'a str) {
        let number = self.number.len();
        self.number.insert(node, number);
        self.open.push(node);
        let mut lowest = number;
        for next in self.graph[node].keys() {
            match self.number.get(next.as_str()) {
                None => {
                    self.visit(next);
                    lowest = lowest.min(self.lowest[next.as_str()]);
                }
                Some(&number) if self.open.contains(&next.as_str()) => lowest = lowest.min(number),
                Some(_) => {}
            }
        }
        self.lowest.insert(node, lowest);
        if lowest == number {
            let start = self.open.iter().position(|&open| open == node);
            let mut circle = self.open.split_off(start.expect("it is open"));
            circle.sort_unstable();
            self.circles.push(circle.into_iter().map(str::to_owned).collect());
        }
    }
}

/// Returns each cycle of modules that use each other, the largest first.
pub fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let mut walk = Walk {
        graph,
        number: BTreeMap::new(),
        lowest: BTreeMap::new(),
        open: Vec::new(),
        circles: Vec::new(),
    };
    for node in graph.keys() {
        if !walk.number.contains_key(node.as_str()) {
            walk.visit(node);
        }
    }
    let mut circles = walk.circles;
    circles.retain(|circle| circle.len() > 1);
    circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
    circles
}
