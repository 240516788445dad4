// Package wiretest reads telemetry out of real frames as the specifications have it, for tests: it shares no code with
// the packages that write it (core/packet, core/telemetry), and knows of a run only what a capture's reader would.
package wiretest
