#!/bin/sh
# Somebody only looks: what is there, what happened, and is it the same again?
set -eu

paceline list scenarios
paceline explain hpcc

# A run, its report, and questions about it.
paceline run incast-20 --out results/first
paceline query results/first "SELECT flow_id, fct_ps FROM flows ORDER BY fct_ps DESC LIMIT 3"
paceline table results/first

# Its scenario is the same run again, byte for byte.
paceline run results/first --out results/again -q
cmp results/first/flows.csv results/again/flows.csv

# `paceline view results/first` opens it in the browser, until Ctrl-C.
test -s results/first/report.html
