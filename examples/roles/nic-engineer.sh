#!/bin/sh
# A NIC engineer decides how to repair losses, and checks a packet by packet view of it.
set -eu

paceline sweep incast-16 --over network.recovery=go-back-n,irn --over network.error-rate=0,0.001 --out results/loss
paceline plot results/loss --what fct_slowdown.p99 --over network.recovery -o loss.svg

# A run with losses: where the time of its slowest flow went, and its packets for Wireshark.
paceline run incast-16 --set network.error-rate=0.001 --set record.pcap=true --set 'record.trace=[1]' --out results/one
paceline why results/one --top 1
test -s results/one/trace.pcapng

# A variant of a scheme, next to the original.
paceline compare incast-16 --schemes dcqcn,dcqcn:g=0.1 --out results/variant
