//go:build lab || slow

package e2e

// ofAgents are two flows of the kernel's TCP that follow HPCC++, over IPv6.
const ofAgents = `duration: %s
warmup: 500ms
topology:
  hosts: [a, b, d]
  switches: [s]
  links:
    - {ends: [a, s], rate: 40Mbps, delay: 2ms}
    - {ends: [d, s], rate: 40Mbps, delay: 2ms}
    - {ends: [s, b], rate: 20Mbps, delay: 2ms, buffer: 300 packets}
switch: [forward, {telemetry: {format: ioam}}]
traffic:
  - {name: x, from: [a, d], to: b, transport: {tcp: {bursts: false}}, cc: {rx_hpcc: {preset: agent}}, ip: 6, start: 0s}
  - {name: y, from: d, to: b, transport: {tcp: {bursts: false}}, cc: cubic, size: 30kB, start: 1s}
  - {name: z, from: a, to: b, transport: udp, rate: 500kbps, start: 0s}
measure:
  - goodput
  - {queue: {port: s->b, every: 1ms, percentiles: [50, 99]}}
  - {cwnd: {traffic: x, every: 100ms}}
  - {rate: {traffic: x, every: 100ms}}
  - {rtt: {traffic: x, every: 100ms}}
  - drops
`
