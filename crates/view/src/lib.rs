//! Page of `paceline view`, served to this machine alone: the report of a folder, its tables, its time line.
//!
//! The server only reads. It answers on the loopback interface, to those who have its token, with files of the folder
//! that the page needs and with what it computes from them.

mod files;
mod flows;
mod http;
mod lanes;
mod range;
mod site;
mod status;
mod timeline;
mod token;

pub use site::{Content, Kind, Render, Server};
